// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ports of mode nat when none is free: new flows get those of flows that are over for both ends,
 * wherever these lie, the ones silent for a while first; never one that an end may still hold half
 * open, or of which the backend has said that it knows an older connection by it.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "maps/ports.h"
#include "tests/support/natted.h"

static const char yaml[] = "services:\n"
			   "  - { name: web, listen: [ '10.2.0.1:80' ], forward: nat,\n"
			   "      backends: [ { address: 10.3.0.1, port: 8080 } ] }\n";

#define PORTS	(NATIVE_PORT_HIGH - NATIVE_PORT_LOW + 1)
#define NOBODY	(-1)
#define A_ROUND 40 /* flows in vain after which all of the range has been looked through */

/* Of natted's kinds: by TCP, from IPv4 to IPv4. */
#define CLIENT(k) ((k)*8)

static const char yaml_two[] =
	"services:\n"
	"  - { name: web, listen: [ '10.2.0.1:80' ], forward: nat, policy: round-robin,\n"
	"      backends: [ { address: 10.3.0.1, port: 8080 }, { address: 10.3.0.2, port: 8080 } ]"
	" }\n";

static struct native n;
static __u32 port[8 * PORTS]; /* that client k's flow has or had */

static void setup(void)
{
	native_open(&n, yaml, 1024);
	run_set_seconds(NATIVE_T0);
}

static void teardown(void)
{
	cr_assert_eq(instance_check(n.i, NULL, NULL, NULL), 0, "map check differs");
	native_close(&n);
}

TestSuite(nat_rests, .init = setup, .fini = teardown);

/* Client k's packet: the port that it left by; 0: it was refused. */
static __u32 sends(int k, enum natted_kind kind)
{
	struct frame f;

	int verdict = natted_client_sends(&n, CLIENT(k), kind, (__u32)k + 1, &f);

	/* Of many refused at a time not all are told. */
	return verdict == XDP_TX && !natted_refused(&f) ? natted_source(&f) : 0;
}

static int answers(int k, enum natted_kind kind)
{
	struct frame f;

	return natted_server_sends(&n, CLIENT(k), native_member(&n, "10.3.0.1"), port[k], kind, &f);
}

/* It is no answer to the client's SYN, and the backend is told so. */
static bool is_turned_back(int k, enum natted_kind kind)
{
	struct frame f;

	return natted_server_sends(&n, CLIENT(k), native_member(&n, "10.3.0.1"), port[k], kind,
				   &f) == XDP_TX &&
	       natted_source(&f) == port[k] && natted_destination(&f) == NATTED_SERVER;
}

static __u32 opens(int k)
{
	return port[k] = sends(k, SYN);
}

/* All but the last acknowledgement. */
static void closes(int k)
{
	cr_assert_eq(answers(k, SYN_ACK), XDP_TX);
	sends(k, FIN);
	cr_assert_eq(answers(k, FIN), XDP_TX);
}

static void ends(int k)
{
	closes(k);
	cr_assert_eq(sends(k, DATA), port[k]);
}

/* The first clients have all ports. */
static void fill(void)
{
	for (int k = 0; k < PORTS; k++)
		cr_assert(opens(k), "client %d is refused, and ports are free", k);
}

/* The first of A_ROUND clients from `first` on that gets a port; NOBODY. */
static int first_served(int first)
{
	for (int k = first; k < first + A_ROUND; k++)
		if (opens(k))
			return k;
	return NOBODY;
}

/* So many flows after one another, of which some get the ports of others: none is refused. */
static void turn_over(int first, int flows)
{
	for (int k = first; k < first + flows; k++) {
		run_set_seconds(NATIVE_T0 + k / 100);
		cr_assert(opens(k), "client %d is refused, and %u ports rest", k,
			  instance_port_use(n.i, 0).resting);
		ends(k);
	}
}

Test(nat_rests, on_both_sides_of_what_is_barred)
{
	static __u64 used[POISE_PORT_WORDS];

	for (int p = NATIVE_PORT_LOW + 200; p < NATIVE_PORT_LOW + 800; p++)
		used[p / 64] |= 1ull << (p % 64);
	instance_host_ports(n.i, used);
	turn_over(0, 5 * PORTS);
}

Test(nat_rests, on_both_sides_of_those_that_go_on)
{
	turn_over(0, 100);
	for (int k = 100; k < 900; k++)
		cr_assert(opens(k));
	turn_over(900, 3 * PORTS);
	for (int k = 100; k < 900; k++)
		cr_assert_eq(sends(k, DATA), port[k], "client %d has lost its port", k);
}

Test(nat_rests, not_before_the_last_acknowledgement)
{
	int next;

	fill();
	for (int k = 0; k < PORTS; k++)
		closes(k);
	run_set_seconds(NATIVE_T0 + POISE_REST_SECONDS / 2);
	cr_assert_eq(first_served(PORTS), NOBODY, "backends may wait for an acknowledgement");
	sends(5, DATA);
	cr_assert_eq(answers(5, FIN), XDP_TX, "it was lost");
	cr_assert_eq(first_served(PORTS + A_ROUND), NOBODY, "the backend asks again");
	cr_assert_eq(instance_port_use(n.i, 0).refused, 2 * A_ROUND);
	sends(5, DATA);
	run_set_seconds(NATIVE_T0 + POISE_REST_SECONDS / 2 + 1);
	next = first_served(PORTS + 2 * A_ROUND);
	cr_assert_neq(next, NOBODY);
	cr_assert_eq(port[next], port[5]);
}

/* Two who have reset theirs: one a moment ago. */
Test(nat_rests, after_a_reset_that_nobody_objects_to)
{
	int next;

	fill();
	sends(3, RST);
	run_set_seconds(NATIVE_T0 + 2);
	sends(4, RST);
	next = first_served(PORTS);
	cr_assert_neq(next, NOBODY);
	cr_assert_eq(port[next], port[3]);
	cr_assert_eq(first_served(next + 1), NOBODY);
}

Test(nat_rests, not_by_a_backend_that_remembers)
{
	fill();
	cr_assert(is_turned_back(7, DATA), "a challenge");
	cr_assert(is_turned_back(8, FIN), "the end of another");
	cr_assert_eq(sends(7, SYN), port[7], "that is over now");
	cr_assert_eq(answers(7, SYN_ACK), XDP_TX);
	cr_assert_eq(answers(7, DATA), XDP_TX);
	cr_assert_eq(sends(8, SYN), port[8]);
	cr_assert(is_turned_back(8, DATA), "it is not: the port is given up");
	cr_assert_eq(first_served(PORTS), NOBODY);
	cr_assert_eq(sends(8, SYN), 0, "there is no other");
}

/* A CPU that has begun among the latest takes older ones all the same. */
Test(nat_rests, silent_ones_first)
{
	int k = 0;

	for (; k < PORTS / 2; k++) {
		opens(k);
		ends(k);
	}
	run_set_seconds(NATIVE_T0 + 10);
	for (; k < PORTS; k++) {
		run_set_cpu(k == PORTS * 3 / 4);
		opens(k);
		ends(k);
	}
	run_set_cpu(1);
	cr_assert(opens(k));
	cr_assert_lt(port[k], NATIVE_PORT_LOW + PORTS / 2, "port %u ended just now", port[k]);
	/* Where there are none left these will do. */
	for (k++; k < PORTS * 7 / 4; k++)
		cr_assert(opens(k), "client %d is refused", k);
}

/* What other backends remember of a port, its slot does not know. */
Test(nat_rests, of_the_same_backend_first)
{
	static __u16 last[POISE_PORTS];
	struct frame f;

	native_close(&n);
	native_open(&n, yaml_two, 1024);
	run_set_seconds(NATIVE_T0);
	for (int k = 0; k < PORTS + PORTS / 4; k++) {
		__u16 to;

		if (k == PORTS)
			run_set_seconds(NATIVE_T0 + 10);
		cr_assert_eq(natted_client_sends(&n, CLIENT(k), SYN, (__u32)k + 1, &f), XDP_TX);
		port[k] = natted_source(&f);
		to = natted_member(&n, CLIENT(k), &f);
		cr_assert(k < PORTS || last[port[k]] == to, "port %u was another's", port[k]);
		last[port[k]] = to;
		natted_server_sends(&n, CLIENT(k), to, port[k], SYN_ACK, &f);
		sends(k, FIN);
		natted_server_sends(&n, CLIENT(k), to, port[k], FIN, &f);
		sends(k, DATA);
	}
}

Test(nat_rests, not_for_what_is_met_in_its_middle)
{
	fill();
	for (int k = 0; k < PORTS; k++)
		ends(k);
	for (int k = PORTS; k < PORTS + A_ROUND; k++)
		cr_assert_eq(sends(k, DATA), 0, "client %d has lost its flow, and takes a port", k);
	cr_assert(opens(PORTS + A_ROUND));
}
