/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Members with max-conns keep one count for all CPUs of the flows that they hold, beside the gauges
 * that each CPU keeps its own part of: only one number can be compared and raised at once. It lies
 * in a map of its own (held), for no packet of a flow that goes on should wait for a line that
 * every new flow writes.
 *
 * A new flow takes its place when its member is chosen: it raises the count, and lowers it again if
 * that was at the limit. Whose word then comes to stand keeps the place, whoever does not gives it
 * back (new_flow.h). Any other word that becomes or ceases to be live is counted where its gauge is
 * (count.h). Flows that are picked up or that QUIC ids bind are not refused, but do count: so held
 * is the gauge, and may exceed the limit by what was not a new flow here.
 *
 * Counting begins and ends live, flows or no flows, while packets come: a bit in each counter says
 * whether what it counts is in held too. The addition that reads the bit is the one that counts,
 * and the one operation that sets or clears it says what was counted until then (hold_cpu), which
 * goes to held at a blow. That is done by the sweeper's program, which nobody can kill half-way.
 */
#ifndef POISE_HOLD_H
#define POISE_HOLD_H

#include "count.h"
#include "member.h"

/* Has this member, which has a limit (most), a place for a flow that has FLOW_*? */
static __always_inline bool hold_room(__u32 most, __u32 id, __u32 has)
{
	__u32 *count;

	if (!(has & FLOW_NEW))
		return true;
	count = word_lookup(&held, id);
	return !count || (poise_load)ONCE(*count) < (poise_load)most;
}

__noinline int hold_free(__u32 id, __u32 has)
{
	struct poise_member *m = member_get(id);

	return !m || hold_room(ONCE(m->max_conns), id, has);
}

/* Has the member as many flows as it may? Only what is surely new is asked. A branch, and a call
 * where there is a limit: policies ask this in loops, whose every path the verifier follows. */
static __always_inline bool hold_full(const struct poise_member *m, __u32 id, __u32 has)
{
	return UNLIKELY(ONCE(m->max_conns)) && !hold_free(id, has);
}

/* Takes a place for the flow; false if there is none. */
__noinline int hold_take(struct flow *f, __u32 id)
{
	struct poise_member *m = member_get(id);
	__u32 *count, most;

	if (!f || !m)
		return true;
	most = ONCE(m->max_conns);
	count = word_lookup(&held, id);
	if (!most || !count)
		return true;
	if ((poise_load)__sync_fetch_and_add(count, 1) >= (poise_load)most) {
		__sync_fetch_and_add(count, -1);
		return false;
	}
	f->held = id;
	return true;
}

/* Gives the flow's place back, if it has one. */
__noinline int hold_return(struct flow *f)
{
	__u32 *count;

	if (!f || !f->held)
		return 0;
	count = word_lookup(&held, f->held);
	if (count)
		__sync_fetch_and_add(count, -1);
	f->held = 0;
	return 0;
}

/* ---- from now on, or no longer ----------------------------------------------------------------*/

/* What a counter counted so far goes into held, or out of it, unless it did before. */
static __always_inline __u32 hold_counter(__u64 *counter, bool holds)
{
	__u64 was = holds ? __sync_fetch_and_or(counter, POISE_COUNT_HELD)
			  : __sync_fetch_and_and(counter, ~POISE_COUNT_HELD);

	if (!(was & POISE_COUNT_HELD) != holds)
		return 0;
	return holds ? (__u32)was : -(__u32)was;
}

struct hold {
	__u32 member;
	__u32 holds;
};

/* Callback of bpf_loop, for each CPU. */
static long hold_cpu(__u32 cpu, struct hold *h)
{
	__u32 place = cpu * poise_members + h->member, *count = word_lookup(&held, h->member);
	struct poise_counter *c = bpf_map_lookup_elem(&counters, &place);

	if (!c || !count)
		return 1;
	__sync_fetch_and_add(count, hold_counter(&c->opened, h->holds));
	__sync_fetch_and_add(count, -hold_counter(&c->closed, h->holds));
	return 0;
}

static __always_inline int hold(__u32 member, bool holds)
{
	struct hold h = {.member = member, .holds = holds};
	__u32 zero = 0;
	struct poise_meta *m = bpf_map_lookup_elem(&meta, &zero);

	if (m)
		bpf_loop(m->cpus, hold_cpu, &h, 0);
	return 0;
}

#endif
