/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP errors about our own outer packets, from routers between us and a backend: they come to the
 * outer source and quote the outer header. Behind it, if the router quotes more than the 8 bytes of
 * RFC 792, stands the client's packet; and what is said of ours is said to the client of its own
 * (RFC 2003, section 4; RFC 2473, section 8):
 *
 *   too big                              too big: what would pass, less what we put around it
 *   unreachable, time exceeded           the host (IPv6: the address) is unreachable
 *
 * An error is about a packet of ours if that held one for a listener, and went to its flow's
 * backend, in that one's mode, from the source of its path. Those of the host's own tunnels pass
 * untouched.
 *
 * Left to the host, though ours, and counted: what the backend itself says, that it has no such
 * protocol or port, which is nothing that a client can help; parameter problems, for no client
 * wrote what they point to; too big for a client that does not ask to be told (no DF); and quotes
 * that are too short. Of UDP those are not even counted: they may be about any packet of the host.
 *
 * The answer goes out by the way that the error came: the router knows it, for it takes the
 * backends' answers to the same clients.
 */
#ifndef POISE_RELAY_H
#define POISE_RELAY_H

#include "answer_icmp.h"
#include "forward.h"
#include "icmp.h"

#define RELAY_MTU_UNKNOWN 576 /* of routers that do not say (RFC 1191, section 5) */
#define RELAY_BYTES	  (ERROR_SUM_WORDS * 4) /* of an ICMP message whose sum can be looked at */
#define RELAY_SHORT	  0xffffffffu		/* no member: the quote ends too early */

/* An error, and what it quotes: offsets. */
struct relay {
	__u32 l3;    /* of the error itself */
	__u32 error; /* the ICMP header */
	__u32 inner; /* the client's packet */
	__u32 end;   /* of the quote */
	__u8 v6;     /* the error's, and of what it quotes; not of the client's packet */
	__u8 proto;  /* of what the outer header is in front of */
	__u16 spare;
	__u32 member;
	answer_t why; /* what the client is told; 0: nothing */
};

/* What type and code of an error are to the client: POISE_R_TOO_BIG, POISE_R_NO_NEXT_HOP for
 * unreachable, or POISE_R_COUNT: nothing. */
static __always_inline __u32 relay_reason(__u8 type, __u8 code, bool v6)
{
	if (v6) {
		if (type == 2)
			return POISE_R_TOO_BIG;
		return type == 1 || (type == 3 && !code) ? POISE_R_NO_NEXT_HOP : POISE_R_COUNT;
	}
	if (type == 3 && code == 4)
		return POISE_R_TOO_BIG;
	/* A source route is none of ours to have failed (code 5). */
	return (type == 3 && code != 5) || (type == 11 && !code) ? POISE_R_NO_NEXT_HOP
								 : POISE_R_COUNT;
}

/* Bytes that the packet had which is quoted at `at`. */
static __always_inline __u32 relay_quoted_length(void *at, void *end, bool v6)
{
	struct ipv6hdr *ip6 = at;
	struct iphdr *ip = at;

	if (v6)
		return (void *)(ip6 + 1) > end ? 0 : sizeof(*ip6) + bpf_ntohs(ip6->payload_len);
	return (void *)(ip + 1) > end ? 0 : bpf_ntohs(ip->tot_len);
}

/* What the client is to be told, by the error alone. */
static __always_inline answer_t relay_why(struct xdp_md *ctx, const struct relay *r)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 error = r->error, inner = r->inner, mtu, reason, extra;
	struct answer_error *e;
	struct iphdr *ip;

	BOUND(error, 0x7f);
	BOUND(inner, 0x7ff);
	e = data + error;
	ip = data + inner;
	if ((void *)(e + 1) > end || (void *)(ip + 1) > end)
		return 0;
	reason = relay_reason(*(__u8 *)e, ((__u8 *)e)[1], r->v6);
	if (reason != POISE_R_TOO_BIG)
		return reason == POISE_R_COUNT ? 0 : DROP_BIT | reason;
	if (ip->version == 4 && !(ip->frag_off & bpf_htons(IP4_DF)))
		return 0;
	mtu = bpf_ntohl(e->rest);
	if (!r->v6)
		mtu = (mtu & 0xffff) ?: RELAY_MTU_UNKNOWN;
	/* Whoever calls a packet too big for what it would fit into says nothing. */
	if (mtu >= relay_quoted_length(e + 1, end, r->v6))
		return 0;
	extra = inner - error - sizeof(*e);
	return DROP_TOO_BIG(mtu > extra ? mtu - extra : 0);
}

/* Is what begins at `at` an IPv6 packet? */
static __always_inline bool relay_is6(struct xdp_md *ctx, __u32 at)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u8 *first;

	BOUND(at, 0x7ff);
	first = data + at;
	return (void *)(first + 1) <= end && *first >> 4 == 6;
}

/* The member that the flow of the client's packet, which is quoted from `at` on, goes to; 0: it is
 * for no service. */
__noinline __u32 relay_member(struct xdp_md *ctx, __u32 at, __u32 quoted)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct poise_service_rec *rec;
	struct packet p = {};
	__u32 found, l4;

	p.v6 = relay_is6(ctx, at);
	if (at + (p.v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) + ICMP_QUOTED > quoted)
		return RELAY_SHORT;
	found = p.v6 ? icmp_quote6(ctx, at) : icmp_quote4(ctx, at);
	p.proto = found >> 16;
	if ((p.proto != IPPROTO_TCP && p.proto != IPPROTO_UDP) ||
	    !icmp_ends(ctx, at, p.v6, &p.src, &p.dst))
		return 0;
	l4 = found;
	BOUND(l4, 0x7ff);
	if (l4 + ICMP_QUOTED > quoted || data + l4 + ICMP_QUOTED > end)
		return RELAY_SHORT;
	p.ports = *(__u32 *)(data + l4);
	rec = listener_find(&p);
	return rec && !ranges_denied(&p, rec) ? icmp_member(&p, rec) : 0;
}

/* Is it the member's mode that put the one packet into the other? */
static __always_inline bool relay_mode(struct xdp_md *ctx, const struct relay *r,
				       const struct poise_member *m)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 header = r->inner - sizeof(struct udphdr);
	struct udphdr *udp;

	BOUND(header, 0x7ff);
	udp = data + header;
	if ((void *)(udp + 1) > end)
		return false;
	if (r->proto == IPPROTO_UDP)
		return m->mode == POISE_GUE && udp->dest == m->gue_port;
	return m->mode == POISE_IPIP &&
	       r->proto == (relay_is6(ctx, r->inner) ? IPPROTO_IPV6 : IPPROTO_IPIP);
}

/* Is `source` what stands outside on the member's path? */
static __always_inline bool relay_source(const struct poise_member *m,
					 const union poise_addr *source)
{
	__u32 out = ONCE(m->nexthop) >> 48, any = m->flags & POISE_F_ENTROPY ? 0xffff : 0;
	struct poise_path *path = bpf_map_lookup_elem(&paths, &out);

	if (!path)
		return false;
	if (!outer_is6(m))
		return !((path->src4 ^ source->w[3]) & ~bpf_htonl(any));
	return path->src6.q[0] == source->q[0] && path->src6.w[2] == source->w[2] &&
	       !((path->src6.w[3] ^ source->w[3]) & ~bpf_htonl(any));
}

/* Did the error, from `src` to `dst`, arrive as it was sent? We answer for what is made of it. */
static __always_inline bool relay_sound(struct xdp_md *ctx, const struct relay *r,
					const union poise_addr *src, const union poise_addr *dst)
{
	__u32 bytes = r->end - r->error;
	__u64 sum;

	if (bytes > RELAY_BYTES || r->error > 0x7f)
		return false;
	sum = answer_sum(ctx, r->error, bytes);
	if (r->v6) {
		sum += bpf_htonl(bytes) + (__u64)bpf_htonl(IPPROTO_ICMPV6);
		for (int i = 0; i < 4; i++)
			sum += (__u64)src->w[i] + dst->w[i];
	}
	return checksum_fold(sum) == 0xffff;
}

/* Is it about an outer packet of ours, as r->member says? Then r->why says what of it. */
__noinline int relay_judge(struct xdp_md *ctx, struct relay *r)
{
	union poise_addr router, us, from, to;
	struct poise_member *m;

	if (!r)
		return 0;
	m = member_get(r->member);
	if (!m || !icmp_ends(ctx, r->l3, r->v6, &router, &us) ||
	    !icmp_ends(ctx, r->error + ICMP_HEADER, r->v6, &from, &to))
		return 0;
	if (!icmp_same(&from, &us) || !icmp_same(&m->addr, &to) || !relay_mode(ctx, r, m) ||
	    !relay_source(m, &from) || !relay_sound(ctx, r, &router, &us))
		return 0;
	if (!icmp_same(&router, &to))
		r->why = relay_why(ctx, r);
	return 1;
}

/* Reads an error about what may be an outer packet; 0: it is none. */
__noinline int relay_read(struct xdp_md *ctx, struct relay *r)
{
	struct packet p = {};
	__u32 l4, found;

	if (!r || !parse_ip(ctx, &p, &l4) || p.proto != (p.v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP) ||
	    !icmp_is_error(ctx, l4, p.v6))
		return 0;
	found = p.v6 ? icmp_quote6(ctx, l4 + ICMP_HEADER) : icmp_quote4(ctx, l4 + ICMP_HEADER);
	r->v6 = p.v6;
	r->proto = found >> 16;
	r->l3 = p.l3;
	r->error = l4;
	r->inner = found & 0x7ff;
	r->end = p.l3 + p.length;
	if (r->proto == IPPROTO_UDP)
		r->inner += sizeof(struct udphdr);
	return r->proto == IPPROTO_UDP || r->proto == IPPROTO_IPIP || r->proto == IPPROTO_IPV6;
}

/* Makes the client's packet the frame's: what stands in front of it, but the link header, goes. A
 * function of its own for the room that takes on the stack. */
__noinline int relay_strip(struct xdp_md *ctx, struct relay *r)
{
	void *data, *end;
	struct link l;
	__be16 type;
	__u32 at;

	if (!r)
		return -1;
	type = relay_is6(ctx, r->inner) ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	if (!link_read(ctx, &l) || bpf_xdp_adjust_head(ctx, (int)(r->inner - r->l3)) ||
	    !link_write(ctx, &l, r->l3))
		return -1;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	at = r->l3 - sizeof(type);
	BOUND(at, ASKED_L3);
	if (data + at + sizeof(type) > end)
		return -1;
	*(__be16 *)(data + at) = type;
	return 0;
}

/* Tells the client; XDP_*. */
__noinline int relay_answer(struct xdp_md *ctx, struct relay *r)
{
	struct asked a = {};
	struct poise_member *m;

	if (!r)
		return XDP_DROP;
	m = member_get(r->member);
	if (!m)
		return XDP_DROP;
	a.l3 = r->l3;
	a.length = r->end - r->inner;
	a.v6 = relay_is6(ctx, r->inner);
	if (!icmp_ends(ctx, r->inner, a.v6, &a.src, &a.dst) || !asked_by_host(&a)) {
		count_reason(m->service, POISE_R_OUTER_PASSED);
		return XDP_PASS;
	}
	if (!limit_take(LIMIT_ICMP, asked_source(&a))) {
		count_reason(m->service, POISE_R_ANSWER_LIMITED);
		return XDP_DROP;
	}
	if (relay_strip(ctx, r) || answer_icmp(ctx, &a, r->why))
		return XDP_DROP;
	count_reason(m->service, POISE_R_OUTER_RELAYED);
	return XDP_TX;
}

#endif
