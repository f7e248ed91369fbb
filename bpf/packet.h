/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A packet, and what its way through the pipeline finds out about it, filled from top to bottom. It
 * never leaves the program's registers: what the slow paths, functions of their own, need to know
 * is struct flow.
 */
#ifndef POISE_PACKET_H
#define POISE_PACKET_H

#include "platform.h"
#include "maps.bpf.h"
#include "../maps/hash.h"

struct packet {
	/* parse.h */
	union poise_addr src;
	union poise_addr dst;
	__u32 ports;  /* source | destination << 16, as loaded from the packet */
	__u32 l3;     /* offset of the IP header */
	__u32 length; /* bytes of the IP packet by its own account */
	__u32 proto;  /* IPPROTO_TCP or IPPROTO_UDP */
	__u32 tcp;    /* TCP's flags: FIN SYN RST PSH ACK from bit 0; 0 for UDP */
	__u32 v6;     /* 0: IPv4 */
	__u32 tos;    /* TOS or traffic class */
	__u32 ttl;    /* TTL or hop limit */
	/* listener.h */
	__u32 service; /* id */
	union {
		__u32 record;	/* which copy of the service's record is in force */
		__u32 refusing; /* of none: there are addresses that refuse (address.h) */
	};
	/* choose.h */
	__u64 hash; /* of the flow */
};

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_PSH 0x08
#define TCP_ACK 0x10

/* What a packet is to its flow. */
enum packet_kind {
	PACKET_SYN,
	PACKET_DATA,
	PACKET_FIN,
	PACKET_RST,
	PACKET_UDP,
	PACKET_KINDS,
};

/* What it takes to choose for a packet. */
struct flow {
	__u64 hash;
	__u64 place;  /* the hash by which the service's policy reads its table */
	__u64 base;   /* as place, for a base table of its own */
	__u64 client; /* hash of the client at the service, if that has affinity */
	__u32 service;
	__u32 record;
	__u32 seconds; /* now, on the stamps' clock (stamp.h) */
	__u32 kind;    /* enum packet_kind */
	__u32 bound;   /* the member that the packet itself names (quic.h), 0: none */
	__u16 has;     /* FLOW_* */
	__u16 held;    /* the member at which it has a place (hold.h), but no word yet; 0: none */
};

#define FLOW_NEW   0x4 /* surely new here, so that limits apply */
#define FLOW_MOVES 0x1 /* it had a member, which lets it go */
#define FLOW_PACED 0x2 /* it has taken from the service's rate (pace.h), and no word stands yet */

static __always_inline enum packet_kind packet_kind(const struct packet *p)
{
	if (p->proto == IPPROTO_UDP)
		return PACKET_UDP;
	if (p->tcp & TCP_RST)
		return PACKET_RST;
	if ((p->tcp & (TCP_SYN | TCP_ACK)) == TCP_SYN)
		return PACKET_SYN;
	return p->tcp & TCP_FIN ? PACKET_FIN : PACKET_DATA;
}

/* Neither opens, closes nor resets: an established flow's word need not change for it. */
static __always_inline bool packet_plain(const struct packet *p)
{
	return !(p->tcp & (TCP_SYN | TCP_FIN | TCP_RST));
}

/* An answer on the packet's way: a member's id, or DROP with the reason and, if the packet is too
 * big, what would have been the largest. */
typedef __u32 answer_t;

#define DROP_BIT	    0x80000000u
#define DROP(symbol)	    (DROP_BIT | POISE_R_##symbol)
#define IS_DROP(answer)	    ((answer)&DROP_BIT)
#define DROP_REASON(answer) ((answer)&0xff)
#define DROP_MTU(answer)    ((answer) >> 8 & 0xffff)
#define DROP_TOO_BIG(mtu)   (DROP(TOO_BIG) | (mtu) << 8)

/* Word `at` of a map of struct poise_words. */
#define word_lookup(map, at)                                                                       \
	({                                                                                         \
		__u32 at_ = (at), value_ = at_ / POISE_WORDS;                                      \
		struct poise_words *words_ = bpf_map_lookup_elem(map, &value_);                    \
		words_ ? &words_->w[at_ % POISE_WORDS] : NULL;                                     \
	})

#endif
