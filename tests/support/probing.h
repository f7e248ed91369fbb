/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Servers on loopback that answer rightly, wrongly, too much, too late or never, and probes of
 * them. All probes that are begun run at once on one loop, so that one that hangs would be seen to
 * hold up the others.
 */
#ifndef TEST_PROBING_H
#define TEST_PROBING_H

#include <netinet/in.h>
#include <pthread.h>
#include <uv.h>

#include "loader/health/probe.h"

#define PROBING_TIMEOUT 400  /* ms, of a probe that is to time out */
#define PROBING_PATIENT 8000 /* ms, of others: on a busy machine, too, they have the time */
#define PROBING_LONGEST 20   /* seconds of a test, on the busiest machine */
#define PROBING_MOST	48   /* probes of a test */

enum manner {
	ANSWER,	 /* once, then close */
	SILENCE, /* accept, say nothing */
	FOREVER, /* what follows the answer's last | again and again, as long as it is taken */
	DRIBBLE, /* a byte every 50 ms */
	RESET,	 /* close with a reset */
};

struct server {
	enum manner manner;
	const char *answer;
	size_t length; /* of the answer; 0: it is a text */
	int fd;
	__u16 port;
	pthread_t thread;
};

/* AF_INET, AF_INET6: tests go through both. */
extern const int probing_families[2];

/* A socket of this type (SOCK_STREAM, SOCK_DGRAM) on a port of its own; nobody listens yet. */
void server_bind(struct server *s, int family, int type);
/* The same, with a thread that answers connections, one after the other. */
void server_tcp(struct server *s, int family);
/* With a thread that runs this, given s, to answer datagrams. */
void server_udp(struct server *s, int family, void *(*run)(void *));
void server_stop(struct server *s);

/* The loop and the prober: .init and .fini of a suite. */
extern uv_loop_t probing_loop;
extern struct prober *probing_prober;
void probing_begin(void);
void probing_end(void);

/* The time-out of a probe of which this is expected to be said; NULL: anything. */
__u32 probing_timeout(const char *words);
/* Begins a probe of the port, its time-out PROBING_PATIENT if `like` says none; the number of its
 * result. */
size_t probing_ask(enum poise_check type, int family, __u16 port,
		   const struct poise_health_conf *like);
/* Until all have ended. */
void probing_run(void);
const struct probe_result *probing_result(size_t n);
/* It is this, in these words. */
void probing_expect(size_t n, bool good, const char *words);
/* How many were begun: the number of the next. */
size_t probing_begun(void);
/* Forgets results, to make room. */
void probing_forget(void);

#endif
