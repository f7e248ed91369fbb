/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QUIC: a connection outlives its client's address. Its packets carry a connection id that the
 * server chose, and in it, at an agreed place, the server's id (draft-ietf-quic-load-balancers,
 * plaintext); who has that id gets the packet. Whatever carries none that is known goes by its
 * 5-tuple like any UDP.
 *
 * Of the header only what no version changes is looked at (RFC 8999), but for one thing: a client's
 * first packets carry an id that it made up, and which ones those are is said by the version.
 */
#ifndef POISE_QUIC_H
#define POISE_QUIC_H

#include "parse.h"
#include "track.h"

#define QUIC_LONG	0x80 /* of the first byte; not the next bit, which may be 0 (RFC 9287) */
#define QUIC_TYPE	0x30
#define QUIC_V2		0x6b3343cf
#define QUIC_CID_LENGTH 5 /* offsets in a long header */
#define QUIC_CID_LONG	6
#define QUIC_CID_SHORT	1	/* and in a short one */
#define QUIC_V6		0x10000 /* beside the offset of an IP header */
#define QUIC_NO_ID	0xe0	/* of a connection id's first byte: no server id follows */

/* Where the connection id stands in a UDP payload at q, how long it is in the high half; a short
 * header does not say. 0: there is none, or the client chose it. */
static __always_inline __u32 quic_cid(const __u8 *q, const void *end)
{
	__u32 type, first = 0;

	if ((void *)(q + QUIC_CID_SHORT) > end)
		return 0;
	if (!(*q & QUIC_LONG))
		return POISE_QUIC_CID_MAX << 16 | QUIC_CID_SHORT;
	if ((void *)(q + QUIC_CID_LONG) > end)
		return 0;
	/* Initial and 0-RTT are types 0 and 1, in version 2 (RFC 9369) types 1 and 2. */
	if (bpf_ntohl(*(const __u32 *)(q + 1)) == QUIC_V2)
		first = 1;
	type = (*q & QUIC_TYPE) >> 4;
	if (type == first || type == first + 1)
		return 0;
	return q[QUIC_CID_LENGTH] << 16 | QUIC_CID_LONG;
}

/* The server id in the UDP payload at offset `at`, which is `room` bytes long; 0: none. */
static __always_inline __u32 quic_id(struct xdp_md *ctx, __u32 at, __s32 room,
				     const struct poise_service_rec *rec)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 cid, need = rec->quic_offset + rec->quic_length, id = 0;
	const __u8 *q;

	BOUND(at, 0x7ff);
	q = data + at;
	cid = quic_cid(q, end);
	if (!cid || need > cid >> 16)
		return 0;
	at += cid & 7;
	if ((__s32)((cid & 7) + need) > room)
		return 0;
	q = data + at;
	if ((void *)(q + 1) > end || (rec->quic_offset && *q >= QUIC_NO_ID))
		return 0;
	at += rec->quic_offset;
	BOUND(at, 0xfff);
	q = data + at;
	for (int k = 0; k < POISE_SERVER_ID_BYTES && k < rec->quic_length; k++) {
		if ((void *)(q + k + 1) > end)
			return 0;
		id = id << 8 | q[k];
	}
	return id;
}

/* The member of the service with this server id; 0: nobody. */
static __always_inline __u32 quic_member(__u32 id, __u32 service)
{
	__u64 key = POISE_ID_KEY(POISE_ID_WORD(id, service, 0));

	for (int second = 0; second < 2; second++) {
		__u32 at =
			poise_server_id_bucket(key, second, poise_server_id_buckets(poise_members));
		struct poise_server_ids *b = bpf_map_lookup_elem(&server_ids, &at);

		for (int k = 0; b && k < POISE_SERVER_ID_WORDS; k++) {
			__u64 word = ONCE(b->word[k]);

			if (POISE_ID_KEY(word) == key)
				return POISE_ID_MEMBER(word);
		}
	}
	return 0;
}

/* Where the UDP header is, behind the IP header at l3 that was found to be whole; 0: nowhere. */
static __always_inline __u32 quic_l4(struct xdp_md *ctx, __u32 l3, bool v6)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv6hdr *ip6;
	struct iphdr *ip;

	BOUND(l3, 0x1f);
	ip = data + l3;
	ip6 = data + l3;
	if (v6)
		return (void *)(ip6 + 1) > end
			       ? 0
			       : parse_extensions(ctx, l3 + sizeof(*ip6), ip6->nexthdr) & 0xffff;
	return (void *)(ip + 1) > end ? 0 : l3 + ip->ihl * 4;
}

/* The member that a UDP packet's connection id names; 0: it goes by its 5-tuple. `where` is the
 * offset of its IP header, plus QUIC_V6 if it is IPv6. A function of its own, so that services
 * without QUIC have no more to carry. */
__noinline __u32 quic(struct xdp_md *ctx, __u32 service, __u32 record, __u32 where, __u32 length)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct poise_service_rec *rec = service_record(service, record);
	__u32 l3 = where & ~QUIC_V6, l4, id, member;
	struct udphdr *udp;
	__s32 room;

	l4 = quic_l4(ctx, l3, where & QUIC_V6);
	BOUND(l4, 0x7ff);
	udp = data + l4;
	if (!rec || !l4 || (void *)(udp + 1) > end)
		return 0;
	room = bpf_ntohs(udp->len);
	if (room > (__s32)(l3 + length - l4))
		return 0;
	id = quic_id(ctx, l4 + sizeof(*udp), room - (__s32)sizeof(*udp), rec);
	if (!id)
		return 0;
	member = quic_member(id, service);
	return member_keeps(member_get(member), service, true) ? member : 0;
}

/* What an id says binds the flow as well: what carries none, and errors about it, follow. */
static __always_inline void quic_bind(struct xdp_md *ctx, struct flow *f, __u32 where, __u32 length)
{
	f->bound = quic(ctx, f->service, f->record, where, length);
	if (f->bound)
		count_reason(f->service, POISE_R_QUIC);
}

#endif
