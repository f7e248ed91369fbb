/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * flood send DEV MAC ADDR:PORT [--packets N] [--rate 200000] [--flows 1024] [--source ADDR]
 *	[--sources 1]
 * flood sink DEV PORT
 *
 * send puts UDP datagrams on DEV to that MAC, IPv4 address and port, by running an XDP program over
 * live frames (BPF_F_TEST_XDP_LIVE_FRAMES). They are handed to the peer in the same softirq, so
 * none is lost on the way for want of room: what is missing at the end was lost by what is under
 * test. Of several sources ADDR is the first; its last 16 bits have to have room for the others. A
 * run of the kernel's costs some 25 ms to set up; frames go in bursts, and rate is their
 * average.
 *
 * sink counts and drops datagrams to that port in XDP, and prints the count on SIGTERM or SIGINT.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "burst.h"
#include "tests/lab/flood.skel.h"

#define BURST	    16384  /* frames of one run: a few milliseconds of traffic ... */
#define BURST_MAX   262144 /* ... and more to catch up, on a machine with much else to do */
#define FLOWS_MAX   60000  /* ports from BURST_FIRST_PORT on */
#define SOURCES_MAX 65536  /* addresses that differ in their last 16 bits */

struct order {
	const char *device;
	struct burst burst;
	unsigned long packets, rate;
};

/* SIGTERM and SIGINT stay blocked: one that came in the midst of a burst would cut it short, and
 * nobody could say how much of it was sent. */
static void block_ends(sigset_t *ends)
{
	sigemptyset(ends);
	sigaddset(ends, SIGTERM);
	sigaddset(ends, SIGINT);
	sigprocmask(SIG_BLOCK, ends, NULL);
}

static int fail(const char *what, int error)
{
	fprintf(stderr, "flood: %s: %s\n", what, strerror(error));
	return 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* True if a signal asked for the end meanwhile. */
static bool sleep_until(double when, const sigset_t *ends)
{
	double left = when - now();
	struct timespec t = {};

	if (left > 0) {
		t.tv_sec = left;
		t.tv_nsec = (left - t.tv_sec) * 1e9;
	}
	return sigtimedwait(ends, NULL, &t) > 0;
}

/* Frames of the next run: those due by now, within bounds. */
static unsigned int burst(const struct order *o, unsigned long sent, double elapsed)
{
	double due = elapsed * o->rate - sent;
	unsigned long frames = due < BURST ? BURST : due > BURST_MAX ? BURST_MAX : due;

	return frames < o->packets - sent ? frames : o->packets - sent;
}

static int flood_send(const struct order *o)
{
	struct flood *skel = flood__open();
	unsigned long sent = 0;
	bool ended = false;
	sigset_t ends;
	double begin, took;
	int error;

	if (!skel)
		return fail("open", errno);
	block_ends(&ends);
	burst_prepare(&o->burst, skel);
	error = flood__load(skel);
	begin = now();
	while (!error && !ended && sent < o->packets) {
		unsigned int frames = burst(o, sent, now() - begin);

		error = burst_send(&o->burst, skel, frames);
		sent += frames;
		ended = sleep_until(begin + (double)sent / o->rate, &ends);
	}
	took = now() - begin;
	flood__destroy(skel);
	if (error)
		return fail(o->device, -error);
	printf("sent %lu in %.1f s, %.0f packets/s\n", sent, took, sent / took);
	return 0;
}

static unsigned long counted(struct flood *skel)
{
	int cpus = libbpf_num_possible_cpus();
	__u64 value[cpus], sum = 0;
	__u32 zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.packets), &zero, value))
		return 0;
	for (int i = 0; i < cpus; i++)
		sum += value[i];
	return sum;
}

static int flood_sink(const struct order *o, __u16 port)
{
	struct flood *skel = flood__open();
	struct bpf_link *link = NULL;
	int sig, rc = 1;
	sigset_t ends;

	if (!skel)
		return fail("open", errno);
	block_ends(&ends);
	skel->rodata->sink_port = htons(port);
	if (flood__load(skel)) {
		fail("load", errno);
		goto out;
	}
	link = bpf_program__attach_xdp(skel->progs.flood_sink, o->burst.ifindex);
	if (!link) {
		fail(o->device, errno);
		goto out;
	}
	printf("ready\n");
	fflush(stdout);
	sigwait(&ends, &sig);
	printf("received %lu\n", counted(skel));
	rc = 0;
out:
	bpf_link__destroy(link);
	flood__destroy(skel);
	return rc;
}

static int usage(void)
{
	fprintf(stderr, "usage: flood send DEV MAC ADDR:PORT [--packets N] [--rate 200000]\n"
			"\t[--flows 1024] [--source ADDR] [--sources 1]\n"
			"       flood sink DEV PORT\n");
	return 2;
}

static bool parse_options(struct order *o, int argc, char **argv)
{
	static const struct option options[] = {
		{"packets", required_argument, NULL, 'p'}, {"rate", required_argument, NULL, 'r'},
		{"flows", required_argument, NULL, 'f'},   {"source", required_argument, NULL, 's'},
		{"sources", required_argument, NULL, 'n'}, {},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'p': o->packets = strtoul(optarg, NULL, 10); break;
		case 'r': o->rate = strtoul(optarg, NULL, 10); break;
		case 'f': o->burst.flows = strtoul(optarg, NULL, 10); break;
		case 'n': o->burst.sources = strtoul(optarg, NULL, 10); break;
		case 's':
			if (inet_pton(AF_INET, optarg, &o->burst.source) != 1)
				return false;
			break;
		default: return false;
		}
	}
	return o->rate && o->burst.flows && o->burst.flows <= FLOWS_MAX && o->burst.sources &&
	       o->burst.sources <=
		       SOURCES_MAX - (ntohl(o->burst.source.s_addr) & (SOURCES_MAX - 1));
}

int main(int argc, char **argv)
{
	struct order o = {
		.packets = ULONG_MAX, .rate = 200000, .burst = {.flows = 1024, .sources = 1}};
	unsigned char *m = o.burst.mac;

	inet_pton(AF_INET, "198.51.100.1", &o.burst.source);
	if (!parse_options(&o, argc, argv) || argc - optind < 3)
		return usage();
	argv += optind;
	o.device = argv[1];
	o.burst.ifindex = if_nametoindex(o.device);
	if (!o.burst.ifindex)
		return fail(o.device, errno);
	if (!strcmp(argv[0], "sink") && argc - optind == 3)
		return flood_sink(&o, strtoul(argv[2], NULL, 10));
	if (strcmp(argv[0], "send") || argc - optind != 4 ||
	    sscanf(argv[2], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", m, m + 1, m + 2, m + 3, m + 4,
		   m + 5) != ETH_ALEN ||
	    !endpoint_parse(argv[3], &o.burst.target) || o.burst.target.addr.ss_family != AF_INET)
		return usage();
	return flood_send(&o);
}
