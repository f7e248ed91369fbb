/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * IPv4 packets without DF that are too big for the path once encapsulated: any router may make
 * fragments of them (RFC 791), and inside, so that nobody but the backend's own stack has to put
 * anything together (RFC 4459, section 3.4). XDP cannot make two packets of one, a program at TC
 * can (cut.bpf.c, on the same devices): the packet goes there as a frame of an Ethernet type that
 * the stack knows nothing of, with what that program has to know in place of the MAC addresses. Two
 * are enough for what came by a link of about the path's MTU; what would need more stays too big.
 */
#ifndef POISE_CUT_H
#define POISE_CUT_H

#include "asked.h"
#include "cut_note.h"

static __always_inline bool cut_possible(struct xdp_md *ctx, __u32 l3)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip;

	BOUND(l3, ASKED_L3);
	ip = data + l3;
	/* Options would have to be copied by rules of their own. */
	return (void *)(ip + 1) <= end && ip->version == 4 && ip->ihl == 5 &&
	       !(ip->frag_off & bpf_htons(IP4_DF));
}

/* Makes a packet that is to be cut into pieces of at most mtu bytes one for cut.bpf.c: 0, or not to
 * be had, and nothing was changed. where: ASKED(). */
__noinline int cut(struct xdp_md *ctx, __u32 member, __u32 mtu, __u32 where)
{
	__u32 l3 = where & ASKED_L3, length = where >> 16, zero = 0;
	struct poise_meta *m = bpf_map_lookup_elem(&meta, &zero);
	__u32 payload = length - sizeof(struct iphdr);
	__u32 first = (mtu - sizeof(struct iphdr)) & ~(CUT_UNIT - 1);
	struct cut_note *note;

	if (!m || !ONCE(m->cuts) || mtu < sizeof(struct iphdr) + CUT_UNIT || payload > 2 * first ||
	    !cut_possible(ctx, l3))
		return -1;
	if (frame_trim(ctx, l3 + length) || bpf_xdp_adjust_head(ctx, (int)(l3 - ETH_HLEN)))
		return -1;
	note = (void *)(long)ctx->data;
	if ((void *)(note + 1) > (void *)(long)ctx->data_end)
		return -1;
	*note = (struct cut_note){
		.local = CUT_LOCAL,
		.member = member,
		.first = first,
		.type = bpf_htons(CUT_TYPE),
	};
	cut_seal(note, poise_key0, poise_key1, note->seal);
	return 0;
}

#endif
