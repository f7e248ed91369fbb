/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests to the API server, by libcurl's multi interface: HTTP/2 where the server has it, all
 * over as few connections as that takes. A handle is one thread's: its requests go on while that
 * thread is in kube_http_turn, and tell how they ended from within it.
 *
 * Whatever the server does, a request ends: sizes and times are bounded.
 */
#ifndef POISE_KUBE_HTTP_H
#define POISE_KUBE_HTTP_H

#include <json-c/json.h>
#include <linux/types.h>

#include "access.h"

#define KUBE_ANSWER_MOST (1u << 20) /* bytes that are kept of an answer: any one object fits */
#define KUBE_TIMEOUT	 10000	    /* ms for an answer, unless said otherwise */
#define KUBE_CONNECT	 5000	    /* ms of those to be connected, TLS included */

enum kube_verb {
	KUBE_GET,
	KUBE_POST,
	KUBE_PUT,
	KUBE_MERGE_PATCH, /* PATCH, application/merge-patch+json */
	KUBE_DELETE,
};

/* How a request ended. */
enum kube_end {
	KUBE_END_WHOLE, /* an answer to its end, whatever its status */
	KUBE_END_CUT,	/* it broke off: the server went down */
	KUBE_END_LATE,	/* it began, and was not at its end in time */
	KUBE_END_NONE,	/* no answer: not connected, not trusted, not in time */
	KUBE_END_AWRY,	/* no HTTP, no JSON where that is due, or too large */
};

struct kube_answer {
	enum kube_end end;
	int status;	   /* HTTP's; 0: none came */
	__u32 retry_after; /* ms that the server asked us to wait (Retry-After); 0: none */
	char reason[64];   /* of a Status object: NotFound, Conflict, Expired, ...; or empty */
	struct json_object *body; /* what was collected and is JSON, or NULL; json_object_get() it
				   * to keep it */
	struct poise_error err;	  /* code NONE if it ended whole with a status of 200 to 299 */
};

static inline bool kube_answer_good(const struct kube_answer *a)
{
	return a->err.code == POISE_E_NONE;
}

struct kube_request {
	enum kube_verb verb;
	const char *path; /* with its query: /api/v1/services?limit=500; values escaped */
	const char *body; /* JSON; NULL: none */
	__u32 timeout;	  /* ms for all of it; 0: KUBE_TIMEOUT */

	/* A good answer has begun; its body may come much later. NULL: no matter. */
	void (*begun)(void *ctx);
	/* Takes the body of a good answer as it comes, in pieces of any size; false: enough, and
	 * the request ends AWRY. NULL: it is collected. */
	bool (*piece)(void *ctx, const char *data, size_t length);
	/* How it ended; may send the next one. Call and answer are gone when this returns. */
	void (*done)(void *ctx, const struct kube_answer *answer);
	void *ctx;
};

struct kube_http;
struct kube_call; /* a request under way */

/* access must live as long. */
struct kube_http *kube_http_new(struct kube_access *access);
/* What is under way is dropped; nobody is told. */
void kube_http_free(struct kube_http *h);
struct kube_access *kube_http_access(const struct kube_http *h);

/* Request and texts are copied. It begins with the next turn; done() is never called from here. */
struct kube_call *kube_http_send(struct kube_http *h, const struct kube_request *request);
/* Drops it; done() is not called. Not from within begun() or piece() of any request. */
void kube_http_drop(struct kube_call *c);

/* Does what there is to do, after waiting at most ms for it. */
void kube_http_turn(struct kube_http *h, int ms);
/* Ends the wait of whoever is in kube_http_turn, or the next one. From any thread. */
void kube_http_wake(struct kube_http *h);

/* Sends one without piece or done and waits for its end, while others go on. True if the answer is
 * good. The answer's body is the caller's: json_object_put(). */
bool kube_http_do(struct kube_http *h, const struct kube_request *request,
		  struct kube_answer *answer);

/* Text as it may stand in a path or a query, malloc'ed. */
char *kube_http_escape(const char *text);

#endif
