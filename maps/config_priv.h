/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of config_*.c share and nobody else needs: the index of listeners, above all.
 */
#ifndef POISE_CONFIG_PRIV_H
#define POISE_CONFIG_PRIV_H

#include "config.h"
#include "memory.h"

/* Whether a device can be named so. */
int config_device(const char *name, struct poise_error *err);

/* Whose the listener is; NULL nobody's. Builds the index if need be. */
struct config_service *config_index_find(struct config *cfg, const struct poise_listener_conf *l);
void config_index_add(struct config *cfg, struct config_service *svc,
		      const struct poise_listener_conf *l);
/* After a listener has gone or changed hands. */
void config_index_drop(struct config *cfg);
/* The first listener, in order of services, that an earlier one already is; false if none. */
bool config_index_duplicate(const struct config *cfg, const struct config_service **first,
			    const struct config_service **second,
			    const struct poise_listener_conf **l);

static inline bool config_same_listener(const struct poise_listener_conf *a,
					const struct poise_listener_conf *b)
{
	return a->addr.q[0] == b->addr.q[0] && a->addr.q[1] == b->addr.q[1] && a->port == b->port &&
	       a->proto == b->proto;
}

#endif
