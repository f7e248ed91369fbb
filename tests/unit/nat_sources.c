// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode nat with two source addresses: one backend has the ports of both, none is refused before
 * both are full, and what rests is not had while the other has free ones. An address that is taken
 * away keeps the flows that it has, and gets no more; then its path is free again. map check agrees
 * throughout, and sees a slot whose address is not its own.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/table.h"
#include "maps/option.h"
#include "maps/ports.h"
#include "tests/support/natted.h"

#define YAML(forward)                                                                              \
	"services:\n"                                                                              \
	"  - { name: web, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp', '10.2.0.2:80',\n"            \
	"      '10.2.0.2:53/udp' ],\n      " forward                                               \
	",\n      backends: [ { address: %s, port: 8080 } ] }\n"

#define PORTS (NATIVE_PORT_HIGH - NATIVE_PORT_LOW + 1)
#define FIRST 1600 /* so many flows leave ports of both addresses free */

/* Clients of natted's kinds: by TCP from IPv4, to a backend of either family. */
#define CLIENT(k, six) ((k)*8 + ((six) ? 4 : 0))

static struct native n;
static __u32 by[2]; /* flows that began by the first address, by the second */

static void report(void *ctx, const char *map, const char *sentence)
{
	(void)ctx;
	cr_log_error("%s: %s", map, sentence);
}

static void expect_right(void)
{
	cr_assert_eq(instance_check(n.i, report, NULL, NULL), 0, "map check differs");
}

static void begin(const char *yaml, bool six, __u32 groups)
{
	char text[1024];

	snprintf(text, sizeof(text), yaml, six ? "'fd03::3'" : "10.3.0.1");
	native_open_groups(&n, text, 1024, groups);
	run_set_seconds(NATIVE_T0);
	by[0] = by[1] = 0;
}

static void end(void)
{
	expect_right();
	native_close(&n);
}

/* Client k's packet: the port that it left by, with NATTED_SECOND; 0: it was refused. */
static __u32 sends(int k, bool six, enum natted_kind kind)
{
	int c = CLIENT(k, six);
	struct frame f;

	cr_assert_eq(natted_client_sends(&n, c, kind, (__u32)k, &f), XDP_TX, "client %d", k);
	return natted_refused(&f) ? 0 : natted_source(&f) | natted_from(&f);
}

static __u32 opens(int k, bool six)
{
	__u32 port = sends(k, six, SYN);

	if (port)
		by[!!(port & NATTED_SECOND)]++;
	return port;
}

static void answers(int k, bool six, __u32 port, enum natted_kind kind)
{
	int c = CLIENT(k, six);
	struct frame f;

	cr_assert_eq(natted_server_sends(&n, c, native_member(&n, six ? "fd03::3" : "10.3.0.1"),
					 port, kind, &f),
		     XDP_TX, "an answer to client %d", k);
	cr_assert_eq(natted_destination(&f), (__u32)NATTED_PORT(c), "another client's");
}

/* The model's clients have ports of 16 bits: no more than this many. */
static void fill(bool six, int count)
{
	for (int k = 0; k < count; k++)
		cr_assert(opens(k, six), "client %d is refused: %u by one, %u by the other", k,
			  by[0], by[1]);
}

static void have_the_ports_of_both(bool six)
{
	begin(YAML(NATTED_TWO), six, 2);
	fill(six, FIRST);
	cr_assert(by[0] > FIRST / 3 && by[1] > FIRST / 3, "%u and %u", by[0], by[1]);
	for (int k = FIRST; k < 2 * PORTS; k++)
		cr_assert(opens(k, six), "client %d is refused", k);
	cr_assert(by[0] == PORTS && by[1] == PORTS, "%u and %u", by[0], by[1]);
	cr_assert_eq(instance_port_use(n.i, 0).refused + instance_port_use(n.i, 1).refused, 0);
	cr_assert_eq(opens(2 * PORTS, six), 0, "one too many");
	cr_assert_eq(instance_port_use(n.i, 0).refused + instance_port_use(n.i, 1).refused, 1,
		     "a flow is refused once");
	end();
}

Test(nat_sources, have_the_ports_of_both)
{
	have_the_ports_of_both(false);
}

Test(nat_sources, have_them_over_ipv6)
{
	have_the_ports_of_both(true);
}

/* One address has one group, whatever there is. */
Test(nat_sources, one_has_its_own_alone)
{
	begin(YAML("forward: nat"), false, 2);
	fill(false, PORTS);
	cr_assert_eq(opens(PORTS, false), 0, "one too many");
	end();
}

/* Two addresses of one group share its ports. */
Test(nat_sources, share_a_group_if_there_is_but_one)
{
	begin(YAML(NATTED_TWO), false, 1);
	fill(false, PORTS);
	cr_assert(by[0] > PORTS / 3 && by[1] > PORTS / 3, "%u and %u", by[0], by[1]);
	cr_assert_eq(opens(PORTS, false), 0, "one too many");
	end();
}

static void closes(int k, __u32 port)
{
	answers(k, false, port, SYN_ACK);
	sends(k, false, FIN);
	answers(k, false, port, FIN);
	sends(k, false, DATA);
}

/* Flows that are over leave ports to rest; who comes then has the free ones first, of whichever
 * address. */
Test(nat_sources, free_ports_of_the_other_before_ones_that_rest)
{
	static __u32 port[2 * PORTS];
	int k = 0;

	begin(YAML(NATTED_TWO), false, 2);
	while (by[0] < PORTS) {
		cr_assert_lt(k, 2 * PORTS);
		port[k] = opens(k, false);
		k++;
	}
	for (int was = 0; was < k; was++)
		if (!(port[was] & NATTED_SECOND))
			closes(was, port[was]);
	while (by[1] < PORTS) {
		__u32 had = by[0];

		cr_assert(opens(k++, false));
		cr_assert_eq(by[0], had, "a port that rests, while the other had %u free",
			     PORTS - by[1]);
	}
	cr_assert(opens(k, false), "then one that rests");
	cr_assert_gt(by[0], PORTS);
	end();
}

static __u32 paths_named(void)
{
	__u32 named = 0;

	for (__u32 p = 1; p < n.i->meta->paths; p++)
		named += n.i->paths[p].refs != 0;
	return named;
}

/* The service's sources from now on, as typed. */
static void set_source(const char *text)
{
	struct poise_error err = {0};

	cr_assert_eq(option_set(option_find(OPTION_SERVICE, "source"), native_web(&n), text, &err),
		     0, "%s", err.message);
	native_commit(&n);
	expect_right();
}

Test(nat_sources, that_are_taken_away_keep_their_flows)
{
	static __u32 port[100];

	begin(YAML(NATTED_TWO), false, 2);
	cr_assert_eq(paths_named(), 2);
	for (int k = 0; k < 100; k++) {
		port[k] = opens(k, false);
		answers(k, false, port[k], SYN_ACK);
	}
	cr_assert(by[0] && by[1]);
	set_source("10.3.0.254");
	cr_assert_eq(paths_named(), 1);
	for (int k = 0; k < 100; k++) {
		cr_assert_eq(sends(k, false, DATA), port[k], "client %d's flow has moved", k);
		answers(k, false, port[k], DATA);
	}
	by[1] = 0;
	for (int k = 100; k < 300; k++)
		opens(k, false);
	cr_assert_eq(by[1], 0, "%u flows began by the address that was taken away", by[1]);
	set_source("10.3.0.253,10.3.0.254");
	for (int k = 300; k < 400; k++)
		opens(k, false);
	cr_assert(by[1], "it came back");
	set_source("auto");
	end();
}

/* More ways than there are paths: none is made half. */
Test(nat_sources, change_often_and_leave_nothing)
{
	static const char *const lists[] = {"10.3.0.1,10.3.0.2,10.3.0.3", "10.3.0.3,10.3.0.2",
					    "auto", "10.3.0.2,10.3.0.3", "10.3.0.7"};

	begin(YAML(NATTED_TWO), false, 2);
	for (int k = 0; k < 200; k++) {
		set_source(lists[(unsigned int)(k * k + k / 7) % 5]);
		cr_assert(opens(k, false));
	}
	end();
}

/* A service listens there on every port: what comes from a backend for a flow of ours is no
 * client's.
 */
Test(nat_sources, may_be_that_of_a_service_of_every_port)
{
	struct frame f;

	native_open(&n,
		    "services:\n"
		    "  - { name: any, listen: [ '10.3.0.254:0', '10.3.0.254:0/udp' ],\n"
		    "      forward: nat, backends: [ { address: 10.3.0.1 } ] }\n",
		    1024);
	run_set_seconds(NATIVE_T0);
	cr_assert_eq(native_send(&n, &f, "ip4 10.1.0.9 > 10.3.0.254 | tcp 1234 > 80 S"), XDP_TX);
	cr_assert_eq(natted_source(&f), NATIVE_PORT_LOW);
	cr_assert_eq(native_send(&n, &f, "ip4 10.3.0.1 > 10.3.0.254 | tcp 80 > 20000 SA"), XDP_TX);
	cr_assert_eq(natted_destination(&f), 1234, "the answer goes to the client");
	cr_assert_eq(native_send(&n, &f, "ip4 10.3.0.1 > 10.3.0.254 | tcp 81 > 20000 S"), XDP_TX);
	cr_assert_eq(natted_destination(&f), 20000, "as a client it is served as any other");
	cr_assert_eq(native_send(&n, &f, "ip4 10.1.0.9 > 10.3.0.254 | udp 1234 > 53"), XDP_TX);
	cr_assert_eq(native_send(&n, &f, "ip4 10.3.0.1 > 10.3.0.254 | udp 53 > 20002"), XDP_TX);
	cr_assert_eq(natted_destination(&f), 1234, "the answer goes to the client");
	end();
}

Test(nat_sources, a_slot_with_the_other_s_address_is_told)
{
	__u32 at;

	begin(YAML(NATTED_TWO), false, 2);
	cr_assert(opens(1, false));
	for (at = 0; !POISE_WORD_STATE(n.i->slots[at].head); at++)
		cr_assert_lt(at, 2u * POISE_PORTS);
	instance_ways(n.i, at, 1)->source.b[15] ^= 3;
	cr_assert_eq(instance_check(n.i, NULL, NULL, NULL), 1);
	instance_ways(n.i, at, 1)->source.b[15] ^= 3;
	end();
}
