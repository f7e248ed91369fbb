// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * standby: a loaded, configured balancer of one revision that waits to be measured. Two of them,
 * each built with the objects of its revision, are told in turns to put packets through, so that
 * what is compared lies milliseconds apart. On stdin a line is an order, on stdout its answer:
 *
 *	rows		the rows that can be measured, on one line
 *	warm ROW	"ok": its flows are known from here on
 *	run ROW		ns of CPU time a packet, or "void": packets were not treated as expected
 *
 * Its first line, "ready", says that it is loaded. At the end of stdin it removes what it made.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bench/balancer.h"
#include "bench/measure.h"

#define PACKETS (1u << 18) /* of a run: 10 to 80 ms */
/* More flows take a walk of seconds before anything can be measured. */
#define FLOWS_MOST (1u << 20)
#define ORDER_MAX  128

/* Its only use is that the kernel returns from where it waits, so that the instance gets removed.
 */
static void interrupted(int sig)
{
	(void)sig;
}

static bool can(const struct row *row)
{
	return !row->both && row->flows <= FLOWS_MOST;
}

static const struct row *find(const char *name)
{
	for (size_t n = 0; n < rows_count; n++)
		if (can(&rows[n]) && !strcmp(rows[n].name, name))
			return &rows[n];
	return NULL;
}

static int print_rows(void)
{
	for (size_t n = 0; n < rows_count; n++)
		if (can(&rows[n]))
			printf("%s ", rows[n].name);
	printf("\n");
	return 0;
}

static int warm(struct balancer *b, struct measure *m, const struct row *row)
{
	struct poise_error err = {0};
	bool as_expected;
	double ns;

	if (balancer_forget(b, &err)) {
		fprintf(stderr, "bench: cannot empty the flow table: %s\n", err.message);
		return -1;
	}
	for (int first = 1; first >= 0; first--)
		if (measure_once(m, row, b->prog_fd, first, row->flows, &ns, &as_expected))
			return -1;
	printf("ok\n");
	return 0;
}

static int run(struct balancer *b, struct measure *m, const struct row *row)
{
	bool as_expected;
	double ns;

	if (measure_once(m, row, b->prog_fd, false, PACKETS, &ns, &as_expected))
		return -1;
	as_expected ? printf("%.3f\n", ns) : printf("void\n");
	return 0;
}

static int obey(struct balancer *b, struct measure *m, char *order)
{
	const char *what = strtok(order, " \n"), *name = strtok(NULL, " \n");
	const struct row *row = name ? find(name) : NULL;

	if (what && !strcmp(what, "rows"))
		return print_rows();
	if (what && row && !strcmp(what, "warm"))
		return warm(b, m, row);
	if (what && row && !strcmp(what, "run"))
		return run(b, m, row);
	fprintf(stderr, "bench: no such order or row: %s %s\n", what ?: "", name ?: "");
	errno = EINVAL;
	return -1;
}

int main(void)
{
	const struct sigaction act = {.sa_handler = interrupted};
	struct poise_error err = {0};
	char order[ORDER_MAX], text[1024];
	struct measure *m;
	struct balancer b;
	int rc = 0;

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (balancer_open(&b, &err)) {
		fprintf(stderr, "bench: %s\n", poise_error_text(&err, text, sizeof(text)));
		return 1;
	}
	m = measure_open();
	if (m) {
		measure_quiet(m);
		printf("ready\n");
		while (!rc && fgets(order, sizeof(order), stdin))
			rc = obey(&b, m, order);
		if (rc)
			fprintf(stderr, "bench: %s\n", strerror(errno));
	}
	rc = rc || !m;
	measure_close(m);
	balancer_close(&b);
	return rc;
}
