/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ABI's map `meta`, of one entry: an instance's identity, its transactions, its daemon. */
#ifndef POISE_META_H
#define POISE_META_H

struct poise_meta {
	/* identity and limits: fixed at creation */
	__u32 magic;
	__u32 abi;
	__u32 services;	    /* entries of `services`: the limit + 1, id 0 is never used */
	__u32 members;	    /* entries of `members`, likewise */
	__u32 flow_buckets; /* power of two */
	__u32 table_slots;
	__u32 listener_slots; /* power of two */
	__u32 listener_seeds; /* power of two */
	__u32 paths;
	__u32 cpus;	    /* possible CPUs */
	__u32 jiffies_mult; /* poise_jiffies_mult as measured at load: 2^32 / HZ; 0 unknown */
	__u32 listeners;    /* the limit; there are at least four times as many slots */
	__u64 hash_key[2];
	__u64 created; /* CLOCK_REALTIME, ns */
	char instance[POISE_NAME_MAX];
	__u32 ranges;	  /* the limit of source ranges of all services */
	__u32 flow_stage; /* POISE_FLOWS_*: which pin is the flow table, and is there another */
	__u32 groups;	  /* of ports, of mode nat; 0: there is no such mode */
	__u32 nat_low, nat_high;     /* ports that it may have, but for those that others use */
	__u32 reset_rate, icmp_rate; /* answers a second (bpf/limit.h); 0: as by default */
	__u8 spare1[92];

	/* read by packets: a line of its own */
	__u32 any_port; /* listeners of port 0: 0 spares every packet the second look-up */
	__u32 refusing; /* addresses with POISE_A_REFUSE, 0 likewise; read together with any_port */
	__u32 answering; /* addresses with any POISE_A_* */
	__u32 pressure;	 /* by packets: seconds on the stamps' clock when a young flow lost its word
			  */
	__u32 nat_ports; /* POISE_PORT_RANGE that slots may have; 0: no service translates */
	__u32 locals;	 /* backends of mode local: 0 spares what leaves the host a look-up */
	__u32 overlay;	 /* enum poise_overlay, likewise, and spares what comes in one */
	__u32 spare2[9];

	/* transactions: writers hold the lock */
	__u64 committed; /* generation in force */
	__u64 applied;	 /* generation that the derived maps show; < committed: to be finished */
	__u64 opened;	 /* > committed: a writer was interrupted; its copies must be scrubbed */
	__u64 graced;	 /* everything unpublished up to this generation is past a grace period */
	__u64 sequence;	 /* odd while derived maps are being changed: readers retry */
	__u64 swept;	 /* ids that turned to ashes up to this generation are free */
	__u64 spare3[2];

	/* the daemon */
	__u64 heartbeat; /* CLOCK_MONOTONIC ns, each fold; old: poised is not running */
	__u32 daemon_pid;
	__u32 cuts; /* by attach: 1 if each device has the program that cuts packets in two */
	__u64 daemon_since;    /* CLOCK_REALTIME ns */
	__u64 sweep_completed; /* CLOCK_MONOTONIC ns of the last full sweep's end */
	__u64 flows_live;      /* by the last full sweep */
	__u64 flows_used;
	__u64 events;	     /* told so far: numbers given out, atomically (event.h) */
	__u32 probes;	     /* by attach: 1 if each device has the programs of probes (probes.h) */
	__u32 generic_mtu;   /* by attach: the largest MTU of devices in generic mode, or 0 */
	__u8 boot_file[128]; /* what was applied at creation or reload, its path */
	__u64 boot_applied;  /* CLOCK_REALTIME ns; 0 never */
	char boot_error[504]; /* why the boot file could not be applied; empty: fine */
	__u32 returns; /* by attach: 1 if each device has the program of mode local's answers */
	__u8 spare6[60];
};

POISE_ASSERT_SIZE(struct poise_meta, 1152);

#endif
