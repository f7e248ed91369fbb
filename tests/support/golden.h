/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Golden dumps: tests/kube/golden/NAME has objects.json, a List of Services, EndpointSlices and
 * Nodes as an API server gives them, and dump, what poise makes of them: the configuration as
 * `poise save` prints it, then findings and healthCheckNodePorts as comments. Our node is node-a.
 * Optional are live.yaml, what others have configured here, and options, a line each:
 *
 *   classless | no-external-ips | claim DEVICE | node-ports ADDRESSES | server URL
 */
#ifndef POISE_TEST_GOLDEN_H
#define POISE_TEST_GOLDEN_H

#include <json-c/json.h>

#include "loader/kube/desired.h"

#define GOLDEN_NODE "node-a"

struct golden {
	char name[64];
	struct json_object *objects; /* the items of the List */
	struct kube_options options;
	struct config *live; /* NULL: nobody else is here */
	char *dump;	     /* as it should be; NULL: there is none yet */
	char claim[IF_NAMESIZE];
	union poise_addr node[KUBE_ADDRS_MAX];
};

/* The names of all, sorted; ends with NULL. golden_names_free frees them. */
char **golden_names(void);
void golden_names_free(char **names);

/* Fails the test if a file is not as it should be. */
void golden_open(struct golden *g, const char *name);
void golden_close(struct golden *g);

/* Tells a cache of all of them, as complete lists. */
void golden_list(const struct golden *g, struct kube_cache *cache);
/* The kind of an object by its `kind`; -1: another one. */
int golden_kind(struct json_object *obj);

/* A configuration as dumps have it: nothing of limits, interfaces and secrets. malloc'ed. */
char *golden_config(const struct config *cfg);
/* The whole dump, malloc'ed. */
char *golden_dump(const struct kube_desired *d);
/* Where a dump is, for writing it anew: POISE_GOLDEN=write. */
void golden_write(const struct golden *g, const char *dump);

#endif
