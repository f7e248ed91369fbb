// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The datapath and its single steps (inside.h). BENCH_EXTRA adds to a packet's way what must not go
 * unnoticed: bench/test builds with it, and expects to be told.
 */
#include <linux/types.h>

#ifdef INSIDE_COUNTED
#include "touch.h"
#define NATIVE_COUNT(what) ((void)touch_counts.what++)
#else
#define touch_begin() ((void)0)
#define touch_end()   ((void)0)
#endif

/* Functions of the datapath have names of their own in the kernel only. */
#define watch inside_watch

#include "bpf/parse.h"

#define EXTRA_LOOKUP 0x1
#define EXTRA_HELPER 0x2
#define EXTRA_BRANCH 0x4
#ifdef BENCH_EXTRA
static __always_inline bool extra(const struct xdp_md *ctx)
{
	__u32 zero = 0;

	if (BENCH_EXTRA & EXTRA_LOOKUP && bpf_map_lookup_elem(&meta, &zero) == (void *)ctx)
		return false;
	if (BENCH_EXTRA & EXTRA_HELPER && bpf_ktime_get_ns() == ~0ull)
		return false;
	return !(BENCH_EXTRA & EXTRA_BRANCH) || ctx->ingress_ifindex != ~zero;
}
#define parse(ctx, p) (extra(ctx) && parse(ctx, p))
#endif

#include "bpf/native.c"
#include "inside.h"

MEASURED int measured_xdp(struct run_frame *f, __u32 ifindex)
{
	int verdict;

	touch_begin();
	verdict = run_xdp(f, ifindex);
	touch_end();
	return verdict;
}

/* As track() leaves it to the policy, with the flow where find_closely() puts it. */
MEASURED __u32 measured_choose(__u16 service, __u64 hash)
{
	struct poise_service_rec *rec;
	struct scratch *s;
	__u32 chosen = 0;

	touch_begin();
	s = scratch_get();
	rec = service_record(service, services.value[service].active);
	if (s && rec) {
		s->flow = (struct flow){
			.hash = hash,
			.place = hash,
			.service = service,
			.record = services.value[service].active & 1,
			.seconds = stamp_seconds(),
			.kind = PACKET_SYN,
			.has = FLOW_NEW,
		};
		chosen = policy_choose(&s->flow, rec);
	}
	touch_end();
	return chosen;
}

MEASURED int measured_get(__u32 bucket, __u32 tag, __u16 service)
{
	__u64 word = 0;
	int slot;

	touch_begin();
	slot = flow_find(flow_bucket(bucket), tag, service, -1, &word);
	touch_end();
	return slot;
}

MEASURED int measured_claim(__u32 bucket, __u16 service, __u64 word)
{
	struct poise_bucket *b;
	enum recorded recorded = RECORD_FULL;

	touch_begin();
	b = flow_bucket(bucket);
	if (b)
		recorded = record(b, service, word, stamp_seconds(), SWAP_FLOW);
	touch_end();
	return recorded != RECORDED;
}

MEASURED int measured_free(__u32 bucket, int slot)
{
	struct poise_bucket *b;
	int freed = 0;

	touch_begin();
	b = flow_bucket(bucket);
	if (b)
		freed = flow_swap(&b->word[slot & 7], ONCE(b->word[slot & 7]), 0, 0);
	touch_end();
	return !freed;
}

MEASURED void measured_gauge(__u16 member)
{
	touch_begin();
	count_opened(member, false);
	count_closed(member);
	touch_end();
}

MEASURED void measured_sweep(struct poise_sweep *io)
{
	touch_begin();
	poise_sweep(io);
	touch_end();
}

__u64 inside_word(__u32 tag, __u16 member, __u32 state)
{
	return flow_word(tag, member, stamp_low(state, 60, stamp_seconds()));
}

bool inside_counts_itself(void)
{
#ifdef INSIDE_COUNTED
	return true;
#else
	return false;
#endif
}

void inside_count_from_here(void)
{
#ifdef INSIDE_COUNTED
	touch_counts = (struct touch_counts){0};
#endif
}

struct inside_counts inside_counted(void)
{
	struct inside_counts c = {0};

#ifdef INSIDE_COUNTED
	c.calls = touch_counts.calls;
	c.helpers = touch_counts.helpers;
	c.lookups = touch_counts.lookups;
	c.lines = touch_counts.lines;
#endif
	return c;
}
