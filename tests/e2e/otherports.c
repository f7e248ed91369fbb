// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ports that no service listens on, at a virtual address that is on no device: refused at once; and
 * what passes on to the host, because it is told to or since the program is gone, does not go round
 * between the host and the router that leads it there. Packets are counted on every link.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/site.h"
#include "tests/support/tap.h"

TestSuite(otherports, .timeout = TEST_LONGEST);

struct family {
	const char *vip, *at, *forwarding, *refused, *unreachable, *ip;
	int number;
};

static const struct family families[] = {
	{SITE_VIP4, SITE_VIP4, "net.ipv4.ip_forward", "icmp 3 3", "icmp 3 1", "ip", 4},
	{SITE_VIP6, "[" SITE_VIP6 "]", "net.ipv6.conf.all.forwarding", "icmp 1 4", "icmp 1",
	 "ip -6", 6},
};

struct scene {
	struct site site;
	struct tap tap;
	const struct family *f;
};

static const char *probe(struct scene *s, const char *kind, int port)
{
	const char *out;

	lab_run(&s->site.lab, "c1", &out, "probe %s %s:%d", kind, s->f->at, port);
	return out;
}

static void forward(struct scene *s, int yes)
{
	lab_must(&s->site.lab, "lb1", "sysctl -qw %s=%d", s->f->forwarding, yes);
}

static bool has_route(struct scene *s)
{
	return !lab_run(&s->site.lab, "lb1", NULL, "%s route show type unreachable | grep -q '%s '",
			s->f->ip, s->f->vip);
}

/* Datagrams to this port on the way to the balancer. */
static unsigned int to_balancer(struct scene *s, int port)
{
	tap_settle(&s->tap);
	return tap_count(&s->tap, " lb1-eth0 +Out .*> %s\\.%d: ", s->f->vip, port);
}

/* The control: without a service, and thus without a route that ends it, a host that forwards sends
 * back what it was sent, until the TTL is used up. */
static void loops_before(struct scene *s)
{
	forward(s, 1);
	tap_forget(&s->tap);
	probe(s, "udp", 700);
	cr_expect_gt(to_balancer(s, 700), 10, "%s: no loop to be seen:\n%s", s->f->vip,
		     tap_shown(&s->tap));
}

static void refused(struct scene *s)
{
	const char *out;

	for (int yes = 0; yes <= 1; yes++) {
		forward(s, yes);
		tap_forget(&s->tap);
		out = probe(s, "tcp", 22);
		printf("%s: %s", s->f->vip, out);
		cr_expect(!strncmp(out, "refused", 7), "%s: %s", s->f->vip, out);
		out = probe(s, "udp", 701);
		cr_expect(!strncmp(out, s->f->refused, strlen(s->f->refused)), "%s: %s", s->f->vip,
			  out);
		cr_expect_eq(to_balancer(s, 701), 1);
		cr_expect_eq(tap_count(&s->tap, " lb1-eth0 +Out .*> %s\\.22: Flags", s->f->vip), 1);
	}
	out = lab_must(&s->site.lab, "lb1", "poise stats web");
	cr_expect(strstr(out, "no-listener") && strstr(out, "answered-rst"), "%s", out);
}

/* It reaches the balancer once, and if anybody answers it is the balancer's kernel. */
static void ends_here(struct scene *s, const char *what, int port)
{
	const char *out;

	cr_expect(has_route(s), "%s: %s: no route", s->f->vip, what);
	for (int yes = 0; yes <= 1; yes++) {
		forward(s, yes);
		tap_forget(&s->tap);
		out = probe(s, "udp", port);
		if (yes)
			cr_expect(!strncmp(out, s->f->unreachable, strlen(s->f->unreachable)),
				  "%s: %s: %s", s->f->vip, what, out);
		cr_expect_eq(to_balancer(s, port), 1, "%s: %s, forwarding %d:\n%s", s->f->vip, what,
			     yes, tap_shown(&s->tap));
		cr_expect_eq(
			tap_count(&s->tap, " lb1-eth0 +%s .*> %s\\.%d: ", TAP_IN, s->f->vip, port),
			0, "%s: %s, forwarding %d: sent back", s->f->vip, what, yes);
	}
	cr_expect_eq(tap_count(&s->tap, "exceeded"), 0);
}

static void passed(struct scene *s)
{
	const struct lab *l = &s->site.lab;

	lab_must(l, "lb1", "poise address set %s other-ports pass", s->f->vip);
	ends_here(s, "other-ports pass", 702);
	lab_must(l, "lb1", "poise address set %s other-ports default", s->f->vip);
	/* whoever takes it away does so for a second or so, while poised runs */
	lab_must(l, "lb1", "%s route del unreachable %s proto 112", s->f->ip, s->f->vip);
	lab_until(l, "lb1", LAB_SOON, "%s route show type unreachable | grep -q '%s '", s->f->ip,
		  s->f->vip);
	lab_must(l, "lb1", "poise detach eth0");
	ends_here(s, "the program is gone", 703);
	lab_stop(s->site.poised, SIGKILL);
	s->site.poised = 0;
	ends_here(s, "poised is gone", 704);
}

/* The route is there for addresses on no device alone, and goes with the last listener; nobody
 * else's goes. */
static void only_ours_goes(struct scene *s)
{
	const struct lab *l = &s->site.lab;

	lab_must(l, "lb1", "%s route add unreachable %s metric 4000000000", s->f->ip, s->f->vip);
	lab_must(l, "lb1", "poise address claim %s eth0", s->f->vip);
	lab_must(l, "lb1", "! %s route show type unreachable | grep 'proto 112'", s->f->ip);
	cr_expect(has_route(s), "somebody else's went");
	lab_must(l, "lb1", "%s route del unreachable %s metric 4000000000", s->f->ip, s->f->vip);
	lab_must(l, "lb1", "poise address release %s", s->f->vip);
	cr_expect(has_route(s), "released, it is led here again and on no device");
	lab_must(l, "lb1", "poise service del web --now");
	cr_expect_not(has_route(s));
	lab_must(l, "lb1", "poise service add web %s:80 forward l2", s->f->at);
	cr_expect(has_route(s));
	lab_must(l, "lb1", "poise reset");
	cr_expect_not(has_route(s), "left behind by a reset");
}

static void all_of_it(int family)
{
	static struct scene s;

	s = (struct scene){.site = {.backends = 1}, .f = &families[family == 6]};
	site_up(&s.site);
	tap_open(&s.tap, &s.site.lab);
	loops_before(&s);
	site_attach(&s.site);
	site_service(&s.site, s.f->vip, s.f->number);
	refused(&s);
	passed(&s);
	only_ours_goes(&s);
	tap_close(&s.tap);
	site_down(&s.site);
}

Test(otherports, ipv4)
{
	all_of_it(4);
}

Test(otherports, ipv6)
{
	all_of_it(6);
}
