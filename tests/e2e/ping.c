// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A real ping of virtual addresses: of every kind of size, each request answered once and by the
 * balancer, whatever it says about who answers.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define REQUESTS 200 /* of a size, as fast as they are answered */

TestSuite(ping, .timeout = TEST_LONGEST);

struct family {
	const char *vip, *host, *at;
	int number, most; /* bytes in a packet of 1500 */
};

static const struct family families[] = {
	{SITE_VIP4, "10.0.0.101", SITE_VIP4, 4, 1472},
	{SITE_VIP6, "2001:db8:5::101", "[" SITE_VIP6 "]", 6, 1452},
};

static unsigned long counted(const struct lab *l, const char *event)
{
	const char *out;

	lab_run(l, "lb1", &out, "poise stats --exact | grep -w %s | grep -oE '[0-9]+' | tail -1",
		event);
	return strtoul(out, NULL, 10);
}

/* So many requests of a size, each answered once, with what it carried. */
static void expect_pings(const struct lab *l, const char *addr, int size, int requests)
{
	const char *out = lab_must(l, "c1", "ping -q -f -W 2 -c %d -s %d %s", requests, size, addr);
	char line[96];

	snprintf(line, sizeof(line), "%d packets transmitted, %d received, 0%% packet loss",
		 requests, requests);
	cr_expect(strstr(out, line), "%s, %d bytes: %s", addr, size, out);
	cr_expect_not(strstr(out, "DUP") || strstr(out, "duplicates") || strstr(out, "errors") ||
			      strstr(out, "corrupted"),
		      "%s, %d bytes: %s", addr, size, out);
}

static void expect_silence(const struct lab *l, const char *addr, int size)
{
	const char *out;

	lab_run(l, "c1", &out, "ping -q -i 0.1 -W 0.5 -c 3 -s %d %s", size, addr);
	cr_expect(strstr(out, " 0 received"), "%s, %d bytes: %s", addr, size, out);
}

static void set(const struct lab *l, const char *addr, const char *keys)
{
	lab_must(l, "lb1", "poise address set %s %s", addr, keys);
}

static void of_all_sizes(const struct lab *l, const struct family *f)
{
	static const int sizes[] = {0, 1, 2, 7, 8, 55, 56, 57, 255, 1000};
	unsigned long before = counted(l, "echo-answered"), sent = 0;
	const char *out;

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		expect_pings(l, f->vip, sizes[k], REQUESTS);
		sent += REQUESTS;
	}
	expect_pings(l, f->vip, f->most - 1, REQUESTS);
	expect_pings(l, f->vip, f->most, 1000);
	cr_expect_eq(counted(l, "echo-answered") - before, sent + REQUESTS + 1000);
	out = lab_must(l, "c1", "ping -c 1 %s", f->vip);
	cr_expect(strstr(out, "ttl=63"), "a TTL of 64 and one router: %s", out);
	cr_expect(strstr(out, f->vip), "%s", out);
}

/* What does not fit one packet is put together by nobody, unless the kernel has the address. */
static void in_fragments(const struct lab *l, const struct family *f)
{
	unsigned long before = counted(l, "no-echo");

	expect_silence(l, f->vip, 3000);
	cr_expect_geq(counted(l, "no-echo") - before, 6);
	lab_must(l, "lb1", "poise address claim %s eth0", f->vip);
	lab_until(l, "c1", LAB_SOON, "ping -q -W 1 -c 1 -s 3000 %s", f->vip);
	expect_pings(l, f->vip, 100, REQUESTS);
	lab_must(l, "lb1", "poise address release %s", f->vip);
}

static void as_it_is_told(const struct lab *l, const struct family *f)
{
	unsigned long before = counted(l, "no-echo");

	set(l, f->vip, "ping no");
	expect_silence(l, f->vip, 56);
	cr_expect_eq(counted(l, "no-echo") - before, 3);
	set(l, f->vip, "ping usable");
	expect_pings(l, f->vip, 56, 10);
	lab_must(l, "lb1", "poise backend disable web %s",
		 f->number == 4 ? "10.0.0.1" : "2001:db8:5::1");
	expect_silence(l, f->vip, 56);
	lab_must(l, "lb1", "poise backend enable web %s",
		 f->number == 4 ? "10.0.0.1" : "2001:db8:5::1");
	expect_pings(l, f->vip, 56, 10);
	set(l, f->vip, "ping default");
	expect_pings(l, f->vip, 56, 10);
}

#define ANSWERED "%s .* protocol any .* service [1-9]" /* an entry that leads somewhere */

/* The host's own address is answered for by the kernel, also when a service listens on it, and so
 * is one that somebody else puts on a device. */
static void not_the_hosts(const struct lab *l, const struct family *f)
{
	unsigned long before;

	lab_must(l, "lb1", "poise service add own %s%s%s:80 forward l2", f->number == 6 ? "[" : "",
		 f->host, f->number == 6 ? "]" : "");
	lab_must(l, "lb1", "ip address add %s dev lo%s", f->vip, f->number == 6 ? " nodad" : "");
	lab_until(l, "lb1", LAB_SOON, "! poise map show listeners | grep -E '" ANSWERED "'",
		  f->vip);
	before = counted(l, "echo-answered");
	expect_pings(l, f->host, 56, 10);
	expect_pings(l, f->vip, 56, 10);
	cr_expect_eq(counted(l, "echo-answered"), before);
	lab_must(l, "lb1", "ip address del %s dev lo", f->vip);
	lab_until(l, "lb1", LAB_SOON, "poise map show listeners | grep -E '" ANSWERED "'", f->vip);
	expect_pings(l, f->vip, 56, 10);
	cr_expect_eq(counted(l, "echo-answered") - before, 10);
}

static void pinged(int family)
{
	const struct family *f = &families[family == 6];
	struct site s = {.backends = 1};

	site_up(&s);
	site_attach(&s);
	site_service(&s, f->vip, f->number);
	of_all_sizes(&s.lab, f);
	in_fragments(&s.lab, f);
	as_it_is_told(&s.lab, f);
	not_the_hosts(&s.lab, f);
	lab_must(&s.lab, "lb1", "poise map check");
	site_down(&s);
}

Test(ping, ipv4)
{
	pinged(4);
}

Test(ping, ipv6)
{
	pinged(6);
}
