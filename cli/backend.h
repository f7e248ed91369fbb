/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A set of backends that one command changes together; `service drain` is one of all. */
#ifndef POISE_CLI_BACKEND_H
#define POISE_CLI_BACKEND_H

#include "transact.h"

struct backend_ref {
	struct config_service *svc;
	struct config_member *member;
};

struct backend_set {
	struct backend_ref *ref;
	size_t n, room;
};

void backend_set_add(struct backend_set *set, struct config_service *svc, struct config_member *m);
void backend_set_free(struct backend_set *set);

/* Drains them: reads [deadline DURATION] from the line, commits, waits if --wait. */
int backend_drain(struct cli *c, const struct backend_set *set);

/* ---- wait.c: --wait -----------------------------------------------------------------------*/
enum wait_until {
	WAIT_DRAINED, /* drained, disabled or gone */
	WAIT_UP,
	WAIT_GONE,
};

struct wait_for {
	enum wait_until until;
	size_t n;
	__u16 *id; /* owned; wait_end frees */
};

/* Remembers set before the commit; ids do not change. */
void wait_start(struct wait_for *w, enum wait_until until, const struct backend_set *set);
/* The duration of --wait in *ms: 0 without the option; a usage error in a batch. */
int wait_duration(struct cli *c, __u64 *ms);
/* Polls until all are there: CLI_OK, or CLI_NO when ms have passed. Prints the change before. */
int wait_run(struct cli *c, const struct wait_for *w, __u64 ms);
void wait_end(struct wait_for *w);

#endif
