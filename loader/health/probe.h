/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One look at one backend: begun, and some time later answered in words. Nothing waits: all probes
 * of a prober share one event loop, and each ends by its answer or by its time-out, whatever the
 * other side does. Each type is a file (probe_*.c) and a line in probe.c's table.
 */
#ifndef POISE_HEALTH_PROBE_H
#define POISE_HEALTH_PROBE_H

#include <stdbool.h>
#include <uv.h>

#include "maps/abi.h"
#include "maps/health.h"
#include "maps/instance.h"

#define PROBE_WORDS POISE_CHECK_TEXT

struct probe_result {
	bool good;
	bool by_path; /* it took clients' way */
	__u32 us;     /* how long it took */
	char words[PROBE_WORDS];
};

/* What is to be asked. Copied by probe_start, but for conf, which must stay until the answer. */
struct probe_want {
	union poise_addr addr; /* the backend's */
	__u16 port;	       /* host order */
	const struct poise_health_conf *conf;
	/* By clients' way, where the prober has an instance whose packets take it. */
	bool by_path;
	bool small;		  /* what begins it is not made as large as the path takes */
	bool no_why;		  /* silence is not looked into */
	union poise_addr address; /* the virtual one */
	__u16 member;		  /* id */
};

struct prober;
struct probe;

typedef void (*probe_done)(void *ctx, const struct probe_result *result);

/* On a loop that must outlive it. NULL: no memory, or libcurl refused. */
struct prober *prober_new(uv_loop_t *loop);
/* Probes that are to go by clients' way go by that of i, which must outlive them. */
void prober_use(struct prober *r, const struct instance *i);
/* Whether a member's next hop is known: without it nothing goes by clients' way. */
bool prober_has_hop(const struct prober *r, __u16 member);
/* After all probes have ended or were cancelled. */
void prober_free(struct prober *r);

/* Begins. done is called exactly once, from the loop, never from within; after it p is gone. */
struct probe *probe_start(struct prober *r, const struct probe_want *want, probe_done done,
			  void *ctx);
/* Ends it without an answer. */
void probe_cancel(struct probe *p);

#endif
