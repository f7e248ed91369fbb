// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Claimed addresses after a change; see transact.h. */
#include <stdlib.h>

#include "../loader/attach/attach.h"
#include "../loader/net/gate.h"
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

/* Whether any device has the program. */
static bool attached(struct cli *c)
{
	struct attach_state *list = NULL;
	bool any = attach_list(c->instance, &list, NULL) > 0;

	free(list);
	return any;
}

static void settle(struct cli *c, struct config *cfg, bool alone)
{
	struct gate gate = {.alone = alone};
	struct told told = {.c = c};
	struct poise_error err = {0};
	struct net *net = NULL;

	if (!cfg->addresses)
		return;
	if (net_open(&net, &err) ||
	    gate_settle(&gate, net, c->instance, cfg, attached(c), say, &told, &err) < 0)
		cli_note(c, "claimed addresses were not looked at: %s", err.message);
	say_rest(&told);
	gate_free(&gate);
	net_close(net);
}

void cli_settle(struct cli *c)
{
	settle(c, c->config, false);
}

void cli_settle_alone(struct cli *c)
{
	struct config *cfg;

	if (instance_lock(c->instance, NULL))
		return;
	if (!instance_load(c->instance, &cfg, NULL)) {
		settle(c, cfg, true);
		config_free(cfg);
	}
	instance_unlock(c->instance);
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
