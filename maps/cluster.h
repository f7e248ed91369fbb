/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ABI's map `cluster`, of one entry: what poised knows of the Kubernetes cluster that it
 * serves, for poise status. */
#ifndef POISE_CLUSTER_H
#define POISE_CLUSTER_H

enum poise_cluster_state {
	POISE_CLUSTER_NONE = 0, /* poised follows none */
	POISE_CLUSTER_LISTING,	/* not all is known yet: nothing was changed for it */
	POISE_CLUSTER_FOLLOWED,
	POISE_CLUSTER_OUTAGE, /* the API server cannot be asked: what was known is served on */
};

#define POISE_CLUSTER_SERVER 256
#define POISE_CLUSTER_NAME   320 /* an object's name (253), and for a leader its instance's */
#define POISE_CLUSTER_TEXT   512

struct poise_cluster {
	__u64 at;      /* CLOCK_REALTIME ns when it was written; 0: never, or it is being written */
	__u64 since;   /* likewise: when state became what it is */
	__u64 applied; /* likewise: when what the cluster wants was last made so; 0: never */
	__u32 state;   /* enum poise_cluster_state */
	__u32 services, slices, endpoints; /* known of */
	__u32 findings;			   /* what is amiss with them */
	__u32 leads;			   /* this poised writes to the API server */
	char server[POISE_CLUSTER_SERVER]; /* its URL */
	char node[POISE_CLUSTER_NAME];	   /* ours */
	char leader[POISE_CLUSTER_NAME];   /* empty: not known */
	char error[POISE_CLUSTER_TEXT];	   /* of the last request or change; empty: it went well */
	char finding[POISE_CLUSTER_TEXT];  /* the first of them */
};

POISE_ASSERT_SIZE(struct poise_cluster, 1968);

#endif
