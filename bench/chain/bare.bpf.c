// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The least of balancers (bench/bare.h) at the place of a real one: what it costs there to look at
 * a packet, to choose and to count, and nothing else. bare_balancer is the one of tunnels; this one
 * writes MAC addresses.
 */
#include "bench/bare.h"

SEC("xdp")
int bare_l2(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct bare_line *m;
	__u32 length;

	m = bare_member(data, end, &length);
	if (!m)
		return XDP_PASS;
	if (m->word[3])
		return XDP_DROP;
	bare_link(data, m);
	bare_count(m, length);
	return XDP_TX;
}

char _license[] SEC("license") = "Dual BSD/GPL";
