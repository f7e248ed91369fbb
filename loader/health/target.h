/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A backend under check: it is looked at, what comes of it is taken into its state, and it is
 * looked at again. One at a time: a probe that lasts delays its own backend's next alone.
 */
#ifndef POISE_HEALTH_TARGET_H
#define POISE_HEALTH_TARGET_H

#include "probe.h"
#include "state.h"

/* Who it is, and how it is checked. */
struct target_about {
	__u16 member;  /* id */
	__u16 service; /* id */
	union poise_addr addr;
	__u16 port; /* host order: what is asked */
	bool by_path;
	union poise_addr address;  /* then the virtual one */
	char name[POISE_NAME_MAX]; /* of the service */
	struct poise_health_conf conf;
};

struct target {
	struct target_about about;
	struct state state;
	struct probe_result last; /* words empty: none yet */
	bool seen;		  /* for whoever compares targets with a configuration */

	/* Called with each result, after state has taken it. */
	void (*told)(void *ctx, struct target *t, bool changed);
	void *ctx;

	struct prober *prober;
	struct probe *probe; /* under way; NULL: waits for its timer */
	__u64 began;	     /* of the last probe, ms */
	bool spread;	     /* among those that began at once with it: by its first wait */
	__u64 hop_until;     /* the first probe waits for a next hop; 0: it never had to */
	uv_timer_t timer;
};

/* Begins to check. known: what the record says of its health. The first look comes at once if
 * nothing is known, else some time within the interval, so that a start is no storm. */
struct target *target_start(struct prober *r, uv_loop_t *loop, const struct target_about *about,
			    enum poise_health known, void (*told)(void *, struct target *, bool),
			    void *ctx);
/* What a poised before this one had held down (state.h); before its first result. */
void target_remember(struct target *t, __u32 hold, __u64 left);
/* Milliseconds for which it is held down yet; 0: it is not. */
__u64 target_held(const struct target *t);
/* Goes on under other rules; a probe under way is begun anew. The state stays, and so does the
 * count of results if what is asked is the same. */
void target_change(struct target *t, const struct target_about *about);
/* t is gone in the loop's next turn. */
void target_stop(struct target *t);

#endif
