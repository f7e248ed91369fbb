// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loses 30 of 100 packets by chance: a bad link, where the kernel has no netem. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#define LOST 30 /* percent */

SEC("tc")
int lossy(__attribute__((unused)) struct __sk_buff *skb)
{
	return bpf_get_prandom_u32() % 100 < LOST ? TC_ACT_SHOT : TC_ACT_OK;
}

char _license[] SEC("license") = "Dual BSD/GPL";
