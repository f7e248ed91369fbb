/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Real traffic through each forward mode and pair of address families: a long transfer each way
 * with equal digests, many short connections, datagrams; none may fail, and every backend must
 * serve.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/site.h"

#define REQUESTS 2000
#define RATE	 1000 /* a second: two seconds of each */
#define BACKENDS 3

TestSuite(forward, .timeout = TEST_LONGEST);

static void all_answered(const struct site *s, const char *kind, const char *target)
{
	const char *out = site_all_answered(s, kind, target, RATE, REQUESTS);
	char node[16];

	for (int n = 1; n <= BACKENDS; n++) {
		snprintf(node, sizeof(node), "b%d ", n);
		cr_assert(strstr(out, node), "no request reached b%d:\n%s", n, out);
	}
}

static void real_traffic(struct site *s, const char *vip, int backend_family)
{
	const char *out;
	char at[64];

	s->backends = BACKENDS;
	site_up(s);
	site_attach(s);
	site_service(s, vip, backend_family);

	snprintf(at, sizeof(at), strchr(vip, ':') ? "[%s]:9000" : "%s:9000", vip);
	/* Two, for most likely two backends. */
	for (int i = 0; i < 2; i++) {
		out = lab_must(&s->lab, "c1", "bulk %s", at);
		cr_assert(strstr(out, "up ") && strstr(out, "down "), "%s", out);
	}
	all_answered(s, "udp", at);
	strcpy(strrchr(at, ':'), ":80");
	all_answered(s, "http", at);
	site_down(s);
}

Test(forward, l2_ipv4)
{
	real_traffic(&(struct site){}, SITE_VIP4, 4);
}

Test(forward, l2_ipv6)
{
	real_traffic(&(struct site){}, SITE_VIP6, 6);
}

Test(forward, l2_redirected_to_another_device)
{
	real_traffic(&(struct site){.arms = 2}, SITE_VIP4, 4);
}

Test(forward, ipip_4_in_4)
{
	real_traffic(&(struct site){.ipip = true}, SITE_VIP4, 4);
}

Test(forward, ipip_6_in_6)
{
	real_traffic(&(struct site){.ipip = true}, SITE_VIP6, 6);
}

Test(forward, ipip_4_in_6)
{
	real_traffic(&(struct site){.ipip = true}, SITE_VIP4, 6);
}

Test(forward, ipip_6_in_4)
{
	real_traffic(&(struct site){.ipip = true}, SITE_VIP6, 4);
}

Test(forward, nat_4_to_4)
{
	real_traffic(&(struct site){.nat = true}, SITE_VIP4, 4);
}

Test(forward, nat_6_to_6_through_two_devices)
{
	real_traffic(&(struct site){.nat = true, .arms = 2}, SITE_VIP6, 6);
}

Test(forward, nat_4_to_6)
{
	real_traffic(&(struct site){.nat = true}, SITE_VIP4, 6);
}

Test(forward, nat_6_to_4)
{
	real_traffic(&(struct site){.nat = true}, SITE_VIP6, 4);
}

Test(forward, gue_4_in_4)
{
	real_traffic(&(struct site){.gue = true}, SITE_VIP4, 4);
}

Test(forward, gue_6_in_6)
{
	real_traffic(&(struct site){.gue = true}, SITE_VIP6, 6);
}

Test(forward, gue_4_in_6_with_checksum)
{
	real_traffic(&(struct site){.gue = true, .keys = "gue-checksum yes"}, SITE_VIP4, 6);
}

Test(forward, gue_6_in_4_with_checksum)
{
	real_traffic(&(struct site){.gue = true, .keys = "gue-checksum yes"}, SITE_VIP6, 4);
}
