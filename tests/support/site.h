/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lab with a service on it: what nearly every end-to-end test starts from. Ports of the virtual
 * addresses: 80 nginx, 9000 serve (TCP and UDP), on all backends.
 */
#ifndef TEST_SITE_H
#define TEST_SITE_H

#include "lab.h"

#define SITE_VIP4 "192.0.2.10"
#define SITE_VIP6 "2001:db8:a::10"

/* Keys of a check that finds a failure within 200 + 2 * 150 + 150 ms. */
#define SITE_QUICK                                                                                 \
	"interval 200ms fast-interval 100ms timeout 150ms jitter 0 hold-down 500ms "               \
	"hold-down-max 500ms"
#define SITE_FOUND (0.2 + 2 * 0.15 + 0.15 + 0.1) /* seconds: that, and a tenth for the rest */
#define SITE_WAKINGS                                                                               \
	8	    /* that is waited for: three probes begin and time out, one after the other */
#define SITE_MOST 8 /* backends */
#define SITE_SOON LAB_SOON

struct site {
	struct lab lab;
	int backends;
	bool ipip; /* else gue, else nat, else l2 */
	bool gue;
	bool nat;	  /* in the network of l2 */
	const char *keys; /* more of the service, as `service add` takes it; NULL none */
	int clients;	  /* 0: one */
	int arms;
	int mtu;	    /* of the service's network; 0: as the lab has it */
	const char *daemon; /* of poised; NULL none */
	pid_t poised;
	pid_t serve[SITE_MOST + 1]; /* by backend; 0: none runs */
};

/* Builds the lab, starts the servers and, in modes ipip and gue, decapsulation on every backend. */
void site_up(struct site *s);
/* Starts `serve` on backend n, or kills it. */
void site_serve(struct site *s, int n);
void site_unserve(struct site *s, int n);
/* Starts poised on lb1 and attaches it to eth0, and eth1 if there is one. */
void site_attach(struct site *s);
/* Both of it. */
void site_begin(struct site *s);
/* Makes service `web` with listeners on that address and the backends' addresses of that family (4
 * or 6), and waits until they can be reached. Nobody checks them. */
void site_service(struct site *s, const char *vip, int backend_family);
/* Makes a service of mode nat that leads from this port of both virtual addresses, TCP and UDP, to
 * one backend, ADDR:PORT, and waits until it does. Nobody checks it. */
void site_nat_service(struct site *s, const char *name, int port, const char *backend);
/* The address of backend n in the network it is in. */
const char *site_backend(const struct site *s, int n, int family);
/* Waits until backend n of `web` is in this state and its last check said this, a regular
 * expression. */
void site_expect(const struct site *s, int n, int family, const char *state, const char *said);
void site_expect_all_up(const struct site *s, int family, const char *said);
/* A fault that was found so many seconds after it was there, watched (late.h) since before: in
 * time, SITE_FOUND; or later only by what this machine was held up for, or is slower by. Says it,
 * and fails the test otherwise. */
void site_expect_in_time(const struct site *s, const char *fault, double took);
/* When its state changed, by poised's clock: seconds since 1970. */
double site_since(const struct site *s, int n, int family);
/* Waits until `poise show web` has these words, as they stand, somewhere. */
void site_expect_shown(const struct site *s, const char *words);
/* The backends that answer 40 requests of c1 for that address are these, in order: "b1 b2 "; one
 * that nobody answers is "failed ". */
void site_expect_from(const struct site *s, const char *url, const char *backends);
/* c1 asks ADDR:PORT, by so many connections or datagrams, so many a second: none fails. What load
 * said, until the next command. */
const char *site_all_answered(const struct site *s, const char *kind, const char *target, int rate,
			      int count);
/* So many connections by HTTP to ADDR:PORT, from addresses of c1 (ADDR:0,...) in turn: none fails,
 * none takes as long as a SYN that is sent again, by what a backend remembers of a port that was
 * handed out too early, or by nobody. A machine that stands still shows as a second too; so the
 * load is asked again if some of it was slow, and fails if some is slow each time. */
void site_connect_often(const struct site *s, const char *at, const char *from, int rate,
			int count);
/* A server on the node, ADDR:PORT there, answers c1, which asks by the virtual address and port, by
 * datagrams of so many bytes, to a socket that has gone: it is told this. */
void site_expect_late(const struct site *s, const char *node, const char *backend, const char *vip,
		      int port, int size, const char *says);
void site_down(struct site *s);
/* The same when every map is found to be what the configuration asks for. */
void site_end(struct site *s);

#endif
