// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Datagrams larger than a packet arrive whole, through each mode and family, also when something on
 * the way shuffles their fragments, and when somebody removes what cuts those that are too big.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "tests/support/site.h"

#define COUNT	 200
#define SIZE	 4096
#define BACKENDS 3

TestSuite(fragment, .timeout = TEST_LONGEST);

/* Up, and as everybody sends them. */
static void in_order(struct site *s, const char *vip, int family)
{
	bool six = strchr(vip, ':');

	s->backends = BACKENDS;
	site_up(s);
	site_attach(s);
	site_service(s, vip, family);
	/* Backends whose link carries more than the client's learn that by their first answer,
	 * which is lost if it is IPv6. */
	lab_until(&s->lab, "c1", LAB_SOON, six ? "pieces [%s]:9000 20 %d" : "pieces %s:9000 20 %d",
		  vip, SIZE);
	lab_must(&s->lab, "c1", six ? "pieces [%s]:9000 %d %d" : "pieces %s:9000 %d %d", vip, COUNT,
		 SIZE);
}

static void whole(struct site *s, const char *vip, int family)
{
	bool six = strchr(vip, ':');
	const char *out;

	in_order(s, vip, family);
	lab_must(&s->lab, "c1",
		 six ? "pieces [%s]:9000 %d %d shuffled" : "pieces %s:9000 %d %d shuffled", vip,
		 COUNT, SIZE);
	out = lab_must(&s->lab, "lb1", "poise stats web");
	cr_assert(strstr(out, "fragment-forwarded") && strstr(out, "fragment-guessed"), "%s", out);
	cr_assert(!strstr(out, "fragment-unknown"), "%s", out);
	cr_assert_eq(!!strstr(out, "cut-in-two"), !six && s->mtu == 1500, "%s", out);
	site_down(s);
}

Test(fragment, l2_ipv4)
{
	whole(&(struct site){}, SITE_VIP4, 4);
}

Test(fragment, l2_ipv6)
{
	whole(&(struct site){}, SITE_VIP6, 6);
}

Test(fragment, ipip_ipv4)
{
	whole(&(struct site){.ipip = true}, SITE_VIP4, 4);
}

Test(fragment, ipip_ipv6)
{
	whole(&(struct site){.ipip = true}, SITE_VIP6, 6);
}

Test(fragment, gue_ipv4)
{
	whole(&(struct site){.gue = true}, SITE_VIP4, 4);
}

Test(fragment, gue_ipv6)
{
	whole(&(struct site){.gue = true}, SITE_VIP6, 6);
}

/* Where every link carries 1500 bytes, fragments as large as that are too big once encapsulated:
 * their sender is told, and makes smaller ones. */
Test(fragment, ipip_ipv6_over_1500_bytes)
{
	whole(&(struct site){.ipip = true, .mtu = 1500}, SITE_VIP6, 6);
}

Test(fragment, gue_ipv6_over_1500_bytes)
{
	whole(&(struct site){.gue = true, .mtu = 1500}, SITE_VIP6, 6);
}

/* IPv4 senders are not told: the balancer makes two of each that is too big. */
Test(fragment, ipip_ipv4_over_1500_bytes)
{
	whole(&(struct site){.ipip = true, .mtu = 1500}, SITE_VIP4, 4);
}

Test(fragment, gue_ipv4_over_1500_bytes)
{
	whole(&(struct site){.gue = true, .mtu = 1500}, SITE_VIP4, 4);
}

Test(fragment, ipip_4_in_6_over_1500_bytes)
{
	whole(&(struct site){.ipip = true, .mtu = 1500}, SITE_VIP4, 6);
}

/* Translated, both ways: the answers are as large. */
static void translated(struct site *s, const char *vip, int family)
{
	const char *out;

	in_order(s, vip, family);
	out = lab_must(&s->lab, "lb1", "poise stats web");
	cr_assert(strstr(out, "fragment-forwarded"), "%s", out);
	cr_assert(!strstr(out, "fragment-unknown"), "%s", out);
	lab_must(&s->lab, "lb1", "poise map check");
	site_down(s);
}

Test(fragment, nat_ipv4)
{
	translated(&(struct site){.nat = true}, SITE_VIP4, 4);
}

Test(fragment, nat_ipv6)
{
	translated(&(struct site){.nat = true}, SITE_VIP6, 6);
}

#define UNCUT  "eth0: TC ingress lacks the program that cuts packets in two"
#define PIECES "pieces " SITE_VIP4 ":9000 3 4000"

static void up_and_cutting(struct site *s)
{
	*s = (struct site){.ipip = true, .mtu = 1500, .backends = BACKENDS};
	site_up(s);
	site_attach(s);
	site_service(s, SITE_VIP4, 4);
	lab_must(&s->lab, "c1", PIECES);
	lab_must(&s->lab, "lb1", "! poise status | grep '" UNCUT "'");
}

/* Other software configures TC too. */
Test(fragment, tc_removed)
{
	struct site s;

	up_and_cutting(&s);
	lab_must(&s.lab, "lb1", "tc qdisc del dev eth0 clsact");
	lab_until(&s.lab, "c1", LAB_SOON, PIECES);
	lab_must(&s.lab, "lb1", "! poise status | grep '" UNCUT "'");
	lab_stop(s.poised, SIGTERM);
	s.poised = 0;
	lab_must(&s.lab, "lb1", "tc qdisc del dev eth0 clsact");
	lab_must(&s.lab, "lb1", "poise status | grep '" UNCUT ".*not counted'");
	site_down(&s);
}

/* Filters of a shared block are not added by way of a device. */
Test(fragment, tc_taken)
{
	struct site s;

	up_and_cutting(&s);
	lab_until(&s.lab, "lb1", LAB_SOON,
		  "tc qdisc del dev eth0 clsact; tc qdisc add dev eth0 ingress_block 22 clsact");
	lab_until(&s.lab, "lb1", LAB_SOON, "poise status | grep '" UNCUT ".*too-big'");
	lab_must(&s.lab, "lb1", "poise status --json | grep '" UNCUT "'");
	lab_must(&s.lab, "lb1", "! poise stats web | grep too-big");
	lab_must(&s.lab, "c1", "! " PIECES);
	lab_must(&s.lab, "lb1", "poise stats web | grep too-big");
	lab_must(&s.lab, "lb1", "tc qdisc del dev eth0 clsact");
	lab_until(&s.lab, "c1", LAB_SOON, PIECES);
	lab_must(&s.lab, "lb1", "! poise status | grep '" UNCUT "'");
	site_down(&s);
}
