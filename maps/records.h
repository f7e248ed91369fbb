/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The configuration records of the ABI: what services, members and addresses were told to be. Each
 * exists twice (abi.h). Packets never read them.
 */
#ifndef POISE_RECORDS_H
#define POISE_RECORDS_H

enum poise_record_state {
	POISE_REC_FREE = 0,
	POISE_REC_USED,
	POISE_REC_LEAVING, /* out of selection; goes when idle or at its deadline */
	POISE_REC_ASHES,   /* removed; the id is free after a grace period and a full sweep */
};

enum poise_owner {
	POISE_OWNER_HAND = 0,
	POISE_OWNER_FILE,
	POISE_OWNER_KUBERNETES,
};

enum poise_admin {
	POISE_ENABLED = 0,
	POISE_DRAINING,
	POISE_DISABLED,
};

enum poise_health {
	POISE_HEALTH_NONE = 0,
	POISE_HEALTH_CHECKING,
	POISE_HEALTH_UP,
	POISE_HEALTH_DOWN,
};

struct poise_record {
	__u64 generation; /* that wrote this copy; 0: never written */
	__u32 crc;	  /* CRC-32C of the copy with this field 0 */
	__u8 state;	  /* enum poise_record_state */
	__u8 owner;	  /* enum poise_owner */
	__u16 spare;
};

POISE_ASSERT_SIZE(struct poise_record, 16);

/* Whether the host has an address by somebody else than us: as the kernel was last heard to say. */
enum poise_own {
	POISE_OWN_UNKNOWN = 0, /* then it is the kernel's */
	POISE_OWN_NOT,
	POISE_OWN_HOST,
};

/* Whether what comes to an address and is not for a listener would go back where it came from. */
enum poise_back {
	POISE_BACK_UNKNOWN = 0,
	POISE_BACK_NOT,
	POISE_BACK_GOES,
};

struct poise_listener_conf {
	union poise_addr addr;
	__u16 port; /* network order */
	__u8 proto;
	__u8 owner;
	__u8 own;   /* enum poise_own, of the address */
	__u8 alone; /* all else that comes to the address is the host's, ... */
	__u8 back;  /* ... unless it would go back: enum poise_back */
	__u8 spare;
};

POISE_ASSERT_SIZE(struct poise_listener_conf, 24);

/* Keys on-down and on-down-udp: what becomes of the flows of a backend that is down. */
enum poise_on_down {
	POISE_ON_DOWN_KEEP = 0,
	POISE_ON_DOWN_MOVE,
	POISE_ON_DOWN_RESET,
};

enum poise_on_down_udp {
	POISE_UDP_MOVE = 0,
	POISE_UDP_KEEP,
};

/* Key on-none-up: whether those whose check failed are tried when nobody else is left. */
enum poise_on_none_up {
	POISE_NONE_UP_TRY = 0,
	POISE_NONE_UP_REFUSE,
};

/* Key on-nobody: how new flows fare when nobody may be chosen. */
enum poise_on_nobody {
	POISE_NOBODY_REFUSE = 0,
	POISE_NOBODY_DROP,
};

#define POISE_FADE_AUTO	    0xffffffffu
#define POISE_UNTRACKED_UDP 0x1
#define POISE_UNTRACKED_TCP 0x2

#define POISE_PART_PERCENT 0x8000 /* a part of something is said in percent, else as a number */
#define POISE_NOTIFY	   256	  /* bytes of a command with its arguments and NUL */

/* Durations are milliseconds in configuration records. */
struct poise_service_conf {
	struct poise_record r;
	char name[POISE_NAME_MAX];
	struct poise_extent extent[POISE_EXTENTS];
	__u8 extents;
	__u8 policy;
	__u8 forward;
	__u8 track;
	__u32 table_size; /* 0: auto */
	__u32 base_size;  /* slots of the separate base table, 0: none (the base is in the entries)
			   */
	__u8 base_policy; /* the policy whose hash it was born under */
	__u8 entropy;
	__u16 listeners; /* used entries of listener[] */
	__u32 idle;
	__u32 syn;
	__u32 closing;
	__u32 udp;
	__u32 drain_timeout;
	__u8 spare1[32];
	__u64 created;	/* CLOCK_REALTIME, ns */
	__u32 table_at; /* the slots commit reserved in `table`; 0: none yet */
	__u32 table_slots;
	__u32 base_at;	/* of the separate base table */
	__u16 gue_port; /* of mode gue, host order */
	__u8 gue_checksum;
	__u8 quic;
	__u8 quic_offset; /* bytes of a connection id before the server id */
	__u8 quic_length; /* bytes of the server id */
	__u8 affinity;
	__u8 affinity_prefix4, affinity_prefix6; /* bits */
	__u8 choices;				 /* p2c; 0: auto */
	__u16 ranges;				 /* source ranges: prefixes of its run */
	__u32 affinity_timeout;
	__u32 rate;	     /* new flows per second; 0: any number */
	__u32 rate_burst;    /* 0: auto */
	__u32 max_conns;     /* of each backend; 0: any number */
	__u64 cycle_key;     /* whose slots these are (cycle.h) */
	__u32 cycle_at;	     /* the slots of its cycle in `table`; 0: none */
	__u32 cycle_slots;   /* places: each POISE_CYCLE_WIDTH slots */
	__u32 range_at;	     /* of its run in `range_conf`; 0: it has none */
	__u32 range_crc;     /* CRC-32C of these prefixes */
	__u32 fade_in;	     /* ms; POISE_FADE_AUTO: by the policy */
	__u16 fade_exponent; /* in hundredths */
	__u8 fade_floor;     /* percent */
	__u8 untracked;	  /* POISE_UNTRACKED_*: what may go on unrecorded though all is recorded */
	__u8 limited;	  /* whether any backend has max-conns, as of its last commit */
	__u8 on_down;	  /* enum poise_on_down */
	__u8 on_down_udp; /* enum poise_on_down_udp */
	__u8 on_none_up;  /* enum poise_on_none_up */
	__u8 panic;	  /* percent */
	__u8 passive;	  /* backends are judged by their flows */
	__u8 max_ejected; /* percent of those that are up; 0: a third */
	__u8 on_nobody;	  /* enum poise_on_nobody */
	__u32 passive_window;	   /* ms: flows of so long are compared */
	__u32 eject_time;	   /* ms: of a first ejection */
	__u32 eject_max;	   /* ms: of any */
	__u16 min_up;		   /* backends, or percent with POISE_PART_PERCENT; 0: none */
	__u16 min_up_margin;	   /* backends */
	char notify[POISE_NOTIFY]; /* a command that is told of events; empty: none */
	__u8 spare2[4];
	/* Outer sources, those that are zero at the end; all zero: the path's own. */
	union poise_addr source4[POISE_SOURCES];
	union poise_addr source6[POISE_SOURCES];
	__u8 spare[232];
	struct poise_health_conf health;
	struct poise_listener_conf listener[POISE_LISTENERS_MAX];
};

POISE_ASSERT_SIZE(struct poise_service_conf, 4416);

struct poise_service_slot {
	struct poise_service_conf copy[2];
};

POISE_ASSERT_SIZE(struct poise_service_slot, 8832);

struct poise_member_conf {
	struct poise_record r;
	union poise_addr addr;
	char name[POISE_NAME_MAX]; /* empty: known by its address */
	__u16 service;
	__u16 ordinal;
	__u16 port; /* network order; 0: the packet's */
	__u16 weight;
	__u8 forward;	    /* enum poise_mode */
	__u8 forward_set;   /* 0: the service's */
	__u8 admin;	    /* enum poise_admin */
	__u8 health;	    /* enum poise_health */
	__u32 server_id;    /* in QUIC connection ids; 0: none */
	__u64 since;	    /* of the present effective state, CLOCK_REALTIME ns */
	__u64 deadline;	    /* draining, leaving: when it ends, CLOCK_REALTIME ns; 0 none */
	__u32 max_conns;    /* live flows; 0: any number */
	__u8 max_conns_set; /* 0: the service's */
	__u8 fades;	    /* it came while others were up: fades in from `since` on */
	__u8 sorry;	    /* chosen only when nobody better is left */
	__u8 ejected;	    /* enum poise_fault: not chosen while anybody else is up */
	__u32 eject_time;   /* ms, of the last ejection */
	__u32 eject_flows;  /* why: so many flows, of which ... */
	__u64 eject_until;  /* CLOCK_REALTIME ns; after an ejection, when it ended */
	__u8 eject_bad;	    /* percent failed, ... */
	__u8 eject_median;  /* and percent of the pool's median */
	__u8 check_off;	    /* it is not checked, whatever the service says */
	__u8 spare0;
	char check[POISE_CHECK_OWN]; /* its own keys of it: pairs.h */
	__u8 spare[36];
};

POISE_ASSERT_SIZE(struct poise_member_conf, 384);

struct poise_member_slot {
	struct poise_member_conf copy[2];
};

POISE_ASSERT_SIZE(struct poise_member_slot, 768);

/* Addresses that the balancer itself puts on devices of the host; a host with more of them routes
 * a prefix here instead. */
#define POISE_ADDRESSES 1024
#define POISE_DEVICE	16 /* bytes of a device's name with its NUL, as the kernel's IFNAMSIZ */

/* Whether a claimed address on its device is there by us. */
enum poise_put {
	POISE_PUT_NOT = 0,  /* not there yet */
	POISE_PUT_UNMARKED, /* by us; the kernel keeps no mark on it (before 5.18) */
	POISE_PUT_MARKED,   /* by us, and it carries POISE_IFA_PROTO */
	POISE_PUT_FOREIGN,  /* by somebody else, who keeps it */
};

/* Key `announce` of a claimed address: when it is to be on its device. */
enum poise_announce {
	POISE_ANNOUNCE_AUTO = 0, /* usable on lo, always elsewhere */
	POISE_ANNOUNCE_USABLE,	 /* while a service on it has a backend that may be chosen */
	POISE_ANNOUNCE_ALWAYS,
};

/* Whether it is, or why not; by whoever judged last. */
enum poise_announced {
	POISE_UNJUDGED = 0,
	POISE_ANNOUNCED,
	POISE_WITHDRAWN, /* this and above: it is off its device, because ... */
	POISE_WITHDRAWN_NO_SERVICE = POISE_WITHDRAWN,
	POISE_WITHDRAWN_NO_BACKEND,
	POISE_WITHDRAWN_DETACHED,
	POISE_WITHDRAWN_BELOW,
};

/* Whether echo requests for an address are answered; usable: while a service there can serve. */
enum poise_ping {
	POISE_PING_YES = 0,
	POISE_PING_NO,
	POISE_PING_USABLE,
};

/* What becomes of packets for ports and protocols of an address that no service listens on. */
enum poise_other_ports {
	POISE_OTHER_REFUSE = 0,
	POISE_OTHER_PASS,
};

/* Our mark in IFA_PROTO. 4 to 255 are for routing daemons and the like. */
#define POISE_IFA_PROTO 0x70

struct poise_address_conf {
	struct poise_record r;
	union poise_addr addr;
	char device[POISE_DEVICE]; /* empty: not claimed */
	char was[POISE_DEVICE];	   /* the device it has yet to be taken off; empty: none */
	__u8 put;		   /* enum poise_put, on `device` */
	__u8 was_put;		   /* on `was` */
	__u8 ping;		   /* enum poise_ping */
	__u8 other_ports;	   /* enum poise_other_ports */
	__u32 withdraw_grace;	   /* ms */
	__u64 announced_since;	   /* or withdrawn, CLOCK_REALTIME ns */
	__u8 announce;		   /* enum poise_announce */
	__u8 announced;		   /* enum poise_announced */
	__u8 own;		   /* enum poise_own */
	__u8 spare[45];
};

POISE_ASSERT_SIZE(struct poise_address_conf, 128);

struct poise_address_slot {
	struct poise_address_conf copy[2];
};

POISE_ASSERT_SIZE(struct poise_address_slot, 256);

#endif
