// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What checks found out, into the records. */

#include "store.h"

/* The member that a change is about, if it is still checked. */
static struct config_member *find(const struct config *cfg, const struct instance_health *change)
{
	const struct config_service *svc = config_service_by_id(cfg, change->service);
	struct config_member *m = svc ? config_member_by_id(svc, change->member) : NULL;

	return m && config_is_checked(svc, m) ? m : NULL;
}

static bool of_one_service(const struct instance_health *change, size_t n)
{
	for (size_t k = 1; k < n; k++)
		if (change[k].service != change[0].service)
			return false;
	return true;
}

int instance_set_health(struct instance *i, const struct instance_health *change, size_t n,
			struct poise_error *err)
{
	struct instance_change changed;
	struct config *cfg;
	int rc;

	if (of_one_service(change, n))
		rc = instance_load_service(i, store_service(i, change[0].service)->name, &cfg, err);
	else
		rc = instance_load(i, &cfg, err);
	if (rc < 0)
		return -1;
	for (size_t k = 0; k < n; k++) {
		struct config_member *m = find(cfg, &change[k]);

		if (m)
			m->conf.health = change[k].health;
	}
	rc = cfg->services ? instance_commit(i, cfg, &changed, err) : 0;
	config_free(cfg);
	return rc;
}

void instance_check_result(const struct instance *i, __u16 member, struct poise_check_result *r)
{
	const struct poise_check_result *shared = &i->checks[member];

	/* Written by poised a few times a second at most, in less than a microsecond. */
	for (int tries = 0; tries < 1000; tries++) {
		r->at = __atomic_load_n(&shared->at, __ATOMIC_ACQUIRE);
		if (!r->at)
			continue;
		*r = *shared;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&shared->at, __ATOMIC_RELAXED) == r->at)
			break;
	}
	r->words[sizeof(r->words) - 1] = '\0';
}
