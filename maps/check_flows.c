// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checking what changes with traffic: paths and who leaves by them, flow words, gauges.
 */
#include <bpf/bpf.h>
#include <stdlib.h>

#include "check.h"
#include "path.h"

static __u32 path_of(__u64 nexthop)
{
	return (__u32)(nexthop >> 48);
}

/* ---- paths ------------------------------------------------------------------------------------*/

/* A path that nobody names may have outlived the one it names. */
static bool chain_goes_on(const struct instance *i, const struct poise_path *p)
{
	const struct poise_path *next;

	if (!p->more || !p->refs)
		return !p->sources == !p->more && p->sources <= POISE_SOURCES;
	if (p->more >= i->meta->paths)
		return false;
	next = &i->paths[p->more];
	return next->flags & POISE_PATH_USED &&
	       (p->sources > 2 ? next->sources == p->sources - 1
			       : p->sources == 2 && !next->sources && !next->more);
}

static void check_path(struct check *c, __u32 path, __u64 refs)
{
	const struct poise_path *p = &c->i->paths[path];
	__u32 device = 0;

	if (!(p->flags & POISE_PATH_USED)) {
		check_zero(c, "paths", path, p, sizeof(*p), "a path that is none");
		return;
	}
	check_stamp(c, "paths", path, p->retired);
	if (p->refs != refs)
		check_say(c, "paths",
			  "entry %u: %llu backends and paths name it, but it counts %llu", path,
			  refs, p->refs);
	if (p->flags != POISE_PATH_USED || p->spare0 || p->spare ||
	    p->vlans > POISE_PATH_MAX_VLANS || !chain_goes_on(c->i, p))
		check_say(c, "paths", "entry %u: contradicts itself", path);
	for (__u32 v = p->vlans; v < POISE_PATH_MAX_VLANS; v++)
		if (p->vlan[v] || p->tpid[v])
			check_say(c, "paths", "entry %u: tag %u is set, but it has %u", path, v,
				  p->vlans);
	if (!c->i->anonymous &&
	    (bpf_map_lookup_elem(c->i->devmap_fd, &path, &device) || device != p->ifindex))
		check_say(c, "devmap", "entry %u is interface %u, but its path is %u", path, device,
			  p->ifindex);
}

void check_paths(struct check *c)
{
	const struct poise_meta *meta = c->i->meta;
	__u64 *refs = path_count(c->i);

	for (__u32 id = 1; id < meta->members; id++) {
		__u64 nexthop = c->i->members[id].nexthop;
		__u32 path = path_of(nexthop);

		if (!nexthop || nexthop == POISE_NEXTHOP_LOCAL)
			continue;
		if (!path || path >= meta->paths || !(c->i->paths[path].flags & POISE_PATH_USED))
			check_say(c, "members",
				  "entry %u: its next hop names path %u, which is none", id, path);
	}
	for (__u32 path = 0; path < meta->paths; path++)
		check_path(c, path, refs[path]);
	free(refs);
}

/* ---- flows ------------------------------------------------------------------------------------*/

struct count {
	struct check *c;
	__u32 *live; /* [members] */
};

static bool check_word(void *ctx, __u64 word)
{
	struct count *n = ctx;
	__u32 member = POISE_WORD_MEMBER(word), state = POISE_WORD_STATE(word);
	const struct instance *i = n->c->i;

	if (!member || member >= i->meta->members ||
	    store_member(i, member)->r.state == POISE_REC_FREE) {
		check_say(n->c, "flows", "word 0x%016llx names backend %u, which is none", word,
			  member);
		return true;
	}
	if (state == POISE_FLOW_FREE || state > POISE_FLOW_AFFINITY)
		check_say(n->c, "flows", "word 0x%016llx has state %u, which is none", word, state);
	n->live[member] += state >= POISE_FLOW_NEW && state <= POISE_FLOW_EST;
	return true;
}

/* A CPU's own part of the gauge, which choosing by load reads. */
static const char *wrong_own(const struct instance *i, __u32 id)
{
	for (__u32 cpu = 0; cpu < i->meta->cpus; cpu++) {
		size_t line = (size_t)cpu * i->meta->members + id;

		if (instance_loads(i, cpu, id)->own !=
		    (poise_load)(POISE_COUNT(i->counters[line].opened) -
				 POISE_COUNT(i->counters[line].closed)))
			return "a CPU's own count is not what it opened less what it closed";
	}
	return NULL;
}

#define HELD_LOOKS 1000 /* microseconds */

/* The one count of all CPUs that max-conns goes by: either all of them count there or none does. */
static void check_held(struct check *c, __u32 id, __s64 gauge)
{
	bool holds = c->i->members[id].max_conns;
	poise_load held, want = holds ? (poise_load)gauge : 0;

	for (__u32 cpu = 0; cpu < c->i->meta->cpus; cpu++) {
		const struct poise_counter *n = &c->i->counters[cpu * c->i->meta->members + id];

		if (!(n->opened & POISE_COUNT_HELD) == holds ||
		    !(n->closed & POISE_COUNT_HELD) == holds)
			check_say(c, "counters", "entry %u of CPU %u: is %scounted in held too", id,
				  cpu, holds ? "not " : "");
	}
	/* A flow that is being chosen for is there for a moment. */
	for (int look = 0; look < HELD_LOOKS; look++) {
		held = __atomic_load_n(&c->i->held[id], __ATOMIC_RELAXED);
		if (held == want)
			return;
	}
	check_say(c, "held", "entry %u: %d flows are held, not %d", id, held, want);
}

/* Gauges are exact, but packets go on while we count: judged are those that stood still. Ashes may
 * have words that only the next sweep takes. */
void check_flows(struct check *c)
{
	const struct poise_meta *meta = c->i->meta;
	struct count n = {c, calloc(meta->members, sizeof(__u32))};
	struct instance_stats *before = calloc(meta->members, sizeof(*before)), after;

	if (!n.live || !before)
		abort();
	for (__u32 id = 0; id < meta->members; id++)
		instance_member_stats(c->i, (__u16)id, &before[id]);
	instance_flows(c->i, check_word, &n);
	for (__u32 id = 0; id < meta->members; id++) {
		const char *own = wrong_own(c->i, id);

		instance_member_stats(c->i, (__u16)id, &after);
		if (store_member(c->i, id)->r.state == POISE_REC_ASHES ||
		    after.opened != before[id].opened || after.closed != before[id].closed)
			continue;
		if (after.flows != n.live[id])
			check_say(c, "counters",
				  "entry %u: its gauge is %lld, but %u live flows are recorded", id,
				  after.flows, n.live[id]);
		if (own)
			check_say(c, "loads", "entry %u: %s", id, own);
		check_held(c, id, after.flows);
	}
	free(n.live);
	free(before);
}
