// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Somebody else's XDP program: counts what it sees and lets it pass. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

SEC("xdp")
int other(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&seen, &zero);

	(void)ctx;
	if (count)
		__sync_fetch_and_add(count, 1);
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
