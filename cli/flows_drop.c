// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise flows drop [SERVICE [BACKEND]] [state S] [idle 5m] | all: forgets recorded flows. Nobody is
 * reset: a flow's next packet is one of an unknown flow. But mode nat: by another port the backend
 * does not know it.
 */
#include <string.h>

#include "flows.h"

static int ask(struct cli *c)
{
	return cli_usage(c, "which flows? SERVICE, state STATE, idle DURATION, or all");
}

static int take_filter(struct cli *c, struct flow_filter *f)
{
	bool all = args_peek(&c->args) && !strcmp(args_peek(&c->args), "all");

	if (all)
		args_take(&c->args);
	if (flow_filter_take(c, f, false))
		return -1;
	if (all && f->service)
		return cli_usage(c, "all is every service's, %s one's", f->service->conf.name);
	if (!all && flow_filter_is_any(f))
		return ask(c);
	return 0;
}

/* Is any of them translated, so that its backend knows it by its port alone? */
static bool has_nat(const struct cli *c, const struct flow_filter *f)
{
	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];

		for (size_t k = 0; (!f->service || svc == f->service) && k < svc->members; k++)
			if ((!f->member || f->member == &svc->member[k]) &&
			    config_mode(svc, &svc->member[k]) == POISE_NAT)
				return true;
	}
	return false;
}

static void say(struct cli *c, const struct flow_filter *f, __u32 n)
{
	char name[POISE_NAME_MAX], of[2 * POISE_NAME_MAX + 16] = "";

	if (f->member)
		snprintf(of, sizeof(of), " of backend %s of %s", cli_member_name(f->member, name),
			 f->service->conf.name);
	else if (f->service)
		snprintf(of, sizeof(of), " of %s", f->service->conf.name);
	if (!n) {
		cli_say(c, "no such flow%s is recorded; nothing dropped.", of);
		return;
	}
	cli_say(c, "%u flow%s%s dropped.", n, n == 1 ? "" : "s", of);
	if (has_nat(c, f))
		cli_note(c, "flows of mode nat are over: who goes on with one is refused");
	else
		cli_note(c, "nobody is reset: what goes on is picked up by its next packet, by the "
			    "service's table, maybe for another backend");
}

int cmd_flows_drop(struct cli *c)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_FORCE};
	struct flow_filter f = {0};
	struct json_object *o;

	if (!args_left(&c->args))
		return ask(c);
	if (!cli_begin(c) || take_filter(c, &f))
		return -1;
	io.count = instance_buckets(c->instance);
	io.service = f.service ? f.service->id : 0;
	io.member = f.member ? f.member->id : 0;
	io.state = (__u8)f.state;
	io.idle = (__u16)f.idle;
	if (instance_sweep_range(c->instance, &io, &c->error))
		return -1;
	instance_unlock(c->instance);
	say(c, &f, io.freed);
	if (!c->json || c->quiet) {
		cli_print_change(c);
		return CLI_OK;
	}
	o = json_change(c);
	json_add_u64(o, "flows_dropped", io.freed);
	json_print(c, o);
	return CLI_OK;
}
