// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The two-copy store on really pinned maps: writers of their own process, killed, with the lock,
 * the grace periods and the sweeper of the kernel. Every single store is killed at in plain memory
 * (tests/unit/store_kill.c); here every so many-th.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "tests/support/kinds.h"
#include "tests/support/longest.h"

#define STRIDE 11 /* stores between two kills, odd so that each kind of store is met */

static char name[32];
static struct instance_where where = {.name = name};

static struct instance *make(void)
{
	struct config *cfg = config_new();
	struct poise_error err = {0};
	struct instance *i;
	bool created;

	snprintf(name, sizeof(name), "t-store-%d", (int)getpid());
	cfg->has_limits = true;
	cfg->limits = (struct config_limits){.services = 12,
					     .backends = 48,
					     .listeners = 64,
					     .flow_slots = 4096,
					     .table_slots = 1024,
					     .paths = 4,
					     .ranges = 16};
	cr_assert_eq(attach_load(&i, &where, cfg, &created, &err), 0, "%s: %s", err.object,
		     err.message);
	cr_assert(created);
	config_free(cfg);
	return i;
}

static void unmake(struct instance *i)
{
	struct poise_error err = {0};

	instance_close(i);
	cr_assert_eq(attach_reset(&where, &err), 0, "%s", err.message);
}

/* ---- killing ----------------------------------------------------------------------------------*/

static unsigned long last_store;

static void die(unsigned long n)
{
	if (n == last_store)
		raise(SIGKILL);
}

/* The writer opens the instance itself, as a command would. True if it was not killed. */
static bool killed_at(const struct kind *kind, unsigned long n)
{
	int status;
	pid_t child = fork();

	cr_assert(child >= 0);
	if (!child) {
		struct poise_error err = {0};
		struct instance *own;

		if (instance_open(&own, &where, &err))
			_exit(1);
		last_store = n;
		instance_step = die;
		store_change(own, kind->edit, 0);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status),
		  "%s at store %lu: status %x", kind->name, n, status);
	return !WIFSIGNALED(status);
}

static void kill_kind(struct instance *i, const struct kind *kind)
{
	void *image = store_image(i);
	char *before = store_config_text(i), *after, *now, when[128];
	struct poise_error err = {0};
	bool done = false;

	store_change(i, kind->edit, 0);
	after = store_config_text(i);
	for (unsigned long n = 1; !done; n += STRIDE) {
		store_restore(i, image);
		done = killed_at(kind, n);
		/* the lock is free again, and what it guarded is whole */
		cr_assert_eq(instance_lock(i, &err), 0);
		instance_unlock(i);
		snprintf(when, sizeof(when), "%s, killed at store %lu", kind->name, n);
		store_check(i, when);
		now = store_config_text(i);
		cr_assert(!strcmp(now, before) || !strcmp(now, after), "%s", when);
		free(now);
	}
	store_restore(i, image);
	free(image);
	free(before);
	free(after);
}

Test(store, writers_killed, .timeout = TEST_LONGEST)
{
	struct instance *i = make();

	store_change(i, kinds_set_up, 0);
	store_check(i, "at first");
	for (size_t k = 0; k < kinds_count; k++)
		if (!kinds[k].first)
			kill_kind(i, &kinds[k]);
	unmake(i);
}

/* ---- the kernel's part ------------------------------------------------------------------------*/

static struct config_service *web(struct config *cfg)
{
	return config_service_named(cfg, "web");
}

static void replace_backends(struct config *cfg, unsigned long argument)
{
	char address[32];

	while (web(cfg)->members)
		config_member_del(web(cfg), &web(cfg)->member[0]);
	for (int n = 1; n <= 20; n++) {
		snprintf(address, sizeof(address), "10.%lu.0.%d", argument, n);
		store_add_member(web(cfg), address);
	}
}

/* Forty-eight ids, twenty taken at a time and twenty ashes: every third change waits for a grace
 * period and a sweep of its own before it fits. */
Test(store, ids_come_back, .timeout = TEST_LONGEST)
{
	struct instance *i = make();
	__u64 swept;

	store_change(i, kinds_set_up, 0);
	swept = i->meta->swept;
	for (unsigned long round = 1; round <= 8; round++) {
		store_change(i, replace_backends, round);
		store_check(i, "after a round");
	}
	cr_assert_gt(i->meta->swept, swept);
	unmake(i);
}

/* A flow word of a backend that was removed is gone before its id is anybody's. */
Test(store, a_sweep_frees_words_of_the_removed, .timeout = TEST_LONGEST)
{
	struct instance *i = make();
	struct poise_error err = {0};
	__u16 id = 1;

	store_change(i, kinds_set_up, 0);
	while (!i->members[id].service)
		id++;
	for (__u32 b = 0; b < i->meta->flow_buckets; b += 3)
		instance_bucket(i, b)->word[b % POISE_BUCKET_WORDS] =
			1ull << POISE_WORD_TAG_SHIFT | (__u64)id << POISE_WORD_MEMBER_SHIFT |
			(__u64)POISE_FLOW_FIN << POISE_WORD_STATE_SHIFT |
			(instance_stamp_now(i) & POISE_WORD_STAMP);
	store_change(i, kind_named("service_del")->edit, 0);
	cr_assert_eq(instance_lock(i, &err), 0);
	cr_assert_eq(instance_sweep(i, &err), 0, "%s", err.message);
	instance_unlock(i);
	cr_assert_eq(i->meta->flows_used, 0);
	for (__u32 b = 0; b < i->meta->flow_buckets; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++)
			cr_assert_eq(instance_bucket(i, b)->word[w], 0, "bucket %u", b);
	store_check(i, "after the sweep");
	unmake(i);
}

/* ---- the lock ---------------------------------------------------------------------------------*/

/* Two writers at once take turns: of their changes none is lost. */
static void add_one(struct config *cfg, unsigned long argument)
{
	char address[32];

	snprintf(address, sizeof(address), "10.9.%lu.%lu", argument / 16, argument % 16 + 1);
	store_add_member(web(cfg), address);
}

Test(store, writers_take_turns, .timeout = TEST_LONGEST)
{
	struct instance *i = make();
	struct poise_error err = {0};
	struct config *cfg;
	int status;

	store_change(i, kinds_set_up, 0);
	for (unsigned long writer = 0; writer < 3; writer++) {
		if (fork())
			continue;
		if (instance_open(&i, &where, &err))
			_exit(1);
		for (unsigned long n = 0; n < 10; n++)
			store_change(i, add_one, 16 * writer + n);
		_exit(0);
	}
	for (int writer = 0; writer < 3; writer++) {
		cr_assert_geq(wait(&status), 0);
		cr_assert_eq(status, 0);
	}
	cr_assert_eq(instance_load(i, &cfg, &err), 0);
	cr_assert_eq(web(cfg)->members, 33);
	config_free(cfg);
	store_check(i, "after all");
	unmake(i);
}

/* ---- opening ----------------------------------------------------------------------------------*/

static void refused(const struct instance_where *w, enum poise_code code, const char *message,
		    const char *remedy)
{
	struct poise_error err = {0};
	struct instance *i = (struct instance *)&err; /* not NULL */

	cr_assert_eq(instance_open(&i, w, &err), -1);
	cr_assert_null(i);
	cr_assert_eq(err.code, code, "%s: %s", poise_code_word(err.code), err.message);
	cr_assert(strstr(err.message, message), "%s", err.message);
	cr_assert(strstr(err.remedy, remedy), "%s", err.remedy);
}

Test(store, what_cannot_be_opened)
{
	struct instance_where nowhere = {.root = "/tmp/poise-not-there/deeper"};
	struct instance_where missing = {.name = "t-store-missing"};
	struct instance *i = make();
	char path[128];

	refused(&nowhere, POISE_E_NO_BPFFS, "/tmp/poise-not-there", "mount -t bpf");
	refused(&missing, POISE_E_NO_INSTANCE, "t-store-missing", "start poised");
	snprintf(path, sizeof(path), "%s/%s/v%d", POISE_PIN_ROOT, "t-store-newer", POISE_ABI + 1);
	*strrchr(path, '/') = 0;
	mkdir(path, 0700);
	path[strlen(path)] = '/';
	cr_assert_eq(mkdir(path, 0700), 0);
	missing.name = "t-store-newer";
	refused(&missing, POISE_E_ABI, "a newer poise", "use the newer poise");
	rmdir(path);
	/* a maker that was killed before its first pin */
	path[strlen(path) - 1] = '0' + POISE_ABI;
	cr_assert_eq(mkdir(path, 0700), 0);
	refused(&missing, POISE_E_NO_INSTANCE, "t-store-newer", "start poised");
	rmdir(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
	unmake(i);
}

/* Limits in meta that the maps do not have would lead past their ends. */
Test(store, limits_that_are_not_the_maps)
{
	struct instance *i = make();

	i->meta->members++;
	refused(&where, POISE_E_ABI, "member_conf", "poise reset");
	i->meta->members--;
	i->meta->magic = 0;
	refused(&where, POISE_E_NO_INSTANCE, name, "start poised");
	i->meta->magic = POISE_MAGIC;
	unmake(i);
}

/* A writer that waits for the lock while the instance is removed does not write into the void. */
Test(store, removed_while_waiting, .timeout = TEST_LONGEST)
{
	struct instance *i = make();
	struct poise_error err = {0};
	struct instance *late;

	cr_assert_eq(instance_open(&late, &where, &err), 0, "%s", err.message);
	unmake(i);
	cr_assert_eq(instance_lock(late, &err), -1);
	cr_assert_eq(err.code, POISE_E_NO_INSTANCE);
	cr_assert_not(late->locked);
	instance_close(late);
}

/* The same pins, but other maps: who has had it open since before has what was before. */
Test(store, made_anew_while_open, .timeout = TEST_LONGEST)
{
	struct instance *i = make(), *late;
	struct poise_error err = {0};

	cr_assert_eq(instance_open(&late, &where, &err), 0, "%s", err.message);
	store_change(i, kinds_set_up, 0);
	unmake(i);
	i = make();
	cr_assert_neq(i->meta, late->meta);
	cr_assert_gt(late->meta->committed, i->meta->committed);
	store_change(i, kinds_set_up, 0);
	instance_close(late);
	store_check(i, "the other is closed");
	unmake(i);
}
