/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel, for the native build: what platform.h includes instead of libbpf's headers. Maps are
 * plain memory: the pointers that declare a map's types to libbpf hold its memory and its size
 * here. Everything else is a function of a few lines that does as the kernel's does.
 */
#ifndef POISE_NATIVE_H
#define POISE_NATIVE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The kernel's contexts have 32 bits for a pointer, which the verifier widens; ours has room, and
 * is one for XDP and TC, whose programs are built together. */
#define xdp_md	  uapi_xdp_md
#define __sk_buff uapi_sk_buff
#include <linux/bpf.h>
#undef xdp_md
#undef __sk_buff
#define xdp_md __sk_buff

struct __sk_buff {
	unsigned long data;
	unsigned long data_end;
	__u32 ingress_ifindex;
	union {
		struct {
			unsigned long start; /* of the headroom */
			unsigned long limit; /* of the tailroom */
		};
		struct { /* at TC, where no packet grows */
			__u32 len;
			__u32 mark;
		};
	};
};

#undef __always_inline
#undef __noinline
#define __always_inline inline __attribute__((always_inline, unused))
#define __noinline	__attribute__((noinline))
#define SEC(name)
#define POISE_KNOB
#define UNROLL
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

/* A map's memory and entries, in the fields that declare them. */
#define native_map(map, memory, entries)                                                           \
	do {                                                                                       \
		(map)->value = (void *)(memory);                                                   \
		(map)->max_entries = (void *)(uintptr_t)(entries);                                 \
	} while (0)

/* What benches count where they include this (bench/inside.c): calls that are left in the kernel,
 * and look-ups, which it inlines, as it does jumps to other programs. */
#ifndef NATIVE_COUNT
#define NATIVE_COUNT(what) ((void)0)
#endif

#define bpf_map_lookup_elem(map, key)                                                              \
	(NATIVE_COUNT(lookups),                                                                    \
	 (void *)(*(key) < (uintptr_t)(map)->max_entries ? (map)->value + *(key) : NULL))
#define row_lookup(map, key, length)                                                               \
	({                                                                                         \
		__u32 first_ = *(key) * (length);                                                  \
		bpf_map_lookup_elem(map, &first_);                                                 \
	})
#define bpf_redirect_map(map, key, otherwise)                                                      \
	(NATIVE_COUNT(helpers),                                                                    \
	 (key) < (uintptr_t)(map)->max_entries ? XDP_REDIRECT : (int)(otherwise))

/* Copies from a packet and adds up, as the kernel does. */
static inline long bpf_xdp_load_bytes(struct xdp_md *ctx, __u32 at, void *to, __u32 bytes)
{
	NATIVE_COUNT(helpers);
	if (ctx->data + at + bytes > ctx->data_end)
		return -EINVAL;
	memcpy(to, (const void *)(ctx->data + at), bytes);
	return 0;
}

static inline __s64 bpf_csum_diff(const __u32 *from, __u32 from_size, const __u32 *to,
				  __u32 to_size, __u32 seed)
{
	__u64 sum = seed;

	NATIVE_COUNT(helpers);
	for (__u32 i = 0; i < from_size / sizeof(*from); i++)
		sum += (__u32)~from[i];
	for (__u32 i = 0; i < to_size / sizeof(*to); i++)
		sum += to[i];
	while (sum >> 32)
		sum = (sum & 0xffffffff) + (sum >> 32);
	return (__s64)sum;
}

/* At TC, of packets that lie in one piece and have all of their checksums. */
static inline long bpf_skb_pull_data(struct __sk_buff *skb, __u32 bytes)
{
	return skb->data + bytes > skb->data_end ? -EINVAL : 0;
}

static inline long bpf_skb_store_bytes(struct __sk_buff *skb, __u32 at, const void *from,
				       __u32 bytes, __u64 flags)
{
	(void)flags;
	if (skb->data + at + bytes > skb->data_end)
		return -EINVAL;
	memcpy((void *)(skb->data + at), from, bytes);
	return 0;
}

static inline __u16 native_repair(__u16 check, __u64 change)
{
	__u64 sum = (__u16)~check + change;

	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)~sum;
}

static inline long bpf_l3_csum_replace(struct __sk_buff *skb, __u32 at, __u64 from, __u64 to,
				       __u64 flags)
{
	__u16 *check = (void *)(skb->data + at);

	if (skb->data + at + sizeof(*check) > skb->data_end)
		return -EINVAL;
	*check =
		native_repair(*check, flags & BPF_F_HDR_FIELD_MASK ? (__u32)~from + (__u32)to : to);
	return 0;
}

static inline long bpf_l4_csum_replace(struct __sk_buff *skb, __u32 at, __u64 from, __u64 to,
				       __u64 flags)
{
	__u16 *check = (void *)(skb->data + at);

	if (skb->data + at + sizeof(*check) > skb->data_end)
		return -EINVAL;
	if (flags & BPF_F_MARK_MANGLED_0 && !*check)
		return 0;
	bpf_l3_csum_replace(skb, at, from, to, flags);
	if (flags & BPF_F_MARK_MANGLED_0 && !*check)
		*check = 0xffff;
	return 0;
}

int native_tail(struct xdp_md *ctx, __u32 program);
/* Where the kernel does not come back from. */
#define bpf_tail_call(ctx, map, program) return native_tail(ctx, program)
#define bpf_redirect(ifindex, flags)	 (NATIVE_COUNT(helpers), (ifindex) ? XDP_REDIRECT : XDP_ABORTED)

#define bpf_loop(times, callback, context, flags)                                                  \
	do {                                                                                       \
		NATIVE_COUNT(helpers);                                                             \
		for (__u32 index_ = 0; index_ < (__u32)(times); index_++)                          \
			if (callback(index_, context))                                             \
				break;                                                             \
	} while (0)

extern __u64 native_jiffies;
extern __thread __u32 native_cpu;

static inline __u64 bpf_jiffies64(void)
{
	return __atomic_load_n(&native_jiffies, __ATOMIC_RELAXED);
}

extern __u64 native_ns;

static inline __u64 bpf_ktime_get_ns(void)
{
	NATIVE_COUNT(helpers);
	return native_ns;
}

static inline __u32 bpf_get_smp_processor_id(void)
{
	return native_cpu;
}

static inline int bpf_xdp_adjust_head(struct xdp_md *ctx, int delta)
{
	unsigned long data = ctx->data + (long)delta;

	NATIVE_COUNT(helpers);
	if (data < ctx->start || data > ctx->data_end - 14)
		return -EINVAL;
	ctx->data = data;
	return 0;
}

static inline int bpf_xdp_adjust_tail(struct xdp_md *ctx, int delta)
{
	unsigned long end = ctx->data_end + (long)delta;

	NATIVE_COUNT(helpers);
	if (end > ctx->limit || end < ctx->data + 14)
		return -EINVAL;
	ctx->data_end = end;
	return 0;
}

#endif
