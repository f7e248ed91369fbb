// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Suite daemon: what poised does all the time and what `poise show` asks for, at the size of a
 * large installation. Times only, and to be compared only within a run: the kernel has its part in
 * them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "case.h"
#include "cli/show.h"
#include "ground.h"
#include "inside.h"
#include "loader/fold.h"
#include "loader/health/probe.h"
#include "times.h"

#define SERVICES 4096
#define MEMBERS	 (SERVICES * GROUND_MANY_BACKENDS)
#define PROBES	 2000
#define TIMEOUT	 10000 /* ms */

static unsigned long failed;

static unsigned long daemon_failed(void)
{
	return failed;
}

/* ---- many services ----------------------------------------------------------------------------*/

static struct fold fold;
static FILE *nowhere;

static int many_open(const struct bench_case *c, unsigned int cpus, struct poise_error *err)
{
	char *yaml = ground_many(SERVICES);
	int rc = ground_open_many(yaml, SERVICES, times_cpus(), err);

	(void)c;
	(void)cpus;
	free(yaml);
	failed = 0;
	if (rc)
		return -1;
	fold_init(&fold, ground.i->meta->cpus);
	fold_members(&fold, ground.cfg);
	nowhere = fopen("/dev/null", "w");
	return 0;
}

static void many_close(void)
{
	fold_free(&fold);
	if (nowhere)
		fclose(nowhere);
	nowhere = NULL;
	ground_close();
}

/* Every CPU has one more flow everywhere, so that every store is made. */
static void fold_reset(unsigned int cpu)
{
	(void)cpu;
	for (__u32 on = 0; on < ground.i->meta->cpus; on++)
		for (__u32 id = 1; id < ground.i->meta->members; id++)
			instance_loads(ground.i, on, id)->own++;
}

MEASURED static void measured_fold(void)
{
	fold_run(&fold, ground.i->loads, poise_loads_row(ground.i->meta->members));
}

static void fold_do(unsigned int cpu, unsigned int times)
{
	(void)cpu;
	while (times--)
		measured_fold();
}

static int add_one(struct cli *c, const struct shown_service *s, void *list)
{
	(void)c;
	json_object_array_add(list, shown_json(s));
	return 0;
}

MEASURED static bool measured_json(void)
{
	struct cli c = {.instance = ground.i, .config = ground.cfg, .json = true, .out = nowhere};
	struct json_object *list = json_object_new_array();
	bool ok = !shown_each(&c, add_one, list) && json_object_array_length(list) == SERVICES;

	fputs(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN), nowhere);
	json_object_put(list);
	return ok;
}

static void json_do(unsigned int cpu, unsigned int times)
{
	(void)cpu;
	while (times--)
		failed += !measured_json();
}

/* ---- many probes ------------------------------------------------------------------------------*/

static uv_loop_t loop;
static struct prober *prober;
static int listening = -1;
static __u16 port;

static int probes_open(const struct bench_case *c, unsigned int cpus, struct poise_error *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	struct rlimit files;

	(void)c;
	(void)cpus;
	failed = 0;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listening < 0 || bind(listening, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(listening, 2 * PROBES) || getsockname(listening, (struct sockaddr *)&at, &size))
		return poise_fail_errno(err, "cannot listen on loopback");
	port = ntohs(at.sin_port);
	uv_loop_init(&loop);
	prober = prober_new(&loop);
	return prober ? 0 : poise_fail(err, POISE_E_SYSTEM, "no prober");
}

/* Nobody takes the connections but we, between the rounds. */
static void probes_reset(unsigned int cpu)
{
	int fd;

	(void)cpu;
	while ((fd = accept(listening, NULL, NULL)) >= 0)
		close(fd);
}

static void on_done(void *ctx, const struct probe_result *result)
{
	(void)ctx;
	failed += !result->good;
}

MEASURED static void measured_probes(void)
{
	struct poise_health_conf conf = {.type = POISE_CHECK_TCP, .timeout = TIMEOUT};
	struct probe_want want = {
		.addr = {.b = {[10] = 0xff, 0xff, 127, 0, 0, 1}},
		.port = port,
		.conf = &conf,
		.no_why = true,
	};

	for (int n = 0; n < PROBES; n++)
		probe_start(prober, &want, on_done, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
}

static void probes_do(unsigned int cpu, unsigned int times)
{
	(void)cpu;
	while (times--)
		measured_probes();
}

static void probes_close(void)
{
	prober_free(prober);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	close(listening);
}

static const struct case_kind folds = {many_open, fold_reset, fold_do, daemon_failed, many_close};
static const struct case_kind jsons = {many_open, NULL, json_do, daemon_failed, many_close};
static const struct case_kind probes = {probes_open, probes_reset, probes_do, daemon_failed,
					probes_close};

static void add(struct cases *cases, const struct case_kind *kind, const char *name,
		unsigned int per)
{
	struct bench_case *c = case_add(cases, kind, "daemon/%s", name);

	c->per = per;
	c->times = 1;
	c->at_most = 1;
	c->flags = CASE_ALONE | CASE_TIMED | CASE_OUTSIDE;
}

void suite_daemon(struct cases *cases)
{
	add(cases, &folds, "fold-16384", MEMBERS);
	add(cases, &jsons, "json-4096", SERVICES);
	add(cases, &probes, "probes-2000", PROBES);
}
