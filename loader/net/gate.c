// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When claimed addresses are announced; see gate.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../maps/clock.h"
#include "../../maps/memory.h"
#include "../../maps/text.h"
#include "gate.h"

#define FOR_EVER (~0ull)

/* ---- what is found ----------------------------------------------------------------------------*/

void gate_free(struct gate *g)
{
	free(g->place);
	free(g->pair);
	*g = (struct gate){.alone = g->alone};
}

static void add_pair(struct gate *g, size_t address, size_t service)
{
	const struct gate_pair *last = g->pairs ? &g->pair[g->pairs - 1] : NULL;

	/* Listeners of one address mostly stand side by side. */
	if (last && last->address == address && last->service == service)
		return;
	g->pair = memory_grow(g->pair, g->pairs, &g->room, sizeof(*g->pair));
	g->pair[g->pairs++] = (struct gate_pair){address, service};
}

static void find_pairs(struct gate *g, const struct config *cfg)
{
	g->pairs = 0;
	for (size_t s = 0; s < cfg->services; s++) {
		const struct poise_service_conf *conf = &cfg->service[s]->conf;

		for (int l = 0; l < conf->listeners; l++) {
			const struct config_address *a =
				config_address_at(cfg, &conf->listener[l].addr);

			if (a && config_address_gated(a))
				add_pair(g, (size_t)(a - cfg->address), s);
		}
	}
}

/* Since when addresses cannot be served is kept: both configurations are sorted by address. */
static void find_places(struct gate *g, const struct config *cfg)
{
	struct gate_place *fresh = calloc(cfg->addresses + 1, sizeof(*fresh));

	if (!fresh)
		abort();
	for (size_t a = 0, old = 0; a < cfg->addresses; a++) {
		fresh[a].addr = cfg->address[a].conf.addr;
		while (old < g->places && poise_addr_cmp(&g->place[old].addr, &fresh[a].addr) < 0)
			old++;
		if (old < g->places && !poise_addr_cmp(&g->place[old].addr, &fresh[a].addr))
			fresh[a].lost = g->place[old].lost;
	}
	free(g->place);
	g->place = fresh;
	g->places = cfg->addresses;
}

static enum poise_announced find(const struct instance *i, const struct config_service *svc)
{
	if (instance_below(i, svc))
		return POISE_WITHDRAWN_BELOW;
	return instance_usable(i, svc) ? POISE_ANNOUNCED : POISE_WITHDRAWN_NO_BACKEND;
}

void gate_look(struct gate *g, const struct instance *i, const struct config *cfg, bool attached,
	       __u64 now)
{
	if (g->places != cfg->addresses || g->generation != cfg->generation) {
		find_places(g, cfg);
		find_pairs(g, cfg);
		g->generation = cfg->generation;
	}
	for (size_t a = 0; a < g->places; a++)
		g->place[a].found =
			attached ? POISE_WITHDRAWN_NO_SERVICE : POISE_WITHDRAWN_DETACHED;
	for (size_t p = 0; p < g->pairs && attached; p++) {
		struct gate_place *at = &g->place[g->pair[p].address];

		if (at->found != POISE_ANNOUNCED)
			at->found = find(i, cfg->service[g->pair[p].service]);
	}
	for (size_t a = 0; a < g->places; a++) {
		struct gate_place *at = &g->place[a];

		if (at->found == POISE_ANNOUNCED)
			at->lost = 0;
		else if (!at->lost)
			at->lost = now;
	}
}

/* ---- what follows -----------------------------------------------------------------------------*/

enum poise_announced gate_judge(const struct config_address *a, enum poise_announced found,
				__u64 lost_ms)
{
	/* On its device before this version judged it: announced as any other. */
	bool stands = a->conf.announced == POISE_ANNOUNCED ||
		      (a->conf.announced == POISE_UNJUDGED && a->conf.put != POISE_PUT_NOT);

	/* What somebody else put there is not ours to take off. */
	if (!config_address_gated(a) || a->conf.put == POISE_PUT_FOREIGN)
		return POISE_ANNOUNCED;
	return stands && lost_ms < a->conf.withdraw_grace ? POISE_ANNOUNCED : found;
}

static enum poise_announced judge(const struct gate *g, const struct config *cfg, size_t a,
				  __u64 now)
{
	const struct gate_place *at = &g->place[a];
	__u64 lost = at->lost ? (now - at->lost) / NS_PER_MS : 0;

	if (g->alone && at->found == POISE_WITHDRAWN_DETACHED)
		lost = FOR_EVER;
	return gate_judge(&cfg->address[a], at->found, lost);
}

/* Claimed, and not about to go anyway. */
static bool has_place(const struct config_address *a)
{
	return a->conf.device[0] && !config_address_leaving(a);
}

bool gate_due(const struct gate *g, const struct config *cfg, __u64 now)
{
	bool due = false;

	for (size_t a = 0; a < cfg->addresses && !due; a++)
		due = has_place(&cfg->address[a]) &&
		      judge(g, cfg, a, now) != cfg->address[a].conf.announced;
	return due;
}

struct speaker {
	net_claim_say say;
	void *ctx;
};

static void say_change(const struct speaker *s, const struct config_address *a, __u8 before)
{
	__u8 now = a->conf.announced;

	/* Settling says what it puts on a device. */
	if (now >= POISE_WITHDRAWN && before == POISE_ANNOUNCED)
		net_claim_tell(s->say, s->ctx, false, a, "withdrawn from %s: %s", a->conf.device,
			       config_address_why(now));
	else if (now >= POISE_WITHDRAWN && before == POISE_UNJUDGED)
		net_claim_tell(s->say, s->ctx, false, a,
			       "waits to be put on %s: %s (announce usable)", a->conf.device,
			       config_address_why(now));
}

int gate_decide(const struct gate *g, struct config *cfg, net_claim_say how, void *ctx)
{
	const struct speaker s = {how, ctx};
	__u64 now = clock_monotonic();
	int changed = 0;

	for (size_t k = 0; k < cfg->addresses; k++) {
		struct config_address *a = &cfg->address[k];
		__u8 before = a->conf.announced, judged = judge(g, cfg, k, now);

		if (!has_place(a) || judged == before)
			continue;
		a->conf.announced = judged;
		/* Another reason for the same is no event. */
		if (before < POISE_WITHDRAWN || judged < POISE_WITHDRAWN)
			a->conf.announced_since = clock_realtime();
		say_change(&s, a, before);
		changed++;
	}
	return changed;
}

int gate_settle(struct gate *g, struct net *n, struct instance *i, struct config *cfg,
		bool attached, net_claim_say how, void *ctx, struct poise_error *err)
{
	int judged, settled;

	if (!cfg->addresses)
		return 0;
	gate_look(g, i, cfg, attached, clock_monotonic());
	judged = gate_decide(g, cfg, how, ctx);
	settled = net_claims_settle(n, cfg, how, ctx, err);
	if (settled < 0)
		return -1;
	if (judged + settled && instance_commit(i, cfg, NULL, err))
		return -1;
	return judged + settled;
}
