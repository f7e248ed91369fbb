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

/* A neighbour on a LAN answers in milliseconds; the kernel itself asks three times, a second apart.
 */
#define NEIGHBOUR_WAIT_MS 1500
#define NEIGHBOUR_STEP_MS 50
#define REASONS_SHOWN	  3 /* one cause mostly explains all */

/* The devices poise is attached to. */
struct devices {
	unsigned int *ifindex;
	size_t n;
};

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The number of members without a next hop, -1 on error. */
static int resolve(struct cli *c, struct net *n, const struct devices *d)
{
	struct pollfd p = {.fd = net_fd(n), .events = POLLIN};
	long end = now_ms() + (c->reach ? NEIGHBOUR_WAIT_MS : 0);
	struct poise_error err = {0};
	int left = net_resolve(n, c->instance, c->config, d->ifindex, d->n, &err);

	while (left > 0 && now_ms() < end) {
		poll(&p, 1, NEIGHBOUR_STEP_MS);
		net_read(n);
		left = net_resolve(n, c->instance, c->config, d->ifindex, d->n, &err);
	}
	if (left < 0)
		cli_note(c, "next hops could not be resolved: %s", err.message);
	return left;
}

/* Why the first few of those that are left have none. */
static void note_why(struct cli *c, struct net *n, const struct devices *d,
		     const struct config *cfg)
{
	int told = 0;

	for (size_t i = 0; i < cfg->services; i++) {
		const struct config_service *svc = cfg->service[i];

		for (size_t k = 0; k < svc->members && told < REASONS_SHOWN; k++) {
			const struct config_member *m = &svc->member[k];
			char name[POISE_NAME_MAX];
			struct net_hop hop;

			if (config_member_leaving(m) || c->instance->members[m->id].nexthop ||
			    net_hop(n, NULL, &m->conf.addr, config_mode(svc, m), &svc->conf.source4,
				    &svc->conf.source6, d->ifindex, d->n, &hop, NULL))
				continue;
			cli_note(c, "backend %s of %s cannot be reached: %s%s%s%s",
				 cli_member_name(m, name), svc->conf.name, hop.why,
				 hop.remedy[0] ? " (" : "", hop.remedy, hop.remedy[0] ? ")" : "");
			told++;
		}
	}
}

static void read_devices(struct cli *c, struct devices *d)
{
	struct attach_state *state = NULL;
	int n = attach_list(c->instance, &state, NULL);

	d->n = n > 0 ? (size_t)n : 0;
	d->ifindex = calloc(d->n + 1, sizeof(*d->ifindex));
	if (!d->ifindex)
		abort();
	for (size_t i = 0; i < d->n; i++)
		d->ifindex[i] = state[i].ifindex;
	free(state);
}

void cli_resolve(struct cli *c)
{
	struct poise_error err = {0};
	struct devices d;
	struct net *n;

	read_devices(c, &d);
	if (!d.n) {
		cli_note(c, "no packet is balanced yet: poise attach DEV");
	} else if (net_open(&n, &err)) {
		cli_note(c, "next hops could not be resolved: %s", err.message);
	} else {
		if (resolve(c, n, &d) > 0)
			note_why(c, n, &d, c->config);
		net_close(n);
	}
	if (d.n)
		cli_note(c, "poised is not running: next hops are not followed "
			    "(systemctl start poised)");
	free(d.ifindex);
}
