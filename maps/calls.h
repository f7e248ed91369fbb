/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ABI's programs that user space calls, SEC("syscall"): what they are told and what they tell.
 */
#ifndef POISE_CALLS_H
#define POISE_CALLS_H

#define POISE_SWEEP_BUCKETS 8192 /* per call: 8192 x 8 words take well under a millisecond */
#define POISE_SWEEP_EXPIRED 0	 /* free expired words and those of void members */
#define POISE_SWEEP_FORCE   1	 /* free every word that is as service .. state below say */
#define POISE_SWEEP_HOLD    2	 /* no words: count `member`'s flows in held[] from now on */
#define POISE_SWEEP_LOOSE   3	 /* likewise: no longer */
/* As EXPIRED; what is left beside goes to the table in force, if that has the fewer buckets. Only
 * with the lock held through a resize's stage, by the sweeper that is pinned then. */
#define POISE_SWEEP_MOVE 4
/* No words: POISE_PORTS_WANTED comes into force, in words first .. first + count of the bitmap. */
#define POISE_SWEEP_PORTS 5

enum poise_sweep_table {
	POISE_SWEEP_FLOWS = 0,
	POISE_SWEEP_BESIDE, /* of the table beside the one in force */
	POISE_SWEEP_SLOTS,  /* of slots, eight to a bucket */
};

struct poise_sweep {
	__u32 first;   /* bucket */
	__u32 count;   /* buckets, at most POISE_SWEEP_BUCKETS */
	__u32 kind;    /* POISE_SWEEP_* */
	__u16 service; /* FORCE: 0 any */
	__u16 member;  /* FORCE: 0 any */
	__u32 freed;   /* out: words freed */
	__u32 live;    /* out: live words left in these buckets */
	__u32 used;    /* out: words not free */
	__u16 idle;    /* FORCE: silent for so many seconds at least */
	__u8 state;    /* FORCE: enum poise_flow_state, 0 any */
	__u8 beside;   /* enum poise_sweep_table */
};

POISE_ASSERT_SIZE(struct poise_sweep, 32);

/* Context of the syscall program poise_clock, from which attach/ measures HZ at load. */
struct poise_clock {
	__u64 jiffies; /* out: bpf_jiffies64() */
	__u64 ns;      /* out: bpf_ktime_get_ns() right after it */
};

POISE_ASSERT_SIZE(struct poise_clock, 16);

#endif
