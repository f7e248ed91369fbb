/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The daemon's arithmetic: the load fold, rate windows, the log's gate, its command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "../../loader/fold.h"
#include "../../loader/log.h"
#include "../../loader/options.h"
#include "../../loader/rate.h"

#define S 1000000000ull

/* ---- fold -------------------------------------------------------------------------------------*/
#define CPUS   3
#define STRIDE 1024

static struct config *members(const __u16 *id, size_t n)
{
	struct config *cfg = config_new();
	struct config_service *svc = config_service_add(cfg, "web", POISE_OWNER_HAND, NULL);

	for (size_t k = 0; k < n; k++) {
		union poise_addr a = {.h[5] = 0xffff, .h[7] = k + 1};

		config_member_add(svc, &a, 0, NULL)->id = id[k];
	}
	return cfg;
}

Test(fold, others_is_everybody_else_s)
{
	static const __u16 id[] = {1, 2, 3, 700, 701, 0};
	static struct poise_loads loads[CPUS * STRIDE];
	struct config *cfg = members(id, 6);
	struct fold f;

	fold_init(&f, CPUS);
	fold_members(&f, cfg);
	cr_assert_eq(f.ranges, 2, "1..3 and 700..701; an id of 0 is none");
	for (int c = 0; c < CPUS; c++)
		for (int m = 0; m < STRIDE; m++)
			loads[c * STRIDE + m].own = (c + 1) * 100 - m;
	for (int k = 0; k < CPUS * STRIDE; k++)
		loads[k].others = 4711;
	fold_run(&f, loads, STRIDE);
	for (int c = 0; c < CPUS; c++)
		for (int m = 0; m < STRIDE; m++) {
			bool used = (m >= 1 && m <= 3) || m == 700 || m == 701;
			poise_load sum = 600 - 3 * m - loads[c * STRIDE + m].own;

			cr_assert_eq(loads[c * STRIDE + m].others, used ? sum : 4711,
				     "cpu %d member %d", c, m);
		}
	fold_free(&f);
	config_free(cfg);
}

Test(fold, a_range_longer_than_a_chunk)
{
	static struct poise_loads loads[CPUS * STRIDE];
	struct fold_range *range = malloc(sizeof(*range));
	struct fold f;

	*range = (struct fold_range){.first = 5, .count = 2 * FOLD_CHUNK + 9};
	fold_init(&f, CPUS);
	f.range = range;
	f.ranges = 1;
	for (int m = 0; m < STRIDE; m++)
		loads[STRIDE + m].own = m;
	fold_run(&f, loads, STRIDE);
	for (int m = 0; m < STRIDE; m++) {
		bool in = m >= 5 && m < 5 + 2 * FOLD_CHUNK + 9;

		cr_assert_eq(loads[m].others, in ? m : 0);
		cr_assert_eq(loads[STRIDE + m].others, 0, "its own part is not among the others'");
		cr_assert_eq(loads[2 * STRIDE + m].others, in ? m : 0);
	}
	fold_free(&f);
}

/* ---- rates ------------------------------------------------------------------------------------*/
Test(rate, nothing_from_one_sample)
{
	struct rate_window w = {0};
	struct poise_rate rate;

	cr_assert_not(rate_take(&w, &(struct rate_sample){S, 5, 5, 5}, &rate));
}

Test(rate, a_second_and_a_minute)
{
	struct rate_window w = {0};
	struct poise_rate rate;
	__u64 packets = 0;

	/* 100/s for 60 s, then 1000/s for 30 s. */
	for (__u64 t = 1; t <= 91; t++) {
		struct rate_sample now = {t * S, t, packets, packets * 10};
		bool given = rate_take(&w, &now, &rate);

		cr_assert_eq(given, t > 1);
		packets += t <= 60 ? 100 : 1000;
	}
	cr_assert_eq(rate.at, 91 * S);
	cr_assert_eq(rate.packets[0], 1000);
	cr_assert_eq(rate.bytes[0], 10000);
	cr_assert_eq(rate.flows[0], 1);
	cr_assert_eq(rate.flows[1], 1);
	/* The window is 60 to 65 s: 30 s of 1000/s and 30 to 35 s of 100/s. */
	cr_assert(rate.packets[1] >= 33000 / 65 && rate.packets[1] <= 33500 / 60, "%llu",
		  rate.packets[1]);
}

Test(rate, uneven_seconds_are_divided_by_what_they_were)
{
	struct rate_window w = {0};
	struct poise_rate rate;

	rate_take(&w, &(struct rate_sample){10 * S, 0, 0, 0}, &rate);
	cr_assert(rate_take(&w, &(struct rate_sample){12 * S, 40, 400, 4000}, &rate));
	cr_assert_eq(rate.flows[0], 20);
	cr_assert_eq(rate.packets[0], 200);
}

Test(rate, an_id_used_anew_begins_anew)
{
	struct rate_window w = {0};
	struct poise_rate rate;

	for (__u64 t = 1; t < 30; t++)
		rate_take(&w, &(struct rate_sample){t * S, t * 9, t * 99, t}, &rate);
	cr_assert_not(rate_take(&w, &(struct rate_sample){30 * S, 0, 0, 0}, &rate));
	cr_assert(rate_take(&w, &(struct rate_sample){31 * S, 2, 3, 4}, &rate));
	cr_assert_eq(rate.packets[1], 3, "nothing of the former owner");
}

/* ---- the log's gate ---------------------------------------------------------------------------*/
Test(log, a_flood_is_cut_and_counted)
{
	struct log_gate g = {.tokens = LOG_GATE_BURST, .last = 5 * S};
	int passed = 0;

	for (int k = 0; k < 1000; k++)
		passed += log_gate_pass(&g, 5 * S);
	cr_assert_eq(passed, LOG_GATE_BURST);
	cr_assert_eq(g.cut, 1000 - LOG_GATE_BURST);
	for (int k = 0; k < 1000; k++)
		passed += log_gate_pass(&g, 6 * S);
	cr_assert_eq(passed, LOG_GATE_BURST + LOG_GATE_SECOND);
}

/* ---- the command line -------------------------------------------------------------------------*/
static int parse(struct options *o, struct poise_error *err, const char *line)
{
	char copy[256], *argv[16], *save;
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = strdup(w);
	argv[argc] = NULL;
	return options_parse(o, argc, argv, err);
}

Test(options, defaults_and_values)
{
	struct poise_error err = {0};
	struct options o;

	cr_assert_eq(parse(&o, &err, "poised"), 0);
	cr_assert_str_eq(o.config, "/etc/poise/poise.yaml");
	cr_assert_not(o.config_given);
	cr_assert_null(o.where.name);
	cr_assert_eq(parse(&o, &err, "poised -c a.yaml --instance edge --log-level debug"), 0);
	cr_assert_str_eq(o.config, "a.yaml");
	cr_assert(o.config_given);
	cr_assert_str_eq(o.where.name, "edge");
	cr_assert_eq(o.log_level, LOG_LEVEL_DEBUG);
	cr_assert_eq(parse(&o, &err,
			   "poised --kubernetes --address-pool 192.0.2.0/24,2001:db8::/112 "
			   "--kubernetes-health [::1]:9254 --no-external-ips "
			   "--node-ports 192.0.2.1,2001:db8::1"),
		     0);
	cr_assert(o.kube.on);
	cr_assert_str_eq(o.kube.pool, "192.0.2.0/24,2001:db8::/112");
	cr_assert_str_eq(o.kube.health, "[::1]:9254");
	cr_assert(o.kube.no_external_ips);
	cr_assert_str_eq(o.kube.node_ports, "192.0.2.1,2001:db8::1");
}

Test(options, faults_are_usage_and_name_the_word)
{
	static const struct {
		const char *line, *says;
	} bad[] = {
		{"poised --colour", "--colour"},
		{"poised extra", "extra"},
		{"poised --log-level loud", "loud"},
		{"poised --config", "--config"},
		{"poised --instance a/b", "a/b"},
		{"poised --claim lo", "without --kubernetes"},
		{"poised --node-ports none", "without --kubernetes"},
		{"poised --no-external-ips", "without --kubernetes"},
		{"poised --kubernetes --node-ports 192.0.2.1,,192.0.2.2", "--node-ports"},
		{"poised --kubernetes --node-ports 192.0.2.1,192.0.2.0/24", "192.0.2.0/24"},
		{"poised --kubernetes --node-ports 0.0.0.0", "0.0.0.0"},
		{"poised --address-pool 192.0.2.0/24", "without --kubernetes"},
		{"poised --kubernetes-health 127.0.0.1:9254", "without --kubernetes"},
		{"poised --kubernetes --address-pool 192.0.2.1/24", "--address-pool"},
		{"poised --kubernetes --address-pool 192.0.2.1/24", "192.0.2.1/24"},
		{"poised --kubernetes --kubernetes-health 127.0.0.1", "has no port"},
		{"poised --kubernetes --kubernetes-health all:9254", "--kubernetes-health"},
	};

	for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		struct poise_error err = {0};
		struct options o;
		char text[600];

		cr_expect_eq(parse(&o, &err, bad[k].line), -1, "%s", bad[k].line);
		cr_expect_eq(poise_code_status(err.code), 2, "%s", bad[k].line);
		poise_error_text(&err, text, sizeof(text));
		cr_expect(strstr(text, bad[k].says), "%s: %s", bad[k].line, text);
	}
}

static void read_manual(char *text, size_t size)
{
	FILE *f = fopen("docs/man/poised.8", "r");

	cr_assert_not_null(f);
	text[fread(text, 1, size - 1, f)] = '\0';
	fclose(f);
}

Test(options, each_is_in_the_manual, .init = cr_redirect_stdout)
{
	char manual[32768], help[4096], want[64], *save;
	int options = 0;
	FILE *out = cr_get_redirected_stdout();

	read_manual(manual, sizeof(manual));
	options_help();
	fflush(stdout);
	for (char *line; (line = fgets(help, sizeof(help), out));) {
		char *name = strstr(line, "--");

		if (!name || line[0] != ' ')
			continue;
		snprintf(want, sizeof(want), "Fl Fl %s", strtok_r(name + 2, " \n", &save));
		cr_expect(strstr(manual, want), "not in docs/man/poised.8: %s", want);
		options++;
		if (strstr(want, "version"))
			break; /* the last; the pipe has no end */
	}
	cr_assert_geq(options, 17);
}
