// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses after a change; see transact.h. */
#include <stdlib.h>

#include "../loader/attach/attach.h"
#include "../loader/net/gate.h"
#include "../loader/net/own.h"
#include "../loader/net/unreach.h"
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

/* led: whose addresses may be led here without being on a device; NULL: none any more. */
static void settle(struct cli *c, struct config *cfg, const struct config *led, bool alone)
{
	struct gate gate = {.alone = alone};
	struct told told = {.c = c};
	struct poise_error err = {0};
	struct net *net = NULL;

	if (cfg->part) /* then no address has changed */
		return;
	if (net_open(&net, &err) ||
	    gate_settle(&gate, net, c->instance, cfg, attached(c), say, &told, &err) < 0 ||
	    net_own_settle(net, c->instance, cfg, &err) < 0 ||
	    net_unreach_settle(net, c->instance->meta->instance, led, say, &told, &err) < 0)
		cli_note(c, "addresses were not looked at: %s", err.message);
	say_rest(&told);
	gate_free(&gate);
	net_close(net);
}

void cli_note_own(struct cli *c)
{
	struct net *net = NULL;

	/* A failure is told when addresses are settled. */
	if (!c->config->part && !net_open(&net, NULL))
		net_own_note(net, c->config, NULL);
	net_close(net);
}

void cli_settle(struct cli *c)
{
	settle(c, c->config, c->config, false);
}

void cli_settle_alone(struct cli *c)
{
	struct config *cfg;

	/* A change of one service's backends moves no address, but may let one be announced. */
	if (c->config->part && !instance_has_addresses(c->instance))
		return;
	if (instance_lock(c->instance, NULL))
		return;
	if (!instance_load(c->instance, &cfg, NULL)) {
		settle(c, cfg, cfg, true);
		config_free(cfg);
	}
	instance_unlock(c->instance);
}

void cli_release_all(struct cli *c)
{
	struct config *cfg = c->config;

	if (instance_lock(c->instance, NULL))
		return;
	for (size_t a = 0; a < cfg->addresses; a++)
		config_address_leave(&cfg->address[a]);
	if (!instance_commit(c->instance, cfg, NULL, NULL))
		settle(c, cfg, NULL, false);
	instance_unlock(c->instance);
}
