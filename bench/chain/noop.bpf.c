// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The least that a balancer could be: what comes in goes out as it is. What the chain costs then is
 * what it costs anybody. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int noop(__attribute__((unused)) struct xdp_md *ctx)
{
	return XDP_TX;
}

char _license[] SEC("license") = "Dual BSD/GPL";
