// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packets from two CPUs at once; see mixer.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/driver.skel.h"
#include "mixer.h"

void mixer_open(struct mixer *m, struct rig *rig, __u32 flows, __u32 kinds)
{
	static struct frame f;

	*m = (struct mixer){.rig = rig};
	m->cpu = mmap(NULL, DRIVER_MIX_CPUS * sizeof(*m->cpu), PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(rig->driver->maps.mix), 0);
	cr_assert(m->cpu != MAP_FAILED);
	/* The length is UDP's and TCP's alike: 50 bytes of IP packet. */
	frame_build(&f, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1 > 80 | data 10");
	cr_assert(f.length == DRIVER_FRAME);
	for (unsigned int k = 0; k < MIXER_CPUS; k++) {
		memcpy(m->cpu[k].frame, f.byte, DRIVER_FRAME);
		m->cpu[k].flows = flows - 1;
		m->cpu[k].kinds = kinds;
		m->cpu[k].seed = k + 1;
	}
}

void mixer_close(struct mixer *m)
{
	munmap(m->cpu, DRIVER_MIX_CPUS * sizeof(*m->cpu));
}

static int run_once(const struct mixer_run *r)
{
	static __thread struct frame out;
	struct xdp_md ctx = {.data_end = DRIVER_FRAME, .ingress_ifindex = r->mixer->rig->place.lo};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = r->mixer->cpu[r->cpu].frame,
		    .data_size_in = DRIVER_FRAME, .data_out = out.byte,
		    .data_size_out = sizeof(out.byte), .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		    .repeat = (int)r->repeat);

	return bpf_prog_test_run_opts(bpf_program__fd(r->mixer->rig->driver->progs.mixed), &run);
}

static void *runner(void *arg)
{
	struct mixer_run *r = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(r->cpu, &set);
	r->failed = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	for (unsigned int k = 0; k < r->runs; k++) {
		if (!r->failed && run_once(r))
			r->failed = errno;
	}
	return NULL;
}

void mixer_start(struct mixer *m, unsigned int cpus, __u32 repeat, unsigned int runs)
{
	for (unsigned int k = 0; k < MIXER_CPUS; k++) {
		struct mixer_run *r = &m->run[k];

		*r = (struct mixer_run){.mixer = m, .cpu = k, .repeat = repeat};
		r->runs = cpus >> k & 1 ? runs : 0;
		cr_assert(!pthread_create(&r->thread, NULL, runner, r));
	}
}

void mixer_finish(struct mixer *m)
{
	for (unsigned int k = 0; k < MIXER_CPUS; k++) {
		pthread_join(m->run[k].thread, NULL);
		cr_assert(!m->run[k].failed, "CPU %u: %s", k, strerror(m->run[k].failed));
	}
}
