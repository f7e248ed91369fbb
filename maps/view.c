// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is going on: counters, rates, shares, states. Reads only.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "derive.h"
#include "sizes.h"
#include "table.h"

/* The daemon folds every few ms and works out rates every second. */
#define FOLD_FRESH  (1 * NS_PER_S)
#define RATES_FRESH (3 * NS_PER_S)
#define BEAT_STEP   5000000   /* ns: as often as it folds */
#define BEAT_WAIT   100000000 /* a busy machine keeps it from folding that long at most */

/* A time that another CPU or process wrote a moment after we read the clock is fresh, too. */
static bool is_fresh(__u64 at, __u64 within)
{
	__u64 now = clock_monotonic();

	return at && (at > now || now - at < within);
}

/* ---- counters ---------------------------------------------------------------------------------*/

void instance_member_stats(const struct instance *i, __u16 member, struct instance_stats *s)
{
	const struct poise_rate *rate = &i->rates[member];

	*s = (struct instance_stats){0};
	for (__u32 cpu = 0; cpu < i->meta->cpus; cpu++) {
		const struct poise_counter *c =
			&i->counters[(size_t)cpu * i->meta->members + member];

		s->packets += c->packets;
		s->bytes += c->bytes;
		s->opened += POISE_COUNT(c->opened);
		s->closed += POISE_COUNT(c->closed);
		for (int k = 0; k < POISE_SIGNALS; k++)
			s->signal[k] += c->signal[k];
	}
	s->flows = (__s64)(s->opened - s->closed);
	s->has_rates = is_fresh(rate->at, RATES_FRESH);
	for (int over = 0; over < 2 && s->has_rates; over++) {
		s->new_flows[over] = rate->flows[over];
		s->packets_rate[over] = (double)rate->packets[over];
		s->bytes_rate[over] = (double)rate->bytes[over];
	}
}

int instance_drops(const struct instance *i, __u16 service, __u64 count[POISE_REASON_SLOTS],
		   struct poise_error *err)
{
	struct poise_drops *of_cpu;
	__u32 key = service, cpus = sizes_cpus();
	int rc = 0;

	for (int r = 0; r < POISE_REASON_SLOTS; r++)
		count[r] = 0;
	if (i->drops)
		memcpy(count, i->drops[service].count, sizeof(i->drops[service].count));
	if (i->drops_fd < 0)
		return 0;
	of_cpu = calloc(cpus, sizeof(*of_cpu));
	if (!of_cpu)
		abort();
	if (bpf_map_lookup_elem(i->drops_fd, &key, of_cpu))
		rc = poise_fail_errno(err, "cannot read the drop counters");
	for (__u32 cpu = 0; cpu < cpus && !rc; cpu++)
		for (int r = 0; r < POISE_REASON_SLOTS; r++)
			count[r] += of_cpu[cpu].count[r];
	free(of_cpu);
	return rc;
}

/* The pid may be of another pid namespace, so that no such process here is only a doubt: a heart
 * that beats settles it. */
static bool beats(const struct instance *i)
{
	__u64 first = i->meta->heartbeat;
	struct timespec step = {0, BEAT_STEP};

	for (int waited = 0; waited < BEAT_WAIT; waited += BEAT_STEP) {
		nanosleep(&step, NULL);
		if (__atomic_load_n(&i->meta->heartbeat, __ATOMIC_RELAXED) != first)
			return true;
	}
	return false;
}

bool instance_daemon_runs(const struct instance *i)
{
	if (!is_fresh(i->meta->heartbeat, FOLD_FRESH))
		return false;
	return !kill((pid_t)i->meta->daemon_pid, 0) || errno != ESRCH || beats(i);
}

/* ---- shares and states ------------------------------------------------------------------------*/

static bool is_reached(const struct instance *i, const struct config_service *svc,
		       const struct config_member *m)
{
	return i->members[m->id].nexthop || config_mode(svc, m) == POISE_LOCAL;
}

/* Packets whose slot names a member without a next hop take another slot's, so that its share goes
 * to the others as the table divides it. */
static void give_away(const struct instance *i, const struct config_service *svc, double *share)
{
	double reached = 0;

	for (size_t m = 0; m < svc->members; m++)
		reached += is_reached(i, svc, &svc->member[m]) ? share[m] : 0;
	for (size_t m = 0; m < svc->members && reached > 0; m++)
		share[m] = is_reached(i, svc, &svc->member[m]) ? share[m] / reached : 0;
}

void instance_shares(const struct instance *i, const struct config_service *svc, double *share)
{
	const struct poise_service *s = &i->services[svc->id];
	const struct poise_service_rec *rec = &s->rec[s->active & 1];
	__u32 size = rec->table_size, *slots;
	const __u32 *entry;

	for (size_t m = 0; m < svc->members; m++)
		share[m] = 0;
	if (!svc->id || (s->active & POISE_SERVICE_GONE) || !size ||
	    (__u64)rec->table_at + size > i->meta->table_slots)
		return;
	slots = calloc(POISE_ORDINAL_MAX + 1, sizeof(*slots));
	if (!slots)
		abort();
	entry = instance_table(i, rec->table_at, size);
	for (__u32 at = 0; at < size; at++)
		slots[POISE_ENTRY_CURRENT(entry[at])]++;
	for (size_t m = 0; m < svc->members; m++)
		if (svc->member[m].id)
			share[m] = (double)slots[svc->member[m].conf.ordinal] / size;
	give_away(i, svc, share);
	free(slots);
}

__u8 instance_standing(const struct instance *i, __u16 service)
{
	const struct poise_service *s = &i->services[service];
	const struct poise_service_rec *rec = &s->rec[s->active & 1];
	bool stands = !(s->active & POISE_SERVICE_GONE) && rec->flags & POISE_S_PUBLISHED;

	return stands ? rec->standing : 0;
}

struct ladder instance_ladder(const struct instance *i, const struct config_service *svc)
{
	struct ladder ladder;

	ladder_begin(&ladder, &svc->conf, instance_standing(i, svc->id));
	for (size_t m = 0; m < svc->members; m++)
		ladder_count(&ladder, &svc->member[m].conf);
	return ladder;
}

bool instance_below(const struct instance *i, const struct config_service *svc)
{
	return instance_standing(i, svc->id) & POISE_STANDS_BELOW;
}

bool instance_usable(const struct instance *i, const struct config_service *svc)
{
	if (instance_below(i, svc))
		return false;
	for (size_t m = 0; m < svc->members; m++) {
		const struct poise_member *seen = &i->members[svc->member[m].id];

		if (seen->service == svc->id && (seen->live & POISE_L_RANK) < POISE_RANK_FAILED &&
		    is_reached(i, svc, &svc->member[m]))
			return true;
	}
	return false;
}

/* The fault that weighs most comes first. */
const char *instance_member_state(const struct instance *i, const struct config_service *svc,
				  const struct config_member *m)
{
	__u64 now = clock_realtime();
	struct instance_stats stats;

	(void)svc;
	if (m->conf.r.state == POISE_REC_LEAVING)
		return "leaving";
	if (m->conf.admin == POISE_DISABLED)
		return "disabled";
	if (m->conf.admin == POISE_DRAINING) {
		if (m->conf.deadline == DERIVE_ENDED)
			return "drained";
		if (m->conf.health == POISE_HEALTH_DOWN)
			return "down";
		instance_member_stats(i, m->id, &stats);
		return instance_idle(i, m, &stats, now) ? "drained" : "draining";
	}
	if (m->conf.health == POISE_HEALTH_DOWN)
		return "down";
	if (m->id && !i->members[m->id].nexthop)
		return "unresolved";
	if (m->conf.health == POISE_HEALTH_CHECKING)
		return "checking";
	if (ladder_ejected(&m->conf))
		return "ejected";
	if (m->id && i->members[m->id].max_conns &&
	    i->held[m->id] >= (poise_load)i->members[m->id].max_conns)
		return "full";
	if (!m->conf.weight)
		return "draining";
	return m->conf.sorry ? "sorry" : "up";
}
