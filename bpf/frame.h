/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frame around what is forwarded: room in front, the path's addresses, exactly the path's tags
 * whatever the frame came with, and no tail.
 */
#ifndef POISE_FRAME_H
#define POISE_FRAME_H

#include "parse.h"

#define FRAME_PAD (ETH_ZLEN - ETH_HLEN) /* the most that padding of a short frame can be */

/* What stands behind the IP packet, beyond padding, would count against the MTU of the way out. */
__noinline int frame_trim(struct xdp_md *ctx, __u32 keep)
{
	__u64 size = (void *)(long)ctx->data_end - (void *)(long)ctx->data;

	BARRIER(size); /* the verifier takes no 32-bit difference of pointers */
	return bpf_xdp_adjust_tail(ctx, (int)keep - (int)size);
}

/* Is an IP packet of so many bytes several, not cut yet? Senders of this host (containers, guests)
 * leave that to the device that packets leave the host by (GSO), and generic mode sees them before.
 * No packet of the link itself is larger than the device's MTU. */
__noinline bool frame_is_many(__u32 length)
{
	__u32 zero = 0, mtu;
	struct poise_meta *m = bpf_map_lookup_elem(&meta, &zero);

	mtu = m ? ONCE(m->generic_mtu) : 0;
	return mtu && length > mtu;
}

/* What a mode that adds so many bytes answers to a packet too big for the path. */
static __always_inline answer_t frame_too_big(const struct poise_path *path, __u32 extra)
{
	__u32 mtu = path->mtu;

	return DROP_TOO_BIG(mtu > extra ? mtu - extra : 0);
}

static __always_inline void frame_tags(struct ethhdr *eth, const struct poise_path *path, __u32 n,
				       __be16 type)
{
	struct vlan_tag *tag = (void *)(eth + 1);

	eth->h_proto = path->tpid[0];
	tag[0].tci = path->vlan[0];
	tag[0].type = n > 1 ? path->tpid[1] : type;
	if (n > 1) {
		tag[1].tci = path->vlan[1];
		tag[1].type = type;
	}
}

/* Makes room for `extra` bytes in front of the IP packet and writes the link header before them;
 * *l3 is then where they begin. */
static __always_inline answer_t frame_open(struct xdp_md *ctx, const struct packet *p,
					   const struct poise_path *path, __u64 nexthop,
					   __u32 extra, __be16 type, __u32 *l3)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 vlans = path->vlans;
	struct ethhdr *eth;
	__u32 *words;
	int grow;

	if (vlans > POISE_PATH_MAX_VLANS)
		return DROP(BROKEN);
	BOUND(vlans, 3);
	*l3 = sizeof(*eth) + vlans * sizeof(struct vlan_tag);
	if (UNLIKELY(end - data > p->l3 + p->length + FRAME_PAD) &&
	    frame_trim(ctx, p->l3 + p->length))
		return DROP(BROKEN);
	grow = *l3 + extra - p->l3;
	if (grow && bpf_xdp_adjust_head(ctx, -grow))
		return DROP(NO_HEADROOM);
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	eth = data;
	if (data + sizeof(*eth) + POISE_PATH_MAX_VLANS * sizeof(struct vlan_tag) > end)
		return DROP(BROKEN);
	/* The two addresses, in pieces as large as their alignment lets them be. */
	*(__u16 *)data = nexthop;
	words = data + 2;
	words[0] = nexthop >> 16;
	words[1] = *(const __u32 *)path->smac;
	*(__u16 *)(data + 10) = *(const __u16 *)(path->smac + 4);
	eth->h_proto = type;
	if (UNLIKELY(vlans))
		frame_tags(eth, path, vlans, type);
	return 0;
}

#endif
