// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Next hops after a change. poised finds those of backends that came; without it the command does,
 * once. A neighbour that the kernel does not know yet takes a moment to answer, so that is waited
 * for, and who stays without a next hop is named.
 */
#include <poll.h>
#include <stdlib.h>

#include "../loader/attach/attach.h"
#include "../loader/net/net.h"
#include "../maps/clock.h"
#include "transact.h"

/* A neighbour on a LAN answers in milliseconds; the kernel asks again after a second, so that one
 * lost question is waited for. */
#define NEIGHBOUR_WAIT_MS 1100
#define NEIGHBOUR_STEP_MS 50
/* poised sees a change within 5 ms; asking the network ourselves costs more than to wait for it. */
#define DAEMON_HEAD_START_MS 30
#define DAEMON_STEP_MS	     5
#define REASONS_SHOWN	     3	/* one cause mostly explains all */
#define HOPE_SAMPLE	     64 /* route queries of a step: 150 us */

/* The network as the kernel knows it, and the devices poise is attached to. */
struct reach {
	struct net *net;
	unsigned int *ifindex;
	size_t devices;
};

static long now_ms(void)
{
	return (long)(clock_monotonic() / NS_PER_MS);
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

static bool why(struct cli *c, struct reach *r, const struct config_service *svc,
		const struct config_member *m, struct net_hop *hop)
{
	struct net_want want = net_want_of(c->instance, svc, m);

	if (config_member_leaving(m) || !m->id || c->instance->members[m->id].nexthop)
		return false;
	want.attached = r->ifindex;
	want.count = r->devices;
	return !net_hop(r->net, &want, hop, NULL) && hop->why[0];
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

/* ---- who came -----------------------------------------------------------------------------*/

void cli_came(struct cli *c, bool all)
{
	size_t n = 0;

	for (size_t i = 0; i < c->config->services; i++)
		n += c->config->service[i]->members;
	free(c->came);
	c->came = calloc(n + 1, sizeof(*c->came));
	if (!c->came)
		abort();
	n = 0;
	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];

		for (size_t k = 0; k < svc->members; k++)
			if (all || !svc->member[k].id)
				c->came[n++] = (struct came){svc, &svc->member[k]};
	}
	c->cames = n;
}

static bool unresolved(const struct cli *c, const struct came *came)
{
	return config_mode(came->svc, came->member) != POISE_LOCAL &&
	       !config_member_leaving(came->member) &&
	       !c->instance->members[came->member->id].nexthop;
}

static size_t count_unresolved(const struct cli *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->cames; i++)
		n += unresolved(c, &c->came[i]);
	return n;
}

/* Is there one among the first that time may help? */
static bool hopeful(struct cli *c)
{
	size_t looked = 0;

	for (size_t i = 0; i < c->cames && looked < HOPE_SAMPLE; i++) {
		struct net_hop hop;

		if (!unresolved(c, &c->came[i]))
			continue;
		looked++;
		if (!why(c, c->network, c->came[i].svc, c->came[i].member, &hop) || hop.pending)
			return true;
	}
	return false;
}

/* Why the first few of those that are left have none. */
static void note_why(struct cli *c, size_t left)
{
	size_t told = 0;

	for (size_t i = 0; i < c->cames && told < REASONS_SHOWN; i++) {
		const struct came *came = &c->came[i];
		char name[POISE_NAME_MAX];
		struct net_hop hop;

		if (!why(c, c->network, came->svc, came->member, &hop))
			continue;
		cli_note(c, "backend %s of %s cannot be reached: %s%s%s%s",
			 cli_member_name(came->member, name), came->svc->conf.name, hop.why,
			 hop.remedy[0] ? " (" : "", hop.remedy, hop.remedy[0] ? ")" : "");
		told++;
	}
	if (told && left > told)
		cli_note(c, "and %zu more (poise show)", left - told);
}

/* ---- after a change -----------------------------------------------------------------------*/

/* True if there is a network to look at; notes why not. */
static bool reachable(struct cli *c)
{
	struct poise_error err = {0};

	if (open_network(c, &err)) {
		cli_note(c, "next hops could not be resolved: %s", err.message);
		return false;
	}
	if (!c->network->devices)
		cli_note(c, "no packet is balanced yet: poise attach DEV");
	return c->network->devices;
}

static bool resolve(struct cli *c)
{
	struct poise_error err = {0};
	const struct reach *r = c->network;

	if (net_resolve(r->net, c->instance, c->config, r->ifindex, r->devices, &err) >= 0)
		return true;
	cli_note(c, "next hops could not be resolved: %s", err.message);
	return false;
}

bool cli_resolve(struct cli *c)
{
	return reachable(c) && resolve(c);
}

/* Until something happens, a step at most. */
static void pass_time(struct cli *c, int ms)
{
	struct pollfd p = {.fd = net_fd(c->network->net), .events = POLLIN};

	if (poll(&p, 1, ms) > 0)
		net_read(c->network->net);
}

void cli_reach(struct cli *c, bool daemon)
{
	long begin = now_ms();
	size_t left = count_unresolved(c);

	while (left && daemon && now_ms() - begin < DAEMON_HEAD_START_MS) {
		poll(NULL, 0, DAEMON_STEP_MS);
		left = count_unresolved(c);
	}
	if (!left || (daemon && !reachable(c)))
		return;
	while (left && now_ms() - begin < NEIGHBOUR_WAIT_MS && hopeful(c)) {
		pass_time(c, daemon ? DAEMON_STEP_MS : NEIGHBOUR_STEP_MS);
		if (!daemon && !resolve(c))
			return;
		left = count_unresolved(c);
	}
	if (left)
		note_why(c, left);
}
