/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread's state, between kube.c (what it does) and state.c (what it tells of itself). */
#ifndef POISE_KUBE_PRIV_H
#define POISE_KUBE_PRIV_H

#include <pthread.h>

#include "apply.h"
#include "healthport.h"
#include "kube.h"
#include "lead.h"
#include "reflector.h"
#include "rights.h"

/* A reflector, and whose objects they are. */
struct follower {
	struct kube *kube;
	enum kube_kind kind;
	char path[KUBE_RIGHT_PATH];
	char field[POISE_CLUSTER_NAME + 32];
	struct kube_resource what;
	struct kube_handler handler;
	struct kube_reflector *reflector;
	bool connected; /* when last looked */
};

/* What was told in the map `cluster`. */
struct kube_state {
	struct poise_cluster now;
	__u64 lost; /* ms: the API server has not been heard since; 0: it is */
	__u64 next; /* ms: to be told again */
	bool nodeless;
};

struct kube {
	struct kube_settings settings;
	char node[POISE_CLUSTER_NAME];
	struct instance *instance;
	struct kube_access *access;
	struct kube_http *http;
	struct kube_cache *cache;
	struct follower follower[KUBE_KINDS];
	struct kube_apply apply;
	struct kube_pool pool;
	union poise_addr node_ports[KUBE_ADDRS_MAX];
	struct kube_lead *lead;
	struct kube_health *health;
	/* kube_cache_changes(), apply.anew and apply.made, as lead and health were told. */
	__u64 changes, led, served;
	struct kube_state state;
	pthread_t thread;
	bool stop; /* atomic */
};

/* Looks at how things stand and tells it. Returns after how many ms to call it again. */
__u32 kube_state_tick(struct kube *k, __u64 now);

#endif
