// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs that go before the one under test and jump to it.
 *
 * poisoned: fills the headroom with a pattern, so that a header byte which the program forgets to
 * write shows. (BPF_PROG_TEST_RUN gives zeroed headroom, where a forgotten zero is right by luck.)
 *
 * mixed: makes a new packet of a few flows each time, of kinds at random; with many repeats
 * millions of operations pass in seconds. A run does not restore the packet between repeats, so the
 * frame is written anew each time and whatever grew is taken off.
 *
 * fresh, fresh6: open one flow after another, as many as are wanted.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "driver.h"

#define ETH_HLEN  14
#define PROTO_AT  23 /* of IPv4 without options */
#define SADDR_AT  26
#define SOURCE_AT 26
#define SPORT_AT  34
#define FLAGS_AT  47
#define SADDR6_AT 34 /* of IPv6: the last 4 bytes */
#define FLAGS6_AT 67
#define TCP	  6
#define UDP	  17

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} under_test SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, DRIVER_MIX_CPUS);
	__type(key, __u32);
	__type(value, struct driver_mix);
} mix SEC(".maps");

SEC("xdp")
int poisoned(struct xdp_md *ctx)
{
	void *data, *end;

	if (bpf_xdp_adjust_head(ctx, -DRIVER_HEADROOM))
		return XDP_ABORTED;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + DRIVER_HEADROOM > end)
		return XDP_ABORTED;
	for (int k = 0; k < DRIVER_HEADROOM; k++)
		((volatile __u8 *)data)[k] = DRIVER_POISON;
	if (bpf_xdp_adjust_head(ctx, DRIVER_HEADROOM))
		return XDP_ABORTED;
	bpf_tail_call(ctx, &under_test, 0);
	return XDP_ABORTED;
}

/* Grows by a header and writes none of it: what the poison is there to catch. */
SEC("xdp")
int forgetful(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, -20) ? XDP_ABORTED : XDP_TX;
}

/* TCP flags by kind; 0 for UDP */
static __always_inline __u8 flags_of(__u32 kind)
{
	switch (kind) {
	case DRIVER_SYN: return 0x02;
	case DRIVER_DATA: return 0x10;
	case DRIVER_FIN: return 0x11;
	case DRIVER_RST: return 0x04;
	}
	return 0;
}

#define PATIENCE 2000 /* looks at the other CPU: some microseconds, in case it does not run */

/* Two CPUs abreast do the same thing at the same time, within a few nanoseconds. */
static __always_inline void wait_for_peer(const struct driver_mix *m)
{
	__u32 peer = m->peer;
	const struct driver_mix *other = bpf_map_lookup_elem(&mix, &peer);

	if (!m->abreast || !other)
		return;
	for (int k = 0; k < PATIENCE; k++)
		if (*(volatile const __u64 *)&other->sequence >= m->sequence)
			return;
}

SEC("xdp")
int mixed(struct xdp_md *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct driver_mix *m = bpf_map_lookup_elem(&mix, &cpu);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	long length = end - data;
	__u32 kind;
	__u8 *p;
	__u64 r;

	if (!m)
		return XDP_ABORTED;
	asm volatile("" : "+r"(length)); /* a number from here on, no longer two pointers */
	if (length != DRIVER_FRAME && bpf_xdp_adjust_head(ctx, (int)length - DRIVER_FRAME))
		return XDP_ABORTED;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + DRIVER_FRAME > end)
		return XDP_ABORTED;
	p = data;
	for (int k = 0; k < DRIVER_FRAME; k++)
		p[k] = m->frame[k];
	r = driver_random(m, m->sequence++);
	kind = driver_kind(m, r);
	p[PROTO_AT] = kind == DRIVER_UDP ? UDP : TCP;
	p[FLAGS_AT] = flags_of(kind);
	*(__u32 *)(p + SOURCE_AT) ^= (__u32)(r >> 8) & m->clients;
	*(__u16 *)(p + SPORT_AT) = driver_flow(m, r);
	wait_for_peer(m);
	bpf_tail_call(ctx, &under_test, 0);
	return XDP_ABORTED;
}

/* Each packet opens a flow of its own, from another address; if DRIVER_RST is among the kinds, the
 * next packet ends it. The flow's number, and the packet's flags. */
static __always_inline __u32 fresh_flow(struct driver_mix *m, __u8 *flags)
{
	__u32 kind = DRIVER_SYN, flow = m->sequence++;

	if (m->kinds & DRIVER_RST) {
		kind = flow & 1 ? DRIVER_RST : DRIVER_SYN;
		flow >>= 1;
	}
	*flags = flags_of(kind);
	return flow & m->flows;
}

SEC("xdp")
int fresh(struct xdp_md *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct driver_mix *m = bpf_map_lookup_elem(&mix, &cpu);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u8 *p = data;

	if (!m || data + DRIVER_FRAME > end)
		return XDP_ABORTED;
	for (int k = 0; k < DRIVER_FRAME; k++)
		p[k] = m->frame[k];
	*(__u32 *)(p + SADDR_AT) ^= fresh_flow(m, p + FLAGS_AT);
	bpf_tail_call(ctx, &under_test, 0);
	return XDP_ABORTED;
}

SEC("xdp")
int fresh6(struct xdp_md *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct driver_mix *m = bpf_map_lookup_elem(&mix, &cpu);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u8 *p = data;

	if (!m || data + DRIVER_FRAME6 > end)
		return XDP_ABORTED;
	for (int k = 0; k < DRIVER_FRAME6; k++)
		p[k] = m->frame6[k];
	*(__u32 *)(p + SADDR6_AT) ^= fresh_flow(m, p + FLAGS6_AT);
	bpf_tail_call(ctx, &under_test, 0);
	return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
