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

#define NS_PER_SEC  1000000000ULL
#define POLL_NS	    100000	  /* between two looks */
#define GAP_NS	    1000000	  /* looks further apart than this do not tell when the tick came */
#define SPAN_NS	    40000000	  /* 4 ticks at HZ 100, 40 at 1000; a gap is 1/40 of it */
#define PATIENCE_NS 2000000000ULL /* for two clean edges; after that the long run decides */
#define TOLERANCE   20		  /* the nearest HZ must lie within 1/20 */

static const unsigned int known_hz[] = {100, 250, 300, 1000};

static int read_clock(int fd, struct poise_clock *c)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = c, .ctx_size_in = sizeof(*c));

	return bpf_prog_test_run_opts(fd, &run);
}

/* The HZ that lies near what passed between two readings, 0 if none does. */
static int nearest(const struct poise_clock *from, const struct poise_clock *to)
{
	double hz =
		(double)(to->jiffies - from->jiffies) * NS_PER_SEC / (double)(to->ns - from->ns);

	for (size_t k = 0; k < sizeof(known_hz) / sizeof(known_hz[0]); k++) {
		double off = hz - known_hz[k];

		if (off * TOLERANCE < known_hz[k] && -off * TOLERANCE < known_hz[k])
			return (int)known_hz[k];
	}
	return 0;
}

/*
 * Waits for a tick that is seen as it comes: by one, between two looks close together. A CPU that
 * was away (we, or the one that keeps jiffies) gives itself away by a gap or a jump. 0, or -1 if
 * the clock cannot be read; no such tick before `until`: 1.
 */
static int next_edge(int fd, struct poise_clock *c, __u64 until)
{
	static const struct timespec pause = {.tv_nsec = POLL_NS};
	struct poise_clock last;

	do {
		last = *c;
		if (last.ns > until)
			return 1;
		nanosleep(&pause, NULL);
		if (read_clock(fd, c))
			return -1;
	} while (c->jiffies != last.jiffies + 1 || c->ns - last.ns > GAP_NS);
	return 0;
}

/* The HZ that was seen, 0 if it is none of the known ones, -1 if the clock could not be read. */
static int measure(int fd)
{
	static const struct timespec span = {.tv_nsec = SPAN_NS};
	struct poise_clock start, from, to;
	__u64 until;
	int hz = 0, rc;

	if (read_clock(fd, &start))
		return -1;
	until = start.ns + PATIENCE_NS;
	to = start;
	do {
		from = to;
		rc = next_edge(fd, &from, until);
		nanosleep(&span, NULL);
		if (rc < 0 || read_clock(fd, &to))
			return -1;
		if (!rc)
			rc = next_edge(fd, &to, until);
		if (rc < 0)
			return -1;
		hz = rc ? 0 : nearest(&from, &to);
	} while (!hz && !rc);
	return hz ? hz : nearest(&start, &to);
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
	int hz, rc = -1;

	if (!skel)
		return -1;
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
