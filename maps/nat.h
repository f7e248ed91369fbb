/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ABI of mode nat: a translated flow is a slot, and everything that is known of the flow is
 * there, so that its two directions cannot disagree.
 *
 * A slot's place says which source port packets to the backend have: group * POISE_PORTS + port.
 * The group is a keyed hash of the backend, the protocol and the source address, so a packet that
 * comes back finds its slot without looking anything up; the slot must then say that it is of this
 * backend and source. Packets of clients find their slot by a word in `links`.
 */
#ifndef POISE_NAT_H
#define POISE_NAT_H

#define POISE_PORTS 65536

/*
 * A backend of mode nat to which no attached device leads, such as one beyond a tunnel of this
 * host, gets its clients' packets by the host's own routing, as if it were of mode local
 * (POISE_NEXTHOP_LOCAL). They keep their sources till the host's stack translates those, by a table
 * of nftables of ours (loader/net/nft.h) that knows them by a bit of their marks.
 */
enum poise_overlay {
	POISE_OVERLAY_NONE,   /* there is no such backend, and no table */
	POISE_OVERLAY_STANDS, /* the table is there */
	POISE_OVERLAY_FAILED, /* the kernel refused it: such backends have no next hop */
};

/* Kubernetes and its networks use 0x80, 0x0f00, 0x2000 (port maps), 0x4000, 0x8000 and those from
 * 0x10000 on. */
#define POISE_OVERLAY_MARK 0x1000u

struct poise_slot {
	/* 63..48 how often the slot was filled, 39..33 POISE_SLOT_*, below that as a flow word. One
	 * compare-and-swap changes it; 0: free. */
	__u64 head;
	union poise_addr client;
	union poise_addr address; /* that the client sends to */
	__u32 ports; /* of the client's packets: source | destination << 16, network order */
	__u16 service;
	__u16 mtu;   /* of the way back, bytes of IP packet; 0: not known */
	__u32 stamp; /* with POISE_SLOT_STAMPED: the client's TCP timestamp, at its SYN or FIN */
	__u32 seq;   /* and its sequence number, host order */
	__u16 vlan[POISE_PATH_MAX_VLANS]; /* tags of the client's frames: TCI, outermost first */
	__u16 tpid[POISE_PATH_MAX_VLANS]; /* 0: no such tag */
};

POISE_ASSERT_SIZE(struct poise_slot, 64);

#define POISE_SLOT_FIN_CLIENT (1ull << 33) /* the client has sent its FIN */
#define POISE_SLOT_FIN_SERVER (1ull << 34) /* the backend has, or has reset the flow */
#define POISE_SLOT_ANSWERED   (1ull << 35) /* the backend has answered, its SYN or a datagram */
#define POISE_SLOT_STAMPED    (1ull << 36)
#define POISE_SLOT_TIMED      (1ull << 37) /* a latency is being taken (bpf/latency.h) */
#define POISE_SLOT_ENDED      (1ull << 38) /* the last FIN was acknowledged: no end is half open */
#define POISE_SLOT_MET	      (1ull << 39) /* the SYN has met an older connection, which was reset */
#define POISE_SLOT_FINS	      (POISE_SLOT_FIN_CLIENT | POISE_SLOT_FIN_SERVER)
#define POISE_SLOT_FILLED     (1ull << 48) /* one of the count */
#define POISE_SLOT_COUNT(h)   ((h) >> 48)

/* States of a slot beside those of flow words; no packet finds a slot in one of them. */
#define POISE_SLOT_FILLING 6
#define POISE_SLOT_REST	   7 /* the flow is gone, its port is not used again for a while */

#define POISE_REST_SECONDS 60 /* TIME_WAIT of Linux */

/* ways[slot]: the slot's source address, and where the client's frames came from. MAC addresses in
 * half-words as they lie in such a frame: ours 0..2, theirs 3..5. */
struct poise_way {
	union poise_addr source;
	__u32 ifindex;
	__u16 mac0, mac5;
	__u32 mac12, mac34;
};

POISE_ASSERT_SIZE(struct poise_way, 32);

/*
 * Map `links`: buckets of words {tag: the hash's upper 40 bits, slot 24}; 0: free. A word counts
 * only if its slot has the packet's addresses and ports. Four slots to a bucket of eight words at
 * most, so that one is hardly ever full.
 */
#define POISE_LINK_SLOT_BITS	   24
#define POISE_LINK_SLOT(w)	   ((__u32)(w) & ((1u << POISE_LINK_SLOT_BITS) - 1))
#define POISE_LINK_TAG(hash)	   ((hash) >> POISE_LINK_SLOT_BITS)
#define POISE_LINK(hash, at)	   (POISE_LINK_TAG(hash) << POISE_LINK_SLOT_BITS | (at))
#define POISE_LINK_BUCKETS(groups) ((groups) * (POISE_PORTS / 4))

#define POISE_GROUPS_MAX ((1u << POISE_LINK_SLOT_BITS) / POISE_PORTS)

/*
 * Map `ports`: for each group a bit for every port, 1: taken; then a bit for each word of these, 1:
 * some port of it may be free. Only kernel code changes them. After the last group more of such
 * bitmaps, whose second parts are not used: POISE_PORTS_*.
 */
#define POISE_PORT_WORDS   (POISE_PORTS / 64)
#define POISE_PORT_SUMMARY (POISE_PORT_WORDS / 64)
#define POISE_PORT_VALUES  ((POISE_PORT_WORDS + POISE_PORT_SUMMARY) / POISE_BUCKET_WORDS)

enum poise_ports {
	POISE_PORTS_BARRED = 0, /* that no slot may have: those below, as packets know them */
	POISE_PORTS_WANTED,	/* what is to be barred, for POISE_SWEEP_PORTS */
	POISE_PORTS_HOST,	/* that the host itself uses */
	POISE_PORTS_REFUSED,	/* no bitmap: word n counts flows that group n had no port for */
	POISE_PORTS_MAPS,
};

#define POISE_PORT_ENTRIES(groups) (((groups) + POISE_PORTS_MAPS) * POISE_PORT_VALUES)

/* meta.nat_ports */
#define POISE_PORT_RANGE(low, high) ((__u32)(high) << 16 | (low))

/* Map `tails`: the programs that the pipeline jumps to. A number stands for what is agreed between
 * the two: a program that wants something else of its caller gets another. */
enum poise_tail {
	POISE_TAIL_NAT = 0,	/* a packet for a service of mode nat */
	POISE_TAIL_NAT_CLOSELY, /* the same, of which more must be known */
	POISE_TAIL_NAT_BACK, /* one for no service, to a port from which packets of it are sent */
	POISE_TAIL_NAT_BACK_CLOSELY,
	POISE_TAIL_NAT_ICMP,	 /* an ICMP error about one of either */
	POISE_TAIL_LOCAL,	 /* one whose flow is of mode local; its slot is noted */
	POISE_TAIL_RARE,	 /* what is no whole packet of TCP or UDP */
	POISE_TAIL_NAT_FRAGMENT, /* a fragment of either; its slot is noted if one is known */
	POISE_TAILS = 16,
};

#endif
