// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * QUIC connections whose client changes its address: what it sends from two addresses and many
 * ports reaches the backend that its connection id names, also while that one drains.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/site.h"

#define BACKENDS 3
#define PORTS	 8

TestSuite(quic, .timeout = TEST_LONGEST);

/* The second address of the client, in the network of its first. */
#define MOVED4 "198.51.100.77"
#define MOVED6 "2001:db8:c::77"

/* A short header and a connection id with the server id of backend n, from either address. */
static void reaches(struct site *s, const char *const from[2], const char *at, int n)
{
	char node[16];

	snprintf(node, sizeof(node), "b%d\n", n);
	for (int port = 0; port < PORTS; port++) {
		const char *out = lab_must(&s->lab, "c1", "datagram %s:%d %s 4%d07000%d%032d",
					   from[port & 1], 4433 + port, at, port % 8, n, 0);

		cr_assert(!strcmp(out, node), "from %s port %d to %s, not %s", from[port & 1],
			  4433 + port, out, node);
	}
}

static void moving(struct site *s, const char *vip, int family, const char *const from[2])
{
	const char *out;
	char at[64];

	snprintf(at, sizeof(at), strchr(vip, ':') ? "[%s]:9000" : "%s:9000", vip);
	s->backends = BACKENDS;
	site_up(s);
	site_attach(s);
	lab_must(&s->lab, "c1", "ip address add %s dev eth0 %s",
		 family == 6 ? MOVED6 "/64" : MOVED4 "/24", family == 6 ? "nodad" : "");
	site_service(s, vip, family);
	lab_must(&s->lab, "lb1", "poise service set web quic yes");
	for (int n = 1; n <= BACKENDS; n++)
		lab_must(&s->lab, "lb1", "poise backend set web %s server-id %d",
			 site_backend(s, n, family), n);
	for (int n = 1; n <= BACKENDS; n++)
		reaches(s, from, at, n);
	lab_must(&s->lab, "lb1", "poise backend drain web %s", site_backend(s, 2, family));
	reaches(s, from, at, 2);
	out = lab_must(&s->lab, "lb1", "poise stats web");
	cr_assert(strstr(out, "quic-routed"), "%s", out);
	lab_must(&s->lab, "lb1", "poise map check");
	out = lab_must(&s->lab, "lb1", "poise save");
	cr_assert(strstr(out, "quic: yes") && strstr(out, "server-id: 3"), "%s", out);
	site_down(s);
}

Test(quic, l2_ipv4)
{
	moving(&(struct site){}, SITE_VIP4, 4, (const char *const[]){"198.51.100.1", MOVED4});
}

Test(quic, ipip_ipv6)
{
	moving(&(struct site){.ipip = true}, SITE_VIP6, 6,
	       (const char *const[]){"[2001:db8:c::1]", "[" MOVED6 "]"});
}
