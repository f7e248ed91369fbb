/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ABI: every structure that the kernel programs and user space share through pinned maps.
 *
 * Three kinds of state live in an instance's maps:
 *
 *  - the configuration (struct poise_service_conf, struct poise_member_conf): the truth. Each
 *    record exists twice, each copy stamped with the generation that wrote it; the copy in force
 *    is the newer one not above meta.committed. A transaction writes the other copies and commits
 *    all of them with one 8-byte store. Packets never read these.
 *  - what packets read, derived from the configuration (listeners, services, members, table) or
 *    from the network (paths, the next-hop word). Records are immutable once reachable and are
 *    published by one 4- or 8-byte store; anything unpublished is reused only after a grace
 *    period (membarrier), see meta.graced.
 *  - what packets write (flows, counters, loads, drops).
 *
 * A size change of any structure here is an ABI change: raise POISE_ABI. Pins live under
 * <bpffs>/poise/<instance>/v<POISE_ABI>/ and carry the names in POISE_MAPS below.
 */
#ifndef POISE_ABI_H
#define POISE_ABI_H

#include <linux/types.h>

#include "health.h"
#include "signals.h"

#define POISE_ABI   1
#define POISE_MAGIC 0x706f6973u /* "pois" */

#define POISE_ASSERT_SIZE(type, size)                                                              \
	_Static_assert(sizeof(type) == (size), #type " changed size: the ABI changed")

#define POISE_NAME_MAX	    64 /* bytes of a name with its NUL; fits a DNS label */
#define POISE_LISTENERS_MAX 64 /* listeners of one service */
#define POISE_EXTENTS	    12 /* each extent doubles the members: 8 << 11 = 16384 of a service */
#define POISE_EXTENT_MIN    8  /* members in a service's first extent, unless more are known */
#define POISE_ORDINAL_BITS  15 /* width of an ordinal in a table entry */
#define POISE_ORDINAL_MAX   ((1u << POISE_ORDINAL_BITS) - 1)
#define POISE_BUCKET_WORDS  8 /* flow words in one 64-byte cache line */

/* Every pinned map, in the order of creation. M(name) with name as pinned. */
/* clang-format off */
#define POISE_MAPS(M)                                                                              \
	M(meta) M(service_conf) M(member_conf) M(listeners) M(listener_seeds) M(services)          \
	M(members) M(table) M(paths) M(devmap) M(flows) M(counters) M(loads) M(drops) M(rates)     \
	M(address_conf) M(server_ids) M(fragments) M(held) M(range_conf) M(bounds)                 \
	M(checks) M(probes) M(events) M(slots) M(ways) M(links) M(ports) M(tails)\
	M(latencies) M(cluster)
/* clang-format on */

/*
 * The kernel lays out an array's values in steps of 8 bytes, so an array of 4-byte values is no
 * array when user space maps it, and is twice as large as it need be. Maps of 4-byte words
 * (listener_seeds, table, held) therefore have values of 16 of them: word n is w[n %
 * 16] of value n / 16, mapped they are plain arrays, and a map's max_entries is
 * poise_words_entries(words).
 */
#define POISE_WORDS 16

struct poise_words {
	__u32 w[POISE_WORDS];
};

POISE_ASSERT_SIZE(struct poise_words, 64);
#define poise_words_entries(n) (((n) + POISE_WORDS - 1) / POISE_WORDS)

/* IPv4 is kept as ::ffff:a.b.c.d, so one comparison serves both families. */
union poise_addr {
	__u8 b[16];
	__u16 h[8]; /* network order, as all of it */
	__u32 w[4];
	__u64 q[2];
};

POISE_ASSERT_SIZE(union poise_addr, 16);

/* ---- listeners: a collision-free array hash (hash and displace) --------------------------------
 * h = poise_listener_hash(key). seed = listener_seeds[h & (buckets - 1)]; 0: nobody there. The key
 * can only be in listeners[poise_listener_slot(h, seed) & (slots - 1)]. Writers choose the seed of
 * a bucket so that all its keys fall on free slots, write the entries, then store the seed.
 */
struct poise_listener {
	union poise_addr addr;
	__u16 port;    /* network order; 0: every port of addr and proto */
	__u8 proto;    /* IPPROTO_TCP or IPPROTO_UDP */
	__u8 flags;    /* POISE_A_* */
	__u32 service; /* id; 0: the entry is empty. Stored last, cleared first */
	__u32 retired; /* when emptied: low 32 bits of the generation; free once it is graced */
	__u32 spare;
};

POISE_ASSERT_SIZE(struct poise_listener, 32);

/* Beside the listeners stands an entry for each address and protocol that has any, with port 0 and
 * this bit in `proto`: what a fragment without ports can be looked up by. It leads to the service
 * that all of them belong to, or to none in particular. */
#define POISE_PROTO_HOST  0x80
#define POISE_HOST_SHARED 0xffffffffu

/* An address that packets are answered for, since it is claimed or a service's and not the host's
 * own, has one more: port 0 and that bit alone in `proto`, these flags, and its service likewise.
 */
#define POISE_A_ECHO   0x01 /* echo requests are answered ... */
#define POISE_A_USABLE 0x02 /* ... but only while its service has a backend with a next hop */
#define POISE_A_REFUSE 0x04 /* what no service listens for is refused */
#define POISE_A_PLACED 0x08 /* it is on a device: the kernel has it too */

/* ---- services ---------------------------------------------------------------------------------*/
enum poise_policy {
	POISE_MAGLEV = 0,
	POISE_SOURCE_HASH,
	POISE_ROUND_ROBIN,
	POISE_RANDOM,
	POISE_LEAST_CONN,
	POISE_P2C,
	POISE_LATENCY_AWARE,
	POISE_POLICIES,
};

enum poise_mode {
	POISE_L2 = 0,
	POISE_IPIP,
	POISE_GUE,
	POISE_NAT,
	POISE_LOCAL,
	POISE_MODES,
};

enum poise_track {
	POISE_TRACK_AUTO = 0,
	POISE_TRACK_ALWAYS,
	POISE_TRACK_OFF,
};

/* Ids first .. first + count - 1 carry the service's ordinals in order, extent after extent. */
struct poise_extent {
	__u16 first;
	__u16 count;
};

POISE_ASSERT_SIZE(struct poise_extent, 4);

/* A service as packets see it. Immutable: a change writes the other copy and flips `active`. */
struct poise_service_rec {
	__u32 table_at;	  /* first slot in `table` */
	__u32 table_size; /* slots; 0: no member may be chosen, or keeps a flow */
	__u32 base_at;	  /* a base table of its own, if size or hash kind changed: the base is
			   * POISE_ENTRY_BASE of its entries ... */
	__u32 base_size;  /* ... else 0: the base is in the current entries */
	__u8 policy;	  /* enum poise_policy */
	__u8 base_hash;	  /* policy whose hash the base table was born under */
	__u8 track;	  /* enum poise_track */
	__u8 rung;	  /* worst enum poise_rank that may be chosen now */
	__u8 flags;	  /* POISE_S_* */
	__u8 extents;	  /* used entries of extent[] */
	__u16 members;	  /* ordinals in use or reserved: sum of extent[].count */
	__u32 idle;	  /* seconds an EST TCP flow may be silent */
	__u16 syn;	  /* seconds: NEW */
	__u16 closing;	  /* seconds of silence: FIN */
	__u16 udp;	  /* seconds: UDP in any live state */
	__u16 affinity;	  /* seconds since a client's last new flow; 0: none */
	__u8 choices;	  /* p2c: how many of the cycle a choice compares */
	__u8 affinity_len4, affinity_len6; /* bits of an address that make one client */
	__u8 standing; /* POISE_STANDS_*: not for packets, but for whoever tells when it turns */
	struct poise_extent extent[POISE_EXTENTS];
	__u8 quic_offset; /* with POISE_S_QUIC: where the server id is in a connection id, bytes */
	__u8 quic_length; /* and how long */
	__u16 bounds;	  /* with POISE_S_RANGES: POISE_BOUNDS_* */
	__u32 rate;	  /* new flows per second; 0: any number */
	__u32 burst;	  /* with it: at once, after a rest */
	__u32 cycle_at;	  /* first slot of the cycle, in `table` too */
	__u32 cycle_size; /* places of it; 0: the policy has none */
	__u32 bounds_at;  /* the first of them in `bounds` */
	__u32 pickup;	  /* seconds: PICKUP of TCP */
	__u32 arc; /* p2c: members of the roster for each but one that a choice compares, in 1/65536
		    */
};

POISE_ASSERT_SIZE(struct poise_service_rec, 120);

#define POISE_S_ANY_PORT  0x01 /* has a listener of port 0 */
#define POISE_S_PUBLISHED 0x02 /* a record, not the zeroes of a map that nobody wrote yet */
#define POISE_S_QUIC	  0x04 /* UDP packets are QUIC, their connection ids name backends */
/* Nothing but the table need be asked where its entry is not mixed: `track auto`, no base table,
 * and no option that wants to look at a packet first. */
#define POISE_S_TABLE	  0x08
#define POISE_S_RANGES	  0x10 /* some sources are denied */
#define POISE_S_UNTRACKED 0x20 /* `always`: UDP flows may still go on unrecorded, by the base */
#define POISE_S_LINKS	  0x40 /* flows are found in `links`: its members are of mode nat or local */
#define POISE_S_SILENT	  0x80 /* new flows that nobody can take are dropped, not refused */

#define POISE_STANDS_PANIC 0x01 /* too few are up for checks to be believed */
#define POISE_STANDS_BELOW 0x02 /* fewer are up than min-up, or not more again by its margin */

struct poise_service {
	__u32 active;  /* 0 or 1: which rec is in force; bit 31 set: the service is gone */
	__u32 retired; /* low 32 bits of the generation that last flipped `active` */
	/* 1: for longer than a UDP flow may be silent nothing has changed for this service and no
	 * record of it was lost, so a datagram that has no record where it would have one begins a
	 * flow. Set by poised (maps/aging.c), cleared before each change and with each loss. */
	__u32 calm;
	__u32 changes; /* counts them */
	struct poise_service_rec rec[2];
};

POISE_ASSERT_SIZE(struct poise_service, 256);
#define POISE_SERVICE_GONE 0x80000000u

/* ---- members ----------------------------------------------------------------------------------*/

/* The ladder (ladder.h): a lower rank is preferred; a service's rung is the best one with
 * anybody on it, and whoever's rank is at most the rung may be chosen. */
enum poise_rank {
	POISE_RANK_UP = 0,
	POISE_RANK_CHECKING,
	POISE_RANK_DRAINING, /* weight 0 too */
	POISE_RANK_SORRY,
	POISE_RANK_SORRY_DRAINING,
	POISE_RANK_FAILED, /* only fault: a failed check, or it is ejected */
	POISE_RANK_NOBODY, /* a rung only: there is nobody who may be chosen */
	POISE_RANK_NEVER,  /* disabled, leaving, removed */
};

/* struct poise_member.live: rank in the low byte, then flags. One store changes it. */
#define POISE_L_RANK	0x000000ffu
#define POISE_L_HIT_TCP 0x00000100u /* a TCP flow bound to it goes on */
#define POISE_L_HIT_UDP 0x00000200u /* a UDP flow bound to it goes on */
#define POISE_L_FADING	0x00000400u /* takes a part of new flows: `fade` */
#define POISE_L_RESET	0x00000800u /* a TCP flow bound to it is reset (on-down) */

#define POISE_F_V6	     0x01 /* the member's address is IPv6 */
#define POISE_F_ENTROPY	     0x02 /* vary the outer source for the receiver's RSS */
#define POISE_F_UDP_CHECKSUM 0x04 /* mode gue: the outer UDP header has a checksum */
#define POISE_F_WATCHED	     0x08 /* its latency is taken from its clients' packets alone */

/*
 * A member as packets see it: one line. addr, service, mode, port and flags are immutable while
 * the id is in use; live, nexthop, gue_port, weight and max_conns change by one store each.
 */
struct poise_member {
	union poise_addr addr;
	__u64 nexthop; /* MAC in bits 0..47 (byte 0 = first octet), path in 48..63; 0: unresolved,
			* POISE_NEXTHOP_LOCAL: the host's own stack */
	__u32 live;    /* POISE_L_* */
	__u16 service; /* id; 0: nobody's, a flow word naming this member is void */
	__u16 ordinal; /* its place in the service */
	__u16 weight;
	__u16 port;	  /* network order, 0: the packet's */
	__u8 mode;	  /* enum poise_mode */
	__u8 flags;	  /* POISE_F_* */
	__u16 fade;	  /* admitted share in 1/65536, with POISE_L_FADING */
	__u16 gue_port;	  /* network order: destination of mode gue */
	__u16 fade_cap;	  /* likewise once nobody keeps `fade` up; 0: all */
	__u32 max_conns;  /* live flows; 0: any number */
	__u32 fade_until; /* fade counts up to this second of the stamps' clock: poised keeps it up
			   */
	__u32 watched;	  /* the connection that is watched for it (bpf/watch.h); 0: none */
	__u32 spare;
};

POISE_ASSERT_SIZE(struct poise_member, 64);

#define POISE_NEXTHOP_LOCAL 1ull /* of mode local, or nat (nat.h): no path has this number (0) */

/* ---- paths: how a frame leaves. Immutable while any next hop names it. Path 0 is never used.
 * ---*/
#define POISE_PATH_MAX_VLANS 2

struct poise_path {
	__u32 ifindex; /* the attached (lower) device */
	__u8 smac[6];
	__u16 mtu;   /* of the route or device, bytes of IP packet */
	__u16 vlans; /* tags the frame leaves with: 0..2, whatever it came with */
	__u16 vlan[POISE_PATH_MAX_VLANS]; /* TCI, network order, outermost first */
	__u16 tpid[POISE_PATH_MAX_VLANS]; /* network order */
	__u8 flags;			  /* POISE_PATH_* */
	__u8 spare0;
	__u32 src4;	       /* outer source, network order; 0: none here */
	__u32 retired;	       /* generation, as elsewhere */
	union poise_addr src6; /* outer source; all zero: none */
	__u16 more;	       /* mode nat: a path with another source, of use as well; 0: none */
	__u16 sources;	       /* so many from this one on, if several; else 0 */
	__u32 spare;
	__u64 refs; /* members and paths naming it; kept by user space under the lock */
};

POISE_ASSERT_SIZE(struct poise_path, 64);
#define POISE_PATH_USED 0x01
#define POISE_SOURCES	8 /* of a family: each is tried for a new flow when ports are short */

/* ---- server ids ---------------------------------------------------------------------------------
 * Which member of a service has the server id that a QUIC connection id carries. A word is in one
 * of two buckets (maps/hash.h): server id, service, member; 0: free. Changed by user space alone,
 * one store a word, so that packets find the old member or the new one.
 */
#define POISE_SERVER_ID_WORDS 8	 /* in one cache line */
#define POISE_SERVER_ID_BYTES 4	 /* of a server id at most: what a word has room for */
#define POISE_QUIC_CID_MAX    20 /* bytes of a connection id (RFC 9000 section 17.2) */

struct poise_server_ids {
	__u64 word[POISE_SERVER_ID_WORDS];
};

POISE_ASSERT_SIZE(struct poise_server_ids, 64);

#define POISE_ID_WORD(id, service, member) ((__u64)(id) << 32 | (__u32)(service) << 16 | (member))
#define POISE_ID_KEY(word)		   ((word) >> 16) /* server id and service */
#define POISE_ID_SERVICE(word)		   ((__u16)((word) >> 16))
#define POISE_ID_MEMBER(word)		   ((__u16)(word))
/* Two members a bucket at most, of eight that it has room for. */
#define poise_server_id_buckets(members) ((members) / 2 + 1)

/* ---- source ranges ------------------------------------------------------------------------------
 * The addresses at which the longest matching prefix of a service begins to say otherwise, sorted,
 * side by side. Whoever is at or above an odd number of them has the other verdict than ::.
 */
struct poise_bound {
	__u64 high, low; /* of the address, host order */
};

POISE_ASSERT_SIZE(struct poise_bound, 16);

#define POISE_BOUNDS_COUNT 0x7fff
#define POISE_BOUNDS_DENY  0x8000 /* :: is denied */

/* Source ranges of one service: as many as anybody lists by hand, in 10 steps of a search. */
#define POISE_RANGES_MAX   256
#define POISE_BOUNDS_STEPS 10

/* A prefix as configured, in map `range_conf`: a run per service, of one entry more than it has
 * prefixes (IPv4 as a whole counts). Its bounds begin at twice the run's place. Never changed
 * while a record in force or one that packets may read names it. */
struct poise_range {
	union poise_addr addr;
	__u8 length; /* bits of addr: an IPv4 prefix has 96 more than it says */
	__u8 deny;
	__u8 spare[6];
};

POISE_ASSERT_SIZE(struct poise_range, 24);

/* In the worst case each service has one; then all of them may change at once. */
#define poise_range_entries(limit) (4 * (limit) + 1)

/* ---- the table ---------------------------------------------------------------------------------
 * An entry: current ordinal (bits 0..14), base ordinal (15..29), mixed (30), aging (31). The base
 * is the table under which untracked flows were born; mixed: flows may have words; aging: poised
 * has seen what only time can settle, and nobody has interfered since (ARCHITECTURE, tracking).
 */
#define POISE_ENTRY_CURRENT(e) ((e)&POISE_ORDINAL_MAX)
#define POISE_ENTRY_BASE(e)    (((e) >> POISE_ORDINAL_BITS) & POISE_ORDINAL_MAX)
#define POISE_ENTRY_MIXED      (1u << 30)
#define POISE_ENTRY_AGING      (1u << 31)
#define POISE_ENTRY(cur, base) ((__u32)(cur) | (__u32)(base) << POISE_ORDINAL_BITS)

/*
 * Slots of the same map hold cycles: those whom a policy goes through for new flows. A cycle begins
 * with a value of the map. Each of its places is a member's id; under the policies that go by load
 * (POISE_CYCLE_LOADED) a struct poise_seat, two slots.
 */
struct poise_seat {
	__u32 member;
	__u32 cost; /* of a flow there: POISE_COST / weight */
};

/* Divided by any weight up to 18, and most others that people write, it leaves no rest: members
 * are then compared exactly. Else within one in 60,000. */
#define POISE_COST		   3920716800u /* 2^10 3^2 5^2 7 11 13 17 */
#define POISE_CYCLE_LOADED(policy) ((policy) == POISE_LEAST_CONN || (policy) == POISE_P2C)
#define POISE_CYCLE_WIDTH(policy)  (POISE_CYCLE_LOADED(policy) ? 2 : 1) /* slots of a place */
#define POISE_CYCLE_EXACT	   65536 /* turns of a round up to which weights are met exactly */
#define POISE_LEAST_CONN_MOST	   1024	 /* members that least-conn compares all of */
#define POISE_CHOICES_MIN	   2
#define POISE_CHOICES_MAX	   64 /* and least-conn's, of more members than that */
#define POISE_CHOICES_AUTO	   4

/* Of so many requests, or connections, that could be timed, one is. */
struct poise_turn {
	__u32 jiffy; /* when the last one was */
	__u16 skips; /* so many are not, at least */
	__u16 since; /* so many came since */
};

/* ---- counters: line [cpu * meta.members + member], written by that CPU's programs
 * --------------*/
struct poise_counter {
	__u64 packets;
	__u64 bytes;  /* of IP packets as they came */
	__u64 opened; /* and closed: POISE_COUNT of them is the number */
	__u64 closed;
	struct poise_turn timed[2];  /* by kind of sample (latency.h) */
	__u32 signal[POISE_SIGNALS]; /* what became of flows, modulo 2^32 */
};

POISE_ASSERT_SIZE(struct poise_counter, 64);

/* In opened and closed of a member with max-conns: what comes from now on is counted in
 * held[member] as well, and what was there is. held is the gauge, of all CPUs, in one word. */
#define POISE_COUNT_HELD (1ull << 63)
#define POISE_COUNT(n)	 ((n) & ~POISE_COUNT_HELD)

typedef __s32 poise_load;

/* What choosing by load reads, side by side: a value of map `loads` is a CPU's row of them all,
 * poise_loads_row(meta.members) long, so that one look-up serves a choice and a mask bounds an id.
 */
struct poise_loads {
	poise_load own;	   /* that CPU's opened - closed: its programs add */
	poise_load others; /* the gauge minus that: poised stores, as what follows */
	__u32 eased;	   /* p2c: the part of its cost that is off for its latency, in 2^-32 */
	__u32 refused;	   /* latency-aware: the part of what it is drawn for, likewise */
};

POISE_ASSERT_SIZE(struct poise_loads, 16);
/* The next power of two, and a cache line at least: CPUs share none. */
#define poise_loads_row(members) (2u << (31 - __builtin_clz(((members)-1) | 7)))

/* rates[member]: written by poised each second; [0] over the last second, [1] over 60 s. */
struct poise_rate {
	__u64 at;	/* CLOCK_MONOTONIC ns; more than a few seconds old: not known */
	__u32 flows[2]; /* new flows per second */
	__u64 packets[2];
	__u64 bytes[2];
	__u64 spare[2];
};

POISE_ASSERT_SIZE(struct poise_rate, 64);

/* ---- the rest of it, a header for each noun ---------------------------------------------------*/
#include "calls.h"
#include "decap.h"
#include "event.h"
#include "flow_words.h"
#include "latency.h"
#include "cluster.h"
#include "meta.h"
#include "nat.h"
#include "probes.h"
#include "reasons.h"
#include "records.h"

#endif
