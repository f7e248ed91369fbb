/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `poise status` found out: gathered in status.c, printed in status_print.c. */
#ifndef POISE_CLI_STATUS_H
#define POISE_CLI_STATUS_H

#include "../loader/attach/attach.h"
#include "../loader/net/nft.h"
#include "json.h"
#include "transact.h"

#define REMARKS_MAX 32 /* more problems than that are not read one by one */

struct remarks {
	size_t n;
	char text[REMARKS_MAX][768];
};

struct usage {
	const char *what;
	__u64 used, limit;
};

struct status {
	int devices;
	struct attach_state *device;
	bool daemon;
	unsigned int pid;
	__u64 daemon_since; /* CLOCK_REALTIME ns */
	struct usage services, backends, table, flows;
	bool translates;     /* some service is of mode nat: */
	struct usage ports;  /* of the fullest group ... */
	__u32 group;	     /* ... which is this one */
	__u64 ports_refused; /* flows that found none, of all groups */
	__u32 overlay;	     /* enum poise_overlay; unless NONE: */
	size_t by_stack;     /* backends that the host's stack leads to, translated ... */
	char nft_table[NFT_TABLE_TEXT]; /* ... by this table */
	size_t unsettled;		/* services with slots that only time settles ... */
	__u64 slots;			/* ... and how many of these there are */
	bool pressed;			/* young flows lost their records within ... */
	__u32 pressed_ago;		/* ... this many seconds */
	size_t claimed, withdrawn;	/* addresses; withdrawn ones are claimed too */
	char boot_file[256];
	char boot_error[512];
	bool boot_read;
	__u64 boot_applied; /* CLOCK_REALTIME ns; 0 never */
	size_t drift;	    /* differences that applying the boot file would make */
	size_t by_hand;	    /* services that are not in it */
	char fingerprint[16];
	struct poise_cluster cluster;
	struct remarks problems, notes;
};

/* Adds a sentence; what has no room is left out. */
void remark(struct remarks *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* status_stack.c: what is known of the host's stack, and what of it keeps backends from clients. */
void gather_stack(const struct cli *c, struct status *s);
void judge_stack(const struct cli *c, struct status *s);
/* The Kubernetes cluster that poised follows, if any. */
void status_cluster(const struct cli *c, struct status *s);
/* Of it: a line's text into buf, and JSON. */
char *status_cluster_text(const struct status *s, char *buf, size_t size);
struct json_object *status_cluster_json(const struct status *s);

void status_text(struct cli *c, const struct status *s);
void status_json(struct cli *c, const struct status *s);

#endif
