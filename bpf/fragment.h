/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments: all of a datagram go to one backend, in whatever order they come. Only the first has
 * ports. It finds its flow as a whole packet does, and leaves a word in the table of fragments
 * (maps/abi.h) for those that follow; so does the first of a datagram that is the host's own, where
 * an address is shared with services.
 *
 * A later one that comes before the first has to guess, and writes down what it guessed: the
 * backend of the latest first fragment from this client, else, of UDP and if all listeners of the
 * address belong to one service, what the client's affinity or that service's table says to
 * addresses alone. A first
 * fragment of UDP then follows the guess. One of TCP never does: the wrong backend would reset the
 * connection; there a wrong guess costs the segment, which is sent again. Who cannot guess is
 * dropped and counted.
 *
 * A word is found in its bucket or goes into the first slot that is free or over, so that two CPUs
 * with fragments of one datagram want the same slot, and the one that loses it takes over what the
 * other wrote. That holds because slots never become free again.
 */
#ifndef POISE_FRAGMENT_H
#define POISE_FRAGMENT_H

#include "find.h"

#define FRAGMENT_TRIES 4
/* Beyond every reason: */
#define FRAGMENT_FIRST (DROP_BIT | (POISE_REASON_SLOTS + 1)) /* ask fragment_first */
#define FRAGMENT_NONE  (DROP_BIT | (POISE_REASON_SLOTS + 2)) /* it is whole */
#define FRAGMENT_NAT   (DROP_BIT | (POISE_REASON_SLOTS + 3)) /* it is mode nat's */
/* A word so young belongs to a datagram that may be on its way: it is not given up for another. */
#define FRAGMENT_YOUNG 2 /* seconds */

/* What of a datagram a fragment is. */
struct piece {
	__u64 datagram; /* hash of addresses, protocol and number */
	__u32 l4;	/* where what it carries begins */
	bool first;
	bool last;
};

/* Whose eyes look for a datagram's word. */
enum fragment_look {
	LOOK_ONLY,
	LOOK_LATER,
	LOOK_LAST,
};

/* How a datagram is remembered. */
enum fragment_how {
	BY_GUESS,
	BY_FIRST,	   /* against whatever stands there */
	BY_FIRST_OR_GUESS, /* unless somebody guessed */
};

static __always_inline bool fragment_read4(struct xdp_md *ctx, struct packet *p, __u32 l4,
					   struct piece *f)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l3 = p->l3;
	struct iphdr *ip;

	BOUND(l3, 0x1f);
	ip = data + l3;
	if ((void *)(ip + 1) > end || !(ip->frag_off & bpf_htons(IP4_FRAGMENT)))
		return false;
	f->first = !(ip->frag_off & bpf_htons(IP4_FRAGMENT_AFTER));
	f->last = !(ip->frag_off & bpf_htons(IP4_FRAGMENT_MORE));
	f->l4 = l4;
	f->datagram = poise_flow_hash(&p->src, &p->dst, ip->id, p->proto, poise_key0, poise_key1);
	return true;
}

/* p->proto becomes that of what it carries; 0 if a later fragment does not say it. */
static __always_inline bool fragment_read6(struct xdp_md *ctx, struct packet *p, __u32 l4,
					   struct piece *f)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct fragment6 *header;
	__u32 found;

	if (p->proto != IPPROTO_FRAGMENT)
		return false;
	BOUND(l4, 0x7ff);
	header = data + l4;
	if ((void *)(header + 1) > end)
		return false;
	f->first = !(header->offset & bpf_htons(IP6_FRAGMENT_AFTER));
	f->last = !(header->offset & bpf_htons(IP6_FRAGMENT_MORE));
	f->datagram = poise_flow_hash(&p->src, &p->dst, header->id, 0, poise_key0, poise_key1);
	p->proto = header->next;
	if (!f->first && (p->proto == IPPROTO_HOPOPTS || p->proto == IPPROTO_DSTOPTS ||
			  p->proto == IPPROTO_ROUTING))
		p->proto = 0;
	if (!f->first)
		return true;
	found = parse_extensions(ctx, l4 + sizeof(*header), p->proto);
	p->proto = found >> 16;
	f->l4 = found & 0x7ff;
	return true;
}

/* True if p is a fragment. */
static __always_inline bool fragment_read(struct xdp_md *ctx, struct packet *p, __u32 l4,
					  struct piece *f)
{
	return p->v6 ? fragment_read6(ctx, p, l4, f) : fragment_read4(ctx, p, l4, f);
}

/* ---- the table --------------------------------------------------------------------------------*/

static __always_inline struct poise_bucket *fragment_bucket(__u64 datagram)
{
	__u32 at = datagram & (POISE_FRAGMENT_BUCKETS - 1);

	return bpf_map_lookup_elem(&fragments, &at);
}

static __always_inline __u32 fragment_tag(__u64 datagram)
{
	return datagram >> 32;
}

static __always_inline bool fragment_over(__u64 word, __u32 seconds)
{
	return !word || stamp_expired(word, POISE_FRAGMENT_SECONDS, seconds);
}

/* The datagram's word; 0: there is none. What comes after the last fragment may be straggling, or
 * of another datagram of that number, whose first is still to come: it guesses the same backend. */
__noinline __u64 fragment_get(__u64 datagram, __u32 seconds, int look)
{
	struct poise_bucket *b = fragment_bucket(datagram);
	__u32 state = POISE_FRAGMENT_GUESS;

	if (!b)
		return 0;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		__u64 w = ONCE(b->word[i]), word;

		if (POISE_WORD_TAG(w) != fragment_tag(datagram) || fragment_over(w, seconds))
			continue;
		if (look == LOOK_LAST && POISE_WORD_STATE(w) == POISE_FRAGMENT_FIRST)
			state = POISE_FRAGMENT_ENDED;
		else if (look == LOOK_ONLY || POISE_WORD_STATE(w) != POISE_FRAGMENT_ENDED)
			return w;
		word = flow_word(fragment_tag(datagram), POISE_WORD_MEMBER(w),
				 stamp_low(state, POISE_FRAGMENT_SECONDS, seconds));
		__sync_bool_compare_and_swap(&b->word[i], w, word);
		return word;
	}
	return 0;
}

/* The datagram's slot and what it holds; else where it belongs: the first that is over, or the
 * oldest; -1 if all are young. */
__noinline int fragment_slot(struct poise_bucket *b, __u32 tag, __u32 seconds, __u64 *old)
{
	__u32 oldest = FRAGMENT_YOUNG - 1;
	int free = -1, slot = -1;

	if (!b || !old)
		return -1;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		__u64 w = ONCE(b->word[i]);

		if (fragment_over(w, seconds)) {
			if (free >= 0)
				continue;
			free = i;
			*old = w;
		} else if (POISE_WORD_TAG(w) == tag) {
			*old = w;
			return i;
		} else if (free < 0 && stamp_age(w, seconds) > oldest) {
			oldest = stamp_age(w, seconds);
			slot = i;
			*old = w;
		}
	}
	return free >= 0 ? free : slot;
}

/* Can fragments go to this member of this service (0: of any)? */
__noinline int fragment_serves(__u32 member, __u32 service, int udp)
{
	struct poise_member *m = member_get(member);

	return m && m->service && member_keeps(m, service ? service : m->service, udp) &&
	       ONCE(m->nexthop);
}

/* Remembers where a datagram goes, unless others were quicker: where it goes then. */
__noinline __u32 fragment_put(__u64 datagram, __u32 member, __u32 service, int how, __u32 seconds)
{
	struct poise_bucket *b = fragment_bucket(datagram);
	__u32 tag = fragment_tag(datagram);
	__u32 state = how == BY_GUESS ? POISE_FRAGMENT_GUESS : POISE_FRAGMENT_FIRST;

	for (int i = 0; b && i < FRAGMENT_TRIES; i++) {
		__u64 old = 0, word;
		int slot = fragment_slot(b, tag, seconds, &old);
		bool found = !fragment_over(old, seconds) && POISE_WORD_TAG(old) == tag;

		if (slot < 0)
			break;
		if (found && how == BY_GUESS)
			return POISE_WORD_MEMBER(old);
		if (found && how == BY_FIRST_OR_GUESS &&
		    POISE_WORD_STATE(old) == POISE_FRAGMENT_GUESS &&
		    fragment_serves(POISE_WORD_MEMBER(old), service, true))
			return POISE_WORD_MEMBER(old);
		word = flow_word(tag, member, stamp_low(state, POISE_FRAGMENT_SECONDS, seconds));
		if (word == old || __sync_bool_compare_and_swap(&b->word[slot & 7], old, word))
			return member;
	}
	count_reason(service, POISE_R_UNRECORDED);
	return member;
}

/* ---- the way ----------------------------------------------------------------------------------*/

/* What stands for the latest first fragment of this client: a datagram that has no number. */
static __always_inline __u64 fragment_latest(const struct packet *p)
{
	return poise_flow_hash(&p->src, &p->dst, 0, p->proto | POISE_PROTO_HOST, poise_key0,
			       poise_key1);
}

/* Where a fragment without ports may belong. */
static __always_inline __u32 fragment_host(const struct packet *p)
{
	__u32 host;

	if (p->proto)
		return listener_host(p, p->proto);
	host = listener_host(p, IPPROTO_UDP);
	return host ? host : listener_host(p, IPPROTO_TCP);
}

/* Whom a first fragment goes to: the packet of a flow as any other, then remembered. */
static __always_inline answer_t fragment_first(struct xdp_md *ctx, struct packet *p,
					       const struct piece *f)
{
	bool udp = p->proto == IPPROTO_UDP;
	struct poise_service_rec *rec;
	__u32 l4 = f->l4;
	answer_t member;

	BOUND(l4, 0x7ff);
	if (!parse_l4(ctx, p, l4, p->l3 + p->length - l4))
		return DROP(FRAGMENT);
	rec = listener_find(p);
	if (!rec) {
		fragment_put(f->datagram, 0, 0, BY_FIRST, stamp_seconds());
		return 0;
	}
	if (p->ttl <= 1)
		return DROP(TTL);
	if (rec->flags & POISE_S_LINKS)
		return FRAGMENT_NAT;
	choose_hash(p);
	member = find(NULL, p, rec);
	if (IS_DROP(member))
		return member;
	member = fragment_put(f->datagram, member, p->service, udp ? BY_FIRST_OR_GUESS : BY_FIRST,
			      stamp_seconds());
	fragment_put(fragment_latest(p), member, p->service, BY_FIRST, stamp_seconds());
	return member;
}

/* Whom a later fragment that came before the first goes to. */
static __always_inline answer_t fragment_guess(struct packet *p, __u32 service)
{
	__u32 latest =
		POISE_WORD_MEMBER(fragment_get(fragment_latest(p), stamp_seconds(), LOOK_ONLY));
	struct poise_service_rec *rec;
	struct flow flow;

	if (fragment_serves(latest, service, p->proto != IPPROTO_TCP))
		return latest;
	if (p->proto != IPPROTO_UDP || !service)
		return DROP(FRAGMENT);
	rec = listener_record(p, service);
	if (!rec)
		return 0;
	if (rec->flags & POISE_S_LINKS) /* only the first has what its flow goes by */
		return DROP(FRAGMENT);
	p->ports = 0;
	choose_hash(p);
	flow = find_flow(p, rec, stamp_seconds());
	latest = rec->affinity ? affinity_get(&flow) : 0;
	return latest ? latest : table_choose(&flow);
}

/* Whether the client is denied by this service, which then counts it. */
static __always_inline bool fragment_denied(struct packet *p, __u32 service)
{
	struct poise_service_rec *rec = listener_record(p, service);

	return rec && ranges_denied(p, rec);
}

static __always_inline answer_t fragment_later(struct packet *p, const struct piece *f,
					       __u32 service)
{
	__u64 word = fragment_get(f->datagram, stamp_seconds(), f->last ? LOOK_LAST : LOOK_LATER);
	__u32 member = POISE_WORD_MEMBER(word);
	answer_t guess;

	if (word && !member)
		return 0;
	if (service && fragment_denied(p, service))
		return DROP(SOURCE);
	if (fragment_serves(member, service, p->proto != IPPROTO_TCP))
		return member;
	guess = fragment_guess(p, service);
	if (!guess || IS_DROP(guess))
		return guess;
	count_reason(service, POISE_R_FRAGMENT_GUESS);
	return fragment_put(f->datagram, guess, service, BY_GUESS, stamp_seconds());
}

/* Whom a fragment goes to; 0: it is the host's; or FRAGMENT_FIRST. */
static __always_inline answer_t fragment(struct packet *p, const struct piece *f)
{
	struct poise_member *m;
	answer_t answer;
	__u32 host;

	if (p->proto && p->proto != IPPROTO_TCP && p->proto != IPPROTO_UDP)
		return 0;
	host = fragment_host(p);
	if (!host || f->first)
		return host ? FRAGMENT_FIRST : 0;
	if (host == POISE_HOST_SHARED)
		host = 0;
	p->service = host;
	answer = fragment_later(p, f, host);
	if (host || !answer || IS_DROP(answer))
		return answer;
	/* of several services here, the one it goes to decides */
	m = member_get(answer);
	return m && fragment_denied(p, m->service) ? DROP(SOURCE) : answer;
}

#endif
