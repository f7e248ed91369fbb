// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * HZ, which neither BPF nor user space is told: jiffies are counted against the monotonic clock,
 * from one tick's edge to another's, both read by a program in the kernel.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "bpf/poise.skel.h"
#include "internal.h"

#define NS_PER_SEC   1000000000ULL
#define POLL_NS	     100000	 /* an edge is seen at most so late: 0.25 % of a span */
#define EDGE_WAIT_NS 50000000ULL /* five ticks at HZ 100: the edge must come */
#define SPAN_NS	     40000000ULL /* 4 ticks at HZ 100, 40 at 1000 */
#define TRIES	     10		 /* a guest that loses its CPU counts late: try again */
#define TOLERANCE    20		 /* the nearest HZ must lie within 1/20 */

static const unsigned int known_hz[] = {100, 250, 300, 1000};

static int read_clock(int fd, struct poise_clock *c)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = c, .ctx_size_in = sizeof(*c));

	return bpf_prog_test_run_opts(fd, &run);
}

/* Waits for the tick after *c and reads the clock right behind it. */
static int next_edge(int fd, struct poise_clock *c)
{
	static const struct timespec pause = {.tv_nsec = POLL_NS};
	struct poise_clock from = *c;

	do {
		nanosleep(&pause, NULL);
		if (read_clock(fd, c))
			return -1;
		if (c->ns - from.ns > EDGE_WAIT_NS) {
			errno = ETIME;
			return -1;
		}
	} while (c->jiffies == from.jiffies);
	return 0;
}

/* The HZ that was seen, 0 if it is none of the known ones, -1 if the clock could not be read. */
static int measure(int fd)
{
	static const struct timespec span = {.tv_nsec = SPAN_NS};
	struct poise_clock from, to;
	double hz;

	if (read_clock(fd, &from) || next_edge(fd, &from))
		return -1;
	nanosleep(&span, NULL);
	if (read_clock(fd, &to) || next_edge(fd, &to))
		return -1;
	hz = (double)(to.jiffies - from.jiffies) * NS_PER_SEC / (double)(to.ns - from.ns);
	for (size_t k = 0; k < sizeof(known_hz) / sizeof(known_hz[0]); k++) {
		double off = hz - known_hz[k];

		if (off * TOLERANCE < known_hz[k] && -off * TOLERANCE < known_hz[k])
			return (int)known_hz[k];
	}
	return 0;
}

/* An object of its own: the real one needs the result before it can be loaded. */
static struct poise *load_clock(struct poise_error *err)
{
	struct poise *skel = poise__open();
	struct bpf_program *prog;
	struct bpf_map *map;
	int rc;

	if (!skel) {
		poise_fail_errno(err, "cannot open the built-in BPF object");
		return NULL;
	}
	bpf_object__for_each_program (prog, skel->obj)
		bpf_program__set_autoload(prog, prog == skel->progs.poise_clock);
	bpf_object__for_each_map (map, skel->obj)
		bpf_map__set_autocreate(map, bpf_map__is_internal(map));
	rc = poise__load(skel);
	if (!rc)
		return skel;
	errno = -rc;
	poise_fail_errno(err, "the kernel refused a BPF program (%s)", attach_log_said());
	poise__destroy(skel);
	return NULL;
}

int attach_clock(__u32 *mult, struct poise_error *err)
{
	struct poise *skel = load_clock(err);
	int hz = 0, rc = -1;

	if (!skel)
		return -1;
	for (int k = 0; k < TRIES && hz == 0; k++)
		hz = measure(bpf_program__fd(skel->progs.poise_clock));
	if (hz < 0) {
		poise_fail_errno(err, "cannot measure the kernel's tick");
	} else if (hz == 0) {
		poise_fail(err, POISE_E_UNSUPPORTED,
			   "the kernel's tick is none of 100, 250, 300 "
			   "and 1000 per second");
	} else {
		/* rounded up: at a full second the product must not stay one below */
		*mult = (__u32)(((1ULL << 32) + (unsigned int)hz - 1) / (unsigned int)hz);
		rc = 0;
	}
	poise__destroy(skel);
	return rc;
}
