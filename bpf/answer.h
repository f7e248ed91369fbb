/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is not forwarded, and whose sender can do something about it, is answered: it goes back
 * where it came from, by the device and with the tags it came with, from the address it was sent
 * to. A connection that no backend can take, or that nobody listens for, is reset, a datagram
 * unreachable; what has no hop left or is too big gets the ICMP error that says so (answer_tcp.h,
 * answer_icmp.h).
 *
 * Never answered: a reset, ICMP (so no ICMP error), a fragment (but that it is too big, which only
 * the sender can help: of IPv4 the first, of IPv6 any), a source that is no single host's address
 * (RFC 1122, 3.2.2; RFC 4443, 2.4), and what exceeds the limit.
 * Whether a source is its network's broadcast address nobody here can know.
 *
 * The mid-flow packet of a flow that we have no record of is not reset either: another balancer,
 * or a backend that comes back, may know it. One that we do know, of a backend that is down, is if
 * its service wants that (on-down reset); and a backend that goes on with a connection whose port
 * is another's by now is, as its client would do that got such an answer to its SYN (RFC
 * 9293, 3.5.2).
 */
#ifndef POISE_ANSWER_H
#define POISE_ANSWER_H

#include "answer_icmp.h"
#include "answer_tcp.h"
#include "count.h"
#include "ranges.h"

static __always_inline bool answer_read_ip4(struct xdp_md *ctx, struct asked *a)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l3 = a->l3;
	struct iphdr *ip;

	BOUND(l3, ASKED_L3);
	ip = data + l3;
	if ((void *)(ip + 1) > end || ip->frag_off & bpf_htons(IP4_FRAGMENT_AFTER))
		return false;
	a->fragment = !!(ip->frag_off & bpf_htons(IP4_FRAGMENT));
	a->l4 = l3 + ip->ihl * 4;
	a->proto = ip->protocol;
	a->df = !!(ip->frag_off & bpf_htons(IP4_DF));
	a->src.w[3] = ip->saddr;
	a->dst.w[3] = ip->daddr;
	return asked_by_host(a);
}

static __always_inline bool answer_read_ip6(struct xdp_md *ctx, struct asked *a)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l3 = a->l3, found;
	struct ipv6hdr *ip;

	BOUND(l3, ASKED_L3);
	ip = data + l3;
	if ((void *)(ip + 1) > end)
		return false;
	found = parse_extensions(ctx, l3 + sizeof(*ip), ip->nexthdr);
	a->v6 = 1;
	a->l4 = found & 0xffff;
	a->proto = found >> 16;
	a->fragment = a->proto == IPPROTO_FRAGMENT;
	addr_copy(&a->src, &ip->saddr);
	addr_copy(&a->dst, &ip->daddr);
	return asked_by_host(a);
}

/* Other protocols than TCP and UDP, which only an address as such can refuse: all but ICMP. In
 * IPv6 the error points at the number that is not known: we know where that is if the header is the
 * first. */
static __always_inline bool answer_other(const struct asked *a)
{
	if (a->proto == IPPROTO_ICMP || a->proto == IPPROTO_ICMPV6)
		return false;
	return !a->v6 || a->l4 == a->l3 + (__u32)sizeof(struct ipv6hdr);
}

static __always_inline bool answer_read_l4(struct xdp_md *ctx, struct asked *a, __u32 reason)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l4 = a->l4, header;
	struct tcphdr *tcp;

	if (a->proto == IPPROTO_UDP)
		return true;
	if (a->proto != IPPROTO_TCP)
		return reason == POISE_R_NO_LISTENER && answer_other(a);
	BOUND(l4, ASKED_L4);
	tcp = data + l4;
	if ((void *)(tcp + 1) > end)
		return false;
	header = tcp->doff * 4;
	a->ports = *(__u32 *)tcp;
	a->flags = ((__u8 *)tcp)[13];
	a->seq = bpf_ntohl(tcp->seq);
	a->ack = tcp->ack_seq;
	a->payload = (__s32)a->length - (__s32)(l4 - a->l3) - (__s32)header;
	return header >= sizeof(*tcp) && a->payload >= 0 && !(a->flags & TCP_RST);
}

/* Reads the packet again: the fast path keeps nothing for us. False: not to be answered. */
static __always_inline bool answer_read_ip(struct xdp_md *ctx, struct asked *a)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l3 = a->l3;
	__u8 *first;

	BOUND(l3, ASKED_L3);
	first = data + l3;
	if ((void *)(first + 1) > end)
		return false;
	return *first >> 4 == 4 ? answer_read_ip4(ctx, a) : answer_read_ip6(ctx, a);
}

/* Does the record in force of a service have this flag (POISE_S_*)? */
static __always_inline bool answer_flag(__u32 service, __u8 flag)
{
	struct poise_service *s = bpf_map_lookup_elem(&services, &service);

	return s && s->rec[ONCE(s->active) & 1].flags & flag;
}

/* A reset to whoever begins a connection, an ICMP error for a datagram. */
static __always_inline enum limit_kind answer_refusal(const struct asked *a)
{
	if (a->proto == IPPROTO_UDP)
		return LIMIT_ICMP;
	return a->flags & TCP_SYN ? LIMIT_RST : LIMIT_KINDS;
}

/* LIMIT_KINDS: none. */
static __always_inline enum limit_kind answer_kind(const struct asked *a, __u32 reason,
						   __u32 service)
{
	/* What is translated is never cut in two. */
	if (reason == POISE_R_TOO_BIG)
		return a->v6 || a->df || answer_flag(service, POISE_S_LINKS) ? LIMIT_ICMP
									     : LIMIT_KINDS;
	if (a->fragment)
		return LIMIT_KINDS;
	switch (reason) {
	case POISE_R_TTL: return LIMIT_ICMP;
	case POISE_R_NO_BACKEND:
		return answer_flag(service, POISE_S_SILENT) ? LIMIT_KINDS : answer_refusal(a);
	case POISE_R_FULL:
	case POISE_R_RATE:
	case POISE_R_NO_PORT: return answer_refusal(a);
	case POISE_R_DOWN:
	case POISE_R_PORT_BUSY: return LIMIT_RST;
	case POISE_R_NO_LISTENER: return a->proto == IPPROTO_TCP ? LIMIT_RST : LIMIT_ICMP;
	}
	return LIMIT_KINDS;
}

/* Whether the service denies who asks. Asked where hops end before ranges are looked at; all else
 * that is answered for a service comes after. */
static __always_inline bool answer_denied(const struct asked *a, __u32 service)
{
	struct poise_service *s = bpf_map_lookup_elem(&services, &service);
	__u32 copy = s ? ONCE(s->active) & 1 : 0;

	if (!s || !(s->rec[copy].flags & POISE_S_RANGES))
		return false;
	if (a->v6)
		return ranges_deny(service, copy, a->src.q[0], a->src.q[1]);
	return ranges_deny(service, copy, 0, addr_mapped(a->src.w[3]));
}

/* Counts why a packet is not forwarded and answers it if that is due; XDP_*. where: ASKED(). */
__noinline int answer(struct xdp_md *ctx, __u32 service, answer_t why, __u32 where)
{
	struct asked a = {.l3 = where & ASKED_L3, .length = where >> 16};
	__u32 reason = DROP_REASON(why);
	bool read = answer_read_ip(ctx, &a);
	enum limit_kind kind;

	if (reason == POISE_R_TTL && read && answer_denied(&a, service))
		reason = POISE_R_SOURCE;
	count_reason(service, reason);
	if (!read || (!a.fragment && !answer_read_l4(ctx, &a, reason)))
		return XDP_DROP;
	kind = answer_kind(&a, reason, service);
	if (kind == LIMIT_KINDS)
		return XDP_DROP;
	if (!limit_take(kind, asked_source(&a))) {
		count_reason(service, POISE_R_ANSWER_LIMITED);
		return XDP_DROP;
	}
	if (kind == LIMIT_RST ? answer_tcp(ctx, &a) : answer_icmp(ctx, &a, why))
		return XDP_DROP;
	count_reason(service, kind == LIMIT_RST ? POISE_R_ANSWERED_RST : POISE_R_ANSWERED_ICMP);
	return XDP_TX;
}

#endif
