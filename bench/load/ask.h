/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests under way: begun when told, answered or failed by what comes from their sockets, ended
 * by their timeouts. Who asks drives it from a loop of his own:
 *
 *	ask_begin	a request is due
 *	ask_hear	its socket has something to say (epoll's data.ptr)
 *	ask_expire	time has passed
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
	struct ask_request *spare_requests;
	struct ask_conn *spare_conns;
};

/* Sets up what is its own, and so many clients. False: no memory or no epoll. */
bool ask_open(struct ask *a, uint32_t clients);
void ask_close(struct ask *a, uint32_t clients);
/* Begins one, due so many ns after a->begin. False: no memory. */
bool ask_begin(struct ask *a, uint32_t client, uint64_t due);
void ask_hear(struct ask *a, struct ask_conn *conn, uint32_t events);
/* Ends what is past its timeout. */
void ask_expire(struct ask *a);

/* http, tcp, kept, udp; ASK_KINDS if it is none. */
enum ask_kind ask_kind_of(const char *word, size_t len);

#endif
