// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Configuration records, each in two copies.
 *
 * The copy in force is the newer one not above meta.committed, so one store of meta.committed puts
 * any number of new copies in force. A copy is claimed by its generation before anything else of it
 * is touched: whatever an interrupted writer left is above meta.committed, and thereby known.
 */
#include <string.h>

#include "store.h"

void (*instance_step)(unsigned long n);
unsigned long store_steps;

void store_words(void *at, const void *from, size_t bytes)
{
	__u64 *to = at;

	for (size_t w = 0; w < bytes / sizeof(*to); w++) {
		__u64 value;

		memcpy(&value, (const char *)from + w * sizeof(value), sizeof(value));
		store64(&to[w], value);
	}
}

bool store_begin(struct instance *i)
{
	if (i->meta->sequence & 1)
		return false;
	store64(&i->meta->sequence, i->meta->sequence + 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return true;
}

void store_end(struct instance *i, bool began)
{
	if (began)
		store64(&i->meta->sequence, i->meta->sequence + 1);
}

/* ---- which copy -------------------------------------------------------------------------------*/

static bool countable(const struct poise_record *r, __u64 committed)
{
	__u64 generation = __atomic_load_n(&r->generation, __ATOMIC_ACQUIRE);

	return generation && generation <= committed;
}

/* Index of the copy in force, -1 if none. */
static int in_force(const struct instance *i, const struct poise_record *a,
		    const struct poise_record *b)
{
	__u64 committed = __atomic_load_n(&i->meta->committed, __ATOMIC_ACQUIRE);
	bool first = countable(a, committed), second = countable(b, committed);

	if (first && second)
		return a->generation > b->generation ? 0 : 1;
	return first ? 0 : second ? 1 : -1;
}

static int service_in_force(const struct instance *i, __u32 id)
{
	const struct poise_service_slot *s = &i->service_conf[id];

	return in_force(i, &s->copy[0].r, &s->copy[1].r);
}

static int member_in_force(const struct instance *i, __u32 id)
{
	const struct poise_member_slot *s = &i->member_conf[id];

	return in_force(i, &s->copy[0].r, &s->copy[1].r);
}

static int address_in_force(const struct instance *i, __u32 slot)
{
	const struct poise_address_slot *s = &i->address_conf[slot];

	return in_force(i, &s->copy[0].r, &s->copy[1].r);
}

static const struct poise_service_conf no_service;
static const struct poise_member_conf no_member;
static const struct poise_address_conf no_address;

const struct poise_service_conf *store_service(const struct instance *i, __u32 id)
{
	int copy = service_in_force(i, id);

	return copy < 0 ? &no_service : &i->service_conf[id].copy[copy];
}

const struct poise_member_conf *store_member(const struct instance *i, __u32 id)
{
	int copy = member_in_force(i, id);

	return copy < 0 ? &no_member : &i->member_conf[id].copy[copy];
}

const struct poise_address_conf *store_address(const struct instance *i, __u32 slot)
{
	int copy = address_in_force(i, slot);

	return copy < 0 ? &no_address : &i->address_conf[slot].copy[copy];
}

const struct poise_service_conf *store_service_before(const struct instance *i, __u32 id)
{
	int copy = service_in_force(i, id);
	const struct poise_service_conf *other;

	if (copy < 0)
		return &no_service;
	other = &i->service_conf[id].copy[!copy];
	return countable(&other->r, i->meta->committed) ? other : &no_service;
}

const struct poise_member_conf *store_member_before(const struct instance *i, __u32 id)
{
	int copy = member_in_force(i, id);
	const struct poise_member_conf *other;

	if (copy < 0)
		return &no_member;
	other = &i->member_conf[id].copy[!copy];
	return countable(&other->r, i->meta->committed) ? other : &no_member;
}

const struct poise_address_conf *store_address_before(const struct instance *i, __u32 slot)
{
	int copy = address_in_force(i, slot);
	const struct poise_address_conf *other;

	if (copy < 0)
		return &no_address;
	other = &i->address_conf[slot].copy[!copy];
	return countable(&other->r, i->meta->committed) ? other : &no_address;
}

/* ---- writing ----------------------------------------------------------------------------------*/

/* Of the record with its crc taken as 0. */
static __u32 record_crc(const void *conf, size_t bytes)
{
	const size_t before = offsetof(struct poise_record, crc);
	const size_t after = before + sizeof(__u32);
	static const __u32 zero;
	__u32 crc = store_crc(0, conf, before);

	crc = store_crc(crc, &zero, sizeof(zero));
	return store_crc(crc, (const char *)conf + after, bytes - after);
}

bool store_service_intact(const struct poise_service_conf *conf)
{
	return record_crc(conf, sizeof(*conf)) == conf->r.crc;
}

bool store_member_intact(const struct poise_member_conf *conf)
{
	return record_crc(conf, sizeof(*conf)) == conf->r.crc;
}

bool store_address_intact(const struct poise_address_conf *conf)
{
	return record_crc(conf, sizeof(*conf)) == conf->r.crc;
}

const struct poise_range *store_ranges(const struct instance *i,
				       const struct poise_service_conf *conf)
{
	/* a run has one entry more */
	if ((__u64)conf->range_at + conf->ranges >= poise_range_entries(i->meta->ranges))
		return NULL;
	return &i->range_conf[conf->range_at];
}

bool store_ranges_intact(const struct instance *i, const struct poise_service_conf *conf)
{
	const struct poise_range *range = store_ranges(i, conf);

	return range && conf->ranges <= POISE_RANGES_MAX &&
	       store_crc(0, range, conf->ranges * sizeof(*range)) == conf->range_crc;
}

/* All kinds of record begin with a struct poise_record. */
static void write_record(void *to, void *from, size_t bytes, __u64 generation)
{
	struct poise_record *r = from;

	r->generation = generation;
	r->crc = record_crc(from, bytes);
	store64(&((struct poise_record *)to)->generation, generation);
	store_words(to, from, bytes);
}

void store_service_write(struct instance *i, __u32 id, struct poise_service_conf *conf,
			 __u64 generation)
{
	int other = service_in_force(i, id) == 0;

	write_record(&i->service_conf[id].copy[other], conf, sizeof(*conf), generation);
}

void store_member_write(struct instance *i, __u32 id, struct poise_member_conf *conf,
			__u64 generation)
{
	int other = member_in_force(i, id) == 0;

	write_record(&i->member_conf[id].copy[other], conf, sizeof(*conf), generation);
}

void store_address_write(struct instance *i, __u32 slot, struct poise_address_conf *conf,
			 __u64 generation)
{
	int other = address_in_force(i, slot) == 0;

	write_record(&i->address_conf[slot].copy[other], conf, sizeof(*conf), generation);
}

/* The generation goes last: until then the copy is known as one to be scrubbed. */
static void scrub_copy(void *copy, size_t bytes, __u64 committed)
{
	static const struct poise_service_conf zero;
	struct poise_record *r = copy;

	if (r->generation <= committed)
		return;
	store_words((char *)copy + sizeof(r->generation), &zero, bytes - sizeof(r->generation));
	store64(&r->generation, 0);
}

void store_scrub(struct instance *i)
{
	__u64 committed = i->meta->committed;

	for (__u32 id = 0; id < i->meta->services; id++)
		for (int copy = 0; copy < 2; copy++)
			scrub_copy(&i->service_conf[id].copy[copy],
				   sizeof(struct poise_service_conf), committed);
	for (__u32 id = 0; id < i->meta->members; id++)
		for (int copy = 0; copy < 2; copy++)
			scrub_copy(&i->member_conf[id].copy[copy], sizeof(struct poise_member_conf),
				   committed);
	for (__u32 slot = 0; slot < POISE_ADDRESSES; slot++)
		for (int copy = 0; copy < 2; copy++)
			scrub_copy(&i->address_conf[slot].copy[copy],
				   sizeof(struct poise_address_conf), committed);
}
