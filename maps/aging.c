// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What only time can settle. Let T be the longest that a flow of the service may be silent.
 *
 *  - A slot that has differed (current, base) for T without a break: whoever went unrecorded under
 *    the base has sent a packet since, which was recorded, or is over. So the base is nobody's any
 *    more, and becomes current.
 *  - A mixed slot whose current is its base, in which no packet has gone by a word for T: its words
 *    are those of flows that are over. It is mixed no longer, and packets go by the table alone.
 *  - A base table, since it came beside this very table, for T: likewise. (Flows of slots whose
 *    current was the base table's choice and their own base went unrecorded meanwhile; that base
 *    still answers for them.)
 *  - A service that has come to record everything, for T: nothing goes on unrecorded any more. Of
 *    TCP for twice as long: a record of a flow met in its middle may be all there is of it, and
 * must not be held to the short timeout that follows before it has had its time.
 *
 * What breaks a slot's time takes the mark `aging` off its entry: whoever makes it differ or agree
 * (derived_entry), and a packet that goes by a word where current is base (bpf/track.h). Here are
 * only the clocks; a new process begins them anew, which is late, never early.
 *
 * A record that was lost (evicted, or no room) may have been of such a flow, which then goes on
 * unrecorded once more: a service's clocks begin anew whenever one is. A service whose records are
 * lost all the time never settles, and no flow of it moves.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "aging.h"
#include "derive.h"
#include "table.h"

/* Stamps are rounded down by up to 16 s, and packets in between leave word and mark as they are;
 * the sweeper comes by each second. */
#define SLACK 20
/* UDP's stamps are seconds, and so are the looks of the sweeper and of us. */
#define SLACK_UDP 4
/* Slots looked at per call: well over a million a millisecond. */
#define SLOTS_A_TICK (1 << 20)
/* Slots' clocks count in steps of so many seconds, so that 16 bits hold twice the longest T. */
#define STEP 2

/* Kinds of things a service as a whole waits for. */
enum wait {
	WAIT_BASE,
	WAIT_UDP,
	WAIT_TCP,
	WAITS,
};

struct aging_service {
	__u64 created; /* whose clocks these are: an id may be another's meanwhile */
	__u32 table_at;
	__u32 slots;
	__u16 *since;  /* [slots] in steps, 0: not running; NULL while nothing is to be settled */
	__u64 lost;    /* records, when last looked */
	__u32 changes; /* of the service, likewise */
	__u32 calm_since;
	struct {
		__u64 key; /* what is waited for; 0: nothing */
		__u32 since;
	} wait[WAITS];
	bool open; /* something was to be settled in this round so far */
};

struct aging {
	struct aging_service *service; /* by id */
	__u32 services;
	__u32 at;   /* service */
	__u32 slot; /* in it */
};

struct aging *aging_new(void)
{
	struct aging *a = calloc(1, sizeof(*a));

	if (!a)
		abort();
	return a;
}

void aging_free(struct aging *a)
{
	if (!a)
		return;
	for (__u32 id = 0; id < a->services; id++)
		free(a->service[id].since);
	free(a->service);
	free(a);
}

static void forget(struct aging_service *s)
{
	free(s->since);
	*s = (struct aging_service){0};
}

/* ---- how long ---------------------------------------------------------------------------------*/

static __u32 longest(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

/* The longest timeout of a word, and with it of silence, of flows of one protocol. */
static __u32 silence(const struct poise_service_rec *rec, bool udp)
{
	if (udp)
		return rec->udp;
	return longest(longest(rec->idle, rec->pickup), longest(rec->closing, rec->syn));
}

static const struct poise_service_rec *record(const struct instance *i, __u32 id)
{
	const struct poise_service *s = &i->services[id];

	return s->active & POISE_SERVICE_GONE ? NULL : &s->rec[s->active & 1];
}

__u32 aging_seconds(const struct instance *i, __u16 service)
{
	const struct poise_service_conf *conf = store_service(i, service);
	const struct poise_service_rec *rec = record(i, service);
	__u32 most = 0;

	for (int l = 0; rec && l < conf->listeners; l++)
		most = longest(most, silence(rec, conf->listener[l].proto != IPPROTO_TCP));
	return most + SLACK;
}

/* ---- slots ------------------------------------------------------------------------------------*/

static bool differs(__u32 entry)
{
	return POISE_ENTRY_CURRENT(entry) != POISE_ENTRY_BASE(entry);
}

/* Is anything of this entry to be settled, and what will it be then? */
static bool to_settle(const struct poise_service_rec *rec, __u32 entry, __u32 *then)
{
	__u32 settled = POISE_ENTRY(POISE_ENTRY_CURRENT(entry), POISE_ENTRY_CURRENT(entry));

	if (differs(entry)) {
		*then = settled | POISE_ENTRY_MIXED;
		return true;
	}
	/* Where all flows are looked up, nothing tells which slots' words are in use. */
	*then = settled;
	return entry & POISE_ENTRY_MIXED && rec->track == POISE_TRACK_AUTO && !rec->base_size;
}

/* 16 bits of a clock; never 0. */
static __u16 step_of(__u32 now)
{
	__u16 step = (__u16)(now / STEP);

	return step ? step : 1;
}

struct look {
	struct instance *i;
	struct aging_service *s;
	const struct poise_service_rec *rec;
	__u32 now;
	__u32 time; /* T */
};

static void look_at_slot(struct look *k, __u32 slot)
{
	__u32 *at = instance_table(k->i, k->s->table_at + slot, 1);
	__u32 entry = __atomic_load_n(at, __ATOMIC_RELAXED), then;
	__u16 now = step_of(k->now);

	if (!to_settle(k->rec, entry, &then))
		return;
	k->s->open = true;
	if (!k->s->since)
		k->s->since = calloc(k->s->slots, sizeof(*k->s->since));
	if (!k->s->since)
		abort();
	if (!(entry & POISE_ENTRY_AGING) || !k->s->since[slot]) {
		/* Somebody else was quicker: looked at again next time. */
		if (store32_if(at, &entry, entry | POISE_ENTRY_AGING))
			k->s->since[slot] = now;
	} else if ((__u16)(now - k->s->since[slot]) > k->time / STEP) {
		if (store32_if(at, &entry, then))
			k->s->since[slot] = 0;
	}
}

/* ---- a service as a whole ---------------------------------------------------------------------*/

static __u64 lost_records(const struct instance *i, __u16 id)
{
	__u64 count[POISE_REASON_SLOTS];
	struct poise_error err = {0};

	/* Unreadable counts count as a loss each time. */
	if (instance_drops(i, id, count, &err))
		return ~0ull;
	return count[POISE_R_EVICTED] + count[POISE_R_UNRECORDED];
}

static void clocks_anew(struct look *k)
{
	if (k->s->since)
		memset(k->s->since, 0, k->s->slots * sizeof(*k->s->since));
	for (int w = 0; w < WAITS; w++)
		k->s->wait[w].since = k->now;
}

/* What a service waits for as a whole: another key, another wait. */
static __u64 wait_key(const struct poise_service_conf *conf, enum wait w)
{
	switch (w) {
	case WAIT_BASE: return conf->base_size ? (__u64)conf->base_at << 32 | conf->table_at : 0;
	case WAIT_UDP: return conf->untracked & POISE_UNTRACKED_UDP;
	default: return conf->untracked & POISE_UNTRACKED_TCP;
	}
}

static __u32 wait_time(const struct look *k, enum wait w)
{
	switch (w) {
	case WAIT_UDP: return silence(k->rec, true) + SLACK;
	case WAIT_TCP: return 2 * k->time;
	default: return k->time;
	}
}

/* True once something that the service waits for is over; says so in svc if there is one. */
static bool waited(struct look *k, const struct poise_service_conf *conf,
		   struct config_service *svc)
{
	bool over = false;

	for (enum wait w = 0; w < WAITS; w++) {
		__u64 key = wait_key(conf, w);

		if (k->s->wait[w].key != key) {
			k->s->wait[w].key = key;
			k->s->wait[w].since = k->now;
		}
		if (!key || k->now - k->s->wait[w].since <= wait_time(k, w))
			continue;
		over = true;
		if (svc && w == WAIT_BASE)
			svc->over.base = true;
		else if (svc)
			svc->over.untracked |= (__u8)key;
	}
	return over;
}

/* Nothing changed and nothing was lost for as long as a UDP flow may be silent: whoever has no
 * record where there would be one is new. A loss beside us may be found only after the store. */
static void look_for_calm(struct look *k, __u16 id, bool lost)
{
	struct poise_service *service = &k->i->services[id];

	if (lost || k->s->changes != service->changes) {
		k->s->changes = service->changes;
		k->s->calm_since = k->now;
		return;
	}
	if (service->calm || k->now - k->s->calm_since <= silence(k->rec, true) + SLACK_UDP)
		return;
	store32(&service->calm, 1);
	if (lost_records(k->i, id) != k->s->lost)
		store32(&service->calm, 0);
}

/* Begins or goes on looking at a service. */
static void look_begin(struct look *k, __u16 id)
{
	const struct poise_service_conf *conf = store_service(k->i, id);
	__u64 lost;
	bool anew;

	if (k->s->created != conf->created)
		forget(k->s);
	if (k->s->table_at != conf->table_at || k->s->slots != conf->table_slots) {
		free(k->s->since);
		k->s->since = NULL;
		k->s->created = conf->created;
		k->s->table_at = conf->table_at;
		k->s->slots = conf->table_slots;
	}
	k->time = aging_seconds(k->i, id);
	if (!k->s->since && !conf->base_size && !conf->untracked)
		return;
	lost = lost_records(k->i, id);
	anew = lost != k->s->lost || lost == ~0ull;
	if (anew)
		clocks_anew(k);
	k->s->lost = lost;
	look_for_calm(k, id, anew);
}

static int settle_service(struct look *k, __u16 id, struct poise_error *err)
{
	const struct poise_service_conf *conf = store_service(k->i, id);
	struct config *cfg;
	int rc;

	if (!waited(k, conf, NULL))
		return 0;
	if (instance_load_service(k->i, conf->name, &cfg, err))
		return -1;
	rc = 0;
	for (size_t s = 0; s < cfg->services && !rc; s++)
		if (cfg->service[s]->id == id) {
			waited(k, conf, cfg->service[s]);
			rc = instance_commit(k->i, cfg, NULL, err) ? -1 : 1;
		}
	config_free(cfg);
	return rc;
}

/* ---- all of them ------------------------------------------------------------------------------*/

static void next_service(struct aging *a)
{
	a->slot = 0;
	a->at = a->at + 1 < a->services ? a->at + 1 : 1;
}

/* Slots looked at; fewer than `most` once the service is through. */
static __u32 look_on(struct aging *a, struct look *k, __u32 most)
{
	__u32 first = a->slot, end = k->s->slots;

	if (end - first > most)
		end = first + most;
	for (; a->slot < end; a->slot++)
		look_at_slot(k, a->slot);
	return end - first;
}

/* One service, or what is left of it, at most so many slots; *slots: how many it were. */
static int look_at(struct aging *a, struct look *k, __u32 most, __u32 *slots,
		   struct poise_error *err)
{
	__u16 id = (__u16)a->at;
	int rc;

	k->s = &a->service[id];
	k->rec = record(k->i, id);
	*slots = 1;
	if (store_service(k->i, id)->r.state != POISE_REC_USED || !k->rec ||
	    k->rec->track == POISE_TRACK_OFF) {
		forget(k->s);
		next_service(a);
		return 0;
	}
	if (!a->slot)
		k->s->open = false;
	look_begin(k, id);
	if (a->slot < k->s->slots)
		*slots += look_on(a, k, most);
	if (a->slot < k->s->slots)
		return 0;
	if (!k->s->open) {
		free(k->s->since);
		k->s->since = NULL;
	}
	rc = settle_service(k, id, err);
	next_service(a);
	return rc;
}

int aging_tick(struct aging *a, struct instance *i, __u32 now, struct poise_error *err)
{
	struct look k = {.i = i, .now = now};
	__u32 left = SLOTS_A_TICK, slots;
	int settled = 0;

	if (!a->services) {
		a->services = i->meta->services;
		a->service = calloc(a->services, sizeof(*a->service));
		if (!a->service)
			abort();
		a->at = 1;
	}
	/* Each service at most once a call, and no more transactions than one. */
	for (__u32 n = 1; n < a->services && left && settled <= 0; n++) {
		settled = look_at(a, &k, left, &slots, err);
		if (settled < 0)
			return -1;
		left -= slots < left ? slots : left;
	}
	return settled;
}

/* ---- what is told -----------------------------------------------------------------------------*/

void aging_count(const struct instance *i, __u16 service, struct aging_counts *n)
{
	const struct poise_service_rec *rec = record(i, service);
	const struct poise_service_conf *conf = store_service(i, service);
	const __u32 *at;

	*n = (struct aging_counts){0};
	if (!rec || (__u64)conf->table_at + conf->table_slots > i->meta->table_slots)
		return;
	n->slots = conf->table_slots;
	n->base = conf->base_size;
	n->untracked = conf->untracked;
	at = instance_table(i, conf->table_at, n->slots);
	for (__u32 s = 0; s < n->slots; s++) {
		__u32 entry = at[s];

		if (differs(entry))
			n->differing++;
		else if (entry & POISE_ENTRY_MIXED)
			n->mixed++;
	}
}
