// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Claimed addresses on devices: put there with our mark, announced, answered, put back when they
 * are lost, and taken off only if it was poise that put them there.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/host.h"
#include "tests/support/lab.h"

#define FOUR "192.0.2.10"
#define SIX  "2001:db8::10"

static struct host h;

static void up(void)
{
	host_up(&h);
	host_must(&h, "attach e0");
}

static void down(void)
{
	host_down(&h);
}

TestSuite(address, .init = up, .fini = down, .timeout = TEST_LONGEST);

/* Whether an address is on a device. */
static void expect_on(const char *device, const char *addr, bool there)
{
	int status = host_run(&h, "ip -br address show dev %s | grep -qw '%s'", device, addr);

	cr_assert_eq(!status, there, "%s on %s", addr, device);
}

static void expect_state(const char *addr, const char *state)
{
	host_must(&h, "address list --no-header");
	cr_assert_eq(host_run(&h, "poise --instance $I address list | grep -q '^%s .* %s '", addr,
			      state),
		     0, "%s: %s", addr, h.out);
}

Test(address, claimed_and_released)
{
	host_must(&h, "address claim " FOUR " e0");
	cr_assert(strstr(h.out, "put on e0, announced"), "%s", h.out);
	host_must(&h, "address claim " SIX " lo announce always");
	expect_on("e0", FOUR "/32", true);
	expect_on("lo", SIX "/128", true);
	expect_state(FOUR, "on");
	cr_assert_eq(host_run(&h, "ip -6 address show dev lo | grep -q '" SIX "/128.* nodad'"), 0);
	host_must(&h, "map check");
	host_must(&h, "address release " FOUR);
	host_must(&h, "address release " SIX);
	expect_on("e0", FOUR "/32", false);
	expect_on("lo", SIX "/128", false);
	host_must(&h, "address list --no-header");
	cr_assert_str_empty(h.out);
	host_must(&h, "map check");
}

static void expect_notify(const char *setting, int value)
{
	cr_assert_eq(host_run(&h, "test $(sysctl -n net.%s) = %d", setting, value), 0, "%s: not %d",
		     setting, value);
}

/* What the device is told, to announce it whenever its link comes up, goes with the last claim;
 * what somebody else told it stays. */
Test(address, settings_of_the_device_go_with_the_last)
{
	cr_assert_eq(host_run(&h, "sysctl -qw net.ipv6.conf.e0.ndisc_notify=1"), 0);
	expect_notify("ipv4.conf.e0.arp_notify", 0);
	host_must(&h, "address claim " FOUR " e0");
	host_must(&h, "address claim 192.0.2.11 e0");
	host_must(&h, "address claim " SIX " e0");
	expect_notify("ipv4.conf.e0.arp_notify", 2);
	expect_notify("ipv6.conf.e0.ndisc_notify", 1);
	host_must(&h, "address release " FOUR);
	expect_notify("ipv4.conf.e0.arp_notify", 2);
	host_must(&h, "address claim 192.0.2.11 lo");
	expect_notify("ipv4.conf.e0.arp_notify", 0);
	host_must(&h, "address claim 192.0.2.11 e0");
	expect_notify("ipv4.conf.e0.arp_notify", 2);
	host_must(&h, "address release " SIX);
	expect_notify("ipv6.conf.e0.ndisc_notify", 1);
	host_must(&h, "address release 192.0.2.11");
	expect_notify("ipv4.conf.e0.arp_notify", 0);
}

/* Somebody else's, on whatever prefix, stays whatever is said to poise. */
/* A service says what leads its addresses here. */
Test(address, what_leads_here)
{
	host_must(&h, "address claim " FOUR " lo");
	host_must(&h, "address claim 192.0.2.11 e0");
	host_run(&h, "ip address add 192.0.2.12/32 dev e0");
	host_must(&h, "service add web " FOUR ":80 192.0.2.11:80 192.0.2.12:80 192.0.2.13:80 "
		      "192.0.2.13:81 forward l2");
	cr_expect(strstr(h.out, FOUR " is claimed on lo: a router has to lead it here"), "%s",
		  h.out);
	cr_expect(strstr(h.out, "192.0.2.11 is claimed on e0\n"), "%s", h.out);
	cr_expect(strstr(h.out, "192.0.2.12 is on e0\n"), "%s", h.out);
	cr_expect(strstr(h.out, "192.0.2.13 is on no device of this host: unless a router leads it "
				"here, poise address claim 192.0.2.13 DEV"),
		  "%s", h.out);
	host_must(&h, "service listen web 192.0.2.14:80");
	cr_expect(strstr(h.out, "192.0.2.14 is on no device"), "%s", h.out);
}

/* Keys of a claimed address, and of one that is only a service's. */
Test(address, keys)
{
	host_must(&h, "address claim " FOUR " lo ping usable");
	cr_expect(strstr(h.out, "waits to be put on lo: no service listens on it"), "%s", h.out);
	host_must(&h, "address list");
	cr_expect(strstr(h.out, "withdrawn no-service"), "%s", h.out);
	cr_expect(strstr(h.out, "ping usable"), "%s", h.out);
	host_must(&h, "service add other 192.0.2.77:80 forward l2");
	host_must(&h, "address set 192.0.2.77 other-ports pass");
	cr_expect(strstr(h.out, "other-ports is now pass"), "%s", h.out);
	expect_state("192.0.2.77", "unclaimed");
	host_must(&h, "save");
	cr_expect(strstr(h.out, "- { address: 192.0.2.10, claim: lo, ping: usable }\n"
				"  - { address: 192.0.2.77, other-ports: pass }\n"),
		  "%s", h.out);
	host_must(&h, "address set 192.0.2.77 announce always");
	cr_expect(strstr(h.out, "192.0.2.77 is not claimed: announce"), "%s", h.out);
	host_must(&h, "address set 192.0.2.77 announce default");
	host_must(&h, "address set 192.0.2.77 other-ports default");
	cr_expect_not(strstr(h.out, "announce"), "%s", h.out);
	host_must(&h, "address list");
	cr_expect_not(strstr(h.out, "192.0.2.77"), "%s", h.out);
	cr_expect_eq(host_run(&h, "poise --instance $I address set 192.0.2.78 ping no 2>&1"), 1);
	cr_expect(strstr(h.out, "is not claimed, and no service listens on it"), "%s", h.out);
	cr_expect_eq(host_run(&h, "poise --instance $I address claim 127.0.0.1 lo 2>&1"), 1);
	cr_expect(strstr(h.out, "address 127.0.0.1: a loopback address"), "%s", h.out);
	cr_expect_eq(host_run(&h, "poise --instance $I address claim ::1 e0 2>&1"), 1);
	cr_expect(strstr(h.out, "address ::1: a loopback address"), "%s", h.out);
}

Test(address, of_somebody_else)
{
	cr_assert_eq(host_run(&h, "ip address add " FOUR "/24 dev e0"), 0);
	host_must(&h, "address claim " FOUR " e0");
	cr_assert(strstr(h.out, "was on e0 already, and stays there"), "%s", h.out);
	expect_state(FOUR, "foreign");
	host_must(&h, "address claim " FOUR " lo");
	expect_on("e0", FOUR "/24", true);
	expect_on("lo", FOUR "/32", true);
	/* ours is taken off and put there again by another */
	cr_assert_eq(host_run(&h, "ip address del " FOUR "/32 dev lo && "
				  "ip address add " FOUR "/32 dev lo"),
		     0);
	host_must(&h, "address release " FOUR);
	cr_assert(strstr(h.out, "stays on lo, where somebody else put it"), "%s", h.out);
	expect_on("lo", FOUR "/32", true);
	expect_on("e0", FOUR "/24", true);
}

Test(address, moves_and_follows_the_file)
{
	host_must(&h, "address claim " FOUR " lo");
	host_must(&h, "address claim " FOUR " e0");
	expect_on("lo", FOUR "/32", false);
	expect_on("e0", FOUR "/32", true);
	host_must(&h, "apply %s",
		  host_file(&h, "a.yaml",
			    "addresses: [ { address: " FOUR ", claim: lo }, "
			    "{ address: \"" SIX "\", claim: e0 } ]\n"));
	expect_on("lo", FOUR "/32", true);
	expect_on("e0", FOUR "/32", false);
	expect_on("e0", SIX "/128", true);
	host_must(&h, "apply %s", host_file(&h, "b.yaml", "addresses: []\n"));
	expect_on("lo", FOUR "/32", false);
	expect_on("e0", SIX "/128", false);
}

/* On lo only while it can be served; without poised, as far as the commands themselves can tell. */
Test(address, announced_while_usable)
{
	host_must(&h, "address claim " FOUR " lo");
	expect_on("lo", FOUR "/32", false);
	host_must(&h, "service add web " FOUR ":80 forward l2");
	cr_assert_not(strstr(h.out, "address claim"), "it is claimed: %s", h.out);
	expect_state(FOUR, "withdrawn no-backend");
	host_must(&h, "backend add web 10.0.0.1");
	cr_assert(strstr(h.out, "address " FOUR ": put on lo"), "%s", h.out);
	expect_on("lo", FOUR "/32", true);
	expect_state(FOUR, "on");
	host_must(&h, "backend disable web 10.0.0.1");
	expect_on("lo", FOUR "/32", true); /* nobody counts the grace */
	host_must(&h, "backend enable web 10.0.0.1");
	host_must(&h, "detach e0");
	cr_assert(strstr(h.out, "withdrawn from lo: poise is attached to no device"), "%s", h.out);
	expect_on("lo", FOUR "/32", false);
	expect_state(FOUR, "withdrawn detached");
	host_poise(&h, "status");
	cr_assert(strstr(h.out, "1 claimed, 1 withdrawn"), "%s", h.out);
	host_must(&h, "attach e0");
	expect_on("lo", FOUR "/32", true);
	host_must(&h, "detach e0");
	host_must(&h, "address set " FOUR " announce always");
	expect_on("lo", FOUR "/32", true);
	host_must(&h, "address set " FOUR " announce usable");
	expect_on("lo", FOUR "/32", false);
	host_must(&h, "map check");
	host_must(&h, "address release " FOUR);
	host_must(&h, "address list --no-header");
	cr_assert_str_empty(h.out);
}

Test(address, refusals)
{
	static const struct {
		const char *command, *says;
		int status;
	} cases[] = {
		{"address claim " FOUR " nodev", "there is no device nodev", 1},
		{"address claim 192.0.2.300 lo", "192.0.2.300", 1},
		{"address claim 224.0.0.1 lo", "224.0.0.1", 1},
		{"address claim " FOUR, "lo or DEV", 2},
		{"address release " FOUR, "is not claimed", 1},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		cr_expect_eq(host_poise(&h, "%s", cases[k].command), cases[k].status, "%s",
			     cases[k].command);
		cr_expect(strstr(h.err, cases[k].says), "%s: %s", cases[k].command, h.err);
	}
	host_must(&h, "address list --no-header");
	cr_expect_str_empty(h.out);
}

Test(address, a_reset_leaves_none)
{
	host_must(&h, "address claim " FOUR " e0");
	host_must(&h, "reset");
	expect_on("e0", FOUR "/32", false);
}

/* ---- with poised and neighbours ---------------------------------------------------------------*/

/* In the segment, so that neighbours ask for them. */
#define VIP4  "10.0.0.77"
#define VIP6  "2001:db8:5::77"
#define WRONG "02:00:00:00:00:99"

/* Put back after a hand or the loss of its device took it off; pinged by a neighbour. */
Test(address_kept, by_poised, .timeout = TEST_LONGEST)
{
	struct lab lab;
	pid_t poised;

	lab_up(&lab, "--backends 1");
	poised = lab_poised(&lab, "lb1", "");
	lab_must(&lab, "lb1", "poise attach eth0");
	lab_must(&lab, "lb1", "poise address claim " VIP4 " eth0");
	lab_must(&lab, "b1", "ping -c 3 -i 0.2 -W 1 " VIP4);
	/* a port that nobody listens on is refused, and at once */
	lab_must(&lab, "b1",
		 "timeout 1 bash -c '! : 2>&1 3<>/dev/tcp/" VIP4 "/81' 2>&1 | "
		 "grep -q 'Connection refused'");
	lab_must(&lab, "lb1", "ip address del " VIP4 "/32 dev eth0");
	lab_until(&lab, "lb1", LAB_SOON, "ip -br address show dev eth0 | grep -qw " VIP4 "/32");
	lab_must(&lab, "lb1", "ip link add d0 type veth peer name d1");
	lab_must(&lab, "lb1", "poise address claim 192.0.2.78 d0");
	lab_must(&lab, "lb1", "ip link del d0 && ip link add d0 type veth peer name d1");
	lab_until(&lab, "lb1", LAB_SOON, "ip -br address show dev d0 | grep -qw 192.0.2.78/32");
	lab_must(&lab, "lb1", "poise map check");
	lab_must(&lab, "lb1", "poise address release " VIP4);
	lab_must(&lab, "lb1", "! ip -br address show dev eth0 | grep -qw " VIP4 "/32");
	lab_must(&lab, "b1", "! ping -c 1 -W 1 " VIP4);
	lab_stop(poised, SIGTERM);
	lab_down(&lab);
}

/* IPv6 addresses go with the link; both families are announced again when it comes back. */
Test(address_kept, over_a_link_s_loss, .timeout = TEST_LONGEST)
{
	struct lab lab;
	pid_t poised;

	lab_up(&lab, "--backends 1");
	poised = lab_poised(&lab, "lb1", "");
	lab_must(&lab, "lb1", "poise attach eth0");
	lab_must(&lab, "lb1", "poise address claim " VIP4 " eth0");
	lab_must(&lab, "lb1", "poise address claim " VIP6 " eth0");
	lab_must(&lab, "lb1", "ip link set eth0 down");
	lab_must(&lab, "b1",
		 "for vip in " VIP4 " " VIP6 "; do ip neigh replace $vip lladdr " WRONG
		 " dev eth0 nud reachable; done");
	lab_must(&lab, "lb1", "ip link set eth0 up");
	lab_until(&lab, "lb1", LAB_SOON, "ip -br address show dev eth0 | grep -qw " VIP6 "/128");
	lab_until(&lab, "b1", LAB_SOON, "! ip neigh show | grep -q " WRONG);
	/* by IPv6 the balancer has lost its own address with the link, and so the way back */
	lab_must(&lab, "b1", "ping -c 1 -W 1 " VIP4);
	lab_stop(poised, SIGTERM);
	lab_down(&lab);
}

/* Where the address was before, neighbours send no longer: the announcement overrides it. */
Test(address_kept, announced, .timeout = TEST_LONGEST)
{
	static const char *const vips[] = {VIP4, VIP6};
	struct lab lab;

	lab_up(&lab, "--backends 1");
	lab_must(&lab, "lb1", "poise attach eth0");
	for (int v = 0; v < 2; v++) {
		lab_must(&lab, "b1", "ip neigh replace %s lladdr " WRONG " dev eth0 nud reachable",
			 vips[v]);
		lab_must(&lab, "lb1", "poise address claim %s eth0", vips[v]);
		lab_until(&lab, "b1", LAB_SOON, "! ip neigh show %s | grep -q " WRONG, vips[v]);
	}
	lab_down(&lab);
}
