// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chain [OPTION...] NAME=DEV,MAC,ADDR:PORT...: packets a CPU second of a whole path: made here, put
 * on the cable DEV, taken by who is at its other end and has that MAC, sent back by him changed or
 * not, counted and dropped here. All of it happens on one CPU, most of it in this thread's time;
 *what the kernel leaves to ksoftirqd is counted, too.
 *
 * The targets take turns, burst by burst, in one order and then in the other, so that what the
 * machine does besides meets all of them alike. The first is what the others are compared with:
 * the ratio of a round is its time a packet over the target's.
 *
 *	-p 524288	packets of a burst; it takes the kernel 25 ms to set one up, on top of them
 *	-r 15		rounds
 *	-f 1024		flows
 *	-o FILE		every burst, as CSV
 *
 * On stdout a line each: NAME packets-a-CPU-second ns ratio low high lost. Exit 1: could not be
 * measured.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/chain/sink.skel.h"
#include "bench/sample.h"
#include "tests/lab/burst.h"
#include "tests/lab/flood.skel.h"

#define TARGETS_MAX 16
#define ROUNDS_MAX  255
#define TARGET_NAME 32
#define DRAIN_MS    200 /* what is still under way after a burst, by ksoftirqd, may take so long */
#define SEED	    1

struct target {
	char name[TARGET_NAME];
	struct burst burst;
	struct flood *source;
	struct sink *sink;     /* of its device */
	struct bpf_link *link; /* NULL: another target of the device has it */
	double ns[ROUNDS_MAX];
	unsigned long sent, received;
};

struct chain {
	struct target target[TARGETS_MAX];
	unsigned int targets, rounds, packets, flows;
	int softirqd; /* schedstat of this CPU's ksoftirqd; -1: unknown */
	FILE *out;
};

static int fail(const char *what)
{
	fprintf(stderr, "chain: %s: %s\n", what, strerror(errno));
	return -1;
}

/* ---- time -------------------------------------------------------------------------------------*/

/* Its program name is ksoftirqd/CPU. */
static int open_softirqd(int cpu)
{
	DIR *proc = opendir("/proc");
	char want[32], path[300], comm[32];
	struct dirent *e;
	int fd = -1;

	snprintf(want, sizeof(want), "ksoftirqd/%d\n", cpu);
	while (proc && fd < 0 && (e = readdir(proc))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) && !strcmp(comm, want)) {
			snprintf(path, sizeof(path), "/proc/%s/schedstat", e->d_name);
			fd = open(path, O_RDONLY | O_CLOEXEC);
		}
		fclose(f);
	}
	if (proc)
		closedir(proc);
	return fd;
}

/* ns of CPU time so far: this thread's and ksoftirqd's. */
static double used(const struct chain *c)
{
	char text[128] = "";
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	if (c->softirqd >= 0 && pread(c->softirqd, text, sizeof(text) - 1, 0) < 0)
		text[0] = '\0';
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec + strtod(text, NULL);
}

static int pin_to_last(void)
{
	int cpu = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -1 : cpu;
}

/* ---- a target ---------------------------------------------------------------------------------*/

static bool parse_target(const char *text, struct target *t)
{
	unsigned char *m = t->burst.mac;
	char device[IF_NAMESIZE], endpoint[64];

	if (sscanf(text, "%31[^=]=%15[^,],%hhx:%hhx:%hhx:%hhx:%hhx:%hhx,%63s", t->name, device, m,
		   m + 1, m + 2, m + 3, m + 4, m + 5, endpoint) != 9 ||
	    !endpoint_parse(endpoint, &t->burst.target) ||
	    t->burst.target.addr.ss_family != AF_INET) {
		errno = EINVAL;
		return false;
	}
	t->burst.ifindex = if_nametoindex(device);
	return t->burst.ifindex != 0;
}

static struct target *of_device(struct chain *c, unsigned int ifindex)
{
	for (unsigned int i = 0; i < c->targets; i++)
		if (c->target[i].sink && c->target[i].burst.ifindex == ifindex)
			return &c->target[i];
	return NULL;
}

static int open_target(struct chain *c, struct target *t)
{
	struct target *with_sink = of_device(c, t->burst.ifindex);

	inet_pton(AF_INET, "198.51.100.1", &t->burst.source);
	t->burst.flows = c->flows;
	t->burst.sources = 1;
	t->source = flood__open();
	if (!t->source)
		return -1;
	burst_prepare(&t->burst, t->source);
	if (flood__load(t->source))
		return -1;
	if (with_sink) {
		t->sink = with_sink->sink;
		return 0;
	}
	t->sink = sink__open_and_load();
	if (!t->sink)
		return -1;
	t->link = bpf_program__attach_xdp(t->sink->progs.sink, (int)t->burst.ifindex);
	return t->link ? 0 : -1;
}

static void close_target(struct target *t)
{
	if (t->link)
		bpf_link__destroy(t->link);
	if (t->link)
		sink__destroy(t->sink);
	flood__destroy(t->source);
}

static unsigned long received(const struct target *t)
{
	int cpus = libbpf_num_possible_cpus();
	__u64 value[cpus > 0 ? cpus : 1];
	const __u32 zero = 0;
	unsigned long sum = 0;

	if (cpus < 1 || bpf_map_lookup_elem(bpf_map__fd(t->sink->maps.packets), &zero, value))
		return 0;
	for (int i = 0; i < cpus; i++)
		sum += value[i];
	return sum;
}

/* What has arrived by the time that all has, or no more does. */
static unsigned long drain(const struct target *t, unsigned long wanted)
{
	unsigned long have = received(t);

	for (int ms = 0; ms < DRAIN_MS && have < wanted; ms++) {
		usleep(1000);
		have = received(t);
	}
	return have;
}

/* Into the target's figures of that round. */
static int burst(const struct chain *c, struct target *t, unsigned int round)
{
	unsigned long before = received(t), arrived;
	double from = used(c), ns;
	int rc = burst_send(&t->burst, t->source, c->packets);

	if (rc) {
		errno = -rc;
		return fail(t->name);
	}
	arrived = drain(t, before + c->packets) - before;
	ns = used(c) - from;
	t->sent += c->packets;
	t->received += arrived;
	/* of what got through: who loses packets gains nothing by it */
	t->ns[round] = arrived ? ns / (double)arrived : NAN;
	if (arrived)
		return 0;
	fprintf(stderr, "chain: %s: nothing came back\n", t->name);
	return -1;
}

/* ---- all --------------------------------------------------------------------------------------*/

static void write_round(const struct chain *c, unsigned int round)
{
	for (unsigned int i = 0; c->out && i < c->targets; i++)
		fprintf(c->out, "%s,%u,%.1f\n", c->target[i].name, round + 1,
			c->target[i].ns[round]);
}

static int measure(struct chain *c)
{
	for (unsigned int i = 0; i < c->targets; i++) { /* untimed: flows become known */
		if (burst(c, &c->target[i], 0))
			return -1;
		c->target[i].sent = c->target[i].received = 0;
	}
	for (unsigned int round = 0; round < c->rounds; round++) {
		for (unsigned int i = 0; i < c->targets; i++) {
			unsigned int at = round & 1 ? c->targets - 1 - i : i;

			if (burst(c, &c->target[at], round))
				return -1;
		}
		write_round(c, round);
		fprintf(stderr, "chain: round %u of %u\n", round + 1, c->rounds);
	}
	return 0;
}

static void print_target(const struct chain *c, const struct target *t)
{
	double ns[ROUNDS_MAX], ratio[ROUNDS_MAX], median;
	struct sample_range range;

	for (unsigned int r = 0; r < c->rounds; r++) {
		ns[r] = t->ns[r];
		ratio[r] = c->target[0].ns[r] / t->ns[r];
	}
	range = sample_bootstrap(ratio, c->rounds, SEED);
	median = sample_median(ns, c->rounds);
	printf("%s %.0f %.1f %.3f %.3f %.3f %lu\n", t->name, 1e9 / median, median,
	       sample_median(ratio, c->rounds), range.low, range.high, t->sent - t->received);
}

static bool parse(struct chain *c, int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "p:r:f:o:")) != -1) {
		switch (o) {
		case 'p': c->packets = (unsigned int)strtoul(optarg, NULL, 10); break;
		case 'r': c->rounds = (unsigned int)strtoul(optarg, NULL, 10); break;
		case 'f': c->flows = (unsigned int)strtoul(optarg, NULL, 10); break;
		case 'o':
			c->out = fopen(optarg, "we");
			if (!c->out)
				return fail(optarg) == 0;
			fprintf(c->out, "path,round,ns\n");
			break;
		default: return false;
		}
	}
	for (; optind < argc && c->targets < TARGETS_MAX; optind++)
		if (!parse_target(argv[optind], &c->target[c->targets++]))
			return fail(argv[optind]) == 0;
	return c->targets && optind == argc && c->packets && c->flows && c->rounds &&
	       c->rounds <= ROUNDS_MAX;
}

int main(int argc, char **argv)
{
	struct chain c = {.rounds = 15, .packets = 1 << 19, .flows = 1024, .softirqd = -1};
	int rc = 0, cpu;

	if (!parse(&c, argc, argv)) {
		fprintf(stderr, "usage: chain [-p PACKETS] [-r ROUNDS] [-f FLOWS] [-o CSV] "
				"NAME=DEV,MAC,ADDR:PORT...\n");
		return 2;
	}
	cpu = pin_to_last();
	c.softirqd = cpu < 0 ? -1 : open_softirqd(cpu);
	for (unsigned int i = 0; i < c.targets && !rc; i++)
		rc = open_target(&c, &c.target[i]) ? fail(c.target[i].name) : 0;
	if (!rc)
		rc = measure(&c);
	for (unsigned int i = 0; i < c.targets && !rc; i++)
		print_target(&c, &c.target[i]);
	for (unsigned int i = 0; i < c.targets; i++)
		close_target(&c.target[i]);
	if (c.out)
		fclose(c.out);
	return rc ? 1 : 0;
}
