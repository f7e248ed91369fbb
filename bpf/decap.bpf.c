// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The backend's side of modes ipip and gue: strips the outer headers, in all four pairs of
 * families, of packets whose inner destination is one of the configured virtual addresses; those in
 * UDP only at the configured ports. Everything else passes untouched. Twice: for XDP, and for TC
 * where a device cannot do XDP.
 *
 * A UDP checksum that is there must be right, else the packet passes too: the stack drops it and
 * counts it as it does all such. That there is none is no fault, over IPv6 neither (RFC 6935).
 *
 * Congestion marks on the outer header are carried inside as RFC 6040 section 4.2 says.
 */
#include "checksum.h"
#include "sum.h"
#include "parse.h"
#include <linux/pkt_cls.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, POISE_DECAP_ADDRESSES);
	__type(key, union poise_addr);
	__type(value, __u8);
} decap_addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, POISE_DECAP_PORTS);
	__type(key, __be16);
	__type(value, __u8);
} decap_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct poise_decap_counts);
} decap_counts SEC(".maps");

#define ECN_MASK 3
#define ECN_DROP 4
#define L2_MAX	 (ETH_HLEN + 2 * sizeof(struct vlan_tag))
/* What must lie in one piece to be looked at: an outer header with all options, an inner one. */
#define TC_HEADERS (ETH_HLEN + 60 + sizeof(struct udphdr) + sizeof(struct ipv6hdr))

/* What the inner header says afterwards, [inner][outer], of Not-ECT, ECT(1), ECT(0), CE. */
const __u8 ecn_inside[4][4] = {
	{0, 0, 0, ECN_DROP},
	{1, 1, 1, 3},
	{2, 1, 2, 3},
	{3, 3, 3, 3},
};

struct tunnel {
	__u32 size;  /* of the frame */
	__u32 l3;    /* offset of the outer header */
	__u32 outer; /* its bytes, with those of a UDP header */
	__u32 inner; /* offset of the inner header */
	__u32 bytes; /* of the inner packet */
	bool outer6;
	bool inner6;
	__u8 proto;   /* of what follows the outer IP header */
	__u8 ecn;     /* of the inner header, now */
	__u8 ecn_new; /* and afterwards; ECN_DROP */
	__u64 pseudo; /* what the UDP pseudo header adds up to; 0: there is no checksum to check */
};

/* The outer header; its ECN bits, or -1 if it is no tunnel. */
static __always_inline int tunnel_outer(void *data, void *end, struct tunnel *t)
{
	__u32 length;
	int ecn;

	if (t->outer6) {
		struct ipv6hdr *ip = data + t->l3;

		if ((void *)(ip + 1) > end || ip->version != 6)
			return -1;
		t->outer = sizeof(*ip);
		length = sizeof(*ip) + bpf_ntohs(ip->payload_len);
		t->proto = ip->nexthdr;
		ecn = ip->flow_lbl[0] >> 4 & ECN_MASK;
	} else {
		struct iphdr *ip = data + t->l3;

		if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
			return -1;
		if (ip->frag_off & bpf_htons(IP4_FRAGMENT))
			return -1;
		t->outer = ip->ihl * 4;
		length = bpf_ntohs(ip->tot_len);
		t->proto = ip->protocol;
		ecn = ip->tos & ECN_MASK;
	}
	if (length <= t->outer || t->l3 + length > t->size)
		return -1;
	t->inner6 = t->proto == IPPROTO_IPV6;
	t->inner = t->l3 + t->outer;
	t->bytes = length - t->outer;
	return ecn;
}

/* What the addresses of the outer header add up to. */
static __always_inline __u64 addresses_sum(void *data, void *end, const struct tunnel *t)
{
	__u32 words = t->outer6 ? 8 : 2;
	__u32 *word = data + t->l3 + (t->outer6 ? 8 : 12);
	__u64 sum = 0;

	for (__u32 i = 0; i < 8; i++) {
		if (i >= words || (void *)(word + i + 1) > end)
			break;
		sum += word[i];
	}
	return sum;
}

/* A UDP header, and behind it an IP header as GUE's variant 1 has it; false if it is not for us. */
static __always_inline bool tunnel_udp(void *data, void *end, struct tunnel *t)
{
	struct udphdr *udp = data + t->inner;
	__u8 *first = (void *)(udp + 1);
	__be16 port;

	if ((void *)(first + 1) > end || t->bytes <= sizeof(*udp))
		return false;
	port = udp->dest;
	if (bpf_ntohs(udp->len) != t->bytes || !bpf_map_lookup_elem(&decap_ports, &port))
		return false;
	if (*first >> 4 != 4 && *first >> 4 != 6)
		return false;
	if (udp->check)
		t->pseudo = addresses_sum(data, end, t) + udp->len + bpf_htons(IPPROTO_UDP);
	t->inner6 = *first >> 4 == 6;
	t->inner += sizeof(*udp);
	t->outer += sizeof(*udp);
	t->bytes -= sizeof(*udp);
	return true;
}

/* The inner header's destination; false if there is no such header. */
static __always_inline bool tunnel_inner(void *data, void *end, struct tunnel *t,
					 union poise_addr *to)
{
	if (t->inner6) {
		struct ipv6hdr *ip = data + t->inner;

		if ((void *)(ip + 1) > end || ip->version != 6 || t->bytes < sizeof(*ip))
			return false;
		t->ecn = ip->flow_lbl[0] >> 4 & ECN_MASK;
		addr_copy(to, &ip->daddr);
	} else {
		struct iphdr *ip = data + t->inner;

		if ((void *)(ip + 1) > end || ip->version != 4 || t->bytes < sizeof(*ip))
			return false;
		t->ecn = ip->tos & ECN_MASK;
		to->w[2] = bpf_htonl(0xffff);
		to->w[3] = ip->daddr;
	}
	return true;
}

/* True if the packet at data, whose IP header of kind `type` is at l3, is to be stripped. */
static __always_inline bool tunnel_find(void *data, void *end, __u32 l3, __be16 type,
					struct tunnel *t)
{
	union poise_addr to = {};
	int ecn;

	if (type != bpf_htons(ETH_P_IP) && type != bpf_htons(ETH_P_IPV6))
		return false;
	t->l3 = l3;
	t->outer6 = type == bpf_htons(ETH_P_IPV6);
	ecn = tunnel_outer(data, end, t);
	if (ecn < 0)
		return false;
	if (t->proto == IPPROTO_UDP ? !tunnel_udp(data, end, t)
				    : t->proto != IPPROTO_IPIP && t->proto != IPPROTO_IPV6)
		return false;
	if (!tunnel_inner(data, end, t, &to))
		return false;
	if (!bpf_map_lookup_elem(&decap_addresses, &to))
		return false;
	t->ecn_new = ecn_inside[t->ecn & ECN_MASK][ecn & ECN_MASK];
	return true;
}

static __always_inline struct poise_decap_counts *decap_count(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&decap_counts, &zero);
}

static __always_inline int decap_done(const struct tunnel *t, int verdict)
{
	struct poise_decap_counts *c = decap_count();

	if (c) {
		c->packets++;
		c->bytes += t->bytes;
	}
	return verdict;
}

static __always_inline int decap_drop(const struct tunnel *t, int verdict)
{
	struct poise_decap_counts *c = decap_count();

	if (c && t->ecn_new == ECN_DROP)
		c->ecn++;
	else if (c)
		c->failed++;
	return verdict;
}

SUM(sum_tc, __sk_buff, bpf_skb_load_bytes)

/* The UDP header and all behind it have the checksum they say, or say none; sum as above. */
#define TUNNEL_SOUND(ctx, t, sum)                                                                  \
	(!(t)->pseudo ||                                                                           \
	 checksum_fold((t)->pseudo + sum(ctx, (t)->inner - sizeof(struct udphdr),                  \
					 (t)->bytes + sizeof(struct udphdr))) == 0xffff)

static __always_inline __u32 bytes_between(void *data, void *end)
{
	__u64 size = end - data;

	BARRIER(size); /* the verifier takes no 32-bit difference of pointers */
	return size;
}

/* The type of what follows an Ethernet header with at most two tags, and *l3, where that is. */
static __always_inline __be16 l2_type(void *data, void *end, __u32 *l3)
{
	struct ethhdr *eth = data;
	struct vlan_tag *tag = (void *)(eth + 1);
	__be16 type;

	*l3 = sizeof(*eth);
	if ((void *)(eth + 1) > end)
		return 0;
	type = eth->h_proto;
	for (int i = 0; i < 2 && is_vlan(type); i++, tag++) {
		if ((void *)(tag + 1) > end)
			return 0;
		type = tag->type;
		*l3 += sizeof(*tag);
	}
	return type;
}

/* Marks congestion on the inner header, in place. */
static __always_inline void xdp_mark(void *data, void *end, const struct tunnel *t)
{
	if (t->inner6) {
		struct ipv6hdr *ip = data + t->inner;

		if ((void *)(ip + 1) <= end)
			ip->flow_lbl[0] = (ip->flow_lbl[0] & ~(ECN_MASK << 4)) | t->ecn_new << 4;
	} else {
		struct iphdr *ip = data + t->inner;
		__u16 was, *word = (void *)ip; /* version, length, TOS */

		if ((void *)(ip + 1) > end)
			return;
		was = *word;
		ip->tos = (ip->tos & ~ECN_MASK) | t->ecn_new;
		ip->check = checksum_repair(ip->check, was, *word);
	}
}

static __always_inline bool xdp_strip(struct xdp_md *ctx, const struct tunnel *t)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u16 l2[L2_MAX / 2], *at = data;

	if (data + L2_MAX > end || t->l3 > L2_MAX || t->l3 < ETH_HLEN)
		return false;
	for (__u32 i = 0; i < L2_MAX / 2; i++)
		l2[i] = at[i];
	if (bpf_xdp_adjust_head(ctx, t->outer))
		return false;
	data = at = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + L2_MAX > end)
		return false;
	for (__u32 i = 0; i < L2_MAX / 2; i++)
		if (i * 2 < t->l3)
			at[i] = l2[i];
	at = data + t->l3 - sizeof(__be16);
	if ((void *)(at + 1) > end)
		return false;
	*at = t->inner6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	return true;
}

SEC("xdp")
int poise_decap_xdp(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct tunnel t = {.size = bytes_between(data, end)};
	__u32 l3;
	__be16 type = l2_type(data, end, &l3);

	if (!tunnel_find(data, end, l3, type, &t) || !TUNNEL_SOUND(ctx, &t, sum_xdp))
		return XDP_PASS;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (t.ecn_new == ECN_DROP)
		return decap_drop(&t, XDP_DROP);
	if (t.ecn_new != t.ecn)
		xdp_mark(data, end, &t);
	return xdp_strip(ctx, &t) ? decap_done(&t, XDP_PASS) : decap_drop(&t, XDP_DROP);
}

/* As xdp_mark, through the helper that keeps a checksum computed by hardware right. */
static __always_inline int tc_mark(struct __sk_buff *skb, const struct tunnel *t)
{
	struct iphdr ip;
	__u16 was;
	__u8 byte;

	if (t->inner6) {
		if (bpf_skb_load_bytes(skb, t->inner + 1, &byte, 1))
			return -1;
		byte = (byte & ~(ECN_MASK << 4)) | t->ecn_new << 4;
		return bpf_skb_store_bytes(skb, t->inner + 1, &byte, 1, BPF_F_RECOMPUTE_CSUM);
	}
	if (bpf_skb_load_bytes(skb, t->inner, &ip, sizeof(ip)))
		return -1;
	was = *(__u16 *)&ip;
	ip.tos = (ip.tos & ~ECN_MASK) | t->ecn_new;
	ip.check = checksum_repair(ip.check, was, *(__u16 *)&ip);
	return bpf_skb_store_bytes(skb, t->inner, &ip, sizeof(ip), BPF_F_RECOMPUTE_CSUM);
}

/*
 * Shortens the packet, and has the kernel take it for the inner family: before 6.3 only
 * bpf_skb_change_proto can do that, which first grows or shrinks the header by the difference of
 * an IPv6 and an IPv4 header.
 */
static __always_inline int tc_strip(struct __sk_buff *skb, const struct tunnel *t)
{
	const int difference = sizeof(struct ipv6hdr) - sizeof(struct iphdr);
	__be16 type = t->inner6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	int shrink = t->outer;

	if (t->inner6 != t->outer6) {
		if (bpf_skb_change_proto(skb, type, 0))
			return -1;
		shrink += t->inner6 ? difference : -difference;
	}
	if (bpf_skb_adjust_room(skb, -shrink, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO))
		return -1;
	return bpf_skb_store_bytes(skb, t->l3 - sizeof(type), &type, sizeof(type), 0);
}

SEC("tc")
int poise_decap_tc(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct tunnel t = {.size = skb->len};

	if (data + TC_HEADERS > end) {
		bpf_skb_pull_data(skb, t.size < TC_HEADERS ? t.size : TC_HEADERS);
		data = (void *)(long)skb->data;
		end = (void *)(long)skb->data_end;
	}
	/* One tag is taken off before TC; what has more is for a VLAN device and its own TC. */
	if (!tunnel_find(data, end, ETH_HLEN, skb->protocol, &t) || !TUNNEL_SOUND(skb, &t, sum_tc))
		return TC_ACT_UNSPEC;
	if (t.ecn_new == ECN_DROP)
		return decap_drop(&t, TC_ACT_SHOT);
	if (t.ecn_new != t.ecn && tc_mark(skb, &t))
		return decap_drop(&t, TC_ACT_SHOT);
	return tc_strip(skb, &t) ? decap_drop(&t, TC_ACT_SHOT) : decap_done(&t, TC_ACT_UNSPEC);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
