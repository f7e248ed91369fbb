// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A packet of a recorded flow costs the same under every policy, to the instruction: what a policy
 * needs is worked out for new flows alone. Counted by single steps of a child that puts one packet
 * through the native datapath.
 */
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/native.h"

#define MEMBERS	  8
#define HEADROOM  256 /* as the kernel gives */
#define STEPS_MAX 1000000

static const char *const policies[] = {"maglev", "source-hash", "round-robin",	"random",
				       "p2c",	 "least-conn",	"latency-aware"};

#define POLICIES (sizeof(policies) / sizeof(policies[0]))

static struct native n;

static void open_with(const char *policy)
{
	char yaml[2048], *at = yaml;

	at += sprintf(at,
		      "services:\n  - name: web\n"
		      "    listen: [ '10.2.0.1:80', '10.2.0.1:80/udp', '[fd02::1]:80' ]\n"
		      "    policy: %s\n    track: always\n    forward: ipip\n    backends:\n",
		      policy);
	for (unsigned int k = 1; k <= MEMBERS; k++)
		at += sprintf(at, "      - address: 10.3.0.%u\n", k);
	native_open(&n, yaml, 65536);
}

static int put(const struct frame *f)
{
	static __u8 buffer[HEADROOM + FRAME_MAX] __attribute__((aligned(8)));
	__u8 *at = buffer + HEADROOM - ETH_HLEN; /* what follows is aligned */
	struct run_frame r = {buffer, at, at + f->length, buffer + sizeof(buffer)};

	memcpy(at, f->byte, f->length);
	return run_xdp(&r, NATIVE_DEVICE);
}

/* Stops before and after the packet. */
static void child(const struct frame *f)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	raise(SIGSTOP);
	put(f);
	raise(SIGSTOP);
	_exit(0);
}

/* Instructions of the packet, and of the few calls around it, which are always the same; 0: nobody
 * may trace here. */
static long instructions(const struct frame *f)
{
	long steps = 0;
	pid_t pid = fork();
	int status;

	cr_assert_neq(pid, -1);
	if (!pid)
		child(f);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		return 0;
	do {
		cr_assert_eq(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert(WIFSTOPPED(status), "it ended: 0x%x", status);
	} while (WSTOPSIG(status) == SIGTRAP && ++steps < STEPS_MAX);
	cr_expect_eq(WSTOPSIG(status), SIGSTOP);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return steps;
}

/* Of a flow that was recorded a second ago and has been heard of since. */
static long established(const char *policy, const char *first, const char *later)
{
	struct frame f;
	long steps;

	open_with(policy);
	run_set_seconds(1000);
	frame_build(&f, first);
	cr_assert_eq(put(&f), XDP_TX);
	run_set_seconds(1001);
	frame_build(&f, later);
	cr_assert_eq(put(&f), XDP_TX);
	steps = instructions(&f);
	native_close(&n);
	return steps;
}

static void expect_the_same(const char *first, const char *later)
{
	long want = established(policies[0], first, later);

	if (!want)
		cr_skip_test("nothing may be traced here");
	for (size_t p = 1; p < POLICIES; p++) {
		long got = established(policies[p], first, later);

		cr_expect_eq(got, want, "%s: %ld instructions, under %s %ld", policies[p], got,
			     policies[0], want);
	}
}

Test(established, tcp)
{
	expect_the_same("ip4 10.1.0.1 > 10.2.0.1 | tcp 1000 > 80 S",
			"ip4 10.1.0.1 > 10.2.0.1 | tcp 1000 > 80 A");
}

Test(established, udp)
{
	expect_the_same("ip4 10.1.0.1 > 10.2.0.1 | udp 1000 > 80",
			"ip4 10.1.0.1 > 10.2.0.1 | udp 1000 > 80");
}

Test(established, tcp_over_ipv6)
{
	expect_the_same("ip6 fd01::1 > fd02::1 | tcp 1000 > 80 S",
			"ip6 fd01::1 > fd02::1 | tcp 1000 > 80 A");
}

/* The measure is one that can fail: a choice costs what its policy asks. */
Test(established, a_first_packet_does_not_cost_the_same)
{
	struct frame f;
	long maglev, least_conn;

	frame_build(&f, "ip4 10.1.0.1 > 10.2.0.1 | tcp 1000 > 80 S");
	open_with("maglev");
	maglev = instructions(&f);
	native_close(&n);
	if (!maglev)
		cr_skip_test("nothing may be traced here");
	open_with("least-conn");
	least_conn = instructions(&f);
	native_close(&n);
	cr_expect_gt(least_conn, maglev + 50, "%ld and %ld", least_conn, maglev);
}
