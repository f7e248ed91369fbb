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
#include "forward.h"

#define ICMP_HEADER	   8
#define ICMP_QUOTED	   8	  /* bytes of the quoted transport header (RFC 792) */
#define IP4_FRAGMENT_AFTER 0x1fff /* its offset: not the first fragment */
#define IP6_FRAGMENT_AFTER 0xfff8

/* Types of both families, as bits. */
#define ICMP4_ERRORS (1u << 3 | 1u << 11 | 1u << 12)	     /* unreachable, time, parameter */
#define ICMP6_ERRORS (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4) /* and too big */

struct fragment6 {
	__u8 next;
	__u8 reserved;
	__be16 offset; /* in bytes; bit 0: more to come */
	__be32 id;
};

/* The offset of the quoted packet's transport header, its protocol in the high half, and the client
 * in p->src; 0: the packet was not sent by p->dst, or is no first fragment. */
static __always_inline __u32 icmp_quote4(struct xdp_md *ctx, struct packet *p, __u32 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = data + at;

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
		return 0;
	if (ip->frag_off & bpf_htons(IP4_FRAGMENT_AFTER) || ip->saddr != p->dst.w[3])
		return 0;
	p->src.q[1] = addr_mapped(ip->daddr);
	return ip->protocol << 16 | (at + ip->ihl * 4);
}

static __always_inline __u32 icmp_quote6(struct xdp_md *ctx, struct packet *p, __u32 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv6hdr *ip = data + at;
	union poise_addr from;
	struct fragment6 *f;
	__u32 found;

	if ((void *)(ip + 1) > end || ip->version != 6)
		return 0;
	addr_copy(&from, &ip->saddr);
	if (from.q[0] != p->dst.q[0] || from.q[1] != p->dst.q[1])
		return 0;
	addr_copy(&p->src, &ip->daddr);
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

/* Makes p the packet that the flow's client would send: protocol and ports of the quote, reversed;
 * false if it quotes none. `at` is where the ICMP header begins. */
static __always_inline bool icmp_reverse(struct xdp_md *ctx, struct packet *p, __u32 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 errors = p->v6 ? ICMP6_ERRORS : ICMP4_ERRORS, found, ports;
	__u8 *type;

	BOUND(at, 0x7ff);
	type = data + at;
	if ((void *)(type + 1) > end || *type > 31 || !(errors >> *type & 1))
		return false;
	at += ICMP_HEADER;
	found = p->v6 ? icmp_quote6(ctx, p, at) : icmp_quote4(ctx, p, at);
	p->proto = found >> 16;
	if (p->proto != IPPROTO_TCP && p->proto != IPPROTO_UDP)
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

	choose_hashes(p, rec);
	f = find_flow(p, rec, 0);
	bucket = flow_bucket(f.hash);
	if (flow_find(bucket, poise_flow_tag(f.hash, udp), f.service, -1, &word) >= 0)
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

/* The verdict on an ICMP packet whose header is at `at`. */
static __always_inline int icmp_error(struct xdp_md *ctx, struct packet *p, __u32 at)
{
	struct poise_service_rec *rec;
	answer_t member;
	int verdict;

	if (!icmp_reverse(ctx, p, at))
		return XDP_PASS;
	rec = listener_find(p);
	if (!rec)
		return XDP_PASS;
	if (p->ttl <= 1)
		return drop(p->service, DROP(TTL));
	member = icmp_member(p, rec);
	if (IS_DROP(member))
		return drop(p->service, member);
	verdict = forward(ctx, p, member, false);
	if (verdict != XDP_DROP)
		count_reason(p->service, POISE_R_ICMP_ERROR);
	return verdict;
}

#endif
