// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who is ejected and who is back, into the records. */
#include "store.h"

static void eject(struct poise_member_conf *m, const struct instance_ejection *e)
{
	m->ejected = e->fault;
	if (!e->fault)
		return; /* when it was and for how long is remembered */
	m->eject_time = e->time;
	m->eject_until = e->until;
	m->eject_flows = e->flows;
	m->eject_bad = e->bad;
	m->eject_median = e->median;
}

int instance_set_ejected(struct instance *i, const struct instance_ejection *change, size_t n,
			 struct poise_error *err)
{
	struct instance_change changed;
	struct config *cfg;
	int rc;

	if (instance_load(i, &cfg, err) < 0)
		return -1;
	for (size_t k = 0; k < n; k++) {
		struct config_service *svc = config_service_by_id(cfg, change[k].service);
		struct config_member *m = svc ? config_member_by_id(svc, change[k].member) : NULL;

		if (m)
			eject(&m->conf, &change[k]);
	}
	rc = instance_commit(i, cfg, &changed, err);
	config_free(cfg);
	return rc;
}
