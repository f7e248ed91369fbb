// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The program at TC ingress of a balancer's devices that makes two packets of one (cut.h): it has
 * itself called again with a copy, cuts that to the second piece and what it has to the first, and
 * forwards both by the very functions that XDP does, compiled for the stack's kind of packet.
 */
#include "platform.h"
#include <linux/pkt_cls.h>

static __always_inline int tc_adjust_head(struct __sk_buff *skb, int delta)
{
	return delta > 0 ? -1 : bpf_skb_change_head(skb, -delta, 0);
}

static __always_inline int tc_adjust_tail(struct __sk_buff *skb, int delta)
{
	return bpf_skb_change_tail(skb, skb->len + delta, 0);
}

#define xdp_md		    __sk_buff
#define bpf_xdp_adjust_head tc_adjust_head
#define bpf_xdp_adjust_tail tc_adjust_tail

#include "count.h"
#include "cut_note.h"
#include "member.h"
#include "mode.h"

#define CUT_PAYLOAD (ETH_HLEN + sizeof(struct iphdr)) /* where it begins */
#define CUT_BYTES   2047 /* of a piece at most: a power of two, less one */

struct cut_bytes {
	__u8 byte[CUT_BYTES + 1];
};

/* Where the second piece's bytes are while they move. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cut_bytes);
} cut_bytes SEC(".maps");

/* bytes: 1 at least. */
static __always_inline bool cut_move(struct __sk_buff *skb, __u32 first, __u32 bytes)
{
	__u32 zero = 0;
	struct cut_bytes *to = bpf_map_lookup_elem(&cut_bytes, &zero);

	/* 6.1 learns nothing from a comparison with 0. */
	bytes--;
	BOUND(bytes, CUT_BYTES);
	bytes++;
	return to && !bpf_skb_load_bytes(skb, CUT_PAYLOAD + first, to->byte, bytes) &&
	       !bpf_skb_store_bytes(skb, CUT_PAYLOAD, to->byte, bytes, 0);
}

/* The header of a piece of so many bytes, `after` bytes behind where the packet's payload began. */
static __always_inline bool cut_header(struct __sk_buff *skb, __u32 bytes, __u32 after)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	__u16 *half = (void *)ip;
	__u16 place;
	__u64 sum = 0;

	if ((void *)(ip + 1) > end)
		return false;
	eth->h_proto = bpf_htons(ETH_P_IP);
	place = bpf_ntohs(ip->frag_off) + after / CUT_UNIT;
	if (!after)
		place |= IP4_FRAGMENT_MORE;
	ip->frag_off = bpf_htons(place);
	ip->tot_len = bpf_htons(sizeof(*ip) + bytes);
	ip->check = 0;
	for (__u32 i = 0; i < sizeof(*ip) / 2; i++)
		sum += half[i];
	ip->check = ~checksum_fold(sum);
	return true;
}

/* Cuts what skb holds to a piece of it. */
static __always_inline bool cut_piece(struct __sk_buff *skb, __u32 first, bool second)
{
	__u32 payload = skb->len - CUT_PAYLOAD, bytes = second ? payload - first : first;

	if (payload > CUT_BYTES || first >= payload)
		return false;
	if (second && !cut_move(skb, first, bytes))
		return false;
	return !bpf_skb_change_tail(skb, CUT_PAYLOAD + bytes, 0) &&
	       !bpf_skb_pull_data(skb, CUT_PAYLOAD + bytes) &&
	       cut_header(skb, bytes, second ? first : 0);
}

/* As XDP's forward() does; TC_ACT_*. */
__noinline int cut_forward(struct __sk_buff *skb, __u32 member)
{
	struct poise_member *m = member_get(member);
	__u64 nexthop = m ? ONCE(m->nexthop) : 0;
	__u32 out = nexthop >> 48, l4;
	struct poise_path *path = bpf_map_lookup_elem(&paths, &out);
	struct packet p = {};
	answer_t failed;

	if (!m || !nexthop || !path || !parse_ip(skb, &p, &l4))
		return TC_ACT_SHOT;
	p.hash = poise_flow_hash(&p.src, &p.dst, 0, p.proto, poise_key0, poise_key1);
	failed = forward_mode(skb, &p, m, path, nexthop);
	if (!failed)
		return bpf_redirect(path->ifindex, 0);
	count_reason(m->service, DROP_REASON(failed));
	return TC_ACT_SHOT;
}

/* The note in front of a packet; NULL: there is none of ours. */
static __always_inline struct cut_note *cut_note(struct __sk_buff *skb)
{
	struct cut_note *note = (void *)(long)skb->data;
	__u16 seal[3];

	if ((void *)(note + 1) > (void *)(long)skb->data_end || note->local != CUT_LOCAL)
		return NULL;
	cut_seal(note, poise_key0, poise_key1, seal);
	return note->seal[0] == seal[0] && note->seal[1] == seal[1] && note->seal[2] == seal[2]
		       ? note
		       : NULL;
}

SEC("tc")
int poise_cut(struct __sk_buff *skb)
{
	struct cut_note *note;
	__u32 member, first;
	bool second;

	if (skb->protocol != bpf_htons(CUT_TYPE) || !cut_note(skb))
		return TC_ACT_UNSPEC;
	if (bpf_skb_pull_data(skb, skb->len))
		return TC_ACT_SHOT;
	note = cut_note(skb);
	if (!note)
		return TC_ACT_SHOT;
	member = note->member;
	first = note->first;
	second = note->second;
	BOUND(first, CUT_BYTES);
	note->second = 1;
	if (!second)
		bpf_clone_redirect(skb, skb->ifindex, BPF_F_INGRESS);
	return cut_piece(skb, first, second) ? cut_forward(skb, member) : TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
