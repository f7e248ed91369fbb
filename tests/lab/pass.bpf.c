// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Passes everything. A veth delivers what its peer sends by XDP_TX only while it has a program
 * itself; this is that program, for the lab's side of a balancer's cable.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int pass(__attribute__((unused)) struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
