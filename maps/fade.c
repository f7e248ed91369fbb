// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How members fade in, and when that is over; see fade.h. */
#include "fade.h"

#include <math.h>

#include "clock.h"
#include "derive.h"

#define CAP    2.0 /* fair shares that a newcomer without any load takes at most */
#define SHARES 65536

double fade_ratio(const struct poise_service_conf *conf, __u64 age_ns)
{
	double duration = (double)config_fade_in(conf) * NS_PER_MS, floor = conf->fade_floor / 1e2;
	double f;

	if ((double)age_ns >= duration)
		return 1;
	f = pow((double)age_ns / duration, conf->fade_exponent / 1e2);
	return f > floor ? f : floor;
}

static bool by_load(const struct poise_service_rec *rec)
{
	return rec->policy == POISE_LEAST_CONN || rec->policy == POISE_P2C;
}

__u16 fade_share(const struct poise_service_rec *rec, double ratio, __u32 weight, __u64 weights)
{
	double share = ratio * SHARES;

	if (by_load(rec) && weights) {
		double looks = rec->policy == POISE_P2C && rec->cycle_size
				       ? (double)rec->choices / rec->cycle_size
				       : 1;
		double cap = CAP * weight / (double)weights / looks;

		share *= cap < 1 ? cap : 1;
	}
	if (share < 1)
		return 1;
	return share < SHARES - 1 ? (__u16)share : SHARES - 1;
}

__u16 fade_cap(const struct poise_service_rec *rec, __u32 weight, __u64 weights)
{
	return by_load(rec) ? fade_share(rec, 1, weight, weights) : 0;
}

/* ---- as time passes ---------------------------------------------------------------------------*/

/* Those of a service who may be chosen. */
struct pool {
	__u64 weights;
	__u64 load;
	bool fading;  /* somebody */
	bool settled; /* somebody who does not fade and can be reached */
};

static bool is_up(const struct poise_member *m)
{
	return (m->live & POISE_L_RANK) == POISE_RANK_UP;
}

static __u64 load_of(const struct instance *i, __u16 id)
{
	__s64 sum = 0;

	for (__u32 cpu = 0; cpu < i->meta->cpus; cpu++)
		sum += instance_loads(i, cpu, id)->own;
	return sum > 0 ? (__u64)sum : 0;
}

static bool is_fading(const struct instance *i, const struct config_member *member)
{
	const struct poise_member *m = &i->members[member->id];

	return is_up(m) && (m->live & POISE_L_FADING);
}

static void look(const struct instance *i, const struct config_service *svc, struct pool *pool)
{
	*pool = (struct pool){0};
	for (size_t k = 0; k < svc->members && !pool->fading; k++)
		pool->fading = is_fading(i, &svc->member[k]);
	for (size_t k = 0; k < svc->members && pool->fading; k++) {
		const struct poise_member *m = &i->members[svc->member[k].id];

		if (!is_up(m))
			continue;
		pool->weights += m->weight;
		pool->load += load_of(i, svc->member[k].id);
		pool->settled |= !(m->live & POISE_L_FADING) && m->nexthop;
	}
}

/* From now on like any other. Writers change the same word under the lock, which we do not wait
 * for: if one did meanwhile, it is the next tick's to end. */
static void end(struct poise_member *m)
{
	__u32 live = m->live;

	if (!store32_if(&m->live, &live, live & ~POISE_L_FADING))
		return;
	store16(&m->fade, 0);
	store16(&m->fade_cap, 0);
	store32(&m->fade_until, 0);
}

/* age_ns: how long it has been choosable. */
static bool is_over(const struct instance *i, const struct config_service *svc,
		    const struct config_member *member, const struct pool *pool, __u64 age_ns)
{
	const struct poise_service *s = &i->services[svc->id];

	if (!pool->settled || !member->conf.fades || !config_fade_in(&svc->conf))
		return true;
	if (age_ns < config_fade_in(&svc->conf) * NS_PER_MS)
		return false;
	return !by_load(&s->rec[s->active & 1]) ||
	       load_of(i, member->id) * pool->weights >= pool->load * member->conf.weight;
}

static __u64 age_of(const struct config_member *member, __u64 now)
{
	return now > member->conf.since ? now - member->conf.since : 0;
}

/* True if it goes on. */
static bool move_on(struct instance *i, const struct config_service *svc,
		    const struct config_member *member, const struct pool *pool, __u64 now,
		    __u32 second)
{
	const struct poise_service *s = &i->services[svc->id];
	const struct poise_service_rec *rec = &s->rec[s->active & 1];
	struct poise_member *m = &i->members[member->id];
	__u64 age = age_of(member, now);

	if (is_over(i, svc, member, pool, age)) {
		end(m);
		return false;
	}
	store16(&m->fade_cap, fade_cap(rec, m->weight, pool->weights));
	store16(&m->fade, fade_share(rec, fade_ratio(&svc->conf, age), m->weight, pool->weights));
	store32(&m->fade_until, second + FADE_KEPT);
	return true;
}

bool instance_fade(struct instance *i, const struct config *cfg, __u64 now_realtime_ns,
		   __u32 second)
{
	bool any = false;

	for (size_t s = 0; s < cfg->services; s++) {
		const struct config_service *svc = cfg->service[s];
		struct pool pool;

		look(i, svc, &pool);
		for (size_t k = 0; k < svc->members && pool.fading; k++)
			if (is_fading(i, &svc->member[k]))
				any |= move_on(i, svc, &svc->member[k], &pool, now_realtime_ns,
					       second);
	}
	return any;
}

bool instance_member_fades(const struct instance *i, const struct config_service *svc,
			   const struct config_member *m, __u64 now_realtime_ns, __u32 second,
			   double *ratio)
{
	if (!is_fading(i, m) || (__s32)(i->members[m->id].fade_until - second) < 0)
		return false;
	*ratio = fade_ratio(&svc->conf, age_of(m, now_realtime_ns));
	return true;
}
