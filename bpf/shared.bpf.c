// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What libxdp's dispatcher calls where poise shares a device with other XDP programs: a jump to the
 * pipeline. Changing the dispatcher's programs takes CAP_SYS_ADMIN and a new dispatcher; changing
 * the slot jumped to takes neither and loses no packet, so poised can replace the pipeline here as
 * it does everywhere.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} shared_progs SEC(".maps");

SEC("xdp")
int poise_shared(struct xdp_md *ctx)
{
	bpf_tail_call(ctx, &shared_progs, 0);
	return XDP_PASS; /* only if the slot is empty: the next program's, or the stack's */
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
