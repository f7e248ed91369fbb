// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Path MTU discovery. Where the network in front of the clients carries less than the backends
 * think, a download goes on only if the router's errors, which come to the virtual address, reach
 * the backend that sent what was too big; where the network behind the balancer carries less than
 * the balancer thinks, an upload goes on only if the errors about its outer packets reach the
 * client.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/site.h"

#define TRANSFERS 4 /* most likely over both backends */

TestSuite(icmp, .timeout = TEST_LONGEST);

static void narrow(struct site *s, const char *vip, int family)
{
	const char *out;

	s->backends = 2;
	site_up(s);
	site_attach(s);
	site_service(s, vip, family);
	lab_must(&s->lab, "router", "ip link set clients mtu 1400");
	for (int i = 0; i < TRANSFERS; i++)
		lab_must(&s->lab, "c1", strchr(vip, ':') ? "bulk [%s]:9000" : "bulk %s:9000", vip);
	out = lab_must(&s->lab, "lb1", "poise stats web");
	cr_assert(strstr(out, "icmp-error-routed"), "%s", out);
	site_down(s);
}

Test(icmp, path_mtu_l2_ipv4)
{
	narrow(&(struct site){}, SITE_VIP4, 4);
}

Test(icmp, path_mtu_l2_ipv6)
{
	narrow(&(struct site){}, SITE_VIP6, 6);
}

Test(icmp, path_mtu_ipip_ipv4)
{
	narrow(&(struct site){.ipip = true}, SITE_VIP4, 4);
}

Test(icmp, path_mtu_ipip_ipv6)
{
	narrow(&(struct site){.ipip = true}, SITE_VIP6, 6);
}

/* ---- behind the balancer ----------------------------------------------------------------------*/

static void narrow_behind(struct site s, const char *vip, int family)
{
	const char *out;

	s.backends = 2;
	site_up(&s);
	site_attach(&s);
	site_service(&s, vip, family);
	lab_must(&s.lab, "router", "ip link set far mtu 1400");
	out = lab_must(&s.lab, "c1", strchr(vip, ':') ? "bulk [%s]:9000" : "bulk %s:9000", vip);
	cr_assert(strstr(out, "up ") && strstr(out, "down "), "%s", out);
	out = lab_must(&s.lab, "lb1", "poise stats web");
	cr_assert(strstr(out, "outer-error-relayed"), "%s", out);
	/* the balancer has not found out by itself */
	cr_assert(!strstr(out, "too-big"), "%s", out);
	site_down(&s);
}

#define IPIP ((struct site){.ipip = true})
#define GUE  ((struct site){.gue = true})

Test(icmp, path_mtu_behind_4_in_4)
{
	narrow_behind(IPIP, SITE_VIP4, 4);
}

Test(icmp, path_mtu_behind_6_in_6)
{
	narrow_behind(IPIP, SITE_VIP6, 6);
}

Test(icmp, path_mtu_behind_4_in_6)
{
	narrow_behind(IPIP, SITE_VIP4, 6);
}

Test(icmp, path_mtu_behind_6_in_4)
{
	narrow_behind(IPIP, SITE_VIP6, 4);
}

Test(icmp, path_mtu_behind_gue_ipv4)
{
	narrow_behind(GUE, SITE_VIP4, 4);
}

Test(icmp, path_mtu_behind_gue_ipv6)
{
	narrow_behind(GUE, SITE_VIP6, 6);
}
