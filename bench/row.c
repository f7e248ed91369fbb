// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The cost table's rows, and their packets. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stdio.h>
#include <string.h>

#include "row.h"

#define OUTER4	  ((int)sizeof(struct iphdr))
#define OUTER6	  ((int)sizeof(struct ipv6hdr))
#define OUTER_UDP ((int)sizeof(struct udphdr))

#define CHOOSE_FLOWS 1024 /* their words stay in the nearest cache */

#define CHOICE(name_, policy_, size_, beside_, over_, chooses_, both_)                             \
	{                                                                                          \
		.name = name_, .service = ROW_CHOICE(policy_, size_), .flows = CHOOSE_FLOWS,       \
		.syn = chooses_, .growth = OUTER4, .beside = beside_, .over = over_,               \
		.chooses = chooses_, .both = both_                                                 \
	}

/* What the others are compared with. */
static const struct row maglev = CHOICE("", POISE_MAGLEV, 1, NULL, 0, true, false);
static const struct row maglev_both = CHOICE("", POISE_MAGLEV, 1, NULL, 0, true, true);
static const struct row established = CHOICE("", POISE_MAGLEV, 1, NULL, 0, false, false);

/* Of 1, 8 and 256 backends, on one CPU and on both. */
#define CHOOSE(name, policy, size, over)                                                           \
	CHOICE("choose-" name, policy, size, &maglev, over, true, false),                          \
		CHOICE("choose-" name "-par", policy, size, &maglev_both, over, true, true)
#define CHOOSE_OF(name, policy, over, over256)                                                     \
	CHOOSE(name "-1", policy, 0, over), CHOOSE(name "-8", policy, 1, over),                    \
		CHOOSE(name "-256", policy, 2, over256)
/* A flow that goes on costs the same under every policy. */
#define ESTABLISHED(name, policy)                                                                  \
	CHOICE("established-" name, policy, 1, &established, 0, false, false)

/* What a fade costs, over the same policy where nobody fades. */
#define SETTLED(policy) [policy] = CHOICE("", policy, ROW_SIZES - 1, NULL, 0, true, false)
static const struct row settled[POISE_POLICIES] = {
	SETTLED(POISE_MAGLEV),	      SETTLED(POISE_SOURCE_HASH), SETTLED(POISE_ROUND_ROBIN),
	SETTLED(POISE_RANDOM),	      SETTLED(POISE_P2C),	  SETTLED(POISE_LEAST_CONN),
	SETTLED(POISE_LATENCY_AWARE),
};
#define FADE(name_, policy_, all_)                                                                 \
	{                                                                                          \
		.name = name_, .service = ROW_FADING(policy_, all_), .flows = CHOOSE_FLOWS,        \
		.syn = true, .growth = OUTER4, .beside = &settled[policy_], .over = -1,            \
		.chooses = true                                                                    \
	}
#define FADES(name, policy) FADE("fading-one-" name, policy, 0), FADE("fading-all-" name, policy, 1)

/* What it costs that latencies are taken: over the same where none are, or of packets by which none
 * are. */
#define SAMPLING_NS 5
#define ASKS(name_, service_, flows_, growth_, beside_)                                            \
	{                                                                                          \
		.name = name_, .service = service_, .flows = flows_, .growth = growth_,            \
		.beside = beside_, .over = SAMPLING_NS, .asks = true                               \
	}
static const struct row untimed = CHOICE("", POISE_LEAST_CONN, 1, NULL, 0, false, false);
static const struct row untimed_nat = {.service = ROW_NAT4, .flows = 1 << 14};

static const struct row answered = {.service = ROW_NAT4, .flows = 1};

const int row_sizes[ROW_SIZES] = {1, 8, 256};

/* What any packet costs: ratio to the no-op. */
#define PACKET(name_, service_, flows_, syn_, growth_, required_)                                  \
	{                                                                                          \
		.name = name_, .service = service_, .flows = flows_, .syn = syn_,                  \
		.growth = growth_, .required = required_                                           \
	}

const struct row rows[] = {
	PACKET("v4-established-1", ROW_AUTO4, 1, false, OUTER4, 2.5),
	PACKET("v4-established-1M", ROW_AUTO4, 1 << 20, false, OUTER4, 3.0),
	PACKET("v4-tracked-64K", ROW_ALWAYS4, 1 << 16, false, OUTER4, 7.5),
	PACKET("v4-tracked-1M", ROW_ALWAYS4, 1 << 20, false, OUTER4, 8.0),
	PACKET("v4-synflood-16M", ROW_AUTO4, 1 << 24, true, OUTER4, 3.0),
	PACKET("v4-synflood-tracked-16M", ROW_ALWAYS4, 1 << 24, true, OUTER4, 8.5),
	PACKET("v6-established-1", ROW_AUTO6, 1, false, OUTER6, 3.0),
	PACKET("gue-established-1", ROW_GUE4, 1, false, OUTER4 + OUTER_UDP, 3.2),
	PACKET("nat-established-1", ROW_NAT4, 1, false, 0, 3.2),
	PACKET("nat-established-16K", ROW_NAT4, 1 << 14, false, 0, 0),
	{.name = "nat-return-1",
	 .service = ROW_NAT4,
	 .flows = 1,
	 .required = 3.2,
	 .answers = &answered},
	PACKET("nat-4-to-6-1", ROW_NAT46, 1, false, OUTER6 - OUTER4, 0),
	PACKET("nat-6-to-4-1", ROW_NAT64, 1, false, OUTER4 - OUTER6, 0),
	PACKET("not-ours", ROW_NOBODY, 1, false, 0, 1.3),
	CHOOSE("maglev-8", POISE_MAGLEV, 1, 0), /* over itself: how far a figure may be trusted */
	CHOOSE_OF("source-hash", POISE_SOURCE_HASH, -1, -1),
	CHOOSE_OF("round-robin", POISE_ROUND_ROBIN, 8, 8),
	CHOOSE_OF("random", POISE_RANDOM, 15, 15),
	CHOOSE_OF("p2c", POISE_P2C, 40, 40),
	CHOOSE_OF("least-conn", POISE_LEAST_CONN, 40, 600),
	CHOOSE_OF("latency-aware", POISE_LATENCY_AWARE, 15, 15),
	ESTABLISHED("maglev", POISE_MAGLEV),
	ESTABLISHED("source-hash", POISE_SOURCE_HASH),
	ESTABLISHED("round-robin", POISE_ROUND_ROBIN),
	ESTABLISHED("random", POISE_RANDOM),
	ESTABLISHED("p2c", POISE_P2C),
	ESTABLISHED("least-conn", POISE_LEAST_CONN),
	ESTABLISHED("latency-aware", POISE_LATENCY_AWARE),
	ASKS("asks-p2c", ROW_CHOICE(POISE_P2C, 1), CHOOSE_FLOWS, OUTER4, &untimed),
	ASKS("asks-nat", ROW_NAT4, 1 << 14, 0, &untimed_nat),
	FADES("maglev", POISE_MAGLEV),
	FADES("source-hash", POISE_SOURCE_HASH),
	FADES("round-robin", POISE_ROUND_ROBIN),
	FADES("random", POISE_RANDOM),
	FADES("p2c", POISE_P2C),
	FADES("least-conn", POISE_LEAST_CONN),
	FADES("latency-aware", POISE_LATENCY_AWARE),
};
const size_t rows_count = sizeof(rows) / sizeof(rows[0]);
const struct row row_bare_tunnel = {
	.name = "(bare tunnel)", .service = ROW_AUTO4, .flows = 1, .growth = OUTER4};
const struct row row_bare_balancer = {
	.name = "(bare balancer)", .service = ROW_AUTO4, .flows = 1, .growth = OUTER4};

static const char *const addresses[ROW_CHOICES] = {
	[ROW_AUTO4] = "192.0.2.1",   [ROW_ALWAYS4] = "192.0.2.2", [ROW_AUTO6] = "2001:db8::1",
	[ROW_GUE4] = "192.0.2.3",    [ROW_NAT4] = "192.0.2.4",	  [ROW_NAT46] = "192.0.2.5",
	[ROW_NAT64] = "2001:db8::4", [ROW_NOBODY] = "192.0.2.9",
};

const char *row_address(unsigned int service)
{
	static char text[INET_ADDRSTRLEN];

	if (service < ROW_CHOICES)
		return addresses[service];
	snprintf(text, sizeof(text), "192.0.2.%u", 100 + service);
	return text;
}

static bool is_v6(const struct row *row)
{
	return strchr(row_address(row->service), ':');
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
		inet_pton(AF_INET6, row_address(row->service), &ip6.daddr);
		memcpy(at, &ip6, sizeof(ip6));
		return sizeof(ip6);
	}
	inet_pton(AF_INET, "11.0.0.0", &ip.saddr);
	inet_pton(AF_INET, row_address(row->service), &ip.daddr);
	ip.check = checksum(&ip, sizeof(ip));
	memcpy(at, &ip, sizeof(ip));
	return sizeof(ip);
}

/* Of IPv4, without options. */
static __u8 answer[ROW_FRAME_MAX];

void row_answer_to(const __u8 frame[ROW_FRAME_MAX])
{
	const size_t ip = ETH_HLEN, tcp = ip + sizeof(struct iphdr);
	const size_t addresses = ip + offsetof(struct iphdr, saddr);
	struct iphdr *header = (void *)(answer + ip);

	memcpy(answer, frame, sizeof(answer));
	memcpy(answer + addresses, frame + addresses + 4, 4);
	memcpy(answer + addresses + 4, frame + addresses, 4);
	memcpy(answer + tcp, frame + tcp + 2, 2);
	memcpy(answer + tcp + 2, frame + tcp, 2);
	header->ttl = 64;
	header->check = 0;
	header->check = checksum(header, sizeof(*header));
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
		.psh = row->asks && !first && !row->syn,
		.window = htons(1000),
	};
	size_t length = sizeof(eth);

	if (row->answers) {
		memcpy(frame, answer, sizeof(answer));
		return sizeof(eth) + sizeof(struct iphdr) + sizeof(tcp) + ROW_PAYLOAD;
	}
	memset(frame, 0, ROW_FRAME_MAX);
	memcpy(frame, &eth, sizeof(eth));
	length += put_ip(row, frame + length);
	memcpy(frame + length, &tcp, sizeof(tcp));
	return length + sizeof(tcp) + ROW_PAYLOAD;
}
