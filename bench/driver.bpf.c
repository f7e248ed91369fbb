// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The bench's driver. BPF_PROG_TEST_RUN with repeat does not restore the packet, so a program that
 * encapsulates would soon meet its own output and then measure its error path. This program goes
 * first in every iteration: it takes off what the last one added, rewrites the headers from a
 * template, moves on to the next flow, and tail-calls the program under test. What it costs itself
 * is in the floor as well, where the program under test is noop(); only the taking off, about
 * 10 ns, counts against a program that encapsulates.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bare.h"
#include "driver.h"

#define SPREAD	2654435761u /* odd: i * SPREAD mod 2^n visits every flow once, in no order */
#define TCP_SYN 0x02
#define TCP_RST 0x04

struct driver_state state = {};

/*
 * The headers, by stores that begin where IP's fields do: a load that spans two recent stores has
 * to wait for both, which a packet that came from a device would not make it do.
 */
static __always_inline void restore(void *data)
{
	void *frame = state.frame;

	*(__u64 *)data = *(__u64 *)frame;
	*(__u64 *)(data + ETH_HLEN - 8) = *(__u64 *)(frame + ETH_HLEN - 8);
#pragma unroll
	for (int at = ETH_HLEN; at + 8 <= DRIVER_FRAME; at += 8)
		*(__u64 *)(data + at) = *(__u64 *)(frame + at);
}

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} under_test SEC(".maps");

SEC("xdp")
int drive(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	long length = end - data;
	__u32 *vary, flow;
	__u8 *flags;
	int grown;

	asm volatile("" : "+r"(length)); /* a number from here on, no longer two pointers */
	grown = (int)length - (int)state.length;
	if (grown != state.growth)
		state.unexpected++;
	if (grown && bpf_xdp_adjust_head(ctx, grown))
		return XDP_ABORTED;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + DRIVER_FRAME > end)
		return XDP_ABORTED;
	restore(data);
	if (state.flows) {
		vary = data + (state.vary_at & (sizeof(state.frame) - 1));
		if ((void *)(vary + 1) > end)
			return XDP_ABORTED;
		flow = state.sequence++;
		if (state.ends_at) {
			flags = data + (state.ends_at & (sizeof(state.frame) - 1));
			if ((void *)(flags + 1) > end)
				return XDP_ABORTED;
			*flags = flow & 1 ? TCP_RST : TCP_SYN;
			flow >>= 1;
		}
		*vary = bpf_htonl(state.net | (flow * SPREAD & state.flows));
	}
	bpf_tail_call(ctx, &under_test, 0);
	return XDP_ABORTED;
}

SEC("xdp")
int noop(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_TX;
}

char _license[] SEC("license") = "Dual BSD/GPL";
