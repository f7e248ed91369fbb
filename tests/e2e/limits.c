// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Limits as real clients meet them: connections that are held open up to max-conns and no further,
 * refused at once beyond; new connections up to the rate; and clients that stay with their backend.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

TestSuite(limits, .timeout = TEST_LONGEST);

#define CLIENTS	   20
#define BACKENDS   2
#define MOST	   5
#define SILENCE_MS 30000 /* less than one who is not told gives up after, and there are ten */

/* Opens so many connections one after the other and holds them until its file is gone; says in it
 * how many it got and how long that took, in ms. */
static void hold(const struct lab *l, const char *file, int count)
{
	lab_must(l, "c1",
		 "touch %s.on; bash -c 'begin=$(date +%%s%%3N); n=0; for i in $(seq %d); do "
		 "if exec {fd}<>/dev/tcp/" SITE_VIP4 "/9000; then n=$((n+1)); fi; done; "
		 "echo $n $(($(date +%%s%%3N) - begin)) > %s.tmp; mv %s.tmp %s; "
		 "while test -e %s.on; do sleep 0.1; done' > /dev/null 2>&1 &",
		 file, count, file, file, file, file);
}

static int held(const struct lab *l, const char *file, int *ms)
{
	const char *out;
	char *rest;
	int n;

	lab_until(l, "c1", LAB_SOON, "test -s %s", file);
	out = lab_must(l, "c1", "cat %s", file);
	n = (int)strtol(out, &rest, 10);
	*ms = (int)strtol(rest, NULL, 10);
	return n;
}

static void let_go(const struct lab *l, const char *file)
{
	lab_must(l, "c1", "rm -f %s %s.on", file, file);
}

Test(limits, max_conns)
{
	struct site s = {.backends = BACKENDS};
	char file[64];
	int n, ms;

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	lab_must(&s.lab, "lb1", "poise service set web policy least-conn max-conns %d", MOST);
	snprintf(file, sizeof(file), "/tmp/%s.hold", s.lab.name);
	hold(&s.lab, file, CLIENTS);
	n = held(&s.lab, file, &ms);
	cr_expect_eq(n, BACKENDS * MOST, "%d of %d connections", n, CLIENTS);
	cr_expect_lt(ms, SILENCE_MS, "%d refusals took %d ms: were they told?", CLIENTS - n, ms);
	lab_must(&s.lab, "lb1",
		 "poise show web | awk '$2 == \"full\" { n++ } END { exit n != %d }'", BACKENDS);
	lab_must(&s.lab, "lb1", "poise stats web | grep -qw full");
	lab_must(&s.lab, "lb1", "poise map check");
	/* what ends makes room, and a limit that is lifted does too */
	let_go(&s.lab, file);
	lab_until(&s.lab, "lb1", LAB_SOON, "! poise show web | grep -qw full");
	lab_must(&s.lab, "lb1", "poise backend set web 10.0.0.1 max-conns none");
	hold(&s.lab, file, CLIENTS);
	n = held(&s.lab, file, &ms);
	cr_expect_eq(n, CLIENTS, "%d of %d connections", n, CLIENTS);
	lab_must(&s.lab, "lb1", "poise map check");
	let_go(&s.lab, file);
	site_down(&s);
}

Test(limits, rate)
{
	struct site s = {.backends = BACKENDS};
	char file[64];
	int n, ms;

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	lab_must(&s.lab, "lb1", "poise service set web rate 1 rate-burst 10");
	snprintf(file, sizeof(file), "/tmp/%s.hold", s.lab.name);
	hold(&s.lab, file, CLIENTS);
	n = held(&s.lab, file, &ms);
	cr_expect(n >= 10 && n <= 10 + 1 + ms / 1000, "%d of %d connections in %d ms", n, CLIENTS,
		  ms);
	lab_must(&s.lab, "lb1", "poise stats web | grep -qw rate");
	let_go(&s.lab, file);
	site_down(&s);
}

#define ADDRESSES 8

/* Where datagrams from the k-th address of c1 go; they must all go there. */
static int goes(const struct lab *l, int k)
{
	int to = 0;

	for (int port = 0; port < 6; port++) {
		const char *out =
			lab_must(l, "c1", "datagram 198.51.100.%d:%d " SITE_VIP4 ":9000 00", 50 + k,
				 5000 + port);
		int n = atoi(out + 1);

		cr_assert(*out == 'b' && (!to || n == to), "address %d: b%d, then %s", k, to, out);
		to = n;
	}
	return to;
}

Test(limits, affinity)
{
	struct site s = {.backends = 3, .keys = "policy round-robin affinity yes"};
	int to[ADDRESSES], moved = 0;
	unsigned int used = 0;

	site_up(&s);
	site_attach(&s);
	for (int k = 0; k < ADDRESSES; k++)
		lab_must(&s.lab, "c1", "ip address add 198.51.100.%d/24 dev eth0", 50 + k);
	site_service(&s, SITE_VIP4, 4);
	for (int k = 0; k < ADDRESSES; k++) {
		to[k] = goes(&s.lab, k);
		used |= 1u << to[k];
	}
	cr_expect_eq(__builtin_popcount(used), 3, "round-robin gave %d clients to 0x%x", ADDRESSES,
		     used);
	/* a backend that drains gets nobody anew; its clients stay together elsewhere */
	lab_must(&s.lab, "lb1", "poise backend drain web %s", site_backend(&s, to[0], 4));
	for (int k = 0; k < ADDRESSES; k++) {
		const char *out = lab_must(
			&s.lab, "c1", "datagram 198.51.100.%d:7000 " SITE_VIP4 ":9000 00", 50 + k);

		cr_expect(atoi(out + 1) != to[0], "address %d: new flow to the draining %s", k,
			  out);
		cr_expect(to[k] == to[0] || atoi(out + 1) == to[k], "address %d moved to %s", k,
			  out);
		moved += to[k] == to[0];
	}
	cr_expect_gt(moved, 0);
	lab_must(&s.lab, "lb1", "poise map check");
	site_down(&s);
}
