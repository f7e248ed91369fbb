/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files behind instance.h share: single stores, stamps, and the two-copy records.
 *
 * Every store to a map goes through store8..store64 or store_words, so that a test can kill the
 * writer at any of them. A store that would change nothing is left out.
 */
#ifndef POISE_STORE_H
#define POISE_STORE_H

#include <stdint.h>

#include "instance.h"

extern unsigned long store_steps;

static inline void store_step(void)
{
	if (__builtin_expect(instance_step != NULL, 0))
		instance_step(++store_steps);
}

#define STORE_WIDTH(bits)                                                                          \
	static inline void store##bits(__u##bits *at, __u##bits value)                             \
	{                                                                                          \
		if (*at == value)                                                                  \
			return;                                                                    \
		store_step();                                                                      \
		__atomic_store_n(at, value, __ATOMIC_RELEASE);                                     \
	}
STORE_WIDTH(8)
STORE_WIDTH(16)
STORE_WIDTH(32)
STORE_WIDTH(64)
#undef STORE_WIDTH

/* For words that packets change too: stores value if *at is still *was, else says in *was what it
 * is. */
static inline bool store32_if(__u32 *at, __u32 *was, __u32 value)
{
	if (*was == value)
		return true;
	store_step();
	return __atomic_compare_exchange_n(at, was, value, false, __ATOMIC_RELEASE,
					   __ATOMIC_RELAXED);
}

/* Copies bytes (a multiple of 8, aligned), a word at a time. Nobody may be reading yet. */
void store_words(void *at, const void *from, size_t bytes);

/* Waits until no packet is left that began before; says so nowhere. */
void grace_wait(const struct instance *i);

/* ---- stamps ------------------------------------------------------------------------------------
 * What is unpublished now may be re-used once meta.graced has reached this. Higher than every
 * grace period so far, and reached by the next one.
 */
static inline __u64 store_stamp(const struct instance *i)
{
	const struct poise_meta *m = i->meta;

	return (m->committed > m->graced ? m->committed : m->graced) + 1;
}

/* Low 32 bits for a `retired` field, where 0 means never retired. */
static inline __u32 store_stamp32(const struct instance *i)
{
	__u32 stamp = (__u32)store_stamp(i);

	return stamp ? stamp : 1;
}

/* Compares in a circle: right for stamps less than 2^31 grace periods old (decades). */
static inline bool store_graced(const struct instance *i, __u32 retired)
{
	return !retired || (__s32)((__u32)i->meta->graced - retired) >= 0;
}

static inline void store_need_graced(struct instance *i, __u32 retired)
{
	if (!store_graced(i, retired))
		instance_grace(i);
}

/* Brackets changes of derived maps: meta.sequence is odd between them. Nests: only the call that
 * returned true ends it. */
bool store_begin(struct instance *i);
void store_end(struct instance *i, bool began);

/* ---- records ----------------------------------------------------------------------------------*/
/* Goes on from the CRC of what came before; 0 at the beginning. */
__u32 store_crc(__u32 crc, const void *data, size_t bytes);

/* The copy in force; a zero record (state FREE, generation 0) if none was ever committed. */
const struct poise_service_conf *store_service(const struct instance *i, __u32 id);
const struct poise_member_conf *store_member(const struct instance *i, __u32 id);
const struct poise_address_conf *store_address(const struct instance *i, __u32 slot);
/* The copy that was in force before; the zero record if there is none. */
const struct poise_service_conf *store_service_before(const struct instance *i, __u32 id);
const struct poise_member_conf *store_member_before(const struct instance *i, __u32 id);
const struct poise_address_conf *store_address_before(const struct instance *i, __u32 slot);

/* The source ranges of a service's record, conf->ranges of them; NULL if they lie outside the map.
 */
const struct poise_range *store_ranges(const struct instance *i,
				       const struct poise_service_conf *conf);

bool store_service_intact(const struct poise_service_conf *conf);
bool store_member_intact(const struct poise_member_conf *conf);
bool store_address_intact(const struct poise_address_conf *conf);

bool store_ranges_intact(const struct instance *i, const struct poise_service_conf *conf);

/* Writes the other copy under this generation, which must be above meta.committed. */
void store_service_write(struct instance *i, __u32 id, struct poise_service_conf *conf,
			 __u64 generation);
void store_member_write(struct instance *i, __u32 id, struct poise_member_conf *conf,
			__u64 generation);
void store_address_write(struct instance *i, __u32 slot, struct poise_address_conf *conf,
			 __u64 generation);
/* Empties every copy above meta.committed: what an interrupted writer left. */
void store_scrub(struct instance *i);

/* A member of the service: used or leaving. */
static inline bool store_is_member(const struct poise_member_conf *m)
{
	return m->r.state == POISE_REC_USED || m->r.state == POISE_REC_LEAVING;
}

/* True if a new member may have this id now. */
static inline bool store_member_id_free(const struct instance *i, const struct poise_member_conf *m)
{
	return m->r.state == POISE_REC_FREE ||
	       (m->r.state == POISE_REC_ASHES && m->r.generation <= i->meta->swept);
}

#endif
