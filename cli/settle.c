// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Claimed addresses after a change; see transact.h. */
#include "../loader/net/claim.h"
#include "transact.h"

#define TOLD 6 /* one by one, of each sort; a file may claim hundreds */

struct told {
	struct cli *c;
	unsigned int n[2]; /* done; failed */
};

static void say(void *ctx, bool fault, const char *sentence)
{
	struct told *t = ctx;

	if (t->n[fault]++ < TOLD)
		cli_note(t->c, "%s", sentence);
}

static void say_rest(const struct told *t)
{
	unsigned int done = t->n[false] > TOLD ? t->n[false] - TOLD : 0;
	unsigned int failed = t->n[true] > TOLD ? t->n[true] - TOLD : 0;

	if (done || failed)
		cli_note(t->c,
			 "%u more addresses likewise, %u that could not be (poise address list)",
			 done, failed);
}

void cli_settle(struct cli *c)
{
	struct poise_error err = {0};
	struct config *cfg = c->config;
	struct told told = {.c = c};
	struct net *net = NULL;
	int changed;

	if (!cfg->addresses)
		return;
	changed = net_open(&net, &err);
	if (!changed)
		changed = net_claims_settle(net, cfg, say, &told, &err);
	say_rest(&told);
	if (changed > 0 && instance_commit(c->instance, cfg, NULL, &err))
		changed = -1;
	if (changed < 0)
		cli_note(c, "claimed addresses were not looked at: %s", err.message);
	net_close(net);
}

void cli_release_all(struct cli *c)
{
	struct config *cfg = c->config;

	if (!cfg->addresses || instance_lock(c->instance, NULL))
		return;
	for (size_t a = 0; a < cfg->addresses; a++)
		config_address_leave(&cfg->address[a]);
	if (!instance_commit(c->instance, cfg, NULL, NULL))
		cli_settle(c);
	instance_unlock(c->instance);
}
