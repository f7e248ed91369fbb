// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * native ROW PACKETS: puts that many packets of a row through the native datapath, after others
 * that have made its flows known, as in the timed bench; callgrind counts instructions in run_xdp,
 * and bench/quick subtracts those of a run with 0 packets. Flows and flow table are both SCALE
 * times smaller than there, so that they fill buckets alike. Without arguments: lists the rows.
 */
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "balancer.h"
#include "bpf/run.h"
#include "row.h"

#define SCALE	 64
#define LOOPBACK 1	     /* as balancer.c's path */
#define HEADROOM 256	     /* as the kernel gives */
#define SPREAD	 2654435761u /* as driver.bpf.c */
#define NET_11	 0x0b000000u
#define TCP_SYN	 0x02
#define TCP_RST	 0x04

struct run {
	const struct row *row;
	__u8 frame[ROW_FRAME_MAX];
	size_t length;
	unsigned int flows, sequence;
	unsigned long unexpected;
};

static void one(struct run *r)
{
	__u8 buffer[HEADROOM + ROW_FRAME_MAX];
	unsigned int n = r->sequence++, flow = r->row->chooses ? n >> 1 : n;
	__u32 source = htonl(NET_11 | (flow * SPREAD & (r->flows - 1)));
	struct run_frame f = {
		.start = buffer,
		.data = buffer + HEADROOM,
		.end = buffer + HEADROOM + r->length,
		.limit = buffer + sizeof(buffer),
	};
	int verdict;

	memcpy(f.data, r->frame, r->length);
	if (r->row->chooses)
		f.data[row_flags_at()] = n & 1 ? TCP_RST : TCP_SYN;
	memcpy(f.data + row_vary_at(r->row), &source, sizeof(source));
	verdict = run_xdp(&f, LOOPBACK);
	r->unexpected += verdict != (r->row->growth ? XDP_TX : XDP_PASS) ||
			 (size_t)(f.end - f.data) != r->length + (size_t)r->row->growth;
}

static int measure(const struct row *row, unsigned long packets, struct poise_error *err)
{
	const struct config_limits limits = {
		.services = ROW_SERVICES,
		.backends = BALANCER_BACKENDS_ALL,
		.listeners = 64,
		.flow_slots = BALANCER_FLOW_SLOTS / SCALE,
		.table_slots = 1 << 20,
		.paths = 8,
	};
	struct run r = {.row = row, .flows = row->flows > SCALE ? row->flows / SCALE : row->flows};
	struct instance *i = instance_anonymous(&limits);

	if (balancer_configure(i, row, err))
		return -1;
	run_use(i);
	run_set_seconds(1000);
	r.length = row_frame(row, true, r.frame);
	for (unsigned int n = 0; n < r.flows; n++)
		one(&r);
	r.length = row_frame(row, false, r.frame);
	for (unsigned int n = 0; n < r.flows; n++)
		one(&r);
	while (packets--)
		one(&r);
	run_use(NULL);
	instance_close(i);
	if (r.unexpected)
		return poise_fail(err, POISE_E_CORRUPT, "%lu packets were not treated as expected",
				  r.unexpected);
	return 0;
}

int main(int argc, char **argv)
{
	struct poise_error err = {0};

	for (size_t n = 0; n < rows_count; n++) {
		if (rows[n].both || rows[n].answers)
			continue; /* there is one CPU here, and nobody who answers */
		if (argc < 3) {
			puts(rows[n].name);
		} else if (!strcmp(rows[n].name, argv[1])) {
			if (!measure(&rows[n], strtoul(argv[2], NULL, 10), &err))
				return 0;
			fprintf(stderr, "bench: %s: %s\n", argv[1], err.message);
			return 1;
		}
	}
	return argc < 3 ? 0 : 2;
}
