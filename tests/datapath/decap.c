// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The backend's decapsulator, really loaded, for XDP and for TC: all four pairs of families, tags,
 * congestion marks, and that everything else passes as it came, also cut short at every length.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <string.h>

#include "bpf/decap.skel.h"
#include "maps/text.h"
#include "tests/support/frame.h"

enum fate { STRIPPED, PASSED, DROPPED, REFUSED };

struct decap_case {
	const char *name;
	const char *in;
	enum fate fate;
	const char *out; /* NULL: as it came */
};

#define TO4  "eth lb > b1 | "
#define TCP  " | tcp 1234 > 80 A | data 20"
#define UDP  " | udp 1234 > 53 | data 5"
#define IN4  "ip4 10.1.0.9 > 10.2.0.1 "
#define IN6  "ip6 fd01::9 > fd02::1 "
#define OUT4 "ip4 10.3.0.254 > 10.3.0.1 "
#define OUT6 "ip6 fd03::fe > fd03::1 "
#define GUE  "| udp 50000 > 6080 csum 0 "
#define SUM  "| udp 50000 > 6080 " /* with a checksum */
#define PORT 6080
#define STRIP(name, l2, outer, inner)                                                              \
	{                                                                                          \
		name, l2 outer "| " inner, STRIPPED, l2 inner                                      \
	}
#define PASS(name, in)                                                                             \
	{                                                                                          \
		name, in, PASSED, NULL                                                             \
	}

static const struct decap_case pairs[] = {
	STRIP("4in4", TO4, OUT4, IN4 TCP),
	STRIP("6in4", TO4, OUT4, IN6 TCP),
	STRIP("4in6", TO4, OUT6, IN4 TCP),
	STRIP("6in6", TO4, OUT6, IN6 TCP),
	STRIP("4in4 UDP", TO4, OUT4, IN4 UDP),
	STRIP("6in4 UDP", TO4, OUT4, IN6 UDP),
	STRIP("4in6 UDP", TO4, OUT6, IN4 UDP),
	STRIP("6in6 UDP", TO4, OUT6, IN6 UDP),
	STRIP("outer options", TO4, OUT4 "opt 8 ", IN4 TCP),
	STRIP("outer options, 6in4", TO4, OUT4 "opt 40 ", IN6 TCP),
	STRIP("a large packet", TO4, OUT6, IN4 "| tcp 1234 > 80 A | data 1400"),
	STRIP("an inner fragment", TO4, OUT4, IN4 "mf off 100 | data 40"),
	STRIP("inner extension headers", TO4, OUT4, IN6 "| dst 16" TCP),
	STRIP("gue 4in4", TO4, OUT4 GUE, IN4 TCP),
	STRIP("gue 6in4", TO4, OUT4 GUE, IN6 UDP),
	STRIP("gue 4in6", TO4, OUT6 GUE, IN4 UDP),
	STRIP("gue 6in6", TO4, OUT6 GUE, IN6 TCP),
	STRIP("gue 4in4 with checksum", TO4, OUT4 SUM, IN4 UDP),
	STRIP("gue 6in4 with checksum", TO4, OUT4 SUM, IN6 TCP),
	STRIP("gue 4in6 with checksum", TO4, OUT6 SUM, IN4 TCP),
	STRIP("gue 6in6 with checksum", TO4, OUT6 SUM, IN6 UDP),
	STRIP("gue, a large packet with checksum", TO4, OUT6 SUM,
	      IN4 "| tcp 1234 > 80 A | data 1399"),
	STRIP("gue, checksum over UDP without", TO4, OUT4 SUM,
	      IN4 "| udp 1234 > 53 csum 0 | data 85"),
	STRIP("gue, outer options, with checksum", TO4, OUT4 "opt 40 " SUM, IN6 TCP),
	STRIP("gue, padded, with checksum", TO4, OUT4 SUM, IN4 "| udp 1 > 2 | pad 6"),
};

static const struct decap_case tags[] = {
	STRIP("4in4", TO4 "vlan 7 | ", OUT4, IN4 TCP),
	STRIP("6in4", TO4 "vlan 7 | ", OUT4, IN6 TCP),
	STRIP("4in6", TO4 "vlan 8 tpid 0x88a8 | vlan 9 | ", OUT6, IN4 TCP),
	STRIP("6in6", TO4 "vlan 8 tpid 0x88a8 | vlan 9 | ", OUT6, IN6 TCP),
	STRIP("gue 4in6", TO4 "vlan 7 | ", OUT6 GUE, IN4 TCP),
	STRIP("gue 6in4", TO4 "vlan 8 tpid 0x88a8 | vlan 9 | ", OUT4 SUM, IN6 TCP),
};

static const struct decap_case passed[] = {
	PASS("another inner address", TO4 OUT4 "| ip4 10.1.0.9 > 10.2.0.2" TCP),
	PASS("another inner address, IPv6", TO4 OUT6 "| ip6 fd01::9 > fd02::2" TCP),
	PASS("no tunnel", TO4 IN4 TCP),
	PASS("no tunnel, IPv6", TO4 IN6 TCP),
	PASS("the first fragment of a tunnel", TO4 OUT4 "mf | " IN4 TCP),
	PASS("a later one", TO4 OUT4 "off 10 | " IN4 TCP),
	PASS("an outer length beyond the frame", TO4 OUT4 "len 1400 | " IN4 TCP),
	PASS("an outer length too small", TO4 OUT4 "len 30 | " IN4 TCP),
	PASS("an inner header of another version", TO4 OUT4 "proto 41 | " IN4 TCP),
	PASS("gue, another inner address", TO4 OUT4 GUE "| ip4 10.1.0.9 > 10.2.0.2" TCP),
	PASS("gue, another port", TO4 OUT4 "| udp 50000 > 6081 csum 0 | " IN4 TCP),
	PASS("gue from the port to another", TO4 OUT4 "| udp 6080 > 50000 csum 0 | " IN4 TCP),
	PASS("gue by TCP", TO4 OUT4 "| tcp 50000 > 6080 A | " IN4 TCP),
	PASS("gue, variant 0", TO4 OUT4 GUE "| hex 00040000 | " IN4 TCP),
	PASS("gue with nothing in it", TO4 OUT4 GUE),
	PASS("gue, a wrong checksum", TO4 OUT4 "| udp 50000 > 6080 csum 0x1234 | " IN4 TCP),
	PASS("gue over IPv6, a wrong checksum",
	     TO4 OUT6 "| udp 50000 > 6080 csum 0x1234 | " IN6 TCP),
	PASS("gue, a UDP length too small", TO4 OUT4 "| udp 50000 > 6080 csum 0 len 40 | " IN4 TCP),
	PASS("gue, a UDP length too large", TO4 OUT4 "| udp 50000 > 6080 csum 0 len 99 | " IN4 TCP),
	PASS("gue, the first fragment", TO4 OUT4 "mf " GUE "| " IN4 TCP),
	PASS("UDP to the virtual address at the port", TO4 IN4 "| udp 9 > 6080 | data 40"),
	PASS("ARP", "eth lb > b1 | arp 10.3.0.1 > 10.3.0.2"),
	PASS("ICMP to the virtual address", TO4 IN4 "| icmp 8"),
	PASS("three tags", TO4 "vlan 1 | vlan 2 | vlan 3 | " OUT4 "| " IN4 TCP),
};

static struct decap *d;

static void setup(void)
{
	static const char *const addresses[] = {"10.2.0.1", "fd02::1"};
	const __u16 port = htons(PORT);
	__u8 one = 1;

	d = decap__open_and_load();
	cr_assert(d, "cannot load the decapsulator: %s", strerror(errno));
	cr_assert(!bpf_map_update_elem(bpf_map__fd(d->maps.decap_ports), &port, &one, BPF_ANY));
	for (int k = 0; k < 2; k++) {
		union poise_addr a;

		cr_assert(!poise_parse_addr(addresses[k], &a, NULL));
		cr_assert(!bpf_map_update_elem(bpf_map__fd(d->maps.decap_addresses), &a, &one,
					       BPF_ANY));
	}
}

static void teardown(void)
{
	decap__destroy(d);
}

TestSuite(decap, .init = setup, .fini = teardown);

static struct poise_decap_counts counts(void)
{
	struct poise_decap_counts cpu[256], sum = {0};
	__u32 zero = 0;

	cr_assert(!bpf_map_lookup_elem(bpf_map__fd(d->maps.decap_counts), &zero, cpu));
	for (int k = 0; k < libbpf_num_possible_cpus(); k++) {
		sum.packets += cpu[k].packets;
		sum.bytes += cpu[k].bytes;
		sum.ecn += cpu[k].ecn;
		sum.failed += cpu[k].failed;
	}
	return sum;
}

/* Through one of the two programs; what became of it. */
static enum fate run(bool tc, const struct frame *in, struct frame *out)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in->byte, .data_size_in = (__u32)in->length,
		    .data_out = out->byte, .data_size_out = sizeof(out->byte));
	int fd = bpf_program__fd(tc ? d->progs.poise_decap_tc : d->progs.poise_decap_xdp);
	__u64 before = counts().packets;

	if (bpf_prog_test_run_opts(fd, &run)) {
		cr_assert(tc && errno == EINVAL, "test run: %s", strerror(errno));
		return REFUSED; /* no skb is that short: an IP header is cut */
	}
	out->length = run.data_size_out;
	if (run.retval == (tc ? (__u32)TC_ACT_SHOT : (__u32)XDP_DROP))
		return DROPPED;
	cr_assert_eq(run.retval, tc ? (__u32)TC_ACT_UNSPEC : (__u32)XDP_PASS);
	return counts().packets > before ? STRIPPED : PASSED;
}

static void check(bool tc, const struct decap_case *c)
{
	struct poise_decap_counts before = counts(), after;
	struct frame in, want, out;
	enum fate fate;

	frame_build(&in, c->in);
	frame_build(&want, c->out ? c->out : c->in);
	fate = run(tc, &in, &out);
	cr_expect_eq(fate, c->fate, "%s, %s", tc ? "TC" : "XDP", c->name);
	if (c->fate != DROPPED && !frame_equal(&want, &out)) {
		frame_print_difference(&want, &out);
		cr_expect(false, "%s, %s: another packet", tc ? "TC" : "XDP", c->name);
	}
	after = counts();
	if (c->fate == STRIPPED)
		cr_expect_eq(after.bytes - before.bytes, frame_ip_end(&want) - frame_ip_at(&want),
			     "%s: bytes counted", c->name);
	cr_expect_eq(after.failed, 0);
	/* and cut short: whatever is left passes as it is, the frame no longer holds the packet */
	for (size_t length = 14; length < frame_ip_end(&in); length++) {
		struct frame cut = in;

		cut.length = length;
		fate = run(tc, &cut, &out);
		if (fate == REFUSED && length < 14 + sizeof(struct ipv6hdr))
			continue;
		cr_expect_eq(fate, PASSED, "%s cut to %zu", c->name, length);
		cr_expect(frame_equal(&cut, &out), "%s cut to %zu: changed", c->name, length);
	}
}

#define CHECK(tc, table)                                                                           \
	for (size_t k = 0; k < sizeof(table) / sizeof((table)[0]); k++)                            \
	check(tc, &(table)[k])

Test(decap, strips_all_pairs)
{
	CHECK(false, pairs);
	CHECK(true, pairs);
}

/* TC is handed frames with a tag only if they had two: those are for a VLAN device. */
Test(decap, keeps_tags)
{
	CHECK(false, tags);
	for (size_t k = 0; k < sizeof(tags) / sizeof(tags[0]); k++) {
		struct decap_case c = {tags[k].name, tags[k].in, PASSED, NULL};

		check(true, &c);
	}
}

Test(decap, passes_everything_else)
{
	CHECK(false, passed);
	CHECK(true, passed);
}

/* RFC 6040 section 4.2, figure 4: inner by outer, in code points; -1 drops. */
static const int marks[4][4] = {
	{0, 0, 0, -1},
	{1, 1, 1, 3},
	{2, 1, 2, 3},
	{3, 3, 3, 3},
};

static void check_mark(const char *outer, const char *between, const char *inner, int out, int in)
{
	struct poise_decap_counts before = counts();
	char text[256], want[256];
	struct decap_case c = {"mark", text, marks[in][out] < 0 ? DROPPED : STRIPPED, want};

	snprintf(text, sizeof(text), TO4 "%s tos %d %s| %s tos %d" TCP, outer, 0x20 | out, between,
		 inner, 0x48 | in);
	snprintf(want, sizeof(want), TO4 "%s tos %d" TCP, inner,
		 0x48 | (marks[in][out] < 0 ? 0 : marks[in][out]));
	for (int tc = 0; tc < 2; tc++)
		check(tc, &c);
	cr_expect_eq(counts().ecn - before.ecn, c.fate == DROPPED ? 2 : 0, "%s", text);
}

Test(decap, carries_congestion_marks_inside)
{
	for (int out = 0; out < 4; out++)
		for (int in = 0; in < 4; in++) {
			check_mark(OUT4, "", IN4, out, in);
			check_mark(OUT4, "", IN6, out, in);
			check_mark(OUT6, "", IN4, out, in);
			check_mark(OUT6, "", IN6, out, in);
			check_mark(OUT4, GUE, IN6, out, in);
			check_mark(OUT6, SUM, IN4, out, in);
		}
}
