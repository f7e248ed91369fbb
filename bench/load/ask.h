/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests under way: begun when told, answered or failed by what comes from their sockets, ended
 * by their timeouts. Who asks drives it from a loop of his own:
 *
 *	ask_begin	a request is due
 *	ask_wait	sockets have something to say: a little of it is heard
 *	ask_expire	time has passed
 *
 * None of them takes longer than some 0.3 ms, whatever comes at once: a thousand answers heard in
 * one go would make the next request ten milliseconds late. What waits to be heard meanwhile counts
 * as lag of who did not hear it, for else a generator at its limit would look like a slow balancer.
 *
 * Kinds: http asks for a page and reads until the server closes; the first word of the body is who
 * answered. tcp asks echod (wire.h) over a connection of its own, which the server closes. kept
 * asks over the client's one connection, one request at a time; what is due meanwhile waits, and
 * its time runs. udp asks echod or serve from a socket of its own.
 */
#ifndef BENCH_ASK_H
#define BENCH_ASK_H

#include "outcome.h"
#include "tests/lab/endpoint.h"

#define ASK_FROM_MAX 64
#define ASK_TURN     16 /* sockets heard, and timeouts met, before it is looked at what is due */

enum ask_kind {
	ASK_HTTP,
	ASK_TCP,
	ASK_KEPT,
	ASK_UDP,
	ASK_KINDS,
};

struct ask_request;
struct ask_conn;

struct ask_client {
	enum ask_kind kind;
	struct ask_conn *kept;
	struct ask_request *queue, **queue_end; /* due, but for the answer to one before them */
};

struct ask {
	/* What is asked, of whom, from where. */
	struct endpoint target, from[ASK_FROM_MAX];
	unsigned int froms;
	const char *page; /* the request of kind http, whole */
	uint32_t question_bytes, answer_bytes, group;
	bool client_closes; /* of kind tcp: as soon as the answer is there */
	uint64_t timeout;   /* ns */
	struct ask_client *clients;
	struct outcomes *outcomes;
	/* Its own. */
	int epoll;
	uint64_t begin; /* ns of CLOCK_MONOTONIC */
	uint64_t ids;
	uint64_t opened;		      /* sockets: they take turns at from */
	unsigned long open;		      /* not finished */
	struct ask_request *oldest, **newest; /* in order of their timeouts */
	uint64_t since;			      /* what is heard next was not there before */
	bool overdue;			      /* more are past their timeouts */
	struct ask_request *spare_requests;
	struct ask_conn *spare_conns, *closing;
	unsigned int to_close; /* of closing */
};

/* Sets up what is its own, and so many clients. False: no memory or no epoll. */
bool ask_open(struct ask *a, uint32_t clients);
void ask_close(struct ask *a, uint32_t clients);
/* Begins one, due so many ns after a->begin. False: no memory. */
bool ask_begin(struct ask *a, uint32_t client, uint64_t due);
/* Waits at most so long, or not at all if there is other work, for sockets to have something to
 * say; hears ASK_TURN of them at most. */
void ask_wait(struct ask *a, struct timespec wait);
/* Ends ASK_TURN requests at most of those that are past their timeouts. */
void ask_expire(struct ask *a);

/* http, tcp, kept, udp; ASK_KINDS if it is none. */
enum ask_kind ask_kind_of(const char *word, size_t len);

#endif
