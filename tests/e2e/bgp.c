/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The announcing gate with a routing daemon: BIRD on the balancer exports what stands on lo, BIRD
 * on the router learns it, and clients reach the service by that route alone. Both run the files of
 * docs/examples as they are.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "maps/clock.h"
#include "tests/support/site.h"

#define ALWAYS "192.0.2.20"
#define GRACE  0.5 /* s: three by default */
#define PROMPT                                                                                     \
	1.0 /* s: for a change to reach the router's kernel, beyond the grace, on a quick machine  \
	     */
#define TRIES	    5 /* a busy machine is late now and then, not each time */
#define RECIPES	    "docs/examples/"
#define BIRD	    "bird -f -s /run/bird.ctl -P /run/bird.pid -c " RECIPES
#define LEARNT(vip) "ip route show proto bird | grep -q '^" vip " '"
#define LEARNT_BOTH LEARNT(SITE_VIP4) " && ip -6 route show proto bird | grep -q '^" SITE_VIP6 " '"
#define LEARNT_NONE                                                                                \
	"! " LEARNT(SITE_VIP4) " && ! ip -6 route show proto bird | grep -q '^" SITE_VIP6 " '"

static struct site s = {.backends = 2};

/* By the clock that the router's account of its routes goes by. */
static double now(void)
{
	return clock_seconds(CLOCK_REALTIME);
}

/* Both families' addresses are on lo and the router has routes to them; or neither is so. */
static void announced(bool yes)
{
	lab_until(&s.lab, "router", LAB_SOON, "%s", yes ? LEARNT_BOTH : LEARNT_NONE);
	lab_until(&s.lab, "lb1", LAB_SOON,
		  "test $(ip -br address show dev lo | grep -cw -e " SITE_VIP4 "/32 -e " SITE_VIP6
		  "/128) = %d",
		  yes);
	lab_until(&s.lab, "lb1", LAB_SOON, "poise address list | grep -c ' %s' | grep -qx %d",
		  yes ? "on " : "withdrawn", yes ? 3 : 2);
}

static void served(bool yes)
{
	static const char *const at[] = {SITE_VIP4, "[" SITE_VIP6 "]"};

	for (int v = 0; v < 2; v++)
		cr_assert_eq(lab_run(&s.lab, "c1", NULL, "load http %s:80 --count 1 --timeout %d",
				     at[v], yes ? LAB_SOON : 1),
			     !yes, "%s", at[v]);
}

/* Whatever would happen in time has time to. */
static void stays_announced(const char *when)
{
	for (double end = now() + 2 * GRACE; now() < end;)
		cr_assert_eq(lab_run(&s.lab, "router", NULL, "%s", LEARNT_BOTH), 0, "%s", when);
}

static void balancer(const char *command)
{
	lab_must(&s.lab, "lb1", "poise %s", command);
}

/* When the router's kernel had its route to the address last, or lost it; waits for that to be
 * after `begin`. */
static double seen(const char *vip, bool yes, double begin)
{
	double at = 0, end = now() + LAB_SOON;
	const char *out;

	while (at < begin) {
		cr_assert(now() < end, "the router tells of no route to %s", vip);
		lab_host(&out,
			 "date +%%s.%%N -d \"$(grep -h '\\] %s%s ' %s.router* | tail -n 1 | "
			 "sed 's/^\\[//; s/\\].*//')\"",
			 yes ? "" : "Deleted ", vip, s.lab.log);
		at = strtod(out, NULL);
	}
	return at;
}

/* How long a command takes to have that effect on both routes, from before it was given. */
static double timed(const char *command, bool yes)
{
	double begin = now(), four, six;

	balancer(command);
	announced(yes);
	four = seen(SITE_VIP4, yes, begin);
	six = seen(SITE_VIP6, yes, begin);
	return (four > six ? four : six) - begin;
}

/* A machine that is slower takes as many times longer. */
static bool prompt(double seconds)
{
	return seconds <= PROMPT || seconds <= PROMPT * lab_slowness(&s.lab);
}

/* By one command the routes go, after the grace; by the other they come back, at once. */
static void promptly(const char *off, const char *on)
{
	double gone, back;
	int tries = 0;

	do {
		gone = timed(off, false);
		served(false);
		back = timed(on, true);
		served(true);
		printf("%s: withdrawn after %.2f s, announced after %.2f s\n", off, gone, back);
		cr_expect_geq(gone, GRACE, "withdrawn within the grace, after %.2f s", gone);
	} while (!(prompt(gone - GRACE) && prompt(back)) && ++tries < TRIES);
	cr_expect_lt(tries, TRIES, "%s: each time late, at last %.2f s and %.2f s", off, gone,
		     back);
}

static void up(void)
{
	site_up(&s);
	/* Nothing but what is announced leads to the service. */
	lab_must(&s.lab, "router", "ip route del 192.0.2.0/24 && ip -6 route del 2001:db8:a::/64");
	lab_start(&s.lab, "router", BIRD "bird-router.conf");
	lab_start(&s.lab, "router", "ip -ts monitor route");
	lab_start(&s.lab, "lb1", BIRD "bird.conf");
	site_attach(&s);
	balancer("address claim " ALWAYS " lo announce always");
	balancer("address claim " SITE_VIP4 " lo withdraw-grace 500ms");
	balancer("address claim " SITE_VIP6 " lo withdraw-grace 500ms");
	lab_until(&s.lab, "router", LAB_SOON, LEARNT(ALWAYS));
	lab_until(&s.lab, "router", LAB_SOON,
		  "birdc -s /run/bird.ctl show protocols lb1_6 | grep -q Established");
	lab_must(&s.lab, "router", LEARNT_NONE);
}

static void with_poised(void)
{
	balancer("service add web " SITE_VIP4 ":80 [" SITE_VIP6 "]:80 forward l2");
	balancer("backend add web 10.0.0.1 10.0.0.2");
	announced(true); /* first backends */
	served(true);
	balancer("backend disable web 10.0.0.1");
	stays_announced("one of two disabled");
	promptly("backend disable web 10.0.0.2", "backend enable web 10.0.0.2");
	promptly("detach eth0", "attach eth0");
}

/* While nobody judges nothing changes; who judges again begins the grace anew. */
static void without_poised(void)
{
	lab_stop(s.poised, SIGKILL);
	balancer("backend disable web 10.0.0.2");
	stays_announced("poised killed, then the last backend disabled");
	s.poised = lab_poised(&s.lab, "lb1", "");
	announced(false); /* poised started */
	balancer("backend enable web 10.0.0.2");
	announced(true); /* a backend enabled */
	lab_stop(s.poised, SIGTERM);
	lab_must(&s.lab, "lb1", "poised --withdraw-detached");
	stays_announced("poised stopped, the program attached");
	lab_must(&s.lab, "lb1", "rm /sys/fs/bpf/poise/default/v1/link_*");
	lab_must(&s.lab, "lb1", "poised --withdraw-detached");
	announced(false); /* no poised and no program */
}

Test(bgp, announced_while_usable, .timeout = TEST_LONGEST)
{
	up();
	with_poised();
	without_poised();
	s.poised = lab_poised(&s.lab, "lb1", "");
	balancer("attach eth0");
	announced(true); /* attached again */
	lab_must(&s.lab, "lb1", "rm -r /sys/fs/bpf/poise/default");
	lab_until(&s.lab, "router", LAB_SOON, "%s", LEARNT_NONE);
	lab_must(&s.lab, "router", LEARNT(ALWAYS));
	cr_assert_neq(lab_host(NULL, "grep 'Deleted " ALWAYS "' %s.router*", s.lab.log), 0,
		      ALWAYS " was withdrawn for a while");
	site_down(&s);
}

/* ---- two balancers ----------------------------------------------------------------------------*/

#define BALANCERS 2

static struct lab pair;

/* One file for both; the recipe with the other's addresses. */
static pid_t start_balancer(int n)
{
	char node[8];
	pid_t poised;

	snprintf(node, sizeof(node), "lb%d", n);
	lab_must(&pair, node,
		 "printf '%%s\\n' 'hash-key: 000102030405060708090a0b0c0d0e0f' "
		 "'interfaces: [ { device: eth0 } ]' "
		 "'addresses: [ { address: " SITE_VIP4 ", claim: lo, withdraw-grace: 500ms } ]' "
		 "'services: [ { name: web, listen: [ \"" SITE_VIP4 ":80\" ], forward: l2, "
		 "backends: [ { address: 10.0.0.1 }, { address: 10.0.0.2 } ] } ]' > "
		 "/run/poise.yaml && "
		 "sed 's/10\\.0\\.0\\.101/10.0.0.10%d/; s/:5::101/:5::10%d/' " RECIPES "bird.conf "
		 "> /run/bird.conf",
		 n, n);
	poised = lab_poised(&pair, node, "--config /run/poise.yaml");
	lab_start(&pair, node, "bird -f -s /run/bird.ctl -P /run/bird.pid -c /run/bird.conf");
	return poised;
}

static void ways_are(const char *ways)
{
	lab_until(&pair, "router", LAB_SOON,
		  "test \"$(ip route show " SITE_VIP4
		  " | grep -o '10.0.0.10[12]' | sort | xargs)\" = '%s'",
		  ways);
	lab_must(&pair, "c1", "load http " SITE_VIP4 ":80 --count 40 --timeout 20");
}

/* Who has no backend left gives its share to the other, and takes it back. */
Test(bgp, the_other_balancer_takes_over, .timeout = TEST_LONGEST)
{
	pid_t poised[BALANCERS];

	lab_up(&pair, "--balancers 2 --backends 2");
	lab_must(&pair, "router",
		 "ip route del 192.0.2.0/24 && sysctl -qw net.ipv4.fib_multipath_hash_policy=1");
	lab_start(&pair, "router", BIRD "bird-router.conf");
	for (int n = 1; n <= BALANCERS; n++) {
		lab_must(&pair, n == 1 ? "b1" : "b2", "nginx");
		poised[n - 1] = start_balancer(n);
	}
	ways_are("10.0.0.101 10.0.0.102");
	lab_must(&pair, "lb1", "poise backend disable web 10.0.0.1 10.0.0.2");
	ways_are("10.0.0.102");
	lab_must(&pair, "lb1", "poise backend enable web 10.0.0.1");
	ways_are("10.0.0.101 10.0.0.102");
	lab_must(&pair, "lb2", "poise detach eth0");
	ways_are("10.0.0.101");
	for (int n = 0; n < BALANCERS; n++)
		lab_stop(poised[n], SIGTERM);
	lab_down(&pair);
}
