// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `poise attach DEV shared` beside another XDP program, through libxdp's dispatcher. Needs a kernel
 * that can replace functions of loaded programs (freplace), so it runs in the guests of
 * tests/vm/run only.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include "maps/instance.h"
#include "tests/vm/other.skel.h"

#define FRAMES	     10
#define DEADLINE_SEC 200 /* emulated CPUs are slow */

static struct instance *instance;
static struct other *skel;
static struct xdp_program *other;

static void run(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

/* Every test is a process with a network and an instance of its own. */
static const char *instance_name(void)
{
	static char name[32];

	snprintf(name, sizeof(name), "shared-%d", getpid());
	return name;
}

static void run_poise(const char *words)
{
	char command[256];

	snprintf(command, sizeof(command), "poise -q --instance %s %s", instance_name(), words);
	run(command);
}

/* Frames for 192.0.2.1:PORT into v0, by way of its peer. */
static void send_frames(__u16 port)
{
	struct {
		struct ethhdr eth;
		struct iphdr ip;
		struct tcphdr tcp;
	} __attribute__((packed)) frame = {
		.eth = {.h_dest = {2, 0, 0, 0, 0, 1},
			.h_source = {2, 0, 0, 0, 0, 2},
			.h_proto = htons(ETH_P_IP)},
		.ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP},
		.tcp = {.source = htons(40000), .doff = 5, .syn = 1},
	};
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("v1")};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	frame.ip.tot_len = htons(sizeof(frame.ip) + sizeof(frame.tcp));
	frame.ip.saddr = inet_addr("198.51.100.1");
	frame.ip.daddr = inet_addr("192.0.2.1");
	frame.tcp.dest = htons(port);
	cr_assert_geq(fd, 0);
	for (int n = 0; n < FRAMES; n++)
		cr_assert_eq(sendto(fd, &frame, sizeof(frame), 0, (void *)&to, sizeof(to)),
			     (ssize_t)sizeof(frame));
	close(fd);
}

/* What poise has refused for want of a backend: it saw a packet of its service. */
static __u64 poise_saw(void)
{
	__u64 count[POISE_REASON_SLOTS];
	struct config *cfg;
	__u16 id;

	cr_assert_eq(instance_load(instance, &cfg, NULL), 0);
	id = config_service_named(cfg, "web")->id;
	config_free(cfg);
	cr_assert_eq(instance_drops(instance, id, count, NULL), 0);
	return count[POISE_R_NO_BACKEND];
}

static __u64 other_saw(void)
{
	__u32 zero = 0;
	__u64 count;

	cr_assert_eq(bpf_map_lookup_elem(bpf_map__fd(skel->maps.seen), &zero, &count), 0);
	return count;
}

static bool reaches(__u64 (*saw)(void), __u64 count)
{
	const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
	time_t end = time(NULL) + DEADLINE_SEC;

	while (saw() < count) {
		if (time(NULL) > end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* Frames for the service, and frames for nobody, which poise passes on. */
static bool poise_runs(void)
{
	__u64 before = poise_saw();

	send_frames(80);
	return reaches(poise_saw, before + FRAMES);
}

static bool other_runs(void)
{
	__u64 before = other_saw();

	send_frames(81);
	return reaches(other_saw, before + FRAMES);
}

static void attach_other(void)
{
	skel = other__open();
	cr_assert(skel);
	other = xdp_program__from_bpf_obj(skel->obj, "xdp");
	cr_assert(!libxdp_get_error(other));
	cr_assert_eq(xdp_program__attach(other, (int)if_nametoindex("v0"), XDP_MODE_NATIVE, 0), 0);
}

static void detach_other(void)
{
	cr_assert_eq(xdp_program__detach(other, (int)if_nametoindex("v0"), XDP_MODE_NATIVE, 0), 0);
}

static void attach_poise(void)
{
	const struct instance_where where = {.name = instance_name()};

	run_poise("attach v0 shared");
	run_poise("service add web 192.0.2.1:80 forward ipip");
	cr_assert_eq(instance_open(&instance, &where, NULL), 0);
}

static void start(void)
{
	cr_assert_eq(unshare(CLONE_NEWNET), 0);
	run("ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up");
}

static void stop(void)
{
	if (instance)
		instance_close(instance);
	run_poise("reset");
}

TestSuite(shared, .init = start, .fini = stop);

Test(shared, joins_another_and_leaves_it)
{
	attach_other();
	attach_poise();
	cr_expect(other_runs(), "the other program no longer runs");
	cr_expect(poise_runs(), "poise does not run");

	run_poise("detach v0");
	cr_expect(other_runs(), "detaching poise took the other program along");
}

Test(shared, is_joined_by_another_that_leaves)
{
	attach_poise();
	/* What others bring themselves from libxdp 1.5.5 on: see bpf/dispatcher.bpf.c. */
	setenv("LIBXDP_OBJECT_PATH", "/t/dispatcher", 1);
	attach_other();
	cr_expect(other_runs(), "the other program does not run");
	cr_expect(poise_runs(), "poise no longer runs");

	detach_other();
	cr_expect(poise_runs(), "removing the other program took poise along");
}
