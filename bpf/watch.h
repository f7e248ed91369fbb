/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latencies in the modes where backends answer clients directly (l2, ipip, gue), so that only the
 * clients' packets are seen: one connection of a backend at a time is watched, from its SYN on. The
 * acknowledgement of the handshake shows the client's round trip; then comes a request, and the
 * first packet that acknowledges more than what the client had before says that it has the answer.
 * The time between the two, less that round trip, is the backend's.
 *
 * A client acknowledges at once what has two segments or more. An answer of one may wait for the
 * client to say something itself, 40 ms in Linux: that only ever adds, so of short answers the
 * least of some is taken. Which of the two it was shows by how much is acknowledged in the end.
 *
 * What is watched is a word of the member's line, which each packet reads anyway; notes are made by
 * few packets, and the clock is read by these. Connections are watched from the middle only where
 * none begins.
 */
#ifndef POISE_WATCH_H
#define POISE_WATCH_H

#include "latency.h"

#define WATCH_BITS    12
#define WATCH_SEGMENT 1460	 /* bytes: more than what one segment of Ethernet carries */
#define WATCH_SHORT   8		 /* answers that the least is taken of ... */
#define WATCH_SECOND  (1u << 20) /* ... in so many ticks; and who has no handshake waits as long */

/* How long a connection is watched that shows nothing, in ticks. */
#define WATCH_SHAKES 500000u /* a client far away, its SYN-ACK lost */
#define WATCH_OPENS  16000u  /* nearly all ask as soon as they can */
#define WATCH_ANSWER                                                                               \
	16000u /* or so many times the mean: another is watched, this one counts too               \
		*/
#define WATCH_TIMES 8
#define WATCH_MORE  4000u /* more of the answer */
#define WATCH_ASIDE                                                                                \
	16 /* while one is watched, one of so many others, or one a jiffy, asks if that is over */
#define WATCH_SEES 16 /* packets: who uploads costs no more than others */

enum watch_step {
	WATCH_SYN,
	WATCH_OPEN,
	WATCH_ASKED,
	WATCH_ANSWERED,
};

struct watch {
	__u32 member;
	__u32 step;
	__u32 since; /* ticks: of the SYN, the handshake, the request, the acknowledgement */
	__u32 trip;  /* ticks of the client's round trip; 0: not known */
	__u32 took;  /* ticks, once answered */
	__u32 ack;   /* what the client had when it asked */
	__u32 end;   /* of the request, in its sequence */
	__u16 seen;  /* packets */
	__u16 of;    /* requests that it stands for */
};

/* By member. Not pinned. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << WATCH_BITS);
	__type(key, __u32);
	__type(value, struct watch);
} watches SEC(".maps");

static __always_inline __u32 watch_tag(const struct packet *p)
{
	return (__u32)(p->hash >> 16) | 1; /* 0: nobody is watched */
}

/* Does this packet say something about what is watched, or may it be watched now? */
static __always_inline bool watch_sees(const struct packet *p, const struct poise_member *m,
				       __u32 member)
{
	struct poise_counter *c;
	__u32 since;

	if (LIKELY(!(m->flags & POISE_F_WATCHED)))
		return false;
	if (UNLIKELY(ONCE(m->watched) == watch_tag(p)))
		return true;
	if (!(p->tcp & (TCP_SYN | TCP_PSH)))
		return false;
	c = count_line(member);
	since = c ? latency_due(&c->timed[latency_kind(p->tcp)]) : 0;
	return since && (!ONCE(m->watched) || !(since % WATCH_ASIDE) ||
			 since <= (__u32)bpf_jiffies64() - c->timed[latency_kind(p->tcp)].jiffy);
}

/* A request has gone out, or more of it. */
static __always_inline void watch_asks(struct watch *w, struct poise_latency *l,
				       const struct latency_tcp *tcp, __u32 now)
{
	__u32 due = (now + w->trip) | 1; /* the way is not the backend's */

	if (w->step == WATCH_ASKED || !l->waits ||
	    (__s32)(now - l->waits) > (__s32)POISE_WAITS_TICKS)
		l->waits = due;
	w->step = WATCH_ASKED;
	w->since = now;
	w->ack = tcp->ack;
	w->end = tcp->seq + tcp->payload;
}

/* Of short answers the least of some counts; the first in a while does by itself. */
static __always_inline void watch_short(struct poise_latency *l, __u32 took, __u32 now, __u64 ns)
{
	__u64 mean = ONCE(l->mean[POISE_SAMPLE_SHORT]);

	__sync_fetch_and_add(&l->samples[POISE_SAMPLE_SHORT], 1);
	if (!l->least_of) {
		l->least = took;
		l->least_since = now;
	}
	l->least_of++;
	if (took < l->least)
		l->least = took;
	if (mean && (__u32)(ns >> POISE_AGE_SHIFT) - (__u32)mean < 1u << POISE_PEAK_HALF_SHIFT &&
	    l->least_of < WATCH_SHORT && now - l->least_since < WATCH_SECOND)
		return;
	latency_average(l, POISE_SAMPLE_SHORT, l->least, ns);
	l->least_of = 0;
}

/* It takes this long at least. */
static __always_inline void watch_gives_up(const struct watch *w, struct poise_latency *l,
					   __u32 now, __u64 ns)
{
	__u32 waited = now - w->since - w->trip;

	if ((__s32)waited > 0)
		latency_average(l,
				l->mean[POISE_SAMPLE_REQUEST] ? POISE_SAMPLE_REQUEST
							      : POISE_SAMPLE_SHORT,
				waited, ns);
}

/* Has the connection that is watched shown nothing for too long? */
static __always_inline bool watch_yields(const struct watch *w, struct poise_latency *l, __u32 now,
					 __u64 ns)
{
	__u32 age = now - w->since, most = WATCH_ANSWER;
	__u32 mean = POISE_MEAN_TICKS(l->mean[POISE_SAMPLE_REQUEST] ?: l->mean[POISE_SAMPLE_SHORT]);

	switch (w->step) {
	case WATCH_SYN: return age > WATCH_SHAKES;
	case WATCH_OPEN: return age > WATCH_OPENS;
	case WATCH_ASKED:
		if (!mean)
			most = WATCH_SECOND;
		else if (mean > most / WATCH_TIMES)
			most = mean * WATCH_TIMES;
		if (age <= most + w->trip)
			return false;
		watch_gives_up(w, l, now, ns);
		return true;
	default:
		if (age <= WATCH_MORE)
			return false;
		watch_short(l, w->took, now, ns);
		return true;
	}
}

/* Does this packet say which kind of answer it was that took so long? Then it counts. */
static __always_inline bool watch_tells(const struct watch *w, struct poise_latency *l,
					const struct latency_tcp *tcp, __u32 now, __u64 ns)
{
	if (tcp->ack - w->ack > WATCH_SEGMENT)
		latency_put(l, POISE_SAMPLE_REQUEST, w->took, w->of, ns);
	else if (tcp->payload || tcp->flags & (TCP_FIN | TCP_RST))
		watch_short(l, w->took, now, ns);
	else
		return false;
	return true;
}

/* The client has the first of the answer. True: that is all there is to know. */
static __always_inline bool watch_answered(struct watch *w, struct poise_latency *l,
					   const struct latency_tcp *tcp, __u32 now, __u64 ns)
{
	__u32 took = now - w->since - w->trip;

	w->took = (__s32)took > 0 ? took : 0;
	w->step = WATCH_ANSWERED;
	w->since = now;
	l->waits = 0;
	return watch_tells(w, l, tcp, now, ns);
}

/* A packet of the connection that is watched. True: it need be no longer. */
static __always_inline bool watch_goes_on(struct watch *w, struct poise_latency *l,
					  const struct latency_tcp *tcp, __u32 now, __u64 ns)
{
	switch (w->step) {
	case WATCH_SYN:
		if (tcp->flags & (TCP_SYN | TCP_RST)) /* of which of two is what comes? */
			return true;
		w->trip = (now - w->since) | 1;
		w->step = WATCH_OPEN;
		w->since = now;
		l->known = now | 1;
		/* fall through */
	case WATCH_OPEN:
		if (tcp->payload && tcp->flags & TCP_PSH)
			watch_asks(w, l, tcp, now);
		return !tcp->payload && tcp->flags & (TCP_FIN | TCP_RST);
	case WATCH_ASKED:
		if ((__s32)(tcp->ack - w->ack) > 0)
			return watch_answered(w, l, tcp, now, ns);
		if (tcp->flags & TCP_RST)
			watch_gives_up(w, l, now, ns);
		else if (tcp->payload && (__s32)(tcp->seq + tcp->payload - w->end) > 0)
			watch_asks(w, l, tcp, now);
		return tcp->flags & TCP_RST;
	default: return watch_tells(w, l, tcp, now, ns);
	}
}

/* Is it watched from now on? */
static __always_inline void watch_begins(struct poise_member *m, struct watch *w,
					 struct poise_latency *l, const struct latency_tcp *tcp,
					 __u32 member, __u32 tag, __u32 now, __u64 ns)
{
	struct poise_counter *c = count_line(member);
	__u32 was = ONCE(m->watched);
	bool syn = tcp->flags & TCP_SYN;

	if (!c)
		return;
	if (!syn && (!tcp->payload || (l->known && now - l->known < WATCH_SECOND)))
		return;
	if (was && w->member == member && !watch_yields(w, l, now, ns))
		return;
	if (!__sync_bool_compare_and_swap(&m->watched, was, tag))
		return;
	l->by_client = 1;
	w->member = member;
	w->step = WATCH_SYN;
	w->since = now;
	w->trip = 0;
	w->seen = 0;
	w->of = latency_turn(&c->timed[latency_kind(tcp->flags)]);
	if (!syn)
		watch_asks(w, l, tcp, now);
}

/* One more packet of it was looked at. True: enough. */
static __always_inline bool watch_tires(struct watch *w, struct poise_latency *l)
{
	if (++w->seen < WATCH_SEES)
		return false;
	if (w->step == WATCH_ASKED) /* it is not done asking */
		l->waits = 0;
	return true;
}

/* Looks at a packet that watch_sees. */
__noinline int watch(struct xdp_md *ctx, __u32 member, __u32 tag, __u32 headers)
{
	__u32 place = member & ((1 << WATCH_BITS) - 1), now;
	struct watch *w = bpf_map_lookup_elem(&watches, &place);
	struct poise_latency *l = latency_of(member);
	struct poise_member *m = member_get(member);
	struct latency_tcp tcp = {};
	__u64 ns;

	if (!w || !l || !m || !(headers & LATENCY_TCP) || !latency_read(ctx, headers, &tcp))
		return 0;
	ns = bpf_ktime_get_ns();
	now = ns >> POISE_TICK_SHIFT;
	if (ONCE(m->watched) != tag)
		watch_begins(m, w, l, &tcp, member, tag, now, ns);
	else if (w->member != member || watch_goes_on(w, l, &tcp, now, ns) || watch_tires(w, l))
		m->watched = 0;
	return 0;
}

#endif
