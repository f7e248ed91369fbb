// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The cost table's rows, and their packets. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <string.h>

#include "row.h"

#define OUTER4	  ((int)sizeof(struct iphdr))
#define OUTER6	  ((int)sizeof(struct ipv6hdr))
#define OUTER_UDP ((int)sizeof(struct udphdr))

#define CHOOSE_FLOWS 1024 /* their words stay in the nearest cache */

/* All loads are 0, which costs load-based policies most: every backend equals the best. */
#define CHOOSE(name_, service_, over_)                                                             \
	{                                                                                          \
		.name = name_, .service = service_, .flows = CHOOSE_FLOWS, .syn = true,            \
		.growth = OUTER4, .beside = &row_choose, .over = over_                             \
	}

const struct row row_choose = CHOOSE("choose-maglev-8", ROW_MAGLEV_8, 0);

const struct row rows[] = {
	{"v4-established-1", ROW_AUTO4, 1, false, OUTER4, 2.5, NULL, 0},
	{"v4-established-1M", ROW_AUTO4, 1 << 20, false, OUTER4, 3.0, NULL, 0},
	{"v4-tracked-64K", ROW_ALWAYS4, 1 << 16, false, OUTER4, 7.5, NULL, 0},
	{"v4-tracked-1M", ROW_ALWAYS4, 1 << 20, false, OUTER4, 8.0, NULL, 0},
	{"v4-synflood-16M", ROW_AUTO4, 1 << 24, true, OUTER4, 3.0, NULL, 0},
	{"v4-synflood-tracked-16M", ROW_ALWAYS4, 1 << 24, true, OUTER4, 8.5, NULL, 0},
	{"v6-established-1", ROW_AUTO6, 1, false, OUTER6, 3.0, NULL, 0},
	{"gue-established-1", ROW_GUE4, 1, false, OUTER4 + OUTER_UDP, 3.2, NULL, 0},
	{"not-ours", ROW_NOBODY, 1, false, 0, 1.3, NULL, 0},
	CHOOSE("choose-round-robin-8", ROW_ROUND_ROBIN_8, 8),
	CHOOSE("choose-random-8", ROW_RANDOM_8, 15),
	CHOOSE("choose-p2c-8", ROW_P2C_8, 40),
	CHOOSE("choose-p2c-256", ROW_P2C_256, 40),
	CHOOSE("choose-least-conn-8", ROW_LEAST_CONN_8, 40),
	CHOOSE("choose-least-conn-256", ROW_LEAST_CONN_256, 600),
};
const size_t rows_count = sizeof(rows) / sizeof(rows[0]);
const struct row row_bare_tunnel = {"(bare tunnel)", ROW_AUTO4, 1, false, OUTER4, 0, NULL, 0};
const struct row row_bare_balancer = {"(bare balancer)", ROW_AUTO4, 1, false, OUTER4, 0, NULL, 0};

static const char *const addresses[ROW_SERVICES] = {
	[ROW_AUTO4] = "192.0.2.1",	     [ROW_ALWAYS4] = "192.0.2.2",
	[ROW_AUTO6] = "2001:db8::1",	     [ROW_GUE4] = "192.0.2.3",
	[ROW_NOBODY] = "192.0.2.9",	     [ROW_MAGLEV_8] = "192.0.2.11",
	[ROW_ROUND_ROBIN_8] = "192.0.2.12",  [ROW_RANDOM_8] = "192.0.2.13",
	[ROW_LEAST_CONN_8] = "192.0.2.14",   [ROW_P2C_8] = "192.0.2.15",
	[ROW_LEAST_CONN_256] = "192.0.2.16", [ROW_P2C_256] = "192.0.2.17",
};

const char *row_address(enum row_service service)
{
	return addresses[service];
}

static bool is_v6(const struct row *row)
{
	return strchr(addresses[row->service], ':');
}

unsigned int row_vary_at(const struct row *row)
{
	if (is_v6(row))
		return ETH_HLEN + offsetof(struct ipv6hdr, saddr) + 12;
	return ETH_HLEN + offsetof(struct iphdr, saddr);
}

unsigned int row_flags_at(void)
{
	return ETH_HLEN + sizeof(struct iphdr) + 13;
}

static __u16 checksum(const void *data, size_t bytes)
{
	const __u16 *half = data;
	__u32 sum = 0;

	for (size_t i = 0; i < bytes / 2; i++)
		sum += half[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16) ~(sum + (sum >> 16));
}

static size_t put_ip(const struct row *row, void *at)
{
	const __u16 payload = sizeof(struct tcphdr) + ROW_PAYLOAD;
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tot_len = htons(sizeof(ip) + payload),
		.frag_off = htons(0x4000), /* DF, as TCP has it */
		.ttl = 64,
		.protocol = IPPROTO_TCP,
	};
	struct ipv6hdr ip6 = {
		.version = 6,
		.payload_len = htons(payload),
		.nexthdr = IPPROTO_TCP,
		.hop_limit = 64,
	};

	if (is_v6(row)) {
		inet_pton(AF_INET6, "2001:db8:1::b00:0", &ip6.saddr);
		inet_pton(AF_INET6, addresses[row->service], &ip6.daddr);
		memcpy(at, &ip6, sizeof(ip6));
		return sizeof(ip6);
	}
	inet_pton(AF_INET, "11.0.0.0", &ip.saddr);
	inet_pton(AF_INET, addresses[row->service], &ip.daddr);
	ip.check = checksum(&ip, sizeof(ip));
	memcpy(at, &ip, sizeof(ip));
	return sizeof(ip);
}

size_t row_frame(const struct row *row, bool first, __u8 frame[ROW_FRAME_MAX])
{
	struct ethhdr eth = {
		.h_dest = {2, 0, 0, 0, 0, 1},
		.h_source = {2, 0, 0, 0, 0, 2},
		.h_proto = htons(is_v6(row) ? ETH_P_IPV6 : ETH_P_IP),
	};
	struct tcphdr tcp = {
		.source = htons(40000),
		.dest = htons(ROW_PORT),
		.doff = 5,
		.syn = first || row->syn,
		.ack = !first && !row->syn,
		.window = htons(1000),
	};
	size_t length = sizeof(eth);

	memset(frame, 0, ROW_FRAME_MAX);
	memcpy(frame, &eth, sizeof(eth));
	length += put_ip(row, frame + length);
	memcpy(frame + length, &tcp, sizeof(tcp));
	return length + sizeof(tcp) + ROW_PAYLOAD;
}
