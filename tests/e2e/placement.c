// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Wherever the virtual addresses stand on the balancer (nowhere, on lo, on the uplink), whoever put
 * them there and whether or not it forwards packets as a router: each packet for a service goes
 * over each link on its way once and over no other, nobody resets it, and what is for a port
 * without a listener is refused once and never comes round again: by the kernel where the address
 * is the host's own, else by poise. Packets are counted on every link, and refusals by poise.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"
#include "tests/support/tap.h"

#define CLIENT4 "198.51.100.1"
#define CLIENT6 "2001:db8:c::1"

TestSuite(placement, .timeout = TEST_LONGEST);

struct family {
	const char *vip, *client;
	const char *at;		/* the virtual address as a listener's */
	const char *prefix;	/* behind it as an address of a device */
	const char *forwarding; /* the switch */
	int number;
};

static const struct family families[] = {
	{SITE_VIP4, CLIENT4, SITE_VIP4, "/32", "net.ipv4.ip_forward", 4},
	{SITE_VIP6, CLIENT6, "[" SITE_VIP6 "]", "/128", "net.ipv6.conf.all.forwarding", 6},
};

struct place {
	const char *name;
	const char *put, *take; /* commands, with a virtual address, its prefix behind it, or not */
	bool kernel;		/* it is the host's own, and the kernel refuses */
};

#define BY_HAND(dev)                                                                               \
	{                                                                                          \
		dev " by hand", "ip address add %s%s dev " dev, "ip address del %s%s dev " dev,    \
			true                                                                       \
	}
#define CLAIMED(dev)                                                                               \
	{                                                                                          \
		dev " by claim", "poise address claim %s " dev " announce always",                 \
			"poise address release %s", false                                          \
	}

static const struct place places[] = {
	{"nothing", "true", "true", false},
	BY_HAND("lo"),
	BY_HAND("eth0"),
	CLAIMED("lo"),
	CLAIMED("eth0"),
};

struct scene {
	struct site site;
	struct tap tap;
	const struct family *family;
	const struct place *place;
	char name[64]; /* for messages */
};

static void expect(struct scene *s, unsigned int expected, const char *what, const char *port,
		   const char *way, const char *pattern)
{
	unsigned int seen = tap_count(&s->tap, " %s +%s .*%s", port, way, pattern);

	cr_expect_eq(seen, expected, "%s: %s: %u packets %s the router's port %s, not %u:\n%s",
		     s->name, what, seen, *way == 'O' ? "out of" : "in at", port, expected,
		     tap_shown(&s->tap));
}

/* What the client sends, by this pattern, goes to the balancer and from there to a backend or not,
 * once. */
static void goes_once(struct scene *s, const char *what, const char *pattern, unsigned int on)
{
	expect(s, 1, what, "c1-eth0", TAP_IN, pattern);
	expect(s, 1, what, "lb1-eth0", TAP_OUT, pattern);
	expect(s, on, what, "lb1-eth0", TAP_IN, pattern);
	expect(s, on, what, "b1-eth0", TAP_OUT, pattern);
}

/* What comes back comes from `from`, once, and reaches the client. */
static void comes_once(struct scene *s, const char *what, const char *pattern, const char *from,
		       const char *not_from)
{
	expect(s, 1, what, from, TAP_IN, pattern);
	expect(s, 0, what, not_from, TAP_IN, pattern);
	expect(s, 1, what, "c1-eth0", TAP_OUT, pattern);
}

static const char *probe(struct scene *s, const char *kind, int port)
{
	const char *out;

	lab_run(&s->site.lab, "c1", &out, "probe %s %s:%d%s", kind, s->family->at, port,
		*kind == 'u' ? " size 99" : "");
	return out;
}

static void listened_to(struct scene *s)
{
	const char *vip = s->family->vip;
	char pattern[160];

	cr_expect(!strncmp(probe(s, "tcp", 80), "connected", 9), "%s", s->name);
	cr_expect(!strncmp(probe(s, "udp", 9000), "answered", 8), "%s", s->name);
	tap_settle(&s->tap);
	snprintf(pattern, sizeof(pattern), "> %s\\.80: Flags \\[S\\]", vip);
	goes_once(s, "a SYN", pattern, 1);
	snprintf(pattern, sizeof(pattern), "> %s\\.9000: UDP, length 99", vip);
	goes_once(s, "a datagram", pattern, 1);
	snprintf(pattern, sizeof(pattern), "%s\\.80 > .*Flags \\[S\\.\\]", vip);
	comes_once(s, "a SYN's answer", pattern, "b1-eth0", "lb1-eth0");
	snprintf(pattern, sizeof(pattern), "%s\\.9000 > .*UDP, length", vip);
	comes_once(s, "a datagram's answer", pattern, "b1-eth0", "lb1-eth0");
	snprintf(pattern, sizeof(pattern), "%s\\.[0-9]+ > .*Flags \\[R", vip);
	cr_expect_eq(tap_count(&s->tap, "%s", pattern), 0, "%s: reset\n%s", s->name,
		     tap_shown(&s->tap));
	cr_expect_eq(tap_count(&s->tap, "unreachable|time exceeded"), 0, "%s: an error\n%s",
		     s->name, tap_shown(&s->tap));
}

/* How many poise has counted. */
static unsigned long refusals(struct scene *s)
{
	return strtoul(lab_must(&s->site.lab, "lb1",
				"poise stats web | awk '$1 == \"no-listener\" { n = $2 } "
				"END { print n + 0 }'"),
		       NULL, 10);
}

#define PATIENCE 100 /* probes, of some 30 ms */

/* poised learns of what was done by hand, and soon. */
static void wait_for_who_refuses(struct scene *s)
{
	for (int tries = 0; tries < PATIENCE; tries++) {
		unsigned long before = refusals(s);

		probe(s, "tcp", 82);
		if ((refusals(s) == before) == s->place->kernel)
			return;
	}
	cr_assert_fail("%s: %s refuses", s->name, s->place->kernel ? "poise" : "the kernel");
}

static void not_listened_to(struct scene *s)
{
	const char *vip = s->family->vip;
	unsigned long before = refusals(s), counted;
	char pattern[160];
	const char *out;

	out = probe(s, "tcp", 81);
	printf("%s: port 81: %s", s->name, out);
	cr_expect(!strncmp(out, "refused", 7), "%s: %s", s->name, out);
	out = probe(s, "udp", 9001);
	cr_expect(!strncmp(out, s->family->number == 4 ? "icmp 3 3" : "icmp 1 4", 8), "%s: %s",
		  s->name, out);
	counted = refusals(s) - before;
	cr_expect_eq(counted, s->place->kernel ? 0 : 2, "%s: %lu refused by poise", s->name,
		     counted);
	tap_settle(&s->tap);
	/* no SYN was sent again */
	snprintf(pattern, sizeof(pattern), "> %s\\.81: Flags \\[S\\]", vip);
	goes_once(s, "a SYN to port 81", pattern, 0);
	snprintf(pattern, sizeof(pattern), "> %s\\.9001: UDP, length 99", vip);
	goes_once(s, "a datagram to port 9001", pattern, 0);
	snprintf(pattern, sizeof(pattern), "%s\\.81 > .*Flags \\[R", vip);
	comes_once(s, "the reset", pattern, "lb1-eth0", "b1-eth0");
	comes_once(s, "the refusal", "> .*unreachable", "lb1-eth0", "b1-eth0");
}

static void on_balancer(struct scene *s, const char *command)
{
	char line[128];

	snprintf(line, sizeof(line), command, s->family->vip, s->family->prefix);
	lab_must(&s->site.lab, "lb1", "%s", line);
}

static void everywhere(struct scene *s)
{
	for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
		s->place = &places[k];
		snprintf(s->name, sizeof(s->name), "%s on %s", s->family->vip, s->place->name);
		on_balancer(s, s->place->put);
		wait_for_who_refuses(s);
		for (int forwarding = 0; forwarding <= 1; forwarding++) {
			snprintf(s->name, sizeof(s->name), "%s on %s, forwarding %d",
				 s->family->vip, s->place->name, forwarding);
			lab_must(&s->site.lab, "lb1", "sysctl -qw %s=%d", s->family->forwarding,
				 forwarding);
			tap_forget(&s->tap);
			listened_to(s);
			not_listened_to(s);
		}
		on_balancer(s, s->place->take);
	}
}

static void placed(struct site site, int family)
{
	static struct scene s;

	s = (struct scene){.site = site, .family = &families[family == 6]};
	s.site.backends = 1;
	site_up(&s.site);
	site_attach(&s.site);
	site_service(&s.site, s.family->vip, family);
	tap_open(&s.tap, &s.site.lab);
	everywhere(&s);
	tap_close(&s.tap);
	site_down(&s.site);
}

Test(placement, l2_ipv4)
{
	placed((struct site){}, 4);
}

Test(placement, l2_ipv6)
{
	placed((struct site){}, 6);
}

Test(placement, ipip_ipv4)
{
	placed((struct site){.ipip = true}, 4);
}

Test(placement, ipip_ipv6)
{
	placed((struct site){.ipip = true}, 6);
}
