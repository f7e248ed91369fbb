// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A writer killed at every single store of every kind of transaction. Whoever takes the lock next
 * finishes or undoes it: the configuration is the one before or the one after, every map is as a
 * fresh derivation asks, and the same change can be made again.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/kinds.h"
#include "tests/support/longest.h"

/* A fork under AddressSanitizer takes twenty times as long: it looks at every so many-th store. */
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 13
#else
#define STRIDE 1
#endif

/* ---- killing ----------------------------------------------------------------------------------*/

static unsigned long last_step;

static void die_at(unsigned long n)
{
	if (n == last_step)
		raise(SIGKILL);
}

/* True if the child came to its end before it was killed. */
static bool killed_at(struct instance *i, void (*work)(struct instance *), unsigned long n)
{
	int status;
	pid_t child = fork();

	cr_assert(child >= 0);
	if (!child) {
		last_step = n;
		instance_step = die_at;
		work(i);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	if (WIFEXITED(status)) {
		cr_assert_eq(WEXITSTATUS(status), 0, "step %lu: the writer failed", n);
		return true;
	}
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "step %lu: status %x", n,
		  status);
	return false;
}

static void recover(struct instance *i)
{
	struct poise_error err = {0};

	i->locked = false;
	cr_assert_eq(instance_lock(i, &err), 0);
	instance_unlock(i);
}

/* Whoever recovers may be killed, too: here at a store that differs from case to case. */
static void recover_in_two(struct instance *i, unsigned long n)
{
	killed_at(i, recover, 1 + n % 11);
	recover(i);
}

/* work: one transaction, from lock to unlock. */
static void kill_everywhere(struct instance *i, void (*work)(struct instance *), const char *name)
{
	void *image = store_image(i);
	char *before = store_config_text(i), *after, *now, when[128];
	unsigned long killed = 0, kept = 0;
	bool done = false, undone;

	work(i);
	after = store_config_text(i);
	store_check(i, name);
	for (unsigned long step = 1; !done; step += STRIDE) {
		store_restore(i, image);
		done = killed_at(i, work, step);
		killed += !done;
		snprintf(when, sizeof(when), "%s, killed at store %lu", name, step);
		recover_in_two(i, step);
		store_check(i, when);
		now = store_config_text(i);
		cr_assert(!strcmp(now, before) || !strcmp(now, after),
			  "%s: neither before nor after", when);
		undone = !strcmp(now, before) && strcmp(before, after) != 0;
		kept += !undone;
		free(now);
		if (undone) {
			work(i);
			now = store_config_text(i);
			cr_assert_str_eq(now, after, "%s: and made again", when);
			store_check(i, when);
			free(now);
		}
	}
	printf("%s: killed at %lu stores, finished after %lu, else undone\n", name, killed,
	       kept - 1);
	cr_assert_gt(killed, 0, "%s: stores nothing", name);
	free(before);
	free(after);
	free(image);
	instance_close(i);
}

/* ---- changes of the configuration -------------------------------------------------------------*/

static const struct kind *current;

static void work_kind(struct instance *i)
{
	store_change(i, current->edit, 0);
}

static void change(struct instance *i, const char *name)
{
	store_change(i, kind_named(name)->edit, 0);
}

Test(store_kill, every_kind, .timeout = TEST_LONGEST)
{
	for (size_t k = 0; k < kinds_count; k++) {
		current = &kinds[k];
		kill_everywhere(kinds_begin_for(current), work_kind, current->name);
	}
}

/* ---- what is no change of the configuration ---------------------------------------------------*/

static void work_sweep(struct instance *i)
{
	struct poise_error err;

	cr_assert_eq(instance_lock(i, &err), 0);
	cr_assert_eq(instance_sweep(i, &err), 0);
	instance_unlock(i);
}

static void work_nexthops(struct instance *i)
{
	const __u8 mac[6] = {2, 0, 0, 0, 0, 1};
	struct poise_path want = {.ifindex = 3, .mtu = 1500, .smac = {2, 0, 0, 0, 0, 9}};
	struct poise_error err;

	cr_assert_eq(instance_lock(i, &err), 0);
	for (__u32 id = 1; id < i->meta->members; id++) {
		if (!i->members[id].service)
			continue;
		want.mtu = 1500 + id % 2;
		instance_set_nexthop(i, (__u16)id,
				     INSTANCE_NEXTHOP(mac, instance_path(i, &want, &err)));
	}
	instance_unlock(i);
}

Test(store_kill, nexthops)
{
	kill_everywhere(kinds_begin(), work_nexthops, "nexthops");
}

/* The flow words of a removed backend go, its path is let go of, its id is free. */
Test(store_kill, sweep)
{
	struct instance *i = kinds_begin();

	work_nexthops(i);
	change(i, "backend_del");
	kill_everywhere(i, work_sweep, "sweep");
}

/* With every id taken or ashes, a newcomer waits for a grace period and a sweep within its change.
 */
Test(store_kill, reclaim)
{
	struct instance *i = kinds_begin();
	void *image = NULL;

	for (__u64 swept = i->meta->swept; swept == i->meta->swept;) {
		change(i, "all_del");
		free(image);
		image = store_image(i);
		change(i, "backend_add_many");
	}
	store_restore(i, image);
	free(image);
	current = kind_named("backend_add_many");
	kill_everywhere(i, work_kind, "reclaim");
}

static void work_tick(struct instance *i)
{
	struct poise_error err;

	cr_assert_eq(instance_lock(i, &err), 0);
	cr_assert_geq(instance_tick(i, 20000, &err), 0);
	instance_unlock(i);
}

Test(store_kill, tick)
{
	struct instance *i = kinds_begin();

	change(i, "backend_leaves");
	kill_everywhere(i, work_tick, "tick");
}
