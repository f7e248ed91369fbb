// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The chain's end: counts and drops what a balancer has forwarded, as it is or in a tunnel. All
 * else (neighbours, checks of health) passes. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} packets SEC(".maps");

SEC("xdp")
int sink(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	__u32 zero = 0;
	__u64 *n;

	if ((void *)(ip + 1) > (void *)(long)ctx->data_end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	if (ip->protocol != IPPROTO_UDP && ip->protocol != IPPROTO_IPIP)
		return XDP_PASS;
	n = bpf_map_lookup_elem(&packets, &zero);
	if (n)
		++*n;
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
