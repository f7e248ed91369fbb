// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * That a draining backend has no flow left is nobody's act: it is noticed, once a second. That its
 * deadline has passed is told by whoever ends the drain.
 */
#include <stdlib.h>
#include <string.h>

#include "poised.h"

static bool is_drained(const struct instance *i, const struct config_service *svc,
		       const struct config_member *m)
{
	return m->id && m->conf.admin == POISE_DRAINING && !config_member_leaving(m) &&
	       !strcmp(instance_member_state(i, svc, m), "drained");
}

/* A drain is told of once; it is known by when it began, since ids are given again. */
static void look(struct drained *d, struct instance *i, const struct config_service *svc,
		 const struct config_member *m)
{
	if (d->known[m->id] == m->conf.since || !is_drained(i, svc, m))
		return;
	d->known[m->id] = m->conf.since;
	if (d->begun && !config_drain_ended(m))
		events_backend(i, POISE_EVENT_DRAINED, m->id, "no flow is left");
}

void drained_look(struct drained *d, struct instance *i, const struct config *cfg)
{
	if (!d->known)
		d->known = calloc(i->meta->members, sizeof(*d->known));
	if (!d->known)
		abort();
	for (size_t s = 0; cfg && s < cfg->services; s++)
		for (size_t m = 0; m < cfg->service[s]->members; m++)
			look(d, i, cfg->service[s], &cfg->service[s]->member[m]);
	d->begun = true;
}

void drained_free(struct drained *d)
{
	free(d->known);
	d->known = NULL;
}
