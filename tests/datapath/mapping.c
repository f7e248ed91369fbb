// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory of maps (maps/mapping.h): however many handles this process has on an instance, it has one
 * mapping of each map, for as long as anybody uses it and no longer.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "loader/attach/attach.h"
#include "maps/table.h"
#include "tests/support/rig.h"

#define THREADS 4
#define ROUNDS	50
#define ANOTHER 4096 /* buckets: more than the rig has */

static const char setup[] = "services:\n"
			    "  - name: web\n"
			    "    listen: [ '10.2.0.1:80' ]\n"
			    "    forward: l2\n"
			    "    backends: [ { address: 10.3.0.1 } ]\n";

static struct rig rig;

TestSuite(mapping, .fini = place_cleanup, .timeout = TEST_LONGEST);

/* Of BPF maps, in this process. */
static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	cr_assert(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "bpf-map") != NULL;
	fclose(maps);
	return n;
}

static struct instance *open_again(void)
{
	struct poise_error err = {0};
	struct instance *i;

	place_must(instance_open(&i, &rig.place.where, &err), "instance_open", &err);
	return i;
}

/* Takes the lock, and so maps whatever tables there are by now. */
static void refresh(struct instance *i)
{
	struct poise_error err = {0};

	place_must(instance_lock(i, &err), "lock", &err);
	instance_unlock(i);
}

Test(mapping, a_second_handle_maps_nothing_again)
{
	int none = mappings(), all;
	struct instance *second;

	rig_open(&rig, setup);
	instance_map_all(rig.i);
	all = mappings();
	cr_assert_gt(all, none);
	second = open_again();
	instance_map_all(second);
	cr_expect_eq(mappings(), all);
	cr_expect_eq(second->meta, rig.i->meta);
	cr_expect_eq(second->flows, rig.i->flows);

	/* Whoever was first goes first, and takes nothing from the other. */
	instance_close(rig.i);
	rig.i = second;
	cr_expect_eq(mappings(), all);
	rig_commit(&rig);
	rig_close(&rig);
	cr_expect_eq(mappings(), none);
}

/* A window is there for all as soon as one has asked for it. */
Test(mapping, windows_are_laid_once)
{
	struct instance *second;
	int without, with;
	__u32 last;

	rig_open(&rig, setup);
	instance_close(rig.i); /* with the windows that the rig has asked for */
	rig.i = open_again();
	second = open_again();
	last = rig.i->meta->table_slots - 1;
	without = mappings();
	*instance_table(second, last, 1) = 7;
	with = mappings();
	cr_expect_eq(with, without + 1);
	cr_expect_eq(*instance_table(rig.i, last, 1), 7);
	cr_expect_eq(mappings(), with);
	instance_close(second);
	cr_expect_eq(mappings(), with);
	*instance_table(rig.i, last, 1) = 0;
	rig_close(&rig);
}

/* The flow table alone is replaced under open handles, each of which follows when it can. */
Test(mapping, a_table_stays_for_whoever_has_not_followed)
{
	struct poise_error err = {0};
	struct instance *slow;
	__u64 left;
	int before;

	if (place_emulated())
		cr_skip_test("the CPU is emulated: programs are loaded for seconds");
	rig_open(&rig, setup);
	slow = open_again();
	instance_map_all(slow);
	before = mappings();
	place_must(attach_resize(&rig.place.where, ANOTHER, &left, &err), "attach_resize", &err);
	cr_assert_eq(left, 0);
	refresh(rig.i);
	cr_assert_eq(rig.i->flow_buckets, ANOTHER);
	cr_assert_neq(rig.i->flows, slow->flows);
	for (__u32 b = 0; b < slow->flow_buckets; b++)
		cr_assert_eq(instance_bucket(slow, b)->word[0], 0);
	refresh(slow);
	cr_expect_eq(slow->flows, rig.i->flows);
	instance_map_all(slow);
	cr_expect_eq(mappings(), before, "%d mappings, not %d: the old table is still there",
		     mappings(), before);
	instance_close(slow);
	rig_close(&rig);
}

/* ---- threads ----------------------------------------------------------------------------------*/

static void *come_and_go(void *failed)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct instance *i;

		if (instance_open(&i, &rig.place.where, NULL))
			return failed;
		for (__u32 id = 0; id < i->meta->members; id++)
			if (instance_latencies(i, id, 1) != &i->latencies[id])
				return failed;
		if (*instance_table(i, i->meta->table_slots - 1, 1) || !i->meta->magic)
			return failed;
		instance_close(i);
	}
	return NULL;
}

/* They take from and give to each other what nobody else keeps for them. */
Test(mapping, threads_come_and_go)
{
	pthread_t thread[THREADS];
	void *failed;
	int none;

	rig_open(&rig, setup);
	instance_close(rig.i);
	none = mappings();
	for (int k = 0; k < THREADS; k++)
		cr_assert(!pthread_create(&thread[k], NULL, come_and_go, &rig));
	for (int k = 0; k < THREADS; k++) {
		cr_assert(!pthread_join(thread[k], &failed));
		cr_expect(!failed, "thread %d failed", k);
	}
	cr_expect_eq(mappings(), none);
	rig.i = open_again();
	rig_close(&rig);
}
