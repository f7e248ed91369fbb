// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A ratio of two times that were taken in turns, milliseconds apart, is what survives on a busy
 * virtual machine whose clock rate and neighbours change: rounds alternate between the no-op and
 * the program, and the median of the rounds' ratios is the figure. Time is this thread's CPU time,
 * so that what else runs on the CPU costs cache lines only.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/driver.h"
#include "bench/driver.skel.h"
#include "bench/sample.h"
#include "measure.h"

#define ROUND_PACKETS (1u << 20) /* 40 to 300 ms: system call and wake-up are lost in it */
#define ROUNDS_MAX    255

struct measure {
	struct driver *skel;
	int drive_fd, noop_fd, under_test_fd;
};

struct measure *measure_open(void)
{
	struct measure *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->skel = driver__open();
	if (!m->skel)
		goto fail;
	/* As attach/ loads the pipeline: kernels let only equals jump to each other. */
	bpf_program__set_expected_attach_type(m->skel->progs.drive, 0);
	bpf_program__set_expected_attach_type(m->skel->progs.noop, 0);
	bpf_program__set_expected_attach_type(m->skel->progs.bare_tunnel, 0);
	bpf_program__set_expected_attach_type(m->skel->progs.bare_balancer, 0);
	if (driver__load(m->skel))
		goto fail;
	m->drive_fd = bpf_program__fd(m->skel->progs.drive);
	m->noop_fd = bpf_program__fd(m->skel->progs.noop);
	m->under_test_fd = bpf_map__fd(m->skel->maps.under_test);
	return m;
fail:
	fprintf(stderr, "bench: cannot load the driver: %s\n", strerror(errno));
	measure_close(m);
	return NULL;
}

int measure_bare_tunnel(const struct measure *m)
{
	return bpf_program__fd(m->skel->progs.bare_tunnel);
}

int measure_bare_balancer(const struct measure *m)
{
	return bpf_program__fd(m->skel->progs.bare_balancer);
}

void measure_close(struct measure *m)
{
	if (m)
		driver__destroy(m->skel); /* NULL too */
	free(m);
}

void measure_quiet(void)
{
	struct sched_param param = {.sched_priority = 1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("bench: cannot pin to a CPU");
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		perror("bench: no SCHED_FIFO");
}

/* Nanoseconds of CPU time a packet, -1 if the kernel refused or a signal came. */
static double timed(struct measure *m, const __u8 *frame, size_t length, __u32 packets,
		    __u32 *verdict)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = length,
		    .repeat = packets);
	struct timespec from, to;
	int rc;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	rc = bpf_prog_test_run_opts(m->drive_fd, &opts);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	if (rc) {
		errno = -rc;
		return -1;
	}
	*verdict = opts.retval;
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
	       packets;
}

static double drive(struct measure *m, const struct row *row, int prog_fd, bool first,
		    __u32 packets, __u32 *verdict)
{
	struct driver_state *state = &m->skel->bss->state;
	__u8 frame[ROW_FRAME_MAX];
	const __u32 zero = 0;

	if (bpf_map_update_elem(m->under_test_fd, &zero, &prog_fd, BPF_ANY))
		return -1;
	state->length = row_frame(row, first, frame);
	memcpy(state->frame, frame, sizeof(state->frame));
	state->flows = row->flows - 1;
	state->vary_at = row_vary_at(row);
	state->ends_at = ROW_CHOOSES(row) ? row_flags_at() : 0;
	state->growth = prog_fd == m->noop_fd ? 0 : row->growth;
	return timed(m, frame, state->length, packets, verdict);
}

int measure_warm(struct measure *m, const struct row *row, int prog_fd)
{
	__u32 verdict, packets = row->flows > ROUND_PACKETS ? row->flows : ROUND_PACKETS;

	if (drive(m, row, prog_fd, true, packets, &verdict) < 0)
		return -1;
	return drive(m, row, prog_fd, false, packets, &verdict) < 0 ? -1 : 0;
}

int measure_run(struct measure *m, const struct row *row, int prog_fd, unsigned int rounds,
		struct figure *out)
{
	double ns[ROUNDS_MAX], floor[ROUNDS_MAX], ratio[ROUNDS_MAX], over[ROUNDS_MAX];
	const struct row *from = ROW_CHOOSES(row) ? row->beside : row;
	int from_fd = ROW_CHOOSES(row) ? prog_fd : m->noop_fd;
	const __u32 wanted = row->growth ? XDP_TX : XDP_PASS;
	__u32 verdict = XDP_ABORTED;

	*out = (struct figure){.rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX};
	m->skel->bss->state.unexpected = 0;
	for (unsigned int r = 0; r < out->rounds; r++) {
		floor[r] = drive(m, from, from_fd, false, ROUND_PACKETS, &verdict);
		if (floor[r] < 0)
			return -1;
		ns[r] = drive(m, row, prog_fd, false, ROUND_PACKETS, &verdict);
		if (ns[r] < 0)
			return -1;
		ratio[r] = ns[r] / floor[r];
		over[r] = ROW_PER_FLOW * (ns[r] - floor[r]);
		out->is_void |= verdict != wanted;
	}
	out->unexpected = m->skel->bss->state.unexpected;
	/* The first packet of a round comes straight from us and has not grown yet. */
	out->is_void |=
		out->unexpected > (row->growth ? out->rounds * (ROW_CHOOSES(row) ? 2 : 1) : 0);
	out->ratio_median = sample_median(ratio, out->rounds);
	out->ratio_min = ratio[0];
	out->ratio_max = ratio[out->rounds - 1];
	out->over_ns_median = sample_median(over, out->rounds);
	out->ns_median = sample_median(ns, out->rounds);
	out->floor_ns_median = sample_median(floor, out->rounds);
	return 0;
}
