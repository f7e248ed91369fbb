// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Suite packet: the rows of the cost table (row.h), through the native datapath. Flows and flow
 * table are both SCALE times smaller than in the timed bench of the loaded program, so that they
 * fill buckets alike.
 */
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "balancer.h"
#include "case.h"
#include "inside.h"

#define SCALE	 1024
#define LOOPBACK 1	     /* as balancer.c's path */
#define HEADROOM 256	     /* as the kernel gives */
#define SPREAD	 2654435761u /* as driver.bpf.c */
#define NET_11	 0x0b000000u
#define TCP_SYN	 0x02
#define TCP_RST	 0x04
#define PACKETS	 256 /* that are counted, and few enough for any row */

static struct {
	const struct row *row;
	struct instance *i;
	__u8 *buffer; /* not on the stack, whose lines do not count */
	__u8 frame[ROW_FRAME_MAX];
	size_t length;
	unsigned int flows, sequence;
	unsigned long failed;
} now;

static void one(void)
{
	unsigned int n = now.sequence++, flow = now.row->chooses ? n >> 1 : n;
	__u32 source = htonl(NET_11 | (flow * SPREAD & (now.flows - 1)));
	struct run_frame f = {
		.start = now.buffer,
		.data = now.buffer + HEADROOM,
		.end = now.buffer + HEADROOM + now.length,
		.limit = now.buffer + HEADROOM + ROW_FRAME_MAX,
	};
	int verdict;

	memcpy(f.data, now.frame, now.length);
	if (now.row->chooses)
		f.data[row_flags_at()] = n & 1 ? TCP_RST : TCP_SYN;
	memcpy(f.data + row_vary_at(now.row), &source, sizeof(source));
	verdict = measured_xdp(&f, LOOPBACK);
	now.failed += verdict != (now.row->service == ROW_NOBODY ? XDP_PASS : XDP_TX) ||
		      (size_t)(f.end - f.data) != now.length + (size_t)now.row->growth;
}

static void packet_run(unsigned int cpu, unsigned int times)
{
	(void)cpu;
	while (times--)
		one();
}

static int packet_open(const struct bench_case *c, unsigned int cpus, struct poise_error *err)
{
	const struct config_limits limits = {
		.services = ROW_SERVICES,
		.backends = BALANCER_BACKENDS_ALL,
		.listeners = 64,
		.flow_slots = BALANCER_FLOW_SLOTS / SCALE,
		.table_slots = 1 << 20,
		.paths = 8,
		.nat_groups = 1,
	};
	const struct row *row = c->what;

	(void)cpus;
	memset(&now, 0, sizeof(now));
	now.row = row;
	now.flows = row->flows > SCALE ? row->flows / SCALE : row->flows;
	now.buffer = aligned_alloc(64, HEADROOM + ROW_FRAME_MAX);
	now.i = instance_anonymous(&limits);
	if (!now.buffer)
		abort();
	if (balancer_configure(now.i, row, err)) {
		c->kind->close();
		return -1;
	}
	run_use(now.i);
	run_set_seconds(1000);
	run_set_cpu(0);
	now.length = row_frame(row, true, now.frame);
	packet_run(0, now.flows);
	now.length = row_frame(row, false, now.frame);
	packet_run(0, now.flows);
	return 0;
}

static unsigned long packet_failed(void)
{
	return now.failed;
}

static void packet_close(void)
{
	run_use(NULL);
	instance_close(now.i);
	free(now.buffer);
	now.buffer = NULL;
}

static const struct case_kind kind = {packet_open, NULL, packet_run, packet_failed, packet_close};

void suite_packet(struct cases *cases)
{
	for (size_t n = 0; n < rows_count; n++) {
		struct bench_case *c;

		if (rows[n].both || rows[n].answers)
			continue; /* the same instructions; suite forward has answers */
		c = case_add(cases, &kind, "packet/%s", rows[n].name);
		c->what = &rows[n];
		c->times = PACKETS;
		c->flags = CASE_ALONE;
	}
}
