/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ABI's map `events`: what changed of an instance, and when, a record each, in a ring. Written
 * by whoever changes something, poised or a command; read by poise events and by poised, which logs
 * it. How: events.h.
 */
#ifndef POISE_EVENT_H
#define POISE_EVENT_H

/*
 * K(SYMBOL, "name", bad, "what it says") of each kind. bad: worth a warning. What is said comes
 * after the name of what it is about, and before the reason, if there is one.
 */
#define POISE_EVENT_KINDS(K)                                                                       \
	K(UP, "backend-up", false, "is up")                                                        \
	K(DOWN, "backend-down", true, "is down")                                                   \
	K(EJECTED, "backend-ejected", true, "is ejected")                                          \
	K(READMITTED, "backend-readmitted", false, "is taken back")                                \
	K(ENABLED, "backend-enabled", false, "is enabled")                                         \
	K(DISABLED, "backend-disabled", false, "is disabled")                                      \
	K(DRAINING, "backend-draining", false, "drains")                                           \
	K(DRAINED, "backend-drained", false, "is drained")                                         \
	K(LEAVING, "backend-leaving", false, "leaves")                                             \
	K(GONE, "backend-gone", false, "is gone")                                                  \
	K(HOP_FOUND, "next-hop-found", false, "has a next hop")                                    \
	K(HOP_MOVED, "next-hop-moved", false, "has another next hop")                              \
	K(HOP_LOST, "next-hop-lost", true, "has no next hop any more")                             \
	K(RUNG, "service-rung", false, "is served otherwise")                                      \
	K(RUNG_WORSE, "service-rung-worse", true, "is served otherwise")                           \
	K(PANIC, "service-panic", true, "panics")                                                  \
	K(PANIC_OVER, "service-panic-over", false, "panics no more")                               \
	K(BELOW_MIN, "service-below-minimum", true, "is below its minimum")                        \
	K(AT_MIN, "service-at-minimum", false, "has its minimum again")                            \
	K(ANNOUNCED, "address-announced", false, "is announced")                                   \
	K(WITHDRAWN, "address-withdrawn", true, "is withdrawn")                                    \
	K(CLAIMED, "address-claimed", false, "is claimed")                                         \
	K(RELEASED, "address-released", false, "is released")                                      \
	K(ATTACHED, "device-attached", false, "is attached")                                       \
	K(DETACHED, "device-detached", false, "is detached")                                       \
	K(CHANGE, "change", false, "changed the configuration")                                    \
	K(STARTED, "poised-started", false, "started")                                             \
	K(STOPPED, "poised-stopped", false, "stopped")                                             \
	K(NO_MIN, "service-without-minimum", false, "has no minimum to meet")                      \
	K(TABLE_RESTORED, "table-restored", true, "is put back")

/* 0 is none: an entry that was never written. */
enum poise_event_kind {
	POISE_EVENT_NONE = 0,
#define POISE_EVENT_ENUM(sym, ...) POISE_EVENT_##sym,
	POISE_EVENT_KINDS(POISE_EVENT_ENUM) POISE_EVENT_COUNT,
};

/* Entries of the ring, 1.5 MiB: a service of 2,000 backends that fails and comes back is in it
 * whole. */
#define POISE_EVENT_RING 4096
#define POISE_EVENT_WORDS                                                                          \
	216 /* bytes of a reason or a command, with NUL: what a line has room for */

struct poise_event {
	__u64 number;	  /* counts from 1; 0: empty, or being written. Stored last */
	__u64 at;	  /* CLOCK_REALTIME ns */
	__u64 generation; /* of the configuration then in force */
	__u32 crc;	  /* CRC-32C of all of it with this field 0 */
	__u32 uid;	  /* of CHANGE, ATTACHED, DETACHED: whose command */
	__u8 kind;	  /* enum poise_event_kind */
	__u8 owner;	  /* of CHANGE: enum poise_owner */
	__u8 rung;	  /* of RUNG*: enum poise_rank that serves ... */
	__u8 rung_was;	  /* ... and that did before */
	__u32 spare;
	char service[POISE_NAME_MAX];  /* its name then; empty: of none */
	char object[POISE_NAME_MAX];   /* name or address of a backend, address, device */
	char words[POISE_EVENT_WORDS]; /* the reason, a command; empty: none */
};

POISE_ASSERT_SIZE(struct poise_event, 384);

#endif
