/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A flood of packets that have to be refused, as fast as this machine makes them (1,000,000 a
 * second are asked for): no more refusals are sent than may be, every packet is accounted for, and
 * what is for others is forwarded without loss. Packets are counted where they are made and where
 * they arrive.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "maps/clock.h"
#include "tests/support/lab.h"

#define VIP	     "192.0.2.10"
#define GOOD	     "9999" /* port of a service with a backend */
#define BAD	     "7777" /* of one without */
#define BAD_PACKETS  1000000
#define BAD_RATE     1000000
#define SOURCES	     60000
#define GOOD_PACKETS 100000
#define GOOD_RATE    50000

/* What may be sent: bpf/limit.h. */
#define RATE	     1000
#define BURST	     50
#define SOURCE_RATE  100
#define SOURCE_BURST 20

static struct lab lab;

TestSuite(flood, .timeout = TEST_LONGEST);

/* The number in front of which the word stands. */
static unsigned long number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? strtoul(at + strlen(word), NULL, 10) : 0;
}

static unsigned long counted(const char *event)
{
	return number_after(lab_must(&lab, "lb1", "poise stats nobody --exact"), event);
}

static pid_t flood(const char *port, int packets, int rate, const char *more)
{
	return lab_start(&lab, "router",
			 "flood send lb1-eth0 02:00:0a:00:00:65 " VIP
			 ":%s --packets %d --rate %d%s",
			 port, packets, rate, more);
}

/* Floods with what is refused, while others get through; answers at most at this rate. */
static void refused(int sources, int burst, int rate)
{
	unsigned long answered = counted("answered-icmp"), limited = counted("answer-limited");
	double begin = clock_seconds(CLOCK_MONOTONIC), seconds;
	char from[64];
	const char *out;
	pid_t sink, bad, good;

	snprintf(from, sizeof(from), " --source 198.18.0.0 --sources %d", sources);
	lab_host(NULL, "rm -f %s.*", lab.log);
	sink = lab_serve(&lab, "b1", "flood sink eth0 " GOOD);
	bad = flood(BAD, BAD_PACKETS, BAD_RATE, from);
	good = flood(GOOD, GOOD_PACKETS, GOOD_RATE, "");
	/* one source's flood does not silence what another is told */
	if (sources == 1)
		lab_must(&lab, "c1", "probe udp " VIP ":" BAD " | grep 'icmp 3 3'");
	lab_wait(bad);
	seconds = clock_seconds(CLOCK_MONOTONIC) - begin;
	lab_wait(good);
	lab_stop(sink, SIGTERM);
	lab_host(&out, "cat %s.*", lab.log);
	printf("%s\n", out);
	cr_expect_eq(number_after(out, "received "), GOOD_PACKETS, "lost of the others': %s", out);
	answered = counted("answered-icmp") - answered;
	limited = counted("answer-limited") - limited;
	printf("%lu answered in %.1f s\n", answered, seconds);
	cr_expect_eq(answered + limited, (unsigned long)BAD_PACKETS + (sources == 1));
	cr_expect((double)answered <= burst + (seconds + 1) * rate + 1, "%lu in %.1f s", answered,
		  seconds);
	cr_expect_geq(answered, 1);
}

Test(flood, answers_stay_at_the_limit_and_others_lose_nothing)
{
	pid_t daemon;

	lab_up(&lab, "--backends 1 --clients 1");
	/* the flood's sources are nobody */
	lab_must(&lab, "router", "ip route add blackhole 198.18.0.0/15");
	daemon = lab_poised(&lab, "lb1", "");
	lab_must(&lab, "lb1", "poise attach eth0");
	lab_must(&lab, "lb1", "poise service add good " VIP ":" GOOD "/udp forward l2");
	lab_must(&lab, "lb1", "poise service add nobody " VIP ":" BAD "/udp forward l2");
	lab_must(&lab, "lb1", "poise backend add good 10.0.0.1");
	lab_until(&lab, "lb1", LAB_SOON, "! poise show good | grep -q unresolved");
	refused(SOURCES, BURST, RATE);
	refused(1, SOURCE_BURST, SOURCE_RATE);
	lab_stop(daemon, SIGTERM);
	lab_down(&lab);
}
