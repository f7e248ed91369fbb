// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Claimed addresses after a change; see transact.h. */
#include "../loader/net/claim.h"
#include "transact.h"

static void say(void *ctx, bool fault, const char *sentence)
{
	(void)fault;
	cli_note(ctx, "%s", sentence);
}

void cli_settle(struct cli *c)
{
	struct poise_error err = {0};
	struct config *cfg = c->config;
	struct net *net = NULL;
	int changed;

	if (!cfg->addresses)
		return;
	changed = net_open(&net, &err);
	if (!changed)
		changed = net_claims_settle(net, cfg, say, c, &err);
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
