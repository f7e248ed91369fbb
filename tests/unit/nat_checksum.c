// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checksums that mode nat repairs, over every value that one can have: the packet that leaves is,
 * byte by byte, the one whose checksum was worked out from scratch. UDP's never becomes 0.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/native.h"

static const char yaml[] =
	"services:\n"
	"  - { name: four, listen: [ '10.2.0.1:53/udp', '10.2.0.1:80' ],\n"
	"      forward: nat, backends: [ { address: 10.3.0.1, port: 8080 } ] }\n"
	"  - { name: six, listen: [ '10.2.0.2:53/udp', '10.2.0.2:80' ],\n"
	"      forward: nat, backends: [ { address: 'fd03::1', port: 8080 } ] }\n";

#define VALUES 65536

static struct native n;

static void setup(void)
{
	native_open(&n, yaml, 1024);
	run_set_seconds(1000);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(nat_checksum, .init = setup, .fini = teardown);

/* The frame's last two bytes take every value, and so does its checksum. */
static void every_value(const char *in, const char *out)
{
	struct frame to, got;
	char words[200];

	for (unsigned int value = 0; value < VALUES; value++) {
		snprintf(words, sizeof(words), "%s | hex %04x", in, value);
		frame_build(&got, words);
		snprintf(words, sizeof(words), "%s | hex %04x", out, value);
		frame_build(&to, words);
		cr_assert_eq(native_run(&n, &got), XDP_TX);
		if (frame_equal(&to, &got))
			continue;
		frame_print_difference(&to, &got);
		cr_assert_fail("value 0x%04x", value);
	}
}

Test(nat_checksum, udp_4_to_4)
{
	every_value("ip4 10.1.0.9 > 10.2.0.1 | udp 1234 > 53",
		    "eth lb > b1 | ip4 10.3.0.254 > 10.3.0.1 ttl 63 | udp 20000 > 8080");
}

Test(nat_checksum, udp_4_to_6)
{
	every_value("ip4 10.1.0.9 > 10.2.0.2 | udp 1234 > 53",
		    "eth lb > b1 | ip6 fd03::fe > fd03::1 ttl 63 | udp 20000 > 8080");
}

Test(nat_checksum, tcp_4_to_4)
{
	every_value("ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 S",
		    "eth lb > b1 | ip4 10.3.0.254 > 10.3.0.1 ttl 63 | tcp 20000 > 8080 S");
}

/* Of the IP header: its number. */
Test(nat_checksum, ip_header)
{
	struct frame to, got;
	char words[200];

	for (unsigned int id = 0; id < VALUES; id++) {
		snprintf(words, sizeof(words), "ip4 10.1.0.9 > 10.2.0.1 id %u | udp 1234 > 53", id);
		frame_build(&got, words);
		snprintf(words, sizeof(words),
			 "eth lb > b1 | ip4 10.3.0.254 > 10.3.0.1 ttl 63 id %u | udp 20000 > 8080",
			 id);
		frame_build(&to, words);
		cr_assert_eq(native_run(&n, &got), XDP_TX);
		cr_assert(frame_equal(&to, &got), "number %u", id);
	}
}
