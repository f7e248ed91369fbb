/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One of all nodes writes to the API server: whoever holds a Lease (coordination.k8s.io/v1). Pure:
 * it says what to send and is told what came back, and reads no clock.
 *
 * The rules are those of Kubernetes' own leader election. Clocks of different machines are never
 * compared: a Lease has run out when it has not changed for its length while we looked. A change
 * goes through only on the very version that was read, so of two who try one gets 409. Who leads
 * stops counting itself the leader sooner than others may take over, counted from when the renewal
 * was sent; so while the API server is away nobody leads, and never two.
 */
#ifndef POISE_KUBE_LEASE_H
#define POISE_KUBE_LEASE_H

#include <json-c/json.h>
#include <linux/types.h>

#include "http.h"
#include "rights.h"

#define KUBE_LEASE_SECONDS   15	   /* without a renewal others may take over */
#define KUBE_LEASE_RENEW_MS  10000 /* without a renewal we lead no more */
#define KUBE_LEASE_RETRY_MS  2000  /* between looks and renewals; up to a fifth more */
#define KUBE_LEASE_ANSWER_MS 5000  /* for an answer: leaves time for another try */
/* A record that claims more is held to this: nobody may take the Lease for years by mistake. */
#define KUBE_LEASE_SECONDS_MOST 300
/* Answers that belong to the course. */
#define KUBE_LEASE_MISSING  404 /* there is none yet */
#define KUBE_LEASE_CONFLICT 409 /* another was faster */
/* Who is meant: a Node's name. */
#define KUBE_LEASE_HOLDER (KUBE_NAME + 64)

struct kube_lease {
	char name_space[KUBE_NAME + 1], name[KUBE_NAME + 1];
	char holder[KUBE_LEASE_HOLDER]; /* who we are */

	struct json_object *seen; /* as last read or written; NULL: not known */
	bool missing;		  /* there is none */
	__u64 changed;		  /* ms: when we first saw it so */
	__u64 renewed;		  /* ms: when the last renewal was sent that went through */
	bool leads;		  /* since then */
	bool asked;		  /* a request is under way ... */
	bool writes;		  /* ... that writes, as `written` says ... */
	struct json_object *written;
	__u64 sent; /* ... since then */
	__u64 next; /* ms: not before this */
	bool ending;
};

/* What is to be sent. */
struct kube_lease_ask {
	enum kube_verb verb; /* GET, POST, PUT */
	char path[KUBE_RIGHT_PATH];
	const char *body; /* NULL: none; valid until the answer */
};

/* holder: unique in the cluster, and the same after a restart, which then leads on. -1 with an
 * error if a name cannot be one. */
int kube_lease_open(struct kube_lease *l, const char *name_space, const char *name,
		    const char *holder, struct poise_error *err);
void kube_lease_close(struct kube_lease *l);

/*
 * True with what to send; kube_lease_answer() must follow, within KUBE_LEASE_ANSWER_MS. Else *wait
 * says after how many ms to ask again. now: CLOCK_BOOTTIME in ms, for a suspended machine leads
 * nobody. realtime: ns, for people who read the Lease. chance: any number, another each time.
 */
bool kube_lease_next(struct kube_lease *l, __u64 now, __u64 realtime, __u32 chance,
		     struct kube_lease_ask *ask, __u32 *wait);
/* status 0: no answer. body: the Lease, if it is one. */
void kube_lease_answer(struct kube_lease *l, __u64 now, int status, struct json_object *body);

/* Whether we lead now, and may write for all. */
bool kube_lease_leads(const struct kube_lease *l, __u64 now);
/* Who does, as far as known; "" nobody. */
const char *kube_lease_leader(const struct kube_lease *l);
/* From now on kube_lease_next() gives it up, at once if we lead. */
void kube_lease_end(struct kube_lease *l);
/* Nothing is left to be given up. */
bool kube_lease_ended(const struct kube_lease *l);

#endif
