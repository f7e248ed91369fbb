// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Source ranges: where in their pool a service's run lies. A run is never changed while somebody
 * may read it: other ranges are another run, which is put in force with the service's record. What
 * an interrupted writer left of one is a free place as any other.
 */
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/* Places of a run of n prefixes (maps/abi.h). */
static __u32 places(__u32 n)
{
	return n ? n + 1 : 0;
}

static void conf_ranges(struct gaps *taken, const struct poise_service_conf *conf)
{
	gaps_add(taken, conf->range_at, places(conf->ranges));
}

/* Its bounds, at twice the run's place. */
static void rec_ranges(struct gaps *taken, const struct poise_service_rec *rec)
{
	__u32 count = rec->bounds & POISE_BOUNDS_COUNT;

	gaps_add(taken, rec->bounds_at / 2, (count + 1) / 2);
}

/* The prefixes of a service as its run has them: in order, whichever list they are of. */
static struct poise_range *run_of(const struct config_service *svc)
{
	const struct ranges *allow = &svc->allow, *deny = &svc->deny;
	struct poise_range *run = calloc(allow->n + deny->n + 1, sizeof(*run));
	size_t a = 0, d = 0;

	if (!run)
		abort();
	while (a < allow->n || d < deny->n) {
		bool denies = a == allow->n ||
			      (d < deny->n && range_cmp(&deny->range[d], &allow->range[a]) < 0);
		struct poise_range *to = &run[a + d];

		*to = denies ? deny->range[d++] : allow->range[a++];
		to->deny = denies;
	}
	return run;
}

static int no_room(const struct plan *p, const struct config_service *svc, __u32 need,
		   struct poise_error *err)
{
	__u32 largest, left = gaps_left(&p->ranges, &largest);

	poise_fail(err, POISE_E_FULL,
		   "its source ranges need %u places side by side; %u are free, at most %u side by "
		   "side",
		   need, left, largest);
	poise_error_about(err, "service \"%s\"", svc->conf.name);
	return poise_error_remedy(err, "raise limits: source-ranges, which counts when the maps "
				       "are created");
}

static bool run_stays(const struct instance *i, const struct poise_service_conf *old,
		      const struct poise_range *run, size_t n)
{
	const struct poise_range *now = old && old->ranges == n ? store_ranges(i, old) : NULL;

	return now && !memcmp(now, run, n * sizeof(*run));
}

static int plan_one(struct plan *p, const struct plan_service *ps, struct poise_error *err)
{
	const struct gaps_pool pool = {poise_range_entries(p->i->meta->ranges), conf_ranges,
				       rec_ranges};
	struct poise_service_conf *conf = &ps->svc->conf;
	struct poise_range *run = run_of(ps->svc);
	size_t n = ps->svc->allow.n + ps->svc->deny.n;

	conf->ranges = (__u16)n;
	conf->range_crc = n ? store_crc(0, run, n * sizeof(*run)) : 0;
	conf->range_at = 0;
	if (n && run_stays(p->i, ps->old, run, n)) {
		conf->range_at = ps->old->range_at;
	} else if (n) {
		gaps_find(&p->ranges, p->i, &pool);
		conf->range_at = gaps_take(&p->ranges, places(conf->ranges));
	}
	free(run);
	return n && !conf->range_at ? no_room(p, ps->svc, places(conf->ranges), err) : 0;
}

int plan_ranges(struct plan *p, struct poise_error *err)
{
	gaps_free(&p->ranges);
	for (size_t s = 0; s < p->cfg->services; s++)
		if (plan_one(p, &p->service[s], err))
			return -1;
	return 0;
}

void plan_ranges_write(struct instance *i, const struct config_service *svc)
{
	struct poise_range *run = run_of(svc);

	store_words(&i->range_conf[svc->conf.range_at], run, svc->conf.ranges * sizeof(*run));
	free(run);
}
