/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The course of a reflector: what was answered, what is next, and after which delay. Pure: no
 * clock, no chance but what it is given, no network. Rules are those of the API server's contract
 * (Kubernetes API concepts, "Efficient detection of changes"), and of a server that many thousands
 * ask when it comes back.
 */
#ifndef POISE_KUBE_COURSE_H
#define POISE_KUBE_COURSE_H

#include <linux/types.h>

#include "http.h"

/* In ms. */
struct kube_times {
	__u32 list;	  /* for a page */
	__u32 watch;	  /* the server is asked to end a watch after so long, up to half more */
	__u32 watch_late; /* it has not: we end it */
	__u32 retry;	  /* after the first failure; doubles */
	__u32 retry_most; /* while there is no answer, or one of 500 and more */
	__u32 deny_most;  /* while the answer is no: 401, 403, 404, 429 */
	__u32 brief;	  /* a watch that ended sooner and brought nothing is a failure */
};
#define KUBE_TIMES                                                                                 \
	((struct kube_times){                                                                      \
		.list = 60000,                                                                     \
		.watch = 300000,                                                                   \
		.watch_late = 30000,                                                               \
		.retry = 100,                                                                      \
		.retry_most = 1000,                                                                \
		.deny_most = 30000,                                                                \
		.brief = 1000,                                                                     \
	})

#define KUBE_VERSION	 1024  /* bytes of a resourceVersion: opaque, in truth some twenty */
#define KUBE_CONTINUE	 16384 /* bytes of a list's `continue` */
#define KUBE_SILENT	 3 /* watches without a word, before a list tells whether that is true */
#define KUBE_REFUSALS	 5 /* such answers in a row, before a list is tried instead of a watch */
#define KUBE_RETRY_AFTER 60000 /* ms that a server may tell us to wait */

enum kube_step {
	KUBE_STEP_LIST,	 /* from the start */
	KUBE_STEP_PAGE,	 /* the list's next page */
	KUBE_STEP_WATCH, /* from `version` */
};

/* How a request ended, for the course. */
struct kube_outcome {
	enum kube_end end;
	int status;	   /* HTTP's, or the code of the event that says ERROR; 0: no answer */
	bool error_event;  /* the status came as an event of a watch */
	__u32 retry_after; /* ms; 0: none */
	__u32 lasted;	   /* ms */
	__u32 told;	   /* events of a watch, bookmarks too */
	bool more;	   /* of a list: there is another page */
};

struct kube_course {
	enum kube_step step; /* under way, or to be sent */
	__u32 failures;	     /* in a row */
	__u32 silent;	     /* watches in a row that told nothing */
	__u32 refused;	     /* watches in a row that failed */
	__u32 answered;	     /* of those, with an answer */
	bool was_no;	     /* the last failure was a refusal: each kind is counted by itself */
	bool whole;	     /* ask for the list without pages: a `continue` expired */
	bool synced;	     /* a list was complete */
	bool doubt_token;    /* the token was not taken: read it again */
	bool abort;	     /* a list broke off by this */
};

/* From the start: a list. */
void kube_course_begin(struct kube_course *c);
/* Takes how it ended and sets what is next. Returns the delay in ms. chance: any number, a new one
 * each time. */
__u32 kube_course_next(struct kube_course *c, const struct kube_times *t,
		       const struct kube_outcome *o, __u32 chance);
/* How many ms a watch that begins now asks the server to last. */
__u32 kube_course_watch(const struct kube_times *t, __u32 chance);

#endif
