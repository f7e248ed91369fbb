/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A balancer in plain memory: an anonymous instance configured from YAML, and the natively compiled
 * datapath upon it. No kernel, no privileges, a few hundred nanoseconds a packet.
 */
#ifndef POISE_TEST_NATIVE_H
#define POISE_TEST_NATIVE_H

#include <linux/bpf.h>

#include "bpf/run.h"
#include "frame.h"

#define NATIVE_DEVICE	7 /* the interface packets come from and, by path 1, leave by */
#define NATIVE_MTU	1500
#define NATIVE_SERVICES 15
#define NATIVE_BACKENDS 255
/* Ports of mode nat, of one group unless said. */
#define NATIVE_PORT_LOW	 20000
#define NATIVE_PORT_HIGH 20999

struct native {
	struct instance *i;
	struct config *cfg; /* in force */
};

/* Fails the test if the configuration does not go. Members 10.9.*.* get no next hop, 10.4.*.* one
 * with two tags out of another device, all others but those of mode local one by NATIVE_DEVICE.
 * flow_slots words of flows.
 */
void native_open(struct native *n, const char *yaml, __u32 flow_slots);
/* The same with so many groups of ports. */
void native_open_groups(struct native *n, const char *yaml, __u32 flow_slots, __u32 groups);
void native_close(struct native *n);
/* The same for tests of one service, "web", from second NATIVE_T0 on; returns its id. */
#define NATIVE_T0 1000
__u16 native_open_web(struct native *n, const char *yaml, __u32 flow_slots);
struct config_service *native_web(const struct native *n);
/* Commits n->cfg as the test has changed it. */
void native_commit(struct native *n);

/* Ids by what tests call them. */
__u16 native_member(const struct native *n, const char *address);
__u16 native_service(const struct native *n, const char *name);
/* The record that packets see. */
struct poise_service_rec *native_record(const struct native *n, __u16 service);

/* Puts a frame through and leaves what came out in it; XDP_*. The frame lies in a buffer of its
 * own with 128 bytes in front, poisoned, so that a sanitizer sees whatever reaches beyond. */
int native_run(const struct native *n, struct frame *f);
/* The same from words; out may be NULL. */
int native_send(const struct native *n, struct frame *out, const char *words);
/* Puts a frame through where it leaves the host, and leaves what came out in `out`; TC_ACT_*. */
int native_leave(const struct native *n, struct frame *out, const char *words);
/* As native_send, and the member that counted the packet; 0 if none did. */
__u16 native_to(const struct native *n, const char *words);

/* The same for a packet of a client's k-th flow to 10.2.0.1, "tcp" to port 80 or "udp" to 53. */
__u16 native_nth(const struct native *n, const char *protocol, __u32 k, const char *flags);

#define NATIVE_SYN 0x02
#define NATIVE_RST 0x04
#define NATIVE_ACK 0x10

/* The same by the million: a packet of the k-th flow, which is f (IPv4 and TCP, without tags) with
 * another client's address and port, with these flags. The last byte of the MAC address that it
 * leaves for, which is that of the member's address; 0 if it does not leave. */
__u8 native_flow(const struct frame *f, __u32 k, __u8 flags);

/* As if poised had beaten its heart just now, or never did. */
void native_beat(const struct native *n, bool runs);

/* As if each member's latency were taken from another connection than any that comes here. Which
 * one that is goes by time (bpf/watch.h). */
void native_watch_others(const struct native *n);

/* Sums over CPUs. */
struct poise_counter native_counts(const struct native *n, __u16 member);
/* opened - closed, which must also be what `own` says, and with max-conns `held`. */
__s64 native_gauge(const struct native *n, __u16 member);
/* Live words of a member in the flow table. */
__s64 native_live(const struct native *n, __u16 member);
/* The only word in the flow table, NULL if there is none; the test fails if there are more. */
__u64 *native_word(const struct native *n);
/* A sweep of everything; kind and the rest as in io. */
void native_sweep(const struct native *n, struct poise_sweep *io);

#endif
