// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One transaction, from the lock to the sentence; see transact.h. */
#include "../loader/net/hostports.h"
#include "../maps/clock.h"
#include "transact.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

__u64 cli_now(void)
{
	return clock_realtime();
}

/* All services, or the one that `service` names. */
static int load(struct cli *c, const char *service)
{
	free(c->came); /* points into it */
	c->came = NULL;
	c->cames = 0;
	config_free(c->config);
	c->config = NULL;
	return service ? instance_load_service(c->instance, service, &c->config, &c->error)
		       : instance_load(c->instance, &c->config, &c->error);
}

int cli_read(struct cli *c)
{
	if (!c->instance && instance_open(&c->instance, &c->where, &c->error))
		return -1;
	return load(c, NULL);
}

static struct config *begin(struct cli *c, const char *service)
{
	if (c->batch)
		return c->config;
	if (!c->instance && instance_open(&c->instance, &c->where, &c->error))
		return NULL;
	if (instance_lock(c->instance, &c->error) || load(c, service))
		return NULL;
	return c->config;
}

struct config *cli_begin(struct cli *c)
{
	return begin(c, NULL);
}

struct config *cli_begin_service(struct cli *c)
{
	const char *word = args_peek(&c->args);

	return begin(c, word && strcmp(word, "all") != 0 ? word : NULL);
}

/* Without poised nobody lets leavers go: what is idle already should not wait for it. */
static void tick(struct cli *c)
{
	struct poise_error ignored;

	instance_tick(c->instance, cli_now(), &ignored);
}

static bool translates(const struct config *cfg)
{
	for (size_t s = 0; s < cfg->services; s++)
		if (config_translates(cfg->service[s]->conf.forward))
			return true;
	return false;
}

bool cli_cuts(const struct cli *c, const struct config_service *svc, const struct config_member *m)
{
	enum poise_mode is = config_mode(svc, m), was = is;

	if (m->id)
		was = c->instance->members[m->id].mode;
	return was != is && (config_translates(was) || config_translates(is));
}

int cli_commit(struct cli *c)
{
	bool daemon, look = true;

	cli_came(c, false);
	cli_note_own(c);
	host_ports_note(c->instance, translates(c->config));
	if (instance_commit(c->instance, c->config, &c->change, &c->error))
		return -1;
	if (c->change.services || c->change.members || c->change.addresses)
		cli_tell_change(c);
	daemon = instance_daemon_runs(c->instance);
	if (daemon) {
		cli_settle(c);
	} else {
		look = cli_resolve(c);
		tick(c);
	}
	instance_unlock(c->instance);
	if (look)
		cli_reach(c, daemon);
	if (!daemon) {
		cli_settle_alone(c);
		cli_note(c, "poised is not running: next hops are not followed (systemctl start "
			    "poised)");
	}
	return 0;
}

int cli_end(struct cli *c)
{
	if (c->batch) {
		cli_forget(c);
		return CLI_OK;
	}
	if (cli_commit(c))
		return -1;
	cli_print_change(c);
	return CLI_OK;
}

void cli_close(struct cli *c)
{
	cli_network_close(c);
	free(c->came);
	c->came = NULL;
	config_free(c->config);
	c->config = NULL;
	if (c->instance)
		instance_close(c->instance);
	c->instance = NULL;
	cli_forget(c);
}
