/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a real client is told instead of waiting for nothing: refusals without delay, who stands in
 * its way, and how large a packet may be; path MTU discovery then makes long transfers work where
 * every link carries just 1500 bytes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define BYTES	(50 << 20) /* of an upload */
#define AT_ONCE 1000	   /* ms: a connect that nobody answers is repeated after a second */

TestSuite(answer, .timeout = TEST_LONGEST);

/* What `probe` hears on c1 begins with this, and came at once. */
static void hears(const struct lab *l, const char *probe, const char *expected)
{
	const char *out = lab_must(l, "c1", "probe %s", probe);
	const char *after = strstr(out, " after ");

	cr_assert(after, "%s: %s", probe, out);
	cr_expect(!strncmp(out, expected, strlen(expected)) && out + strlen(expected) == after,
		  "%s: expected \"%s\", heard %s", probe, expected, out);
	cr_expect(atof(after + strlen(" after ")) < AT_ONCE, "%s: %s", probe, out);
}

static void refused(const struct lab *l)
{
	hears(l, "tcp 192.0.2.10:80", "refused");
	hears(l, "tcp [2001:db8:a::10]:80", "refused");
	hears(l, "udp 192.0.2.10:9000 size 100", "icmp 3 3 from 192.0.2.10");
	hears(l, "udp [2001:db8:a::10]:9000 size 100", "icmp 1 4 from 2001:db8:a::10");
	hears(l, "udp 192.0.2.10:9000 size 1472", "icmp 3 3 from 192.0.2.10");
	hears(l, "udp [2001:db8:a::10]:9000 size 1452", "icmp 1 4 from 2001:db8:a::10");
}

Test(answer, refuses_at_once_what_no_backend_can_take)
{
	struct site s = {.backends = 1};
	const char *out;

	site_up(&s);
	site_attach(&s);
	lab_must(&s.lab, "lb1",
		 "poise service add web " SITE_VIP4 ":80 [" SITE_VIP6 "]:80 " SITE_VIP4
		 ":9000/udp [" SITE_VIP6 "]:9000/udp forward l2");
	refused(&s.lab);
	lab_must(&s.lab, "lb1", "poise backend add web 10.0.0.1");
	lab_until(&s.lab, "c1", LAB_SOON, "probe tcp " SITE_VIP4 ":80 | grep -q connected");
	hears(&s.lab, "tcp [" SITE_VIP6 "]:80", "connected");
	lab_must(&s.lab, "lb1", "poise backend disable web 10.0.0.1");
	refused(&s.lab);
	out = lab_must(&s.lab, "lb1", "poise stats web");
	cr_expect(strstr(out, "answered-rst") && strstr(out, "answered-icmp"), "%s", out);
	lab_must(&s.lab, "lb1", "poise backend enable web 10.0.0.1");
	hears(&s.lab, "tcp " SITE_VIP4 ":80", "connected");
	site_down(&s);
}

Test(answer, says_where_packets_expire)
{
	struct site s = {.backends = 1};

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	lab_must(&s.lab, "lb1",
		 "poise service listen web [" SITE_VIP6 "]:80 [" SITE_VIP6 "]:9000/udp");
	/* the router, then the balancer; the third hop is the backend */
	hears(&s.lab, "udp 192.0.2.10:9000 ttl 1", "icmp 11 0 from 198.51.100.254");
	hears(&s.lab, "udp 192.0.2.10:9000 ttl 2", "icmp 11 0 from 192.0.2.10");
	hears(&s.lab, "tcp 192.0.2.10:80 ttl 2", "icmp 11 0 from 192.0.2.10");
	hears(&s.lab, "tcp 192.0.2.10:80 ttl 3", "connected");
	hears(&s.lab, "udp [2001:db8:a::10]:9000 ttl 2", "icmp 3 0 from 2001:db8:a::10");
	hears(&s.lab, "tcp [2001:db8:a::10]:80 ttl 2", "icmp 3 0 from 2001:db8:a::10");
	hears(&s.lab, "tcp [2001:db8:a::10]:80 ttl 3", "connected");
	site_down(&s);
}

/* No link has room for an outer header around a full-size packet, and no backend is told so. */
static void upload(struct site s, const char *vip, int backend_family, const char *largest,
		   const char *error)
{
	char at[64], probe[96];
	const char *out;

	s.backends = 2;
	s.mtu = 1500;
	site_up(&s);
	site_attach(&s);
	site_service(&s, vip, backend_family);
	snprintf(at, sizeof(at), strchr(vip, ':') ? "[%s]:9000" : "%s:9000", vip);
	snprintf(probe, sizeof(probe), "udp %s size %s", at, largest);
	hears(&s.lab, probe, error);
	/* what the probe has learned is forgotten: the transfer finds out by itself */
	lab_must(&s.lab, "c1", "ip route flush cache; ip -6 route flush cache");
	out = lab_must(&s.lab, "c1", "bulk %s %d up", at, BYTES);
	cr_assert(strstr(out, "up "), "%s", out);
	/* one answer to the probe, the others to the transfer */
	lab_must(&s.lab, "lb1",
		 "poise stats web --exact | awk '/answered-icmp/ { n = $2 } "
		 "/answer-limited/ { n = 0 } END { exit n < 2 }'");
	site_down(&s);
}

#define IPIP ((struct site){.ipip = true})
#define GUE  ((struct site){.gue = true})

Test(answer, path_mtu_discovery_4_in_4)
{
	upload(IPIP, SITE_VIP4, 4, "1472", "icmp 3 4 from " SITE_VIP4 " mtu 1480");
}

Test(answer, path_mtu_discovery_6_in_6)
{
	upload(IPIP, SITE_VIP6, 6, "1452", "icmp 2 0 from " SITE_VIP6 " mtu 1460");
}

Test(answer, path_mtu_discovery_6_in_4)
{
	upload(IPIP, SITE_VIP6, 4, "1452", "icmp 2 0 from " SITE_VIP6 " mtu 1480");
}

Test(answer, path_mtu_discovery_4_in_6)
{
	upload(IPIP, SITE_VIP4, 6, "1472", "icmp 3 4 from " SITE_VIP4 " mtu 1460");
}

Test(answer, path_mtu_discovery_4_in_4_by_gue)
{
	upload(GUE, SITE_VIP4, 4, "1472", "icmp 3 4 from " SITE_VIP4 " mtu 1472");
}

Test(answer, path_mtu_discovery_6_in_6_by_gue)
{
	upload(GUE, SITE_VIP6, 6, "1452", "icmp 2 0 from " SITE_VIP6 " mtu 1452");
}
