// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Suite tables: what becomes of a configuration: read, compared, written, put in force. A figure of
 * many services is per service, so that what each adds stands apart from what a change costs at
 * least. Counts vary a little where libraries have other functions for other CPUs: the band.
 */
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "ground.h"
#include "inside.h"
#include "maps/maglev.h"
#include "maps/memory.h"

#define BAND	 2 /* % */
#define MANY	 4096
#define SOME	 64
#define BACKENDS 100

static struct {
	const struct bench_case *of;
	char *yaml;
	size_t length;
	struct config *file; /* what the YAML says */
	struct config *other;
	__u16 *table;
	struct maglev_member member[BACKENDS];
	unsigned int turn;
	unsigned long failed;
} now;

/* ---- operations -------------------------------------------------------------------------------*/

MEASURED static bool measured_fill(void)
{
	static const __u64 key[2] = {1, 2};

	maglev_fill(now.table, (__u32)now.of->more, now.member, (size_t)now.of->size, key);
	return true;
}

MEASURED static bool measured_read(void)
{
	struct config *cfg = config_parse("bench.yaml", now.yaml, now.length, NULL);
	bool read = cfg && cfg->services == (size_t)now.of->size;

	config_free(cfg);
	return read;
}

MEASURED static bool measured_write(void)
{
	char *text = config_save(now.file, 0);
	bool wrote = strlen(text) > now.length / 2;

	free(text);
	return wrote;
}

MEASURED static bool measured_diff(void)
{
	return config_diff(now.file, now.other, NULL, NULL) == 1;
}

/* A backend's weight changes, back and forth: its service's table is made anew and put in force. */
MEASURED static bool measured_publish(void)
{
	struct config_member *m = &ground.cfg->service[0]->member[0];

	m->conf.weight = m->conf.weight == 1 ? 2 : 1;
	return !instance_commit(ground.i, ground.cfg, NULL, NULL);
}

/* As `poise apply` of a file, by which one backend has another weight. */
MEASURED static bool measured_apply(void)
{
	const struct config *file = now.turn++ & 1 ? now.file : now.other;

	return !config_apply(ground.cfg, file, 0, NULL, NULL) &&
	       !instance_commit(ground.i, ground.cfg, NULL, NULL);
}

/* ---- set-up -----------------------------------------------------------------------------------*/

struct op {
	const char *name;
	bool (*does)(void);
	bool in_force; /* of a balancer that has it already */
};

static const struct op fill = {"fill", measured_fill, false};
static const struct op publish = {"publish", measured_publish, true};
static const struct op of_many[] = {
	{"yaml-in", measured_read, false},
	{"yaml-out", measured_write, false},
	{"diff", measured_diff, false},
	{"apply", measured_apply, true},
};

static void make_members(void)
{
	for (unsigned int m = 0; m < BACKENDS; m++)
		now.member[m] = (struct maglev_member){
			.addr = {.b = {[10] = 0xff, 0xff, 10, 3, 0, (__u8)m}},
			.ordinal = (__u16)m,
			.weight = 1,
		};
	now.table = memory_alloc((size_t)now.of->more * sizeof(*now.table));
}

static void tables_close(void)
{
	ground_close();
	config_free(now.file);
	config_free(now.other);
	free(now.table);
	free(now.yaml);
	memset(&now, 0, sizeof(now));
}

static int tables_open(const struct bench_case *c, unsigned int cpus, struct poise_error *err)
{
	const struct op *op = c->what;

	memset(&now, 0, sizeof(now));
	now.of = c;
	if (op->does == measured_fill) {
		make_members();
		return 0;
	}
	now.yaml = op->does == measured_publish
			   ? strdup(ground_yaml("forward: l2", (unsigned int)c->size))
			   : ground_many((unsigned int)c->size);
	now.length = strlen(now.yaml);
	now.file = config_parse("bench.yaml", now.yaml, now.length, err);
	if (!now.file)
		goto fail;
	now.other = config_clone(now.file);
	now.other->service[0]->member[0].conf.weight = 2;
	if (!op->in_force)
		return 0;
	if (!ground_open_many(now.yaml, (unsigned int)c->size + SOME, cpus, err))
		return 0;
fail:
	tables_close();
	return -1;
}

static void tables_run(unsigned int cpu, unsigned int times)
{
	const struct op *op = now.of->what;

	(void)cpu;
	while (times--)
		now.failed += !op->does();
}

static unsigned long tables_failed(void)
{
	return now.failed;
}

static const struct case_kind kind = {tables_open, NULL, tables_run, tables_failed, tables_close};

static struct bench_case *add(struct cases *cases, const struct op *op, long size, long more)
{
	struct bench_case *c =
		case_add(cases, &kind, "tables/%s-%ld", op->name, more ? more : size);

	c->what = op;
	c->size = size;
	c->more = more;
	c->times = 1;
	c->flags = CASE_ALONE | CASE_OUTSIDE;
	c->band = BAND;
	return c;
}

void suite_tables(struct cases *cases)
{
	static const long sizes[] = {1, SOME, MANY};

	add(cases, &fill, 4, 4099);
	add(cases, &fill, BACKENDS, 65537);
	add(cases, &publish, BACKENDS, 0);
	for (size_t n = 0; n < sizeof(of_many) / sizeof(of_many[0]); n++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			struct bench_case *c = add(cases, &of_many[n], sizes[s], 0);

			c->per = (unsigned int)sizes[s];
			if (sizes[s] == MANY)
				c->flags |= CASE_TIMED;
		}
}
