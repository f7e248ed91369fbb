// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Time passing: leavers that are idle or past their deadline go, drains past theirs end.
 *
 * Called every second or so, so it looks at the records before it loads a configuration: most of
 * the time nobody is on the way out.
 */
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "derive.h"

/* With `track auto` flows go unrecorded while the table alone answers for them; once a member
 * leaves, each is recorded at its next packet. So no live word means no flow only after a minute
 * of no packet, and only if somebody counts. */
#define SILENCE_NS (60 * NS_PER_S)

bool instance_idle(const struct instance *i, const struct config_member *m,
		   const struct instance_stats *stats, __u64 now_realtime_ns)
{
	const struct poise_service *s = &i->services[m->conf.service];

	if (!m->id || stats->flows > 0)
		return false;
	if (s->rec[s->active & 1].track == POISE_TRACK_ALWAYS)
		return true;
	return now_realtime_ns > m->conf.since + SILENCE_NS && stats->has_rates &&
	       stats->packets_rate[1] == 0 && stats->packets_rate[0] == 0;
}

static bool is_over(const struct instance *i, const struct config_member *m, __u64 now)
{
	struct instance_stats stats;

	if (m->conf.r.state == POISE_REC_USED)
		return m->conf.admin == POISE_DRAINING && m->conf.deadline > DERIVE_ENDED &&
		       m->conf.deadline <= now;
	if (m->conf.r.state != POISE_REC_LEAVING)
		return false;
	if (m->conf.deadline && m->conf.deadline <= now)
		return true;
	instance_member_stats(i, m->id, &stats);
	return instance_idle(i, m, &stats, now);
}

static bool anybody_over(const struct instance *i, __u64 now)
{
	for (__u32 id = 1; id < i->meta->members; id++) {
		struct config_member m = {.id = (__u16)id};
		const struct poise_member_conf *conf;

		if (!i->members[id].service) /* most ids are nobody's: the quicker look */
			continue;
		conf = store_member(i, id);
		if (conf->r.state != POISE_REC_LEAVING && conf->admin != POISE_DRAINING)
			continue;
		m.conf = *conf;
		if (is_over(i, &m, now))
			return true;
	}
	return false;
}

static int end_members(const struct instance *i, struct config_service *svc, __u64 now)
{
	int ended = 0;

	for (size_t m = svc->members; m-- > 0;) {
		struct config_member *member = &svc->member[m];

		if (!is_over(i, member, now))
			continue;
		if (member->conf.r.state == POISE_REC_LEAVING)
			config_member_del(svc, member);
		else
			member->conf.deadline = DERIVE_ENDED;
		ended++;
	}
	return ended;
}

int instance_tick(struct instance *i, __u64 now_realtime_ns, struct poise_error *err)
{
	struct instance_change change;
	struct config *cfg;
	int ended = 0, rc;

	if (!anybody_over(i, now_realtime_ns))
		return 0;
	if (instance_load(i, &cfg, err))
		return -1;
	for (size_t s = 0; s < cfg->services; s++)
		ended += end_members(i, cfg->service[s], now_realtime_ns);
	rc = instance_commit(i, cfg, &change, err);
	config_free(cfg);
	return rc ? -1 : ended;
}
