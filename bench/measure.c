// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A ratio of two times that were taken in turns, milliseconds apart, is what survives on a busy
 * virtual machine whose clock rate and neighbours change: rounds alternate between the no-op and
 * the program, and the median of the rounds' ratios is the figure. Time is this thread's CPU time,
 * so that what else runs on the CPU costs cache lines only.
 *
 * Of rows that are measured on two CPUs at once each has a driver and a thread of its own; they
 * begin each half of a round together, and the figure is the mean of both.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
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
#define SEED	      1 /* of the bootstrap */
#define CPUS	      2
#define NET_11	      0x0b000000u /* clients are 11.0.0.0/8 ... */
#define NET_OF_CPU    0x01000000u /* ... or the next */

/* A driver, and who runs it. */
struct cpu {
	struct driver *skel;
	int drive_fd, noop_fd, under_test_fd;
	int number;
};

struct measure {
	struct cpu cpu[CPUS];
};

static int load(struct cpu *c)
{
	c->skel = driver__open();
	if (!c->skel)
		return -1;
	/* As attach/ loads the pipeline: kernels let only equals jump to each other. */
	bpf_program__set_expected_attach_type(c->skel->progs.drive, 0);
	bpf_program__set_expected_attach_type(c->skel->progs.noop, 0);
	bpf_program__set_expected_attach_type(c->skel->progs.bare_tunnel, 0);
	bpf_program__set_expected_attach_type(c->skel->progs.bare_balancer, 0);
	if (driver__load(c->skel))
		return -1;
	c->drive_fd = bpf_program__fd(c->skel->progs.drive);
	c->noop_fd = bpf_program__fd(c->skel->progs.noop);
	c->under_test_fd = bpf_map__fd(c->skel->maps.under_test);
	return 0;
}

struct measure *measure_open(void)
{
	struct measure *m = calloc(1, sizeof(*m));
	int last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;

	for (int c = 0; m && c < CPUS; c++) {
		m->cpu[c].number = last - c;
		if (load(&m->cpu[c])) {
			fprintf(stderr, "bench: cannot load the driver: %s\n", strerror(errno));
			measure_close(m);
			return NULL;
		}
		m->cpu[c].skel->bss->state.net = NET_11 + (__u32)c * NET_OF_CPU;
	}
	return m;
}

int measure_bare_tunnel(const struct measure *m)
{
	return bpf_program__fd(m->cpu[0].skel->progs.bare_tunnel);
}

int measure_bare_balancer(const struct measure *m)
{
	return bpf_program__fd(m->cpu[0].skel->progs.bare_balancer);
}

void measure_close(struct measure *m)
{
	for (int c = 0; m && c < CPUS; c++)
		driver__destroy(m->cpu[c].skel); /* NULL too */
	free(m);
}

bool measure_can(const struct row *row)
{
	return !row->both || sysconf(_SC_NPROCESSORS_ONLN) >= CPUS;
}

/* Pins the calling thread, and lets nothing else run there. */
static void stay(const struct cpu *c)
{
	struct sched_param param = {.sched_priority = 1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(c->number, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("bench: cannot pin to a CPU");
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		perror("bench: no SCHED_FIFO");
}

void measure_quiet(const struct measure *m)
{
	stay(&m->cpu[0]);
}

/* Nanoseconds of CPU time a packet, -1 if the kernel refused or a signal came. */
static double timed(const struct cpu *c, const __u8 *frame, size_t length, __u32 packets,
		    __u32 *verdict)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = length,
		    .repeat = packets);
	struct timespec from, to;
	int rc;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	rc = bpf_prog_test_run_opts(c->drive_fd, &opts);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	if (rc) {
		errno = -rc;
		return -1;
	}
	*verdict = opts.retval;
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
	       packets;
}

static double drive(const struct cpu *c, const struct row *row, int prog_fd, bool first,
		    __u32 packets, __u32 *verdict)
{
	struct driver_state *state = &c->skel->bss->state;
	__u8 frame[ROW_FRAME_MAX];
	const __u32 zero = 0;

	if (bpf_map_update_elem(c->under_test_fd, &zero, &prog_fd, BPF_ANY))
		return -1;
	state->length = row_frame(row, first, frame);
	memcpy(state->frame, frame, sizeof(state->frame));
	state->flows = row->flows - 1;
	state->vary_at = row_vary_at(row);
	state->ends_at = row->chooses ? row_flags_at() : 0;
	state->growth = prog_fd == c->noop_fd ? 0 : row->growth;
	return timed(c, frame, state->length, packets, verdict);
}

/* What a packet of that row becomes, so that it can be answered. */
static int learn(const struct row *row, int prog_fd)
{
	__u8 in[ROW_FRAME_MAX], out[ROW_FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_out = out,
		    .data_size_in = row_frame(row, false, in), .data_size_out = sizeof(out));

	if (bpf_prog_test_run_opts(prog_fd, &opts))
		return -1;
	row_answer_to(out);
	return 0;
}

int measure_warm(struct measure *m, const struct row *row, int prog_fd)
{
	__u32 verdict, packets = row->flows > ROUND_PACKETS ? row->flows : ROUND_PACKETS;

	if (row->answers &&
	    (measure_warm(m, row->answers, prog_fd) || learn(row->answers, prog_fd)))
		return -1;
	if (row->beside && measure_warm(m, row->beside, prog_fd))
		return -1;
	if (drive(&m->cpu[0], row, prog_fd, true, packets, &verdict) < 0)
		return -1;
	return drive(&m->cpu[0], row, prog_fd, false, packets, &verdict) < 0 ? -1 : 0;
}

static __u32 verdict_of(const struct row *row)
{
	return row->service == ROW_NOBODY ? XDP_PASS : XDP_TX;
}

int measure_once(struct measure *m, const struct row *row, int prog_fd, bool first, __u32 packets,
		 double *ns, bool *as_expected)
{
	struct cpu *c = &m->cpu[0];
	__u32 verdict = XDP_ABORTED;

	c->skel->bss->state.unexpected = 0;
	*ns = drive(c, row, prog_fd, first, packets, &verdict);
	/* The first packet comes straight from us and has not grown yet. */
	*as_expected = verdict == verdict_of(row) &&
		       c->skel->bss->state.unexpected <= (row->growth ? 1 : 0);
	return *ns < 0 ? -1 : 0;
}

/* A CPU's rounds: of the row, and of what it is compared with. */
struct rounds {
	const struct cpu *cpu;
	const struct row *row;
	int prog_fd;
	unsigned int count;
	pthread_barrier_t *together; /* NULL: there is one CPU */
	double ns[ROUNDS_MAX], floor[ROUNDS_MAX];
	__u64 unexpected;
	bool is_void;
	int error;
};

static void half(struct rounds *r, const struct row *row, int prog_fd, double *ns)
{
	const __u32 wanted = verdict_of(r->row);
	__u32 verdict = XDP_ABORTED;

	if (r->together)
		pthread_barrier_wait(r->together);
	if (r->error)
		return; /* but the other CPU still waits for us */
	*ns = drive(r->cpu, row, prog_fd, false, ROUND_PACKETS, &verdict);
	r->error = *ns < 0 ? errno : 0;
	r->is_void |= prog_fd == r->prog_fd && verdict != wanted;
}

static void *run_rounds(void *argument)
{
	struct rounds *r = argument;
	struct driver_state *state = &r->cpu->skel->bss->state;
	const struct row *from = r->row->beside ? r->row->beside : r->row;

	if (r->together)
		stay(r->cpu);
	state->unexpected = 0;
	for (unsigned int n = 0; n < r->count; n++) {
		half(r, from, r->row->beside ? r->prog_fd : r->cpu->noop_fd, &r->floor[n]);
		half(r, r->row, r->prog_fd, &r->ns[n]);
	}
	r->unexpected = state->unexpected;
	/* The first packet of a round comes straight from us and has not grown yet. */
	r->is_void |= r->unexpected > (r->row->growth ? r->count * (r->row->beside ? 2 : 1) : 0);
	return NULL;
}

static int on_both(struct rounds r[CPUS])
{
	pthread_barrier_t together;
	pthread_t other;
	int rc;

	pthread_barrier_init(&together, NULL, CPUS);
	for (int c = 0; c < CPUS; c++)
		r[c].together = &together;
	rc = pthread_create(&other, NULL, run_rounds, &r[1]);
	if (!rc) {
		run_rounds(&r[0]);
		pthread_join(other, NULL);
	}
	pthread_barrier_destroy(&together);
	return rc;
}

static void figure_from(const struct rounds *r, int cpus, struct figure *out)
{
	double ns[ROUNDS_MAX], floor[ROUNDS_MAX], ratio[ROUNDS_MAX], over[ROUNDS_MAX];
	struct sample_range range;

	*out = (struct figure){.rounds = r->count};
	for (unsigned int n = 0; n < out->rounds; n++) {
		ns[n] = (r[0].ns[n] + r[cpus - 1].ns[n]) / 2;
		floor[n] = (r[0].floor[n] + r[cpus - 1].floor[n]) / 2;
		ratio[n] = ns[n] / floor[n];
		over[n] = (r->row->chooses ? ROW_PER_FLOW : 1) * (ns[n] - floor[n]);
	}
	for (int c = 0; c < cpus; c++) {
		out->unexpected += r[c].unexpected;
		out->is_void |= r[c].is_void;
	}
	range = sample_bootstrap(ratio, out->rounds, SEED);
	out->ratio_low = range.low;
	out->ratio_high = range.high;
	out->ratio_median = sample_median(ratio, out->rounds);
	out->over_ns_median = sample_median(over, out->rounds);
	out->ns_median = sample_median(ns, out->rounds);
	out->floor_ns_median = sample_median(floor, out->rounds);
}

int measure_run(struct measure *m, const struct row *row, int prog_fd, unsigned int rounds,
		struct figure *out)
{
	int cpus = row->both ? CPUS : 1;
	struct rounds *r = calloc(CPUS, sizeof(*r));
	int rc = 0;

	if (!r)
		return -1;
	for (int c = 0; c < cpus; c++)
		r[c] = (struct rounds){
			.cpu = &m->cpu[c],
			.row = row,
			.prog_fd = prog_fd,
			.count = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX,
		};
	if (row->both)
		rc = on_both(r);
	else
		run_rounds(r);
	for (int c = 0; c < cpus && !rc; c++)
		rc = r[c].error;
	if (!rc)
		figure_from(r, cpus, out);
	free(r);
	errno = rc;
	return rc ? -1 : 0;
}
