/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two CPUs that put packets of many flows through the loaded program at once, of kinds at random:
 * the driver program `mixed` (driver.bpf.c), run from a thread pinned to each CPU.
 */
#ifndef POISE_TEST_MIXER_H
#define POISE_TEST_MIXER_H

#include <pthread.h>

#include "driver.h"
#include "rig.h"

#define MIXER_CPUS 2

struct mixer_run {
	struct mixer *mixer;
	pthread_t thread;
	unsigned int cpu;
	__u32 repeat; /* packets a run */
	unsigned int runs;
	int failed;
};

struct mixer {
	struct rig *rig;
	struct driver_mix *cpu; /* [CPU] what each sends */
	struct mixer_run run[MIXER_CPUS];
};

/* What they send: of `flows` client ports (a power of two), packets of these kinds (DRIVER_*) to
 * 10.2.0.1, port 80. Fails the test if it cannot. */
void mixer_open(struct mixer *m, struct rig *rig, __u32 flows, __u32 kinds);
void mixer_close(struct mixer *m);

/* So many packets, so many times, on these CPUs (a bit for each); finish waits for them. */
void mixer_start(struct mixer *m, unsigned int cpus, __u32 repeat, unsigned int runs);
void mixer_finish(struct mixer *m);

#endif
