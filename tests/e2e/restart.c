/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Nothing is lost while the daemon is restarted, killed, and the program replaced, over and over,
 * under a flood. Packets are counted where they are made and where they arrive; connections, by who
 * has them open.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/lab.h"

#define RESTARTS	 100
#define REPLACEMENTS	 100
#define HUNDREDS_LONGEST 850 /* s: a minute where nothing else runs */
#define START_MS	 400 /* about what poised takes to start */
#define RATE		 200000
#define RATE_LEAST	 100000	 /* what a quick machine's flood must really have reached ... */
#define PACKETS		 1000000 /* ... and how many packets at least */
#define BACKENDS	 2
#define PORT		 "9999"

static struct lab lab;
static pid_t sink[BACKENDS];

static void build(void)
{
	lab_up(&lab, "--backends 2");
	for (int n = 0; n < BACKENDS; n++) {
		char node[16];

		snprintf(node, sizeof(node), "b%d", n + 1);
		sink[n] = lab_serve(&lab, node, "flood sink eth0 " PORT);
	}
}

static unsigned long number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	cr_assert(at, "no \"%s\" in: %s", word, text);
	return strtoul(at + strlen(word), NULL, 10);
}

static unsigned long received(void)
{
	unsigned long sum = 0;
	const char *out;

	for (int n = 0; n < BACKENDS; n++) {
		lab_stop(sink[n], SIGTERM);
		lab_host(&out, "cat %s.b%d.*", lab.log, n + 1);
		cr_assert(number_after(out, "received ") > 0, "b%d got nothing", n + 1);
		sum += number_after(out, "received ");
	}
	return sum;
}

/* The id of the one program on the device. */
static unsigned long program(void)
{
	return number_after(lab_must(&lab, "lb1", "ip -details link show dev eth0"),
			    "prog/xdp id ");
}

/* Starts poised and kills it so many milliseconds later, wherever it has got to. */
static void killed_while_starting(int ms)
{
	pid_t daemon = lab_start(&lab, "lb1", "poised");

	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
	lab_stop(daemon, SIGKILL);
}

/* From start to ready; the program on the device must be a new one. */
static pid_t started(void)
{
	unsigned long before = program();
	pid_t daemon = lab_poised(&lab, "lb1", "");

	cr_assert(program() != before, "a restart must replace the program");
	return daemon;
}

/* Where packets went, by everybody's counters. */
static const char *where(void)
{
	static char text[16384];

	snprintf(text, sizeof(text), "%s",
		 lab_must(&lab, "lb1",
			  "poise stats flood | head -8; ethtool -S eth0 | grep -v ': 0$'"));
	strncat(text,
		lab_must(&lab, "router",
			 "for d in lb1 b1 b2; do ip -s link show $d-eth0; "
			 "ethtool -S $d-eth0 | grep -v ': 0$'; done"),
		sizeof(text) - strlen(text) - 1);
	return text;
}

Test(restart, hundreds_under_a_flood_lose_nothing, .timeout = HUNDREDS_LONGEST)
{
	unsigned long sent, got;
	const char *out;
	pid_t daemon, flood;

	build();
	daemon = lab_poised(&lab, "lb1", "");
	lab_must(&lab, "lb1", "poise attach eth0");
	lab_must(&lab, "lb1", "poise service add flood 192.0.2.10:" PORT "/udp forward l2");
	lab_must(&lab, "lb1", "poise backend add flood 10.0.0.1 10.0.0.2");
	lab_until(&lab, "lb1", LAB_SOON, "! poise show flood | grep -q unresolved");

	flood = lab_start(&lab, "router",
			  "flood send lb1-eth0 02:00:0a:00:00:65 192.0.2.10:" PORT " --rate %d",
			  RATE);
	for (int i = 0; i < RESTARTS / 2; i++) {
		lab_stop(daemon, i % 2 ? SIGKILL : SIGTERM);
		killed_while_starting(i * START_MS / (RESTARTS / 2));
		daemon = started();
	}
	for (int i = 0; i < REPLACEMENTS; i++)
		lab_must(&lab, "lb1", "poise attach eth0");
	lab_stop(flood, SIGTERM);
	lab_host(&out, "cat %s.router", lab.log);
	sent = number_after(out, "sent ");
	cr_assert(sent >= PACKETS && number_after(out, " s, ") * lab_slowness(&lab) >= RATE_LEAST,
		  "%s", out);
	got = received();
	cr_assert_eq(got, sent, "%lu of %lu packets lost\n%s", sent - got, sent, where());
	program();
	lab_stop(daemon, SIGTERM);
	lab_down(&lab);
}

#define KILLS 3
#define LOOKS (LAB_SOON * 1000 / 50)
#define HELD  100 /* connections of a client */

/* What the backends' gauges say together, and what a recount of the flow table gives. */
static void look(unsigned long *gauges, unsigned long *words)
{
	static const char command[] =
		"poise show web --json | tr , '\\n' | sed '1,/^\"backends\":/d' | "
		"awk -F: '/^\"flows\":/ { n += $2 } END { print \"gauges \" n + 0 }'; "
		"for s in new pickup established; do poise flows web state $s --count; done | "
		"awk '{ n += $1 } END { print \"words \" n + 0 }'";
	const char *out = lab_must(&lab, "lb1", "%s", command);

	*gauges = number_after(out, "gauges ");
	*words = number_after(out, "words ");
}

/* Both are what clients have open, once their last packets are there. */
static void expect_gauges(unsigned int want, const char *when)
{
	unsigned long gauges, words;
	int tries = 0;

	do {
		nanosleep(&(struct timespec){.tv_nsec = 50 * 1000000L}, NULL);
		look(&gauges, &words);
	} while ((gauges != want || words != want) && ++tries < LOOKS);
	cr_expect(gauges == want && words == want, "%s: gauges of %lu, %lu words, %u connections",
		  when, gauges, words, want);
}

/* Connections begin and end while poised runs, while it is gone and while it comes back. */
Test(restart, gauges_outlast_kills, .timeout = TEST_LONGEST)
{
	pid_t daemon, held[KILLS + 1];

	lab_up(&lab, "--backends 2");
	for (int n = 1; n <= BACKENDS; n++) {
		char node[16];

		snprintf(node, sizeof(node), "b%d", n);
		lab_serve(&lab, node, "serve %s 192.0.2.10:" PORT, node);
	}
	daemon = lab_poised(&lab, "lb1", "");
	lab_must(&lab, "lb1", "poise attach eth0");
	lab_must(&lab, "lb1",
		 "poise service add web 192.0.2.10:" PORT " forward l2 policy least-conn");
	lab_must(&lab, "lb1", "poise backend add web 10.0.0.1 10.0.0.2");
	lab_until(&lab, "lb1", LAB_SOON, "! poise show web | grep -q unresolved");
	held[0] = lab_serve(&lab, "c1", "hold tcp 192.0.2.10:" PORT " %d", HELD);
	expect_gauges(HELD, "at first");
	for (int k = 0; k < KILLS; k++) {
		lab_stop(daemon, SIGKILL);
		held[k + 1] = lab_serve(&lab, "c1", "hold tcp 192.0.2.10:" PORT " %d", HELD);
		expect_gauges(2 * HELD, "poised is gone");
		daemon = lab_poised(&lab, "lb1", "");
		cr_expect_eq(lab_stop(held[k], SIGTERM), 0, "connections were lost");
		expect_gauges(HELD, "poised is back");
	}
	cr_expect_eq(lab_stop(held[KILLS], SIGTERM), 0, "connections were lost");
	expect_gauges(0, "at the end");
	lab_stop(daemon, SIGTERM);
	lab_down(&lab);
}
