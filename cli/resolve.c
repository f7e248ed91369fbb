// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Next hops when poised does not run: found once, after the change. A neighbour that the kernel
 * does not know yet takes a moment to answer, so that is waited for.
 */
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "../loader/attach/attach.h"
#include "../loader/net/net.h"
#include "transact.h"

/* A neighbour on a LAN answers in milliseconds; the kernel asks again after a second, so that one
 * lost question is waited for. */
#define NEIGHBOUR_WAIT_MS 1100
#define NEIGHBOUR_STEP_MS 50
#define REASONS_SHOWN	  3 /* one cause mostly explains all */

/* The network as the kernel knows it, and the devices poise is attached to. */
struct reach {
	struct net *net;
	unsigned int *ifindex;
	size_t devices;
};

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Opened once; its devices are read each time. -1 with why in err. */
static int open_network(struct cli *c, struct poise_error *err)
{
	struct attach_state *state = NULL;
	struct reach *r = c->network;
	int n;

	if (!r) {
		r = c->network = calloc(1, sizeof(*r));
		if (!r)
			abort();
	}
	n = attach_list(c->instance, &state, NULL);
	free(r->ifindex);
	r->devices = n > 0 ? (size_t)n : 0;
	r->ifindex = calloc(r->devices + 1, sizeof(*r->ifindex));
	if (!r->ifindex)
		abort();
	for (size_t i = 0; i < r->devices; i++)
		r->ifindex[i] = state[i].ifindex;
	free(state);
	return r->net || !r->devices ? 0 : net_open(&r->net, err);
}

void cli_network_close(struct cli *c)
{
	struct reach *r = c->network;

	if (!r)
		return;
	if (r->net)
		net_close(r->net);
	free(r->ifindex);
	free(r);
	c->network = NULL;
}

/* The number of members without a next hop, -1 on error. */
static int resolve(struct cli *c, struct reach *r)
{
	struct pollfd p = {.fd = net_fd(r->net), .events = POLLIN};
	long end = now_ms() + (c->reach ? NEIGHBOUR_WAIT_MS : 0);
	struct poise_error err = {0};
	int left = net_resolve(r->net, c->instance, c->config, r->ifindex, r->devices, &err);

	while (left > 0 && now_ms() < end) {
		if (poll(&p, 1, NEIGHBOUR_STEP_MS) <= 0 || net_read(r->net) <= 0)
			continue;
		left = net_resolve(r->net, c->instance, c->config, r->ifindex, r->devices, &err);
	}
	if (left < 0)
		cli_note(c, "next hops could not be resolved: %s", err.message);
	return left;
}

static bool why(struct cli *c, struct reach *r, const struct config_service *svc,
		const struct config_member *m, struct net_hop *hop)
{
	if (config_member_leaving(m) || !m->id || c->instance->members[m->id].nexthop)
		return false;
	return !net_hop(r->net, NULL, &m->conf.addr, config_mode(svc, m), &svc->conf.source4,
			&svc->conf.source6, r->ifindex, r->devices, hop, NULL) &&
	       hop->why[0];
}

/* Why the first few of those that are left have none. */
static void note_why(struct cli *c, struct reach *r)
{
	int told = 0;

	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];

		if (c->focus && svc != c->focus)
			continue;
		for (size_t k = 0; k < svc->members && told < REASONS_SHOWN; k++) {
			const struct config_member *m = &svc->member[k];
			char name[POISE_NAME_MAX];
			struct net_hop hop;

			if (!why(c, r, svc, m, &hop))
				continue;
			cli_note(c, "backend %s of %s cannot be reached: %s%s%s%s",
				 cli_member_name(m, name), svc->conf.name, hop.why,
				 hop.remedy[0] ? " (" : "", hop.remedy, hop.remedy[0] ? ")" : "");
			told++;
		}
	}
}

void cli_unreachable(struct cli *c, const struct config_service *svc, const struct config_member *m,
		     char *buf, size_t size)
{
	struct poise_error err;
	struct net_hop hop;

	buf[0] = 0;
	if (!c->network && open_network(c, &err))
		return;
	if (!c->network->devices)
		snprintf(buf, size, "attached to no device");
	else if (c->network->net && why(c, c->network, svc, m, &hop))
		snprintf(buf, size, "%s", hop.why);
}

void cli_resolve(struct cli *c)
{
	struct poise_error err = {0};
	int left;

	if (open_network(c, &err)) {
		cli_note(c, "next hops could not be resolved: %s", err.message);
		return;
	}
	if (!c->network->devices) {
		cli_note(c, "no packet is balanced yet: poise attach DEV");
		return;
	}
	left = resolve(c, c->network);
	if (left > 0 && c->reach)
		note_why(c, c->network);
	else if (left > 0)
		cli_note(c, "%d backend%s cannot be reached (poise show)", left,
			 left == 1 ? "" : "s");
	cli_note(c, "poised is not running: next hops are not followed (systemctl start poised)");
}
