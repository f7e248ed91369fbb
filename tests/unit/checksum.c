// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checksums of generated and of changed headers, over all carries: a header is right if the ones'
 * complement sum of its words is all ones (RFC 1071), computed here the slow and obvious way.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/native.h"

static const char yaml[] =
	"services:\n"
	"  - { name: l2, listen: [ '10.2.0.1:80' ], forward: l2,\n"
	"      backends: [ { address: 10.3.0.1 } ] }\n"
	"  - { name: ipip, listen: [ '10.2.0.2:80', '[fd02::2]:80' ], forward: ipip,\n"
	"      backends: [ { address: 10.3.0.2 } ] }\n"
	"  - { name: entropy, listen: [ '10.2.0.3:80' ], forward: ipip, entropy: yes,\n"
	"      backends: [ { address: 10.3.0.3 } ] }\n"
	"  - { name: gue4, listen: [ '10.2.0.4:80', '10.2.0.4:53/udp', '[fd02::4]:80',\n"
	"      '[fd02::4]:53/udp' ], forward: gue, gue-port: 7000, gue-checksum: yes,\n"
	"      backends: [ { address: 10.3.0.4 } ] }\n"
	"  - { name: gue6, listen: [ '10.2.0.5:80', '10.2.0.5:53/udp', '[fd02::5]:80',\n"
	"      '[fd02::5]:53/udp' ], forward: gue, gue-checksum: yes,\n"
	"      backends: [ { address: 'fd03::5' } ] }\n";

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

/* ---- mode gue ---------------------------------------------------------------------------------*/

#define SEGMENT_MAX 2048

/* The UDP header and what it carries behind their pseudo header: all ones if the checksum is right,
 * 0 if there is none. */
static __u16 udp_sum(const struct frame *f)
{
	bool six = f->byte[ETH_HLEN] >> 4 == 6;
	size_t addresses = six ? 32 : 8, l4 = ETH_HLEN + (six ? 40 : 20);
	size_t bytes = f->length - l4;
	__u8 all[32 + 4 + SEGMENT_MAX + 1] = {0};
	const __u8 *udp = f->byte + l4;

	cr_assert_leq(bytes, SEGMENT_MAX);
	cr_assert_eq((size_t)(udp[4] << 8 | udp[5]), bytes, "length");
	if (!udp[6] && !udp[7])
		return 0;
	memcpy(all, udp - addresses, addresses);
	all[addresses] = (__u8)(bytes >> 8);
	all[addresses + 1] = (__u8)bytes;
	all[addresses + 3] = IPPROTO_UDP;
	memcpy(all + addresses + 4, udp, bytes);
	return sum(all, (addresses + 4 + bytes + 1) & ~1ul);
}

static __u16 gue(const char *words)
{
	static struct frame out;

	cr_assert_eq(native_send(&n, &out, words), XDP_TX, "%s", words);
	return udp_sum(&out);
}

static const char *const gue_inside[] = {
	"ip4 10.1.0.9 > 10.2.0.%d | tcp %d > 80 A | data %d",
	"ip4 10.1.0.9 > 10.2.0.%d opt 8 tos 0xb8 | tcp %d > 80 A opt 12 | data %d",
	"ip4 10.1.0.9 > 10.2.0.%d df id 77 | udp %d > 53 | data %d",
	"ip6 fd01::9 > fd02::%d tos 0xff flow 0xfedcb | tcp %d > 80 A | data %d",
	"ip6 fd01::9 > fd02::%d ttl 2 | udp %d > 53 | data %d",
};

/* Never looking at the payload gives what adding it up does. */
Test(checksum, of_gue)
{
	char words[128];

	for (size_t k = 0; k < sizeof(gue_inside) / sizeof(gue_inside[0]); k++)
		for (int backend = 4; backend <= 5; backend++)
			for (int port = 1; port < 65536; port += 131) {
				snprintf(words, sizeof(words), gue_inside[k], backend, port,
					 port % 1381);
				cr_assert_eq(gue(words), 0xffff, "%s", words);
			}
}

Test(checksum, of_gue_is_off_where_nothing_inside_covers_the_payload)
{
	cr_expect_eq(gue("ip4 10.1.0.9 > 10.2.0.4 | udp 9 > 53 csum 0 | data 9"), 0);
	cr_expect_eq(gue("ip4 10.1.0.9 > 10.2.0.5 | udp 9 > 53 len 12 | data 9"), 0);
	cr_expect_eq(gue("ip6 fd01::9 > fd02::4 | dst 16 | tcp 9 > 80 A | data 9"), 0);
	cr_expect_eq(gue("ip6 fd01::9 > fd02::5 | hop 8 | udp 9 > 53 | data 9"), 0);
	/* an ICMP error, for the backend of the flow that it quotes */
	cr_expect_eq(gue("ip4 10.7.0.1 > 10.2.0.4 | icmp 11 | ip4 10.2.0.4 > 10.1.0.9 | "
			 "tcp 80 > 9 A"),
		     0);
}

/* What came broken is not sent on as sound. */
Test(checksum, of_gue_is_wrong_where_the_one_inside_is)
{
	cr_expect_neq(gue("ip4 10.1.0.9 > 10.2.0.4 | tcp 9 > 80 A csum 0xdead | data 9"), 0xffff);
	cr_expect_neq(gue("ip4 10.1.0.9 > 10.2.0.5 csum 0xdead | tcp 9 > 80 A | data 9"), 0xffff);
	cr_expect_neq(gue("ip6 fd01::9 > fd02::5 | udp 9 > 53 csum 0xdead | data 9"), 0xffff);
}
