// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checksums of generated and of changed headers, over all carries: a header is right if the ones'
 * complement sum of its words is all ones (RFC 1071), computed here the slow and obvious way.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <string.h>

#include "tests/support/native.h"

static const char yaml[] =
	"services:\n"
	"  - { name: l2, listen: [ '10.2.0.1:80' ], forward: l2,\n"
	"      backends: [ { address: 10.3.0.1 } ] }\n"
	"  - { name: ipip, listen: [ '10.2.0.2:80', '[fd02::2]:80' ], forward: ipip,\n"
	"      backends: [ { address: 10.3.0.2 } ] }\n"
	"  - { name: entropy, listen: [ '10.2.0.3:80' ], forward: ipip, entropy: yes,\n"
	"      backends: [ { address: 10.3.0.3 } ] }\n";

static struct native n;

static void setup(void)
{
	native_open(&n, yaml, 1024);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(checksum, .init = setup, .fini = teardown);

static __u16 sum(const void *header, size_t bytes)
{
	const __u8 *b = header;
	__u32 total = 0;

	for (size_t k = 0; k < bytes; k += 2) {
		total += (__u32)b[k] << 8 | b[k + 1];
		if (total > 0xffff)
			total -= 0xffff;
	}
	return (__u16)total;
}

/* Behind Ethernet's 14 bytes, in a frame that begins anywhere. */
typedef struct iphdr header_at __attribute__((aligned(2)));

static header_at *header(struct frame *f)
{
	return (header_at *)(f->byte + ETH_HLEN);
}

static void complete(header_at *ip)
{
	ip->check = 0;
	ip->check = htons((__u16)~sum(ip, ip->ihl * 4u));
}

/* Sends a frame with its IPv4 header as it is now; checks the one that comes out in front. */
static void check(const struct frame *in, struct frame *out, const char *what, unsigned int value)
{
	*out = *in;
	complete(header(out));
	cr_assert_eq(native_run(&n, out), XDP_TX, "%s %u", what, value);
	cr_assert_eq(sum(header(out), header(out)->ihl * 4u), 0xffff, "%s %u: checksum 0x%04x",
		     what, value, ntohs(header(out)->check));
}

Test(checksum, repaired_after_a_hop)
{
	static struct frame in, out;

	frame_build(&in, "ip4 10.1.0.9 > 10.2.0.1 opt 8 | tcp 1234 > 80 S");
	for (unsigned int id = 0; id <= 0xffff; id++) {
		header(&in)->id = htons((__u16)id);
		check(&in, &out, "id", id);
	}
	for (unsigned int ttl = 2; ttl <= 255; ttl++)
		for (unsigned int tos = 0; tos <= 255; tos++) {
			header(&in)->ttl = (__u8)ttl;
			header(&in)->tos = (__u8)tos;
			check(&in, &out, "ttl", ttl);
			cr_assert_eq(header(&out)->ttl, ttl - 1);
		}
}

/* A header that was wrong stays wrong: what came broken is not sent on as sound. */
Test(checksum, a_broken_header_stays_broken)
{
	static struct frame in;

	frame_build(&in, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 S");
	for (unsigned int check = 0; check <= 0xffff; check += 7) {
		struct frame out = in;

		if (htons((__u16)check) == header(&in)->check)
			continue;
		header(&out)->check = htons((__u16)check);
		cr_assert_eq(native_run(&n, &out), XDP_TX);
		cr_assert_neq(sum(header(&out), 20), 0xffff, "checksum 0x%04x", check);
	}
}

Test(checksum, of_outer_headers)
{
	static struct frame in, out;

	/* without DF the number is carried outside: every value the sum can have */
	frame_build(&in, "ip4 10.1.0.9 > 10.2.0.2 | tcp 1234 > 80 S");
	for (unsigned int id = 0; id <= 0xffff; id++) {
		header(&in)->id = htons((__u16)id);
		check(&in, &out, "id", id);
		cr_assert_eq(header(&out)->id, htons((__u16)id));
	}
	for (unsigned int tos = 0; tos <= 255; tos++) {
		header(&in)->tos = (__u8)tos;
		check(&in, &out, "tos", tos);
		cr_assert_eq(header(&out)->tos, tos);
	}
	frame_build(&in, "ip4 10.1.0.9 > 10.2.0.2 df | tcp 1234 > 80 S | data 1400");
	for (unsigned int bytes = 40; bytes <= 1440; bytes++) {
		header(&in)->tot_len = htons((__u16)bytes);
		check(&in, &out, "length", bytes);
		cr_assert_eq(ntohs(header(&out)->tot_len), bytes + 20);
		cr_assert_eq(header(&out)->frag_off, htons(IP_DF));
	}
}

Test(checksum, of_outer_headers_with_entropy)
{
	static struct frame in, out;
	static bool seen[65536];
	unsigned int different = 0;

	frame_build(&in, "ip4 10.1.0.9 > 10.2.0.3 df | tcp 1234 > 80 S");
	for (unsigned int port = 0; port <= 0xffff; port++) {
		__u16 low;

		in.byte[34] = (__u8)(port >> 8);
		in.byte[35] = (__u8)port;
		check(&in, &out, "port", port);
		cr_assert_eq(ntohl(header(&out)->saddr) >> 16, 0x0a03, "the prefix stays");
		low = (__u16)ntohl(header(&out)->saddr);
		different += !seen[low];
		seen[low] = true;
	}
	cr_assert_gt(different, 35000, "%u different sources", different);
}
