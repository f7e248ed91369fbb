// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checks by clients' way: what the wire carries is what clients' packets become, wherever the
 * virtual address is on the balancer; and what clients would suffer from is found, in words that
 * say what it is.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/late.h"
#include "tests/support/site.h"

#define MISSING "connect: timed out after 150ms; direct answers: %s"
#define NARROW	"connect: timed out after 150ms at full size, small packets pass: MTU too small"

static struct site site;

static void down(void)
{
	lab_must(&site.lab, "lb1", "poise map check");
	site_down(&site);
}

TestSuite(via_path, .fini = down, .timeout = TEST_LONGEST);

static void up(const struct site *wanted)
{
	site = *wanted;
	site.backends = 1;
	site_up(&site);
	site_attach(&site);
}

static bool tunnels(void)
{
	return site.ipip || site.gue;
}

/* Asked once, it answers, and by the path. */
static void expect_good(const char *where)
{
	lab_must(&site.lab, "lb1",
		 "poise health test web | grep -qE 'good +tcp connected .* by the path' # %s",
		 where);
}

/* A probe as the backend's cable has it. The virtual address in hex: tcpdump does not look into
 * mode gue. */
static void expect_on_the_wire(int family)
{
	const char *address = family == 4 ? "c000 020a" : "2001 0db8 000a 0000 0000 0000 0000 0010";
	char filter[128], grep[160];
	const char *mac = family == 4 && !tunnels() ? "02:00:0a:00:00:01" : "";
	int mtu = tunnels() ? 1600 : 1500;

	if (site.gue)
		snprintf(filter, sizeof(filter), "udp dst port 6080");
	else
		snprintf(filter, sizeof(filter), "%s",
			 !site.ipip    ? "dst port 80"
			 : family == 4 ? "ip proto 4"
				       : "ip6 proto 41");
	snprintf(filter + strlen(filter), sizeof(filter) - strlen(filter), " and greater %d",
		 mtu + 14);
	snprintf(grep, sizeof(grep), "> %s.*length %d:", mac, mtu + 14);
	lab_must(&site.lab, "router",
		 "timeout %d tcpdump -enxi b1-eth0 -c 1 '%s' > /run/probe 2>/dev/null; "
		 "grep -q '%s' /run/probe && "
		 "sed 's/^[^:]*: *//' /run/probe | tr '\\n' ' ' | tr -s ' ' | grep -q '%s'",
		 LAB_SOON, filter, grep, address);
}

/* On lo, on the uplink: a connection from here to the address would stay here. */
static void expect_wherever_it_is(const char *vip)
{
	static const char *const devices[] = {"lo", "eth0"};

	for (size_t n = 0; n < sizeof(devices) / sizeof(devices[0]); n++) {
		lab_must(&site.lab, "lb1", "ip addr add %s dev %s", vip, devices[n]);
		expect_good(devices[n]);
		lab_must(&site.lab, "lb1", "ip addr del %s dev %s", vip, devices[n]);
	}
	expect_good("nowhere");
}

/* Found in time, in these words. */
static void expect_fault(int family, const char *node, const char *begin, const char *end,
			 const char *words)
{
	double begun;

	late_begin();
	begun = atof(lab_must(&site.lab, node, "{ %s; } > /dev/null 2>&1 && date +%%s.%%N", begin));
	site_expect(&site, 1, family, "down", words);
	site_expect_in_time(&site, begin, site_since(&site, 1, family) - begun);
	lab_must(&site.lab, node, "%s", end);
	site_expect_all_up(&site, family, "tcp connected");
}

static void expect_faults(int family, const char *vip)
{
	char words[128], begin[128], end[128];

	snprintf(words, sizeof(words), MISSING,
		 tunnels() ? "decapsulator or virtual address missing" : "virtual address missing");
	snprintf(begin, sizeof(begin), "ip addr del %s dev lo", vip);
	snprintf(end, sizeof(end), "ip addr add %s dev lo", vip);
	expect_fault(family, "b1", begin, end, words);
	if (tunnels())
		expect_fault(family, "b1", "poise decap detach eth0",
			     site.gue ? "poise decap attach eth0 " SITE_VIP4 " " SITE_VIP6
					" gue-port 6080"
				      : "poise decap attach eth0 " SITE_VIP4 " " SITE_VIP6,
			     words);
	snprintf(end, sizeof(end), "ip link set b1-eth0 mtu %d", tunnels() ? 1600 : 1500);
	expect_fault(family, "router", "ip link set b1-eth0 mtu 1400", end, NARROW);
}

static void check_family(int family)
{
	const char *vip = family == 4 ? SITE_VIP4 : SITE_VIP6;
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "%s/%d", vip, family == 4 ? 32 : 128);
	site_service(&site, vip, family);
	lab_must(&site.lab, "lb1", "poise health set web auto");
	site_expect_all_up(&site, family, "tcp connected");
	lab_must(&site.lab, "lb1", "poise health set web tcp " SITE_QUICK);
	site_expect_all_up(&site, family, "tcp connected");
	expect_on_the_wire(family);
	expect_wherever_it_is(prefix);
	expect_faults(family, prefix);
	lab_must(&site.lab, "lb1", "poise service del web --now");
}

static void check_mode(const struct site *wanted)
{
	up(wanted);
	check_family(4);
	check_family(6);
}

Test(via_path, l2)
{
	check_mode(&(struct site){0});
}

Test(via_path, ipip)
{
	check_mode(&(struct site){.ipip = true});
}

Test(via_path, gue)
{
	check_mode(&(struct site){.gue = true});
}

/* Somebody sits on the ports that a check would be sent from. */
static void expect_no_port(void)
{
	pid_t sits = lab_serve(&site.lab, "lb1", "tests/lab/sit 61440 64");

	lab_until(&site.lab, "lb1", SITE_SOON,
		  "poise health test web %s | grep -q "
		  "'good.*tcp connected.*; directly: others have ports 61440 to 65535'",
		  site_backend(&site, 1, 4));
	lab_stop(sits, SIGTERM);
	lab_until(&site.lab, "lb1", SITE_SOON, "poise health test web %s | grep -q 'by the path'",
		  site_backend(&site, 1, 4));
}

/* Others took the programs at TC away: checks go directly until poised has put them back. So does
 * whoever's address is of another family than all of the service's. */
Test(via_path, directly_where_it_must)
{
	up(&(struct site){.ipip = true});
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1", "poise health set web tcp " SITE_QUICK);
	site_expect_all_up(&site, 4, "tcp connected");
	lab_must(&site.lab, "lb1", "tc qdisc del dev eth0 clsact");
	lab_until(&site.lab, "lb1", SITE_SOON,
		  "tc filter show dev eth0 egress | grep -q poise_probe_out && "
		  "tc filter show dev eth0 ingress | grep -q poise_probe_in");
	lab_until(&site.lab, "lb1", SITE_SOON, "poise health test web | grep -q 'by the path'");
	lab_must(&site.lab, "lb1", "poise backend add web 2001:db8:f::1");
	site_expect_shown(&site, "virtual address of the family of go directly");
	lab_until(&site.lab, "lb1", SITE_SOON,
		  "poise health test web 2001:db8:f::1 | grep -q 'good.*directly'");
	expect_no_port();
	lab_must(&site.lab, "lb1", "poise detach eth0");
	lab_must(&site.lab, "lb1", "! tc filter show dev eth0 egress | grep poise");
}

/* Seen once, and over: the state is as it was. */
Test(via_path, one_bad_result_changes_nothing)
{
	up(&(struct site){0});
	site_service(&site, SITE_VIP4, 4);
	lab_must(&site.lab, "lb1",
		 "poise health set web tcp interval 1s fast-interval 1s timeout 100ms jitter 0");
	site_expect_all_up(&site, 4, "tcp connected");
	lab_must(&site.lab, "lb1", "poise show --json | grep -o 'state_since[^,]*' > /run/before");
	lab_must(&site.lab, "b1", "ip addr del " SITE_VIP4 "/32 dev lo");
	lab_until(&site.lab, "lb1", SITE_SOON,
		  "poise show web | grep -q 'up .*virtual address missing'");
	lab_must(&site.lab, "b1", "ip addr add " SITE_VIP4 "/32 dev lo");
	site_expect_all_up(&site, 4, "tcp connected");
	lab_must(&site.lab, "lb1",
		 "poise show --json | grep -o 'state_since[^,]*' | cmp - /run/before");
}
