// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One flipped bit in any byte of any map is found by map check, wherever the byte means something
 * that can be known. must_find() is the list of exceptions, in the order of maps/check.c's.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/listener.h"
#include "maps/sizes.h"
#include "maps/store.h"
#include "tests/support/kinds.h"
#include "tests/support/longest.h"

/* ---- an instance with something of everything -------------------------------------------------*/

static void add_flow(struct instance *i, __u32 bucket, __u16 member, enum poise_flow_state state)
{
	__u64 *word = &i->flows[bucket].word[0];

	*word = 0xabcdefull << POISE_WORD_TAG_SHIFT | (__u64)member << POISE_WORD_MEMBER_SHIFT |
		(__u64)state << POISE_WORD_STATE_SHIFT | 77;
	if (state >= POISE_FLOW_NEW && state <= POISE_FLOW_EST) {
		i->counters[member].opened++;
		instance_loads(i, 0, member)->own++;
	}
}

static struct instance *world(void)
{
	const __u8 mac[6] = {2, 0, 0, 0, 0, 1};
	struct poise_path want = {.ifindex = 3, .mtu = 1500, .smac = {2, 0, 0, 0, 0, 9}};
	struct instance *i = kinds_begin();
	struct poise_error err;
	__u16 path;

	/* mixed entries, a separate base, ashes, a service that is gone, a retired listener, server
	 * ids, source ranges */
	store_change(i, kind_named("backend_weight")->edit, 0);
	store_change(i, kind_named("set_table_size")->edit, 0);
	store_change(i, kind_named("service_add")->edit, 0);
	store_change(i, kind_named("service_del")->edit, 0);
	store_change(i, kind_named("quic_web")->edit, 0);
	store_change(i, kind_named("listen_more")->edit, 0);
	store_change(i, kind_named("ranges_some")->edit, 0);
	cr_assert_eq(instance_lock(i, &err), 0);
	path = instance_path(i, &want, &err);
	for (__u32 id = 1; id < i->meta->members; id++)
		if (i->members[id].service) {
			instance_set_nexthop(i, (__u16)id, INSTANCE_NEXTHOP(mac, path));
			add_flow(i, id % i->meta->flow_buckets, (__u16)id,
				 1 + id % POISE_FLOW_AFFINITY);
		}
	instance_unlock(i);
	store_check(i, "at first");
	return i;
}

/* ---- what can be known ------------------------------------------------------------------------*/

#define IN(type, first, last)                                                                      \
	(at >= offsetof(type, first) && at < offsetof(type, last) + sizeof(((type *)0)->last))

static bool find_meta(size_t at, int bit)
{
	if (IN(struct poise_meta, sequence, sequence)) /* odd or even is all it says */
		return at == offsetof(struct poise_meta, sequence) && bit == 0;
	if (IN(struct poise_meta, graced, graced) || IN(struct poise_meta, swept, swept))
		return false;
	if (IN(struct poise_meta, pressure, pressure) || IN(struct poise_meta, overlay, overlay) ||
	    IN(struct poise_meta, heartbeat, cuts) ||
	    IN(struct poise_meta, daemon_since, generic_mtu) ||
	    IN(struct poise_meta, boot_file, returns))
		return false;
	return true;
}

/* An empty entry that seems to have been retired is as free as before. */
static bool find_listener(const struct instance *i, __u32 n, size_t at)
{
	const struct poise_listener *e = &i->listeners[n];

	return !e->retired && (e->service || !IN(struct poise_listener, retired, retired));
}

static bool find_service(const struct instance *i, __u32 n, size_t at)
{
	const struct poise_service *s = &i->services[n];
	size_t inactive = offsetof(struct poise_service, rec) +
			  !(s->active & 1) * sizeof(struct poise_service_rec);

	if (!s->retired)
		return true; /* never used */
	if (s->active & POISE_SERVICE_GONE)
		return false;
	return !IN(struct poise_service, retired, changes) &&
	       !(at >= inactive && at < inactive + sizeof(struct poise_service_rec));
}

static bool find_member(const struct instance *i, __u32 n, size_t at)
{
	const struct poise_member *m = &i->members[n];
	bool ashes = !m->service && m->addr.q[1];

	if (IN(struct poise_member, watched, watched))
		return false;
	if (ashes)
		return IN(struct poise_member, live, service) ||
		       IN(struct poise_member, spare, spare);
	return !m->service || at < offsetof(struct poise_member, nexthop) ||
	       at >= offsetof(struct poise_member, nexthop) + 6;
}

static const struct poise_service_rec *owner(const struct instance *i, __u32 slot, bool base)
{
	for (__u32 id = 1; id < i->meta->services; id++) {
		const struct poise_service *s = &i->services[id];
		const struct poise_service_rec *r = &s->rec[s->active & 1];
		__u32 first = base ? r->base_at : r->table_at;
		__u32 size = base ? r->base_size : r->table_size;

		if (!(s->active & POISE_SERVICE_GONE) && slot >= first && slot < first + size)
			return r;
	}
	return NULL;
}

static bool is_ordinal(const struct instance *i, const struct poise_service_rec *r, __u32 ordinal)
{
	for (int e = 0; e < r->extents; e++) {
		if (ordinal < r->extent[e].count)
			return i->members[r->extent[e].first + ordinal].service;
		ordinal -= r->extent[e].count;
	}
	return false;
}

/* The base is history, unless it must be equal to current, or cannot have been. */
static bool find_entry(const struct instance *i, __u32 n, __u32 flip)
{
	const struct poise_service_rec *r = owner(i, n, false);
	__u32 entry = i->table[n], after = entry ^ flip;

	if (!r) {
		r = owner(i, n, true);
		return r && POISE_ENTRY_BASE(entry) != POISE_ENTRY_BASE(after) &&
		       POISE_ENTRY_BASE(after) != POISE_ORDINAL_MAX &&
		       !is_ordinal(i, r, POISE_ENTRY_BASE(after));
	}
	if (POISE_ENTRY_CURRENT(entry) != POISE_ENTRY_CURRENT(after))
		return true;
	if (after & POISE_ENTRY_AGING)
		return !(entry & POISE_ENTRY_MIXED);
	if (POISE_ENTRY_BASE(entry) != POISE_ENTRY_BASE(after))
		return !(entry & POISE_ENTRY_MIXED) || !is_ordinal(i, r, POISE_ENTRY_BASE(after));
	return POISE_ENTRY_BASE(entry) != POISE_ENTRY_CURRENT(entry);
}

static bool find_path(const struct instance *i, __u32 n, size_t at)
{
	const struct poise_path *p = &i->paths[n];

	return !(p->flags & POISE_PATH_USED) || IN(struct poise_path, vlan, spare0) ||
	       IN(struct poise_path, more, refs);
}

static bool is_live(__u64 word)
{
	return POISE_WORD_STATE(word) >= POISE_FLOW_NEW && POISE_WORD_STATE(word) <= POISE_FLOW_EST;
}

static bool find_word(__u64 word, __u64 after)
{
	if (!word)
		return true;
	if (POISE_WORD_STATE(after) == 7 || POISE_WORD_STATE(after) == POISE_FLOW_FREE)
		return true;
	return is_live(word) != is_live(after) ||
	       (is_live(word) && POISE_WORD_MEMBER(word) != POISE_WORD_MEMBER(after));
}

/* What no record in force names is free, whatever it holds. */
static bool find_range(const struct instance *i, __u32 n)
{
	for (__u32 id = 1; id < i->meta->services; id++) {
		const struct poise_service_conf *conf = store_service(i, id);

		if (n >= conf->range_at && n < conf->range_at + conf->ranges)
			return true;
	}
	return false;
}

static bool find_bound(const struct instance *i, __u32 n)
{
	for (__u32 id = 1; id < i->meta->services; id++) {
		const struct poise_service *s = &i->services[id];
		const struct poise_service_rec *r = &s->rec[s->active & 1];
		__u32 count = r->bounds & POISE_BOUNDS_COUNT;

		if (!(s->active & POISE_SERVICE_GONE) && n >= r->bounds_at &&
		    n < r->bounds_at + count)
			return true;
	}
	return false;
}

/* Would map check know that bit `bit` of byte `byte` of a map was flipped? */
static bool must_find(const struct instance *i, const char *map, size_t size, size_t byte, int bit)
{
	__u32 n = (__u32)(byte / size);
	size_t at = byte % size;

	if (!strcmp(map, "meta"))
		return find_meta(at, bit);
	if (!strcmp(map, "listeners"))
		return find_listener(i, n, at);
	if (!strcmp(map, "services"))
		return find_service(i, n, at);
	if (!strcmp(map, "members"))
		return find_member(i, n, at);
	if (!strcmp(map, "table"))
		return find_entry(i, (__u32)(byte / 4), 1u << (byte % 4 * 8 + (unsigned int)bit));
	if (!strcmp(map, "paths"))
		return find_path(i, n, at);
	if (!strcmp(map, "flows")) {
		__u64 word = i->flows[n].word[at / 8];

		return find_word(word, word ^ 1ull << (at % 8 * 8 + (unsigned int)bit));
	}
	if (!strcmp(map, "slots") || !strcmp(map, "ways") || !strcmp(map, "links") ||
	    !strcmp(map, "ports"))
		return i->meta->groups; /* without them nobody reads these */
	if (!strcmp(map, "counters"))
		return IN(struct poise_counter, opened, closed) &&
		       i->members[n % i->meta->members].service;
	if (!strcmp(map, "loads")) {
		n %= poise_loads_row(i->meta->members);
		return at < offsetof(struct poise_loads, others) && n < i->meta->members &&
		       i->members[n].service;
	}
	if (!strcmp(map, "held"))
		return byte / 4 < i->meta->members && i->members[byte / 4].service;
	if (!strcmp(map, "range_conf"))
		return find_range(i, n);
	if (!strcmp(map, "bounds"))
		return find_bound(i, n);
	return strcmp(map, "rates") != 0 && strcmp(map, "checks") != 0 &&
	       strcmp(map, "events") != 0 && strcmp(map, "fragments") != 0 &&
	       strcmp(map, "probes") != 0 && strcmp(map, "latencies") != 0 &&
	       strcmp(map, "cluster") != 0;
}

/* ---- flipping ---------------------------------------------------------------------------------*/

struct tally {
	unsigned long flipped, found, excused;
};

static void flip(struct instance *i, const struct instance_map *map, size_t byte, int bit,
		 struct tally *t)
{
	bool must = must_find(i, map->name, map->value, byte, bit);
	__u8 *b = (__u8 *)*sizes_field(i, map) + byte;
	struct poise_error err;

	*b ^= 1u << bit;
	if (instance_check(i, NULL, NULL, &err))
		t->found++;
	else if (must)
		cr_assert_fail("%s: bit %d of byte %zu of entry %zu is missed", map->name, bit,
			       byte % map->value, byte / map->value);
	else
		t->excused++;
	*b ^= 1u << bit;
	t->flipped++;
}

/* A check takes 250 us. */
#define SAMPLES 1300

/* Every byte of small maps, each with one of its bits; of large ones every so many-th byte, by an
 * odd step, so that every field comes up. */
Test(store_flip, every_map, .timeout = TEST_LONGEST)
{
	struct instance *i = world();

	for (size_t m = 0; m < instance_maps_count; m++) {
		const struct instance_map *map = &instance_maps[m];
		size_t bytes = (size_t)sizes_held(i, map) * sizes_value(i, map);
		size_t step = bytes <= SAMPLES ? 1 : bytes / SAMPLES | 1;
		struct tally t = {0};

		for (size_t byte = 0; byte < bytes; byte += step)
			flip(i, map, byte, (int)(byte / step) % 8, &t);
		printf("%-14s %6lu flipped, %6lu found, %6lu mean nothing that can be known\n",
		       map->name, t.flipped, t.found, t.excused);
	}
	store_check(i, "at last");
	instance_close(i);
}

/* Also if it was so before the instance was opened. */
Test(store_flip, a_tick_that_no_kernel_has)
{
	struct instance *i = world();
	struct poise_error err;

	i->meta->jiffies_mult = 4294968; /* HZ 1000 */
	i->identity.jiffies_mult = i->meta->jiffies_mult;
	store_check(i, "measured");
	i->meta->jiffies_mult ^= 0x80;
	i->identity.jiffies_mult = i->meta->jiffies_mult;
	cr_assert_eq(instance_check(i, NULL, NULL, &err), 1);
	instance_close(i);
}
