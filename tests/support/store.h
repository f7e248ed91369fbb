/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Instances in plain memory for tests: short ways to change them, images of all their maps, and
 * comparisons that do not depend on history.
 */
#ifndef TEST_STORE_H
#define TEST_STORE_H

#include "maps/instance.h"

/* A few of everything, so that copying all of it is cheap and pools run full. */
struct instance *store_tiny(void);
/* The defaults. */
struct instance *store_full(void);

/* ---- changes: each a whole transaction; failures end the test ---------------------------------*/

/* change(cfg, argument) alters the configuration between load and commit. */
typedef void (*store_edit)(struct config *cfg, unsigned long argument);
void store_change(struct instance *i, store_edit edit, unsigned long argument);
/* As above, but a refusal is returned with its error. */
int store_try(struct instance *i, store_edit edit, unsigned long argument, struct poise_error *err);

/* Adds a service with listener 192.0.2.N:80 and backends 10.0.0.first .. */
struct config_service *store_add_service(struct config *cfg, const char *name, unsigned int n,
					 unsigned int first, unsigned int backends);
void store_listen(struct config *cfg, struct config_service *svc, const char *listener);
struct config_member *store_add_member(struct config_service *svc, const char *address);

/* ---- images -----------------------------------------------------------------------------------*/

/* Every byte of every map but the ring of events; malloc'ed. */
void *store_image(const struct instance *i);
void store_restore(struct instance *i, const void *image);

/* ---- what must be the same --------------------------------------------------------------------*/

/* The whole configuration as text: what save prints, and the state of every backend. malloc'ed. */
char *store_config_text(struct instance *i);
/* Fails the test with the first sentences of instance_check if there are any. */
void store_check(struct instance *i, const char *when);
/* Compares what packets see in both: by names and addresses, not by ids and places. Fails the test
 * at the first difference. */
void store_same(struct instance *a, struct instance *b, const char *when);
/* Builds an instance of the same limits and key from the configuration in force, as if it had
 * never been another. */
struct instance *store_afresh(struct instance *i);

#endif
