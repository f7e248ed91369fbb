// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What packets see of a configuration: the ladder, whose flows go on, current and base, timers,
 * and what an id's next owner begins with.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/derive.h"
#include "tests/support/store.h"

#define TABLE 61

static struct instance *begin(store_edit edit)
{
	struct instance *i = store_tiny();

	store_change(i, edit, 0);
	store_check(i, "at first");
	return i;
}

static void three(struct config *cfg, unsigned long argument)
{
	(void)argument;
	store_add_service(cfg, "web", 1, 0, 3)->conf.table_size = TABLE;
}

static struct config_service *web(struct config *cfg)
{
	return config_service_named(cfg, "web");
}

/* The published record of the only service, and its members by address order. */
static const struct poise_service_rec *rec(const struct instance *i)
{
	return &i->services[1].rec[i->services[1].active & 1];
}

static __u32 entry(const struct instance *i, __u32 slot)
{
	return i->table[rec(i)->table_at + slot];
}

static __u32 id_of(const struct instance *i, __u32 ordinal)
{
	return rec(i)->extent[0].first + ordinal;
}

static unsigned int slots_of(const struct instance *i, __u32 ordinal)
{
	unsigned int slots = 0;

	for (__u32 s = 0; s < rec(i)->table_size; s++)
		slots += POISE_ENTRY_CURRENT(entry(i, s)) == ordinal;
	return slots;
}

/* ---- the ladder (ladder.c has all of it) ------------------------------------------------------*/

static void one_up_one_down(struct config *cfg, unsigned long argument)
{
	(void)argument;
	web(cfg)->member[0].conf.health = POISE_HEALTH_DOWN;
	web(cfg)->member[1].conf.health = POISE_HEALTH_CHECKING;
	web(cfg)->member[2].conf.weight = 3;
}

/* Only the best rung is in the table. */
Test(derive, only_the_best_rung_is_chosen)
{
	struct instance *i = begin(three);

	store_change(i, one_up_one_down, 0);
	cr_assert_eq(slots_of(i, 2), TABLE);
	instance_close(i);
}

/* ---- current and base -------------------------------------------------------------------------*/

static void last_goes_down(struct config *cfg, unsigned long argument)
{
	(void)argument;
	web(cfg)->member[2].conf.health = POISE_HEALTH_DOWN;
}

static void all_enabled(struct config *cfg, unsigned long argument)
{
	for (int m = 0; m < 3; m++) {
		web(cfg)->member[m].conf.health = POISE_HEALTH_UP;
		web(cfg)->member[m].conf.admin = argument ? POISE_DISABLED : POISE_ENABLED;
	}
}

static void last_is_removed(struct config *cfg, unsigned long argument)
{
	(void)argument;
	config_member_del(web(cfg), &web(cfg)->member[2]);
}

Test(derive, at_first_base_is_current)
{
	struct instance *i = begin(three);

	for (__u32 s = 0; s < TABLE; s++)
		cr_assert_eq(entry(i, s), POISE_ENTRY(POISE_ENTRY_CURRENT(entry(i, s)),
						      POISE_ENTRY_CURRENT(entry(i, s))));
	instance_close(i);
}

/* A slot that changed its answer remembers under whom flows were born, also once it is back. */
Test(derive, a_change_writes_current_only)
{
	struct instance *i = begin(three);
	__u32 before[TABLE], moved = 0;

	for (__u32 s = 0; s < TABLE; s++)
		before[s] = POISE_ENTRY_CURRENT(entry(i, s));
	store_change(i, last_goes_down, 0);
	for (__u32 s = 0; s < TABLE; s++) {
		__u32 current = POISE_ENTRY_CURRENT(entry(i, s));

		cr_assert_eq(POISE_ENTRY_BASE(entry(i, s)), before[s], "slot %u", s);
		cr_assert_eq(!!(entry(i, s) & POISE_ENTRY_MIXED), current != before[s], "slot %u",
			     s);
		cr_assert_neq(current, 2);
		moved += current != before[s];
	}
	cr_assert_geq(moved, TABLE / 3);
	store_change(i, all_enabled, 0);
	for (__u32 s = 0; s < TABLE; s++) {
		cr_assert_eq(POISE_ENTRY_CURRENT(entry(i, s)), before[s], "slot %u", s);
		cr_assert_eq(POISE_ENTRY_BASE(entry(i, s)), before[s], "slot %u", s);
		cr_assert(before[s] != 2 || (entry(i, s) & POISE_ENTRY_MIXED), "slot %u", s);
	}
	instance_close(i);
}

Test(derive, base_outlives_a_time_without_backends)
{
	struct instance *i = begin(three);
	__u32 before[TABLE];

	for (__u32 s = 0; s < TABLE; s++)
		before[s] = POISE_ENTRY_BASE(entry(i, s));
	store_change(i, all_enabled, 1);
	for (__u32 ordinal = 0; ordinal < 3; ordinal++)
		cr_assert_eq(slots_of(i, ordinal), 0);
	store_change(i, all_enabled, 0);
	for (__u32 s = 0; s < TABLE; s++)
		cr_assert_eq(POISE_ENTRY_BASE(entry(i, s)), before[s], "slot %u", s);
	instance_close(i);
}

Test(derive, a_base_whose_backend_is_gone_follows_current)
{
	struct instance *i = begin(three);

	store_change(i, last_is_removed, 0);
	for (__u32 s = 0; s < TABLE; s++) {
		cr_assert_neq(POISE_ENTRY_BASE(entry(i, s)), 2, "slot %u", s);
		cr_assert_neq(POISE_ENTRY_CURRENT(entry(i, s)), 2, "slot %u", s);
	}
	store_check(i, "after the removal");
	instance_close(i);
}

static void resize(struct config *cfg, unsigned long size)
{
	web(cfg)->conf.table_size = (__u32)size;
}

static void hash_by_source(struct config *cfg, unsigned long argument)
{
	web(cfg)->conf.policy = argument ? POISE_SOURCE_HASH : POISE_MAGLEV;
}

/* Size or hash changed: the table under which flows were born stays where it was. */
Test(derive, the_old_table_becomes_the_base)
{
	struct instance *i = begin(three);
	__u32 first = rec(i)->table_at, before[TABLE];

	memcpy(before, &i->table[first], sizeof(before));
	store_change(i, resize, 97);
	cr_assert_eq(rec(i)->table_size, 97);
	cr_assert_eq(rec(i)->base_at, first);
	cr_assert_eq(rec(i)->base_size, TABLE);
	cr_assert_eq(rec(i)->base_hash, POISE_MAGLEV);
	store_change(i, hash_by_source, 1);
	cr_assert_eq(rec(i)->base_at, first, "the oldest base stays");
	cr_assert_eq(rec(i)->base_hash, POISE_MAGLEV);
	cr_assert_arr_eq(before, &i->table[first], sizeof(before));
	store_change(i, resize, TABLE);
	cr_assert_eq(rec(i)->base_size, TABLE, "same size, other hash");
	store_change(i, hash_by_source, 0);
	cr_assert_eq(rec(i)->table_at, first, "what it was at first");
	cr_assert_eq(rec(i)->base_size, 0);
	for (__u32 s = 0; s < TABLE; s++)
		cr_assert_eq(entry(i, s), before[s] | POISE_ENTRY_MIXED,
			     "flows of the other tables have words");
	store_check(i, "at last");
	instance_close(i);
}

/* ---- timers, names ----------------------------------------------------------------------------*/

static void timers(struct config *cfg, unsigned long argument)
{
	(void)argument;
	web(cfg)->conf.idle = 0xffffffff;
	web(cfg)->conf.syn = 1;
	web(cfg)->conf.closing = 1001;
	web(cfg)->conf.udp = 3600000;
}

Test(derive, timers_are_rounded_up_and_kept_in_bounds)
{
	struct instance *i = begin(three);

	store_change(i, timers, 0);
	cr_assert_eq(rec(i)->idle, 16 * 3600);
	cr_assert_eq(rec(i)->syn, 1);
	cr_assert_eq(rec(i)->closing, 2);
	cr_assert_eq(rec(i)->udp, 3600);
	instance_close(i);
}

static void rename_first(struct config *cfg, unsigned long argument)
{
	(void)argument;
	cr_assert_eq(config_service_rename(cfg, cfg->service[0], "renamed", NULL), 0);
}

/* Else every flow of the service would move: nothing of the name is in what packets read. */
Test(derive, a_new_name_is_nothing_to_packets)
{
	struct instance *i = begin(three);
	struct poise_service_rec before = *rec(i);
	__u32 slots = before.table_size;
	__u32 *table = malloc(slots * sizeof(*table));

	memcpy(table, i->table + before.table_at, slots * sizeof(*table));
	store_change(i, rename_first, 0);
	cr_assert_eq(memcmp(rec(i), &before, sizeof(before)), 0);
	cr_assert_eq(memcmp(i->table + before.table_at, table, slots * sizeof(*table)), 0);
	free(table);
	instance_close(i);
}

/* ---- ids change hands -------------------------------------------------------------------------*/

static void another_service(struct config *cfg, unsigned long argument)
{
	struct config_service *svc = web(cfg);

	if (svc)
		config_service_del(cfg, svc);
	else
		store_add_service(cfg, "web", 1, (unsigned int)argument, 3)->conf.table_size =
			TABLE;
}

static void sweep(struct instance *i)
{
	struct poise_error err;

	cr_assert_eq(instance_lock(i, &err), 0);
	cr_assert_eq(instance_sweep(i, &err), 0);
	instance_unlock(i);
}

/* Flow words keep an id from its next owner until they are swept; then counts begin at nothing. */
Test(derive, an_id_is_given_again_only_after_a_sweep)
{
	struct instance *i = begin(three);
	struct instance_stats stats;
	__u32 id = id_of(i, 0);

	i->flows[3].word[5] = (__u64)id << POISE_WORD_MEMBER_SHIFT |
			      (__u64)POISE_FLOW_EST << POISE_WORD_STATE_SHIFT;
	i->counters[id].opened = 1;
	i->counters[i->meta->members + id].packets = 77;
	store_change(i, another_service, 0);
	store_change(i, another_service, 40);
	for (__u32 m = 1; m < i->meta->members; m++)
		cr_assert(m < id || m >= id + 3 || !i->members[m].service, "id %u", m);
	sweep(i);
	cr_assert_eq(i->flows[3].word[5], 0);
	store_change(i, another_service, 0);
	store_change(i, another_service, 80);
	cr_assert_neq(i->members[id].service, 0, "the first free id is the one that was swept");
	instance_member_stats(i, (__u16)id, &stats);
	cr_assert_eq(stats.opened, 0);
	cr_assert_eq(stats.packets, 0);
	store_check(i, "at last");
	instance_close(i);
}

/* ---- time passing -----------------------------------------------------------------------------*/

static void leave_and_drain(struct config *cfg, unsigned long argument)
{
	web(cfg)->conf.track = argument ? POISE_TRACK_ALWAYS : POISE_TRACK_AUTO;
	web(cfg)->member[0].conf.r.state = POISE_REC_LEAVING;
	web(cfg)->member[0].conf.deadline = 5000;
	web(cfg)->member[1].conf.admin = POISE_DRAINING;
	web(cfg)->member[1].conf.deadline = 7000;
}

static int tick(struct instance *i, __u64 now)
{
	struct poise_error err;
	int changed;

	cr_assert_eq(instance_lock(i, &err), 0);
	changed = instance_tick(i, now, &err);
	instance_unlock(i);
	store_check(i, "after a tick");
	return changed;
}

Test(derive, leavers_go_and_drains_end_at_their_deadlines)
{
	struct instance *i = begin(three);
	__u32 leaver = id_of(i, 0), drained = id_of(i, 1);

	store_change(i, leave_and_drain, 0);
	cr_assert_eq(tick(i, 4999), 0);
	cr_assert_neq(i->members[leaver].service, 0);
	cr_assert_eq(tick(i, 5000), 1);
	cr_assert_eq(i->members[leaver].service, 0);
	cr_assert_eq(tick(i, 6999), 0);
	cr_assert(i->members[drained].live & POISE_L_HIT_TCP);
	cr_assert_eq(tick(i, 7000), 1);
	cr_assert_eq(i->members[drained].live, POISE_RANK_NEVER);
	cr_assert_eq(tick(i, 9000), 0);
	instance_close(i);
}

/* With every flow recorded, no live flow is no flow: a leaver need not wait. */
Test(derive, a_tracked_leaver_goes_when_idle)
{
	struct instance *i = begin(three);
	__u32 leaver = id_of(i, 0);
	__u64 word = (__u64)leaver << POISE_WORD_MEMBER_SHIFT | (__u64)POISE_FLOW_EST
									<< POISE_WORD_STATE_SHIFT;

	i->flows[0].word[0] = word;
	i->counters[leaver].opened = 1;
	instance_loads(i, 0, leaver)->own = 1;
	store_change(i, leave_and_drain, 1);
	cr_assert_eq(tick(i, 100), 0, "a flow is live");
	i->flows[0].word[0] = 0;
	i->counters[leaver].closed = 1;
	instance_loads(i, 0, leaver)->own = 0;
	cr_assert_eq(tick(i, 100), 1);
	cr_assert_eq(i->members[leaver].service, 0);
	instance_close(i);
}

/* ---- the rest ---------------------------------------------------------------------------------*/

/* RFC 3720 B.4: the check value of CRC-32C, and 32 bytes of zeros; in one piece and in two. */
Test(derive, crc32c)
{
	static const __u8 zeros[32];

	cr_assert_eq(store_crc(0, "123456789", 9), 0xe3069283);
	cr_assert_eq(store_crc(0, zeros, sizeof(zeros)), 0x8a9136aa);
	cr_assert_eq(store_crc(store_crc(0, "1234", 4), "56789", 5), 0xe3069283);
}

static void nothing(struct config *cfg, unsigned long argument)
{
	(void)cfg;
	(void)argument;
}

static unsigned long stores;

static void count_stores(unsigned long n)
{
	(void)n;
	stores++;
}

/* A commit without a difference is none: nothing is stored, no generation used up. */
Test(derive, no_change_no_store)
{
	struct instance *i = begin(three);

	instance_step = count_stores;
	store_change(i, nothing, 0);
	cr_assert_eq(stores, 0);
	store_change(i, resize, 97);
	cr_assert_gt(stores, 0);
	instance_step = NULL;
	instance_close(i);
}
