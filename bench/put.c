// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "put.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground.h"
#include "inside.h"
#include "maps/nat.h"
#include "tests/support/frame.h"

#define HEADROOM   256 /* as the kernel gives */
#define TAILROOM   64
#define FLOW_SLOTS 65536
#define ANSWERS	   8 /* a client may get so many at once of one of two CPUs */

/* A CPU's frame, and the buffer it goes through in: headers behind Ethernet's 14 bytes aligned. */
struct lane {
	struct frame frame;
	__u8 buffer[HEADROOM + FRAME_MAX + TAILROOM] __attribute__((aligned(64)));
	unsigned long failed;
};

static struct {
	const struct put *put;
	struct lane *lane;
	unsigned int cpus;
} now;

static int through(struct lane *l, struct run_frame *f)
{
	__u8 *at = l->buffer + HEADROOM - ETH_HLEN;

	*f = (struct run_frame){l->buffer, at, at + l->frame.length, l->buffer + sizeof(l->buffer)};
	memcpy(at, l->frame.byte, l->frame.length);
	return measured_xdp(f, GROUND_DEVICE);
}

/* The port that a frame of TCP without options or tags left from. */
static unsigned int left_from(const struct run_frame *f)
{
	const __u8 *ip = f->data + ETH_HLEN;
	size_t header = ip[0] >> 4 == 4 ? 20 : 40;

	return (unsigned int)ip[header] << 8 | ip[header + 1];
}

/* The words are ours, in tables of their suites. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void build(struct lane *l, const char *format, unsigned int port)
{
	char words[512];

	snprintf(words, sizeof(words), format, port);
	frame_build(&l->frame, words);
}

static void begin(struct lane *l)
{
	struct run_frame f;
	unsigned int port = 0;

	run_set_seconds(GROUND_SECONDS);
	for (int n = 0; n < PUT_BEFORE && now.put->before[n]; n++) {
		build(l, now.put->before[n], port);
		l->failed += through(l, &f) != XDP_TX;
		run_set_seconds(GROUND_SECONDS + 1); /* flows go on */
		if (!n)
			port = left_from(&f);
	}
	build(l, now.put->words, port);
}

static int put_open(const struct bench_case *c, unsigned int cpus, struct poise_error *err)
{
	char yaml[1024];

	now.put = c->what;
	snprintf(yaml, sizeof(yaml),
		 "services:\n  - { name: " GROUND_SERVICE ", listen: '%s', forward: %s,\n"
		 "      backends: [ { address: '%s' } ] }\n",
		 now.put->listen, now.put->forward, now.put->backend);
	if (ground_open(yaml, cpus, FLOW_SLOTS, err))
		return -1;
	now.cpus = cpus;
	now.lane = aligned_alloc(64, cpus * sizeof(*now.lane));
	if (!now.lane)
		abort();
	memset(now.lane, 0, cpus * sizeof(*now.lane));
	for (unsigned int cpu = 0; cpu < cpus; cpu++)
		begin(&now.lane[cpu]);
	return 0;
}

static void put_reset(unsigned int cpu)
{
	if (!cpu)
		run_refill(); /* of answers */
}

static void put_run(unsigned int cpu, unsigned int times)
{
	struct lane *l = &now.lane[cpu];
	struct run_frame f;

	while (times--)
		l->failed += through(l, &f) != now.put->verdict;
}

static unsigned long put_failed(void)
{
	unsigned long failed = 0;

	for (unsigned int cpu = 0; cpu < now.cpus; cpu++)
		failed += now.lane[cpu].failed;
	return failed;
}

static void put_close(void)
{
	free(now.lane);
	now.lane = NULL;
	ground_close();
}

static const struct case_kind kind = {put_open, put_reset, put_run, put_failed, put_close};

/* In mode nat a flow has a slot, its way, and its share of the links. */
#define NAT_BYTES                                                                                  \
	(sizeof(struct poise_slot) + sizeof(struct poise_way) +                                    \
	 POISE_LINK_BUCKETS(1) * sizeof(struct poise_bucket) / POISE_PORTS)

void put_suite(struct cases *cases, const char *suite, const struct put *put, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		struct bench_case *c = case_add(cases, &kind, "%s/%s", suite, put[k].name);

		c->what = &put[k];
		c->bytes = strcmp(put[k].forward, "nat") ? 0 : NAT_BYTES;
		if (put[k].answered) {
			c->times = c->at_most = ANSWERS;
			c->flags = CASE_ALONE; /* CPUs share what may be answered */
		}
	}
}
