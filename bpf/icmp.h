/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors about what a service sent: they quote it, from its IP header on, at least 8 bytes of
 * its transport header. It went from the virtual address to the client, so its reverse is the flow,
 * and the error goes where the flow's packets go, in the same mode. It is no packet of the flow
 * though: it opens nothing, and no word changes for it.
 *
 * Whether the checksum is right, and the quoted sequence number in the window, is for the backend
 * to see, whose connection it is.
 */
#ifndef POISE_ICMP_H
#define POISE_ICMP_H

#include "find.h"

#define ICMP_HEADER 8
#define ICMP_QUOTED 8 /* bytes of the quoted transport header (RFC 792) */
/* Beyond every reason: of a service of mode nat (nat_icmp.h). */
#define ICMP_NAT (DROP_BIT | (POISE_REASON_SLOTS + 3))

/* Types of both families, as bits. */
#define ICMP4_ERRORS (1u << 3 | 1u << 11 | 1u << 12)	     /* unreachable, time, parameter */
#define ICMP6_ERRORS (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4) /* and too big */

/* The offset of the transport header that is quoted, its protocol in the high half; `at` is where
 * the quoted IP header begins. 0: it is none, or not of a first fragment. */
__noinline __u32 icmp_quote4(struct xdp_md *ctx, __u32 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip;

	BOUND(at, 0x7ff);
	ip = data + at;
	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
		return 0;
	if (ip->frag_off & bpf_htons(IP4_FRAGMENT_AFTER))
		return 0;
	return ip->protocol << 16 | (at + ip->ihl * 4);
}

__noinline __u32 icmp_quote6(struct xdp_md *ctx, __u32 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct fragment6 *f;
	struct ipv6hdr *ip;
	__u32 found;

	BOUND(at, 0x7ff);
	ip = data + at;
	if ((void *)(ip + 1) > end || ip->version != 6)
		return 0;
	found = parse_extensions(ctx, at + sizeof(*ip), ip->nexthdr);
	if (found >> 16 != IPPROTO_FRAGMENT)
		return found;
	at = found;
	BOUND(at, 0x7ff);
	f = data + at;
	if ((void *)(f + 1) > end || f->offset & bpf_htons(IP6_FRAGMENT_AFTER))
		return 0;
	return parse_extensions(ctx, at + sizeof(*f), f->next);
}

/* Who sent the packet that is quoted at `at`, and to whom; false if there is no whole header. */
static __always_inline bool icmp_ends(struct xdp_md *ctx, __u32 at, bool v6, union poise_addr *from,
				      union poise_addr *to)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	BOUND(at, 0x7ff);
	if (v6) {
		struct ipv6hdr *ip = data + at;

		if ((void *)(ip + 1) > end)
			return false;
		addr_copy(from, &ip->saddr);
		addr_copy(to, &ip->daddr);
	} else {
		struct iphdr *ip = data + at;

		if ((void *)(ip + 1) > end)
			return false;
		*from = (union poise_addr){.q = {0, addr_mapped(ip->saddr)}};
		*to = (union poise_addr){.q = {0, addr_mapped(ip->daddr)}};
	}
	return true;
}

static __always_inline bool icmp_same(const union poise_addr *a, const union poise_addr *b)
{
	return a->q[0] == b->q[0] && a->q[1] == b->q[1];
}

/* Does the header of an ICMP error begin at `at`? */
static __always_inline bool icmp_is_error(struct xdp_md *ctx, __u32 at, bool v6)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 errors = v6 ? ICMP6_ERRORS : ICMP4_ERRORS;
	__u8 *type;

	BOUND(at, 0x7ff);
	type = data + at;
	return (void *)(type + 1) <= end && *type <= 31 && errors >> *type & 1;
}

/* Makes p the packet that the flow's client would send: protocol and ports of the quote, reversed;
 * false if it quotes none. `at` is where the ICMP header begins. */
static __always_inline bool icmp_reverse(struct xdp_md *ctx, struct packet *p, __u32 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	union poise_addr from;
	__u32 found, ports;

	if (!icmp_is_error(ctx, at, p->v6))
		return false;
	at += ICMP_HEADER;
	found = p->v6 ? icmp_quote6(ctx, at) : icmp_quote4(ctx, at);
	p->proto = found >> 16;
	if (p->proto != IPPROTO_TCP && p->proto != IPPROTO_UDP)
		return false;
	if (!icmp_ends(ctx, at, p->v6, &from, &p->src) || !icmp_same(&from, &p->dst))
		return false;
	at = found;
	BOUND(at, 0x7ff);
	if (at + ICMP_QUOTED > (__u32)p->l3 + p->length || data + at + ICMP_QUOTED > end)
		return false;
	ports = *(__u32 *)(data + at);
	p->ports = ports >> 16 | ports << 16;
	return true;
}

/* Where the flow's packets go: by its word, else as one in the middle of the flow would. */
static __always_inline answer_t icmp_member(struct packet *p, struct poise_service_rec *rec)
{
	bool udp = p->proto == IPPROTO_UDP;
	struct poise_bucket *bucket;
	struct poise_member *m;
	__u32 member = 0;
	__u64 word = 0;
	struct flow f;

	choose_hash(p);
	f = find_flow(p, rec, 0);
	bucket = flow_bucket(f.hash);
	if (flow_find(bucket, poise_flow_tag(f.hash, udp), f.service, -1, &word) >= 0 ||
	    (poise_beside_buckets &&
	     flow_find(flow_bucket_beside(f.hash), poise_flow_tag(f.hash, udp), f.service, -1,
		       &word) >= 0))
		member = POISE_WORD_MEMBER(word);
	if (member_keeps(member_get(member), f.service, udp))
		return member;
	if (rec->track == POISE_TRACK_OFF)
		return table_choose(&f);
	member = table_base(rec, &f, table_entry(rec->table_at, rec->table_size, f.place));
	m = member_get(member);
	if (member_keeps(m, f.service, udp) && ONCE(m->nexthop))
		return member;
	return table_choose(&f);
}

/* Whom an ICMP packet whose header is at `at` goes to; 0: it is no error of ours. */
static __always_inline answer_t icmp_error(struct xdp_md *ctx, struct packet *p, __u32 at)
{
	struct poise_service_rec *rec;

	if (!icmp_reverse(ctx, p, at))
		return 0;
	rec = listener_find(p);
	if (!rec)
		return 0;
	if (rec->flags & POISE_S_LINKS)
		return ICMP_NAT;
	if (ranges_denied(p, rec))
		return DROP(SOURCE);
	return p->ttl <= 1 ? DROP(TTL) : icmp_member(p, rec);
}

#endif
