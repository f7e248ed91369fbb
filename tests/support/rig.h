/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A balancer to put packets through: an instance of the test's own, with the really loaded program,
 * in a network namespace of its own. Packets go in by BPF_PROG_TEST_RUN, as if received on lo.
 *
 * Members get their next hops by a convention on their addresses, 10.3.PATH.N or fd03:PATH::N: the
 * MAC address bN, by the path of that number:
 *
 *   0 plain      out of lo again, MTU 1500, sources 10.3.0.254 and fd03::fe
 *   1 one tag    VLAN 101
 *   2 two tags   802.1ad 202, then 802.1Q 203
 *   3 out        another device
 *   4 narrow     MTU 120
 *   5 no source  no outer source address
 *   9 unresolved no next hop at all
 */
#ifndef POISE_TEST_RIG_H
#define POISE_TEST_RIG_H

#include "frame.h"
#include "maps/config.h"
#include "maps/instance.h"
#include "place.h"

#define RIG_KEPT "POISE_RIG_KEPT"

#define RIG_PATHS  6
#define RIG_MTU	   1500
#define RIG_NARROW 120 /* MTU of path 4 */

struct driver;

struct rig {
	struct instance *i;
	struct config *cfg; /* in force */
	__u16 services;	    /* the highest id that a service has had */
	struct place place;
	int program; /* the pinned prog_xdp */
	int limits;  /* its limits of answers */
	void *rest;  /* their value after a rest */
	__u32 cuts;  /* meta's when it was opened */
	struct driver *driver;
};

/* The usual limits, for rig_open_with to have another one. */
#define RIG_LIMITS(slots)                                                                          \
	{                                                                                          \
		.services = RIG_SERVICES, .backends = RIG_BACKENDS, .listeners = 256,              \
		.flow_slots = (slots), .table_slots = 1 << 20, .paths = 32, .ranges = 1024         \
	}

/* Makes the instance and configures it from YAML as in poise.yaml; one that is open is configured
 * anew, its flows forgotten (loading takes seconds where the kernel is emulated). So is one that an
 * earlier test has left, if RIG_KEPT is in the environment: where tests run one by one on a machine
 * that is thrown away. Fails the test if it cannot. A suite that opens rigs has .fini =
 * place_cleanup, so that a test that fails leaves none either. */
void rig_open(struct rig *r, const char *yaml);
/* The same with limits of the test's own; rig_count is for those of rig_open. */
void rig_open_with(struct rig *r, const char *yaml, const struct config_limits *limits);
/* Applies a file to what is there, as `poise apply` does. */
void rig_apply(struct rig *r, const char *yaml);
/* Commits r->cfg as the test has changed it. */
void rig_commit(struct rig *r);
/* Notes that the host itself has none of the services' and claimed addresses, but `but` (NULL), and
 * that those which are claimed are on their devices. */
void rig_answer(struct rig *r, const char *but);
void rig_close(struct rig *r);

/* Member and service ids by what tests call them: the member's address, the service's name. */
__u16 rig_member(const struct rig *r, const char *address);
__u16 rig_service(const struct rig *r, const char *name);

/* One packet through the program, its headroom poisoned. The verdict (XDP_*) or -errno. */
int rig_run(struct rig *r, const struct frame *in, struct frame *out);
/* One packet that leaves the host, through the program of mode local at TC egress. TC_ACT_*. */
int rig_leave(const struct rig *r, const struct frame *in, struct frame *out);
/* One that XDP has passed, through the program at TC ingress, which must leave it as it is: the
 * mark that it got. */
__u32 rig_enter(const struct rig *r, const struct frame *in);
/* One more, as a ledger sends them (ledger.h), whose ctx the rig is: the last byte of the MAC
 * address that it leaves for; 0 if it does not leave. */
int rig_send_raw(void *rig, const __u8 *frame, size_t length);
/* A packet that comes in, from words. */
int rig_send(struct rig *r, const char *words, struct frame *out);

#define RIG_SERVICES 63
#define RIG_BACKENDS 511 /* each service reserves eight ids at least */

/* Everything packets count, of all members and services, CPUs summed up. */
struct rig_counts {
	struct poise_counter member[RIG_BACKENDS + 1];
	struct poise_drops service[RIG_SERVICES + 1];
};

void rig_count(const struct rig *r, struct rig_counts *c);
/* Each member's gauge, in all of its forms, must be what a recount of the flow words gives. */
void rig_expect_recount(const struct rig *r, const char *when);

/* Lets the program send as many answers as after a rest. */
void rig_refill(const struct rig *r);
/* Empties the tables of flows and of fragments behind everybody's back; gauges are no longer right
 * after that. */
void rig_forget(struct rig *r);
/* The only word in the flow table, NULL if there is none; the test fails if there are more. */
__u64 *rig_word(const struct rig *r);
/* The word of the same flow with another member, state and stamp. */
__u64 rig_word_as(__u64 old, __u16 member, enum poise_flow_state state, __u32 stamp);
/* The kernel's second, which a word that is new now is stamped with: that of this SYN to a service
 * that records all its flows. Forgets all flows. */
__u32 rig_second(struct rig *r, const char *syn);

#endif
