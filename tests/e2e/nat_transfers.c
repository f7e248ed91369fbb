// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ten megabytes up and down through mode nat in all pairs of families, with equal digests:
 * natively, where receivers look at every checksum; and in generic mode with all that devices of
 * one host leave to each other: packets of many segments, checksums that nobody has made yet.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define BYTES 10485760

TestSuite(nat_transfers, .timeout = TEST_LONGEST);

/* Ports of both virtual addresses by what they lead to. */
#define TO_IPV4 9000
#define TO_IPV6 9006

static void offload(const struct site *s, const char *node, const char *device, const char *words)
{
	lab_must(&s->lab, node, "ethtool -K %s %s", device, words);
}

static void offloads_of_ends(const struct site *s)
{
	static const char *const nodes[] = {"c1", "b1"};

	for (size_t k = 0; k < sizeof(nodes) / sizeof(nodes[0]); k++) {
		char port[16];

		snprintf(port, sizeof(port), "%s-eth0", nodes[k]);
		offload(s, nodes[k], "eth0", "tx on tso on gso on gro on");
		offload(s, "router", port, "tx on tso on gso on gro on");
	}
	offload(s, "lb1", "eth0", "gro on");
}

static void transfer(const struct site *s, const char *vip, int port)
{
	const char *out = lab_must(&s->lab, "c1", "bulk %s:%d %d", vip, port, BYTES);

	cr_assert(strstr(out, "up ") && strstr(out, "down ") && strstr(out, ": equal"), "%s", out);
}

static void begin(struct site *s, const char *attach)
{
	site_up(s);
	offloads_of_ends(s);
	s->poised = lab_poised(&s->lab, "lb1", "");
	lab_must(&s->lab, "lb1", "poise attach eth0 %s", attach);
	site_nat_service(s, "four", TO_IPV4, "10.0.0.1:9000");
	site_nat_service(s, "six", TO_IPV6, "[2001:db8:5::1]:9000");
}

static void transfer_all(const struct site *s)
{
	transfer(s, SITE_VIP4, TO_IPV4);
	transfer(s, "[" SITE_VIP6 "]", TO_IPV6);
	transfer(s, SITE_VIP4, TO_IPV6);
	transfer(s, "[" SITE_VIP6 "]", TO_IPV4);
	lab_must(&s->lab, "lb1", "poise map check");
}

Test(nat_transfers, native_with_checksums_that_are_looked_at)
{
	struct site s = {.nat = true, .backends = 1};

	begin(&s, "mode native");
	transfer_all(&s);
	site_down(&s);
}

/* Of a counter of service `four`. */
static double count(const struct site *s, const char *name)
{
	return atof(lab_must(&s->lab, "lb1",
			     "poise stats four --exact | awk '$1 == \"%s\" { print $2; exit }'",
			     name));
}

Test(nat_transfers, generic_with_packets_of_many_segments)
{
	struct site s = {.nat = true, .backends = 1};
	double packets, bytes;

	begin(&s, "mode generic");
	lab_must(&s.lab, "router", "ip link set dev lb1-eth0 xdpdrv off");
	offload(&s, "router", "lb1-eth0", "tx on tso on gso on gro on");
	transfer_all(&s);
	/* Were there any? Of what went up nearly all is data. */
	packets = count(&s, "packets");
	bytes = count(&s, "bytes");
	lab_must(&s.lab, "c1", "bulk " SITE_VIP4 ":%d %d up", TO_IPV4, BYTES);
	packets = count(&s, "packets") - packets;
	bytes = count(&s, "bytes") - bytes;
	cr_assert_gt(bytes, 3000 * packets, "%.0f bytes in %.0f packets", bytes, packets);
	site_down(&s);
}
