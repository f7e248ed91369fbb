/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Yardsticks for the machine, measured beside the real program.
 *
 * bare_tunnel is what any tunnel costs at least: room for an outer header, and constants written
 * there. bare_balancer adds what the least of balancers does: IPv4 without options, five look-ups,
 * each of which needs the one before, one hash, one counter line, an outer header with its
 * checksum. It knows one service and its maps are empty, so it serves nobody; it does not ask
 * whether its backend is up, has a next hop, or would rather have had IPv6.
 */
#ifndef POISE_BENCH_BARE_H
#define POISE_BENCH_BARE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define BARE_TABLE 4099
#define BARE_MIX1  0xff51afd7ed558ccdULL
#define BARE_MIX2  0xc4ceb9fe1a85ec53ULL

/* Every index is 0 in the end, but neither compiler nor processor know. */
struct bare_line {
	__u64 word[8];
};

#define BARE_MAP(NAME, ENTRIES)                                                                    \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(max_entries, ENTRIES);                                                      \
		__type(key, __u32);                                                                \
		__type(value, struct bare_line);                                                   \
	} NAME SEC(".maps")

BARE_MAP(bare_listeners, 1024);
BARE_MAP(bare_services, 64);
BARE_MAP(bare_table, BARE_TABLE);
BARE_MAP(bare_members, 64);
BARE_MAP(bare_counts, 256);

static __always_inline struct bare_line *bare_get(void *map, __u32 at)
{
	return bpf_map_lookup_elem(map, &at);
}

static __always_inline __u64 bare_mix(__u64 h)
{
	h ^= h >> 32;
	h *= BARE_MIX1;
	h ^= h >> 29;
	h *= BARE_MIX2;
	return h ^ h >> 32;
}

/* Whose packet it is, by three look-ups and two hashes. */
static __always_inline struct bare_line *bare_choose(const struct iphdr *ip, __u32 ports)
{
	__u64 where = ((__u64)ip->daddr << 32 | (ports >> 16 << 8) | ip->protocol) * BARE_MIX1;
	struct bare_line *l = bare_get(&bare_listeners, where >> 54 & 1023), *s, *slot;
	__u64 hash;

	if (!l || l->word[1])
		return NULL;
	s = bare_get(&bare_services, l->word[0]);
	if (!s)
		return NULL;
	hash = bare_mix(((__u64)ip->saddr << 32 | ip->daddr) * BARE_MIX1 ^ ports);
	slot = bare_get(&bare_table, s->word[0] + ((__u64)(__u32)hash * BARE_TABLE >> 32));
	return slot ? bare_get(&bare_members, s->word[1] + slot->word[0]) : NULL;
}

/* Whose the frame is, and its length in IP's words. NULL: it passes. */
static __always_inline struct bare_line *bare_member(void *data, void *end, __u32 *length)
{
	struct iphdr *ip = data + ETH_HLEN;

	if ((void *)(ip + 1) + 4 > end || *(__u16 *)(data + 12) != bpf_htons(ETH_P_IP) ||
	    *(__u8 *)ip != 0x45 || ip->frag_off & bpf_htons(0x3fff))
		return NULL;
	*length = bpf_ntohs(ip->tot_len);
	return bare_choose(ip, *(__u32 *)(ip + 1));
}

static __always_inline void bare_link(void *data, const struct bare_line *m)
{
	__u32 *link = data + 2;

	*(__u16 *)data = m->word[0];
	link[0] = m->word[0] >> 16;
	link[1] = m->word[1];
	*(__u16 *)(data + 10) = m->word[1] >> 32;
}

static __always_inline void bare_count(const struct bare_line *m, __u32 length)
{
	struct bare_line *c =
		bare_get(&bare_counts, bpf_get_smp_processor_id() * 64 + (__u32)m->word[4]);

	if (c) {
		c->word[0]++;
		c->word[1] += length;
	}
}

static __always_inline void bare_outer(void *data, const struct bare_line *m, __u32 length)
{
	__u32 *outer = data + ETH_HLEN;
	__u64 sum;

	bare_link(data, m);
	*(__u16 *)(data + 12) = bpf_htons(ETH_P_IP);
	outer[0] = bpf_htonl(0x45000000 | (length + sizeof(struct iphdr)));
	outer[1] = bpf_htonl(0x4000);
	outer[3] = m->word[2];
	outer[4] = m->word[2] >> 32;
	sum = (__u64)outer[0] + outer[1] + outer[3] + outer[4] + bpf_htonl(0x40040000);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	outer[2] = (__u32)(__u16)~sum << 16 | bpf_htonl(0x40040000);
}

SEC("xdp")
int bare_balancer(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct bare_line *m;
	__u32 length;

	m = bare_member(data, end, &length);
	if (!m)
		return XDP_PASS;
	if (m->word[3] || bpf_xdp_adjust_head(ctx, -(int)sizeof(struct iphdr)))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + ETH_HLEN + sizeof(struct iphdr) > end)
		return XDP_DROP;
	bare_outer(data, m, length);
	bare_count(m, length);
	return XDP_TX;
}

SEC("xdp")
int bare_tunnel(struct xdp_md *ctx)
{
	void *data, *end;
	__u32 *words;

	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct iphdr)))
		return XDP_ABORTED;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + sizeof(struct ethhdr) + sizeof(struct iphdr) > end)
		return XDP_ABORTED;
	*(__u16 *)data = 2;
	words = data + 2;
	for (int i = 0; i < 8; i++)
		words[i] = 0x45000000u + i;
	return XDP_TX;
}

#endif
