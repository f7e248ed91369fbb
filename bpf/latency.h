/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latencies of mode nat, where both directions are seen (maps/latency.h): when the
 * client sent what is timed is noted, and what its answer acknowledges; the first packet of the
 * backend that does, and brings a byte, ends it. A bit of the flow's slot says that there is a
 * note.
 *
 * The clock is read at the start and the end alone, and starts are about one a jiffy. A request
 * begins with its last segment, which TCP marks by PSH: acknowledgements are not looked at any
 * further. What is sent again is not timed anew, for the client has waited since it was sent first.
 */
#ifndef POISE_BPF_LATENCY_H
#define POISE_BPF_LATENCY_H

#include "count.h"
#include "slots.h"

#define LATENCY_TRIES 4 /* lost races before a sample is not averaged */

/* Where a packet's transport header is, if nothing stands before it that is rarely there; then what
 * is read there is no answer to anything, most likely, and a sample ends later. */
#define LATENCY_V6  0x10000
#define LATENCY_TCP 0x20000
#define LATENCY_HEADERS(p)                                                                         \
	((p)->l3 | (p)->v6 * LATENCY_V6 | ((p)->proto == IPPROTO_TCP) * LATENCY_TCP)

/* The notes. Few are open at once, so they have not a place for each slot: one that another slot
 * writes over is lost, as is one that a program left behind. Not pinned. */
#define TIMING_BITS 12

struct timing {
	__u32 at;  /* the slot */
	__u32 t0;  /* ticks */
	__u32 ack; /* what the answer acknowledges at least; UDP: 0 */
	__u32 of;  /* requests that it stands for */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << TIMING_BITS);
	__type(key, __u32);
	__type(value, struct timing);
} timings SEC(".maps");

static __always_inline struct timing *timing_of(__u32 at)
{
	__u32 place = at * POISE_GOLD >> (64 - TIMING_BITS);

	return bpf_map_lookup_elem(&timings, &place);
}

struct latency_tcp {
	__u32 seq, ack; /* host order */
	__u32 payload;	/* bytes */
	__u32 flags;
};

/* False: it is too short, or has options before TCP. */
static __always_inline bool latency_read(struct xdp_md *ctx, __u32 headers, struct latency_tcp *is)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l3 = headers & 0xff, all;
	struct tcphdr *tcp;

	if (headers & LATENCY_V6) {
		struct ipv6hdr *ip = data + l3;

		tcp = (void *)(ip + 1);
		if ((void *)(tcp + 1) > end || ip->nexthdr != IPPROTO_TCP)
			return false;
		all = bpf_ntohs(ip->payload_len);
	} else {
		struct iphdr *ip = data + l3;

		tcp = (void *)(ip + 1);
		if ((void *)(tcp + 1) > end || ip->ihl != sizeof(*ip) / 4)
			return false;
		all = bpf_ntohs(ip->tot_len) - sizeof(*ip);
	}
	is->seq = bpf_ntohl(tcp->seq);
	is->ack = bpf_ntohl(tcp->ack_seq);
	is->flags = ((__u8 *)tcp)[13];
	is->payload = all - tcp->doff * 4u;
	return all >= tcp->doff * 4u;
}

static __always_inline __u32 latency_kind(__u32 tcp_flags)
{
	return tcp_flags & TCP_SYN ? POISE_SAMPLE_CONNECT : POISE_SAMPLE_REQUEST;
}

static __always_inline struct poise_latency *latency_of(__u32 member)
{
	return bpf_map_lookup_elem(&latencies, &member);
}

#define LATENCY_SKIPS 0x7fff
#define LATENCY_SINCE 0xfff0
#define LATENCY_REST  2	 /* jiffies without a sample: fewer are skipped */
#define LATENCY_ANEW  64 /* none are: it is not as it was */

/* One more that could be timed. How many came since the last one that was, if it is time again; 0:
 * it is not. */
static __always_inline __u32 latency_due(struct poise_turn *t)
{
	__u32 since = t->since;

	if (LIKELY(since < LATENCY_SINCE))
		t->since = ++since;
	return since > t->skips || (__u32)bpf_jiffies64() - t->jiffy > LATENCY_ANEW ? since : 0;
}

/* It is timed. For how many it stands. */
static __always_inline __u32 latency_turn(struct poise_turn *t)
{
	__u32 now = bpf_jiffies64(), since = t->since, skips = t->skips;

	if (now == t->jiffy)
		skips = (2 * skips + 1) & LATENCY_SKIPS;
	else if (now - t->jiffy > LATENCY_REST)
		skips = now - t->jiffy > LATENCY_ANEW ? 0 : skips >> 1;
	t->jiffy = now;
	t->skips = skips;
	t->since = 0;
	return since ? since : 1;
}

/* Is the time of this packet of a client to be taken? */
static __always_inline bool latency_begins(const struct packet *p, const struct poise_slot *s,
					   __u32 member)
{
	struct poise_counter *c;

	if (!(p->proto == IPPROTO_UDP || p->tcp & (TCP_SYN | TCP_PSH)))
		return false;
	c = count_line(member);
	return c && latency_due(&c->timed[latency_kind(p->tcp)]) &&
	       !(ONCE(s->head) & POISE_SLOT_TIMED);
}

/* What the answer to a client's packet acknowledges at least; false: it is not to be timed. */
static __always_inline bool latency_acked(struct xdp_md *ctx, __u32 headers, __u32 *ack,
					  __u32 *kind)
{
	struct latency_tcp tcp;

	*ack = 0;
	*kind = POISE_SAMPLE_REQUEST;
	if (!(headers & LATENCY_TCP))
		return true;
	if (!latency_read(ctx, headers, &tcp))
		return false;
	*ack = tcp.seq + tcp.payload + !!(tcp.flags & TCP_SYN);
	*kind = latency_kind(tcp.flags);
	return tcp.payload || tcp.flags & TCP_SYN;
}

/* The time begins. Those who call have no more than 32 bytes of stack left for this. */
__noinline int latency_open(struct xdp_md *ctx, __u32 at, __u32 member, __u32 headers)
{
	struct poise_counter *c = count_line(member);
	struct poise_latency *l;
	struct poise_slot *s;
	struct timing *t;
	__u64 head;
	__u32 ack, now, kind;

	if (!latency_acked(ctx, headers, &ack, &kind))
		return 0;
	t = timing_of(at);
	if (!t || !c)
		return 0;
	t->of = latency_turn(&c->timed[kind & 1]);
	now = (__u32)(bpf_ktime_get_ns() >> POISE_TICK_SHIFT) | 1; /* 0 says that nobody waits */
	t->at = at;
	t->t0 = now;
	t->ack = ack;
	s = slot_get(at);
	if (!s)
		return 0;
	head = ONCE(s->head);
	if (!__sync_bool_compare_and_swap(&s->head, head, head | POISE_SLOT_TIMED))
		return 0;
	l = latency_of(member);
	if (l && (!l->waits || now - l->waits > POISE_WAITS_TICKS))
		l->waits = now;
	return 0;
}

/* Averages go on by a sample of this kind. */
static __always_inline void latency_average(struct poise_latency *l, __u32 kind, __u32 ticks,
					    __u64 ns)
{
	__u64 *peak = &l->peak[kind & (POISE_SAMPLE_ROOM - 1)];
	__u64 *mean = &l->mean[kind & (POISE_SAMPLE_ROOM - 1)], was;
	__u32 age = ns >> POISE_AGE_SHIFT;

	for (int i = 0; i < LATENCY_TRIES; i++) {
		was = ONCE(*peak);
		if (__sync_bool_compare_and_swap(peak, was, poise_peak_next(was, ticks, age)))
			break;
	}
	for (int i = 0; i < LATENCY_TRIES; i++) {
		was = ONCE(*mean);
		if (__sync_bool_compare_and_swap(mean, was, poise_mean_next(was, ticks, age)))
			break;
	}
}

/* Notes a sample, which stands for so many requests. */
static __always_inline void latency_put(struct poise_latency *l, __u32 kind, __u32 ticks, __u32 of,
					__u64 ns)
{
	__u32 bucket = poise_latency_bucket(ticks);

	__sync_fetch_and_add(&l->samples[kind & (POISE_SAMPLE_ROOM - 1)], 1);
	BOUND(bucket, 0xff);
	if (kind == POISE_SAMPLE_REQUEST && bucket < POISE_LATENCY_BUCKETS)
		__sync_fetch_and_add(&l->requests[bucket], of);
	latency_average(l, kind, ticks, ns);
}

/* Is this what was waited for? If there is no answer to come it is, and brings nothing. */
static __always_inline bool latency_ends(const struct latency_tcp *tcp, const struct timing *t)
{
	if (tcp->flags & (TCP_RST | TCP_FIN))
		return true;
	return (__s32)(tcp->ack - t->ack) >= 0 && (tcp->payload || tcp->flags & TCP_SYN);
}

/* The time ends if this packet of a backend is what was waited for. */
__noinline int latency_close(struct xdp_md *ctx, __u32 at, __u32 headers)
{
	struct latency_tcp tcp = {};
	struct poise_slot *s = slot_get(at);
	struct timing *t = timing_of(at);
	struct poise_latency *l;
	__u64 head, ns;
	__u32 t0, of;

	if (!s || !t)
		return 0;
	head = ONCE(s->head);
	l = latency_of(POISE_WORD_MEMBER(head));
	if (!l || !(head & POISE_SLOT_TIMED))
		return 0;
	t0 = ONCE(t->t0);
	of = ONCE(t->of);
	if (ONCE(t->at) == at && headers & LATENCY_TCP &&
	    (!latency_read(ctx, headers, &tcp) || !latency_ends(&tcp, t)))
		return 0;
	if (!__sync_bool_compare_and_swap(&s->head, head, head & ~POISE_SLOT_TIMED) ||
	    ONCE(t->at) != at)
		return 0;
	l->waits = 0;
	if (tcp.flags & (TCP_RST | TCP_FIN) && !tcp.payload)
		return 0;
	ns = bpf_ktime_get_ns();
	latency_put(l, latency_kind(tcp.flags), (__u32)(ns >> POISE_TICK_SHIFT) - t0, of, ns);
	return 0;
}

#endif
