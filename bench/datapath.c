// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * make bench-datapath: what a packet of each kind costs, as a ratio to a no-op XDP_TX, measured on
 * a really loaded and configured balancer: the median of interleaved rounds, with the middle 95 %
 * of the bootstrap's. The table goes to stdout, the figures as JSON to a file, progress to stderr.
 */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <json-c/json.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "balancer.h"
#include "measure.h"
#include "row.h"

#define ROUNDS 15

struct options {
	unsigned int rounds;
	const char *json;
	bool list;	    /* measures nothing: says what is required */
	char *const *names; /* shell patterns of rows to measure; none: all */
};

/* Its only use is that BPF_PROG_TEST_RUN returns EINTR, so that the instance gets removed. */
static void interrupted(int sig)
{
	(void)sig;
}

static int measure_row(struct measure *m, struct balancer *b, const struct row *row, int prog_fd,
		       const struct options *o, struct figure *f)
{
	struct poise_error err = {0};

	fprintf(stderr, "bench: %s", row->name);
	if (balancer_forget(b, &err)) {
		fprintf(stderr, ": cannot empty the flow table: %s\n", err.message);
		return -1;
	}
	if (measure_warm(m, row, prog_fd) || measure_run(m, row, prog_fd, o->rounds, f)) {
		fprintf(stderr, ": %s\n", strerror(errno));
		return -1;
	}
	fprintf(stderr, " %.2f (%ld flow words)\n", f->ratio_median, balancer_words(b));
	return 0;
}

static void print_head(const struct balancer *b)
{
	struct utsname u;

	uname(&u);
	printf("Cost of a packet against a no-op XDP_TX under the same driver, Linux %s\n",
	       u.release);
	printf("flow table: %u slots, %u KiB; %d backends a service\n\n",
	       b->instance->meta->flow_buckets * POISE_BUCKET_WORDS,
	       (unsigned int)(b->instance->meta->flow_buckets * sizeof(struct poise_bucket) >> 10),
	       BALANCER_BACKENDS);
	printf("%-28s %7s %7s %7s %8s %8s %9s  %s\n", "PACKET", "RATIO", "LOW", "HIGH", "NS",
	       "FLOOR", "MUST BE", "");
}

/* In whole nanoseconds, which is what a run can tell apart. */
static void print_over(const struct row *row, const struct figure *f)
{
	const char *of = row->chooses ? "flow" : "packet";
	double over = round(f->over_ns_median);

	printf("%+6.0f ns a %s", over, of);
	if (row->over >= 0)
		printf(", at most %+.0f  %s", row->over,
		       f->is_void	   ? "void"
		       : over <= row->over ? "reached"
					   : "NOT reached");
	putchar('\n');
}

static void print_row(const struct row *row, const struct figure *f)
{
	printf("%-28s %7.2f %7.2f %7.2f %8.1f %8.1f ", row->name, f->ratio_median, f->ratio_low,
	       f->ratio_high, f->ns_median, f->floor_ns_median);
	if (row->beside) {
		print_over(row, f);
		return;
	}
	if (!row->required) {
		printf("%9s\n", "-");
		return;
	}
	printf("%9.2f  ", row->required);
	if (f->is_void)
		printf("void: %llu unexpected\n", (unsigned long long)f->unexpected);
	else
		puts(f->ratio_median <= row->required ? "reached" : "NOT reached");
}

static json_object *json_row(const struct row *row, const struct figure *f)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(row->name));
	json_object_object_add(o, "ratio_median", json_object_new_double(f->ratio_median));
	json_object_object_add(o, "ratio_low", json_object_new_double(f->ratio_low));
	json_object_object_add(o, "ratio_high", json_object_new_double(f->ratio_high));
	json_object_object_add(o, "ns_median", json_object_new_double(f->ns_median));
	json_object_object_add(o, "floor_ns_median", json_object_new_double(f->floor_ns_median));
	if (row->beside)
		json_object_object_add(o, "over_ns_median",
				       json_object_new_double(f->over_ns_median));
	json_object_object_add(o, "cpus", json_object_new_int(row->both ? 2 : 1));
	json_object_object_add(o, "rounds", json_object_new_int((int)f->rounds));
	json_object_object_add(o, "unexpected", json_object_new_int64((int64_t)f->unexpected));
	json_object_object_add(o, "void", json_object_new_boolean(f->is_void));
	return o;
}

static bool chosen(const struct row *row, const struct options *o)
{
	for (char *const *name = o->names; *name; name++)
		if (!fnmatch(*name, row->name, 0))
			return true;
	return !*o->names;
}

static int measure_all(struct measure *m, struct balancer *b, const struct options *o)
{
	json_object *list = json_object_new_array();
	struct figure f;
	int rc;

	print_head(b);
	rc = measure_row(m, b, &row_bare_tunnel, measure_bare_tunnel(m), o, &f);
	if (!rc) {
		print_row(&row_bare_tunnel, &f);
		rc = measure_row(m, b, &row_bare_balancer, measure_bare_balancer(m), o, &f);
	}
	if (!rc)
		print_row(&row_bare_balancer, &f);
	for (size_t n = 0; n < rows_count && !rc; n++) {
		if (!chosen(&rows[n], o) || !measure_can(&rows[n]))
			continue;
		rc = measure_row(m, b, &rows[n], b->prog_fd, o, &f);
		if (rc)
			break;
		print_row(&rows[n], &f);
		fflush(stdout);
		json_object_array_add(list, json_row(&rows[n], &f));
	}
	if (!rc && o->json && json_object_to_file_ext(o->json, list, JSON_C_TO_STRING_PRETTY)) {
		fprintf(stderr, "bench: cannot write %s: %s\n", o->json, strerror(errno));
		rc = -1;
	}
	json_object_put(list);
	return rc;
}

/* What is required, a line a row: its name, the ratio, the ns that this left beyond the no-op. */
static void print_required(void)
{
	for (size_t n = 0; n < rows_count; n++)
		if (rows[n].required > 0)
			printf("%s %.2f %.1f\n", rows[n].name, rows[n].required,
			       (rows[n].required - 1) * ROW_REQUIRED_FLOOR);
}

static int parse(int argc, char **argv, struct options *o)
{
	int c;

	*o = (struct options){.rounds = ROUNDS};
	while ((c = getopt(argc, argv, "r:o:l")) != -1) {
		switch (c) {
		case 'r': o->rounds = (unsigned int)strtoul(optarg, NULL, 10); break;
		case 'o': o->json = optarg; break;
		case 'l': o->list = true; break;
		default: return -1;
		}
	}
	o->names = argv + optind;
	return o->rounds ? 0 : -1;
}

int main(int argc, char **argv)
{
	const struct sigaction act = {.sa_handler = interrupted};
	struct poise_error err = {0};
	struct balancer b;
	struct measure *m;
	struct options o;
	char text[1024];
	int rc = -1;

	if (parse(argc, argv, &o)) {
		fprintf(stderr, "usage: %s [-r ROUNDS] [-o FILE.json] [ROW...] | -l\n", argv[0]);
		return 2;
	}
	if (o.list) {
		print_required();
		return 0;
	}
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (balancer_open(&b, &err)) {
		fprintf(stderr, "bench: %s\n", poise_error_text(&err, text, sizeof(text)));
		return 1;
	}
	m = measure_open();
	if (m) {
		measure_quiet(m);
		rc = measure_all(m, &b, &o);
	}
	measure_close(m);
	balancer_close(&b);
	return rc ? 1 : 0;
}
