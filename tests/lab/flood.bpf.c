// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kernel's half of flood: see flood.c. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "flood.h"

struct frame {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

_Static_assert(sizeof(struct frame) == FLOOD_HEADERS, "frame is not Ethernet, IPv4, UDP");

const volatile struct flood_template template = {};
const volatile __u16 flows = 1;	     /* different source ports */
const volatile __u16 first_port = 0; /* the lowest of them, host order */
const volatile __u16 sink_port = 0;  /* network order */
const volatile __u32 sources = 1;    /* different source addresses, up to 65536 */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} packets SEC(".maps");

static __u64 count(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&packets, &zero);

	return n ? (*n)++ : 0;
}

/* A frame comes back from the page pool as the network left it, so all of it is written again. */
SEC("xdp")
int flood_send(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data;
	struct frame *f = (void *)data;
	__u64 n;

	if ((void *)(f + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
#pragma unroll
	for (int i = 0; i < FLOOD_HEADERS; i++)
		data[i] = template.byte[i];
	n = count();
	f->udp.source = bpf_htons(first_port + n % flows);
	/* What the one is more, the other is less: the checksum stays as it is. */
	n %= sources;
	f->ip.saddr = bpf_htonl(bpf_ntohl(f->ip.saddr) + n);
	f->ip.id = bpf_htons(bpf_ntohs(f->ip.id) - n);
	return XDP_TX;
}

SEC("xdp")
int flood_sink(struct xdp_md *ctx)
{
	struct frame *f = (void *)(long)ctx->data;

	if ((void *)(f + 1) > (void *)(long)ctx->data_end)
		return XDP_PASS;
	if (f->eth.h_proto != bpf_htons(ETH_P_IP) || f->ip.protocol != IPPROTO_UDP ||
	    f->udp.dest != sink_port)
		return XDP_PASS;
	count();
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
