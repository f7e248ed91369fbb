// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode local, where answers leave the host (TC egress of its devices): what a backend on this host
 * sends a client, as it does from its own address, gets the service's (local.h says how clients'
 * packets come to it); so do ICMP errors about these, from whomever on this host. What finds no
 * slot leaves as it is.
 *
 * And where clients' packets come in (TC ingress), behind XDP: those of mode nat that go by the
 * host's stack (maps/nat.h) get a mark, by which nftables knows whose source it has to translate.
 * Nothing but their flow tells them from what others send the same backend.
 *
 * Packets may be of many segments, and their checksums may be left to the device: the kernel's
 * helpers know how to repair those; only errors and fragments, which are neither, are read and
 * written directly.
 */
#include "platform.h"
#include <linux/pkt_cls.h>

/* No packet grows or shrinks here. */
#define xdp_md				__sk_buff
#define bpf_xdp_adjust_head(skb, delta) ((void)(skb), (void)(delta), -1)
#define bpf_xdp_adjust_tail(skb, delta) ((void)(skb), (void)(delta), -1)

#include "nat_fragment.h"
#include "nat_icmp.h"

/* Bytes that must lie in one piece: an IP header with all that may follow, and TCP's. */
#define LOCAL_HEAD (ETH_HLEN + 60 + sizeof(struct tcphdr))

/* What leaves, as far as it takes to know whose it is: GSO's length is not a packet's, and the
 * payload lies elsewhere. *l4 is where its header begins. A fragment's protocol is that of IPv6's
 * header for it. */
static __always_inline bool local_read(struct __sk_buff *skb, struct packet *p, __u32 *l4)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct ipv6hdr *ip6 = (void *)(eth + 1);

	if ((void *)(ip + 1) > end)
		return false;
	p->l3 = ETH_HLEN;
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		if (ip->version != 4 || ip->ihl < 5)
			return false;
		p->src.q[1] = addr_mapped(ip->saddr);
		p->dst.q[1] = addr_mapped(ip->daddr);
		p->proto = ip->frag_off & bpf_htons(IP4_FRAGMENT) ? IPPROTO_FRAGMENT : ip->protocol;
		p->ttl = ip->ttl;
		*l4 = ETH_HLEN + ip->ihl * 4;
		return true;
	}
	if (eth->h_proto != bpf_htons(ETH_P_IPV6) || (void *)(ip6 + 1) > end)
		return false;
	p->v6 = 1;
	addr_copy(&p->src, &ip6->saddr);
	addr_copy(&p->dst, &ip6->daddr);
	p->proto = ip6->nexthdr;
	p->ttl = ip6->hop_limit;
	*l4 = ETH_HLEN + sizeof(*ip6);
	return true;
}

static __always_inline bool local_read_ports(struct __sk_buff *skb, struct packet *p, __u32 l4)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct tcphdr *tcp;
	struct udphdr *udp;

	BOUND(l4, 0x7f);
	tcp = data + l4;
	udp = data + l4;
	if (p->proto == IPPROTO_TCP) {
		if ((void *)(tcp + 1) > end)
			return false;
		p->tcp = ((__u8 *)tcp)[13];
	} else if (p->proto != IPPROTO_UDP || (void *)(udp + 1) > end) {
		return false;
	}
	p->ports = *(__u32 *)(void *)udp;
	return true;
}

/* The slot that a packet of these ends is an answer of; 0: none. */
static __always_inline __u32 local_find(const union poise_addr *client,
					const union poise_addr *backend, __u32 ports, bool udp)
{
	struct scratch *n = scratch_get(); /* the stack has no room */
	struct talk *t;
	__u64 hash;
	__u32 at = 0;

	if (!n)
		return 0;
	t = &n->sent;
	t->client = *client;
	t->address = *backend;
	t->ports = ports;
	t->udp = udp;
	t->sent = 1;
	hash = talk_hash(t);
	return link_find(link_bucket(hash), hash, t, -1, &at) < 0 ? 0 : at;
}

#define LOCAL_ENDS (2 * sizeof(union poise_addr))
_Static_assert(__builtin_offsetof(struct packet, src) == 0 &&
		       __builtin_offsetof(struct rewrite, src) == 0 &&
		       __builtin_offsetof(struct packet, dst) == sizeof(union poise_addr) &&
		       __builtin_offsetof(struct rewrite, dst) == sizeof(union poise_addr),
	       "both begin with the two ends");

/* Puts other ends into a packet; mangled: a checksum of 0 says that there is none. */
static __always_inline bool local_rewrite(struct __sk_buff *skb, const struct packet *p, __u32 l4,
					  const struct rewrite *is)
{
	/* The words that IPv4 addresses have besides are the same before and after. */
	__s64 change = bpf_csum_diff((void *)p, LOCAL_ENDS, (void *)is, LOCAL_ENDS, 0);
	__u64 flags = p->proto == IPPROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0;
	__u32 check = l4 + (p->proto == IPPROTO_UDP ? offsetof(struct udphdr, check)
						    : offsetof(struct tcphdr, check));
	__be32 four[2] = {is->src.w[3], is->dst.w[3]};

	if (bpf_l4_csum_replace(skb, check, 0, change, flags | BPF_F_PSEUDO_HDR) ||
	    bpf_l4_csum_replace(skb, check, p->ports, is->ports, flags | sizeof(is->ports)) ||
	    bpf_skb_store_bytes(skb, l4, &is->ports, sizeof(is->ports), 0))
		return false;
	/* The packet's sum, if a device made one, follows both changes, which cancel. */
	if (p->v6)
		return !bpf_skb_store_bytes(skb, p->l3 + offsetof(struct ipv6hdr, saddr), is,
					    LOCAL_ENDS, BPF_F_RECOMPUTE_CSUM);
	return !bpf_l3_csum_replace(skb, p->l3 + offsetof(struct iphdr, check), 0, change, 0) &&
	       !bpf_skb_store_bytes(skb, p->l3 + offsetof(struct iphdr, saddr), four, sizeof(four),
				    0);
}

/* What an answer becomes. */
static __always_inline void local_becomes(const struct poise_slot *s, struct rewrite *is)
{
	is->src = s->address;
	is->dst = s->client;
	is->ports = s->ports >> 16 | s->ports << 16;
	is->six = s->client.q[0] || s->client.w[2] != bpf_htonl(0xffff);
}

/* The flow goes on, or this is no packet of it. */
static __always_inline bool local_go_on(const struct packet *p, __u32 at,
					const struct poise_slot *s)
{
	__u32 kind = packet_kind(p);

	if (LIKELY(back_plain(p, ONCE(s->head))))
		return true;
	/* A bare ACK to a SYN is for the client, whose port this is. */
	if (kind != PACKET_UDP)
		kind += PACKET_KINDS;
	return !back_go_on(at, kind, stamp_seconds());
}

/* ---- errors -----------------------------------------------------------------------------------*/

/* The slot of the flow that an ICMP error is about; 0: none. */
__noinline __u32 local_error_find(struct __sk_buff *skb)
{
	struct rewrite was = {};
	struct packet p = {};
	__u32 l4, quoted;

	if (!parse_ip(skb, &p, &l4) || !icmp_is_error(skb, l4, p.v6))
		return 0;
	quoted = icmp_quoted(skb, &p, l4, &was);
	return quoted ? local_find(&was.src, &was.dst, was.ports, quoted >> 16 == IPPROTO_UDP) : 0;
}

/* An error about a packet that a backend was sent becomes one about the client's. */
__noinline int local_error_turn(struct __sk_buff *skb, __u32 at)
{
	struct rewrite was = {}, is = {};
	struct poise_slot *s = slot_get(at);
	struct packet p = {};
	__u32 l4, quoted;

	if (!s || !parse_ip(skb, &p, &l4))
		return 0;
	quoted = icmp_quoted(skb, &p, l4, &was);
	if (!quoted)
		return 0;
	local_becomes(s, &is);
	p.ttl++; /* it is not forwarded here, and loses no hop */
	if (!translate_ip(skb, &p, p.l3, &is) ||
	    !icmp_translate(skb, &p, l4, quoted & 0xffff, quoted >> 16, &was, &is))
		return 0;
	count_reason(s->service, POISE_R_ICMP_ERROR);
	return 0;
}

static __always_inline void local_error(struct __sk_buff *skb)
{
	__u32 at;

	if (bpf_skb_pull_data(skb, skb->len))
		return;
	at = local_error_find(skb);
	if (at)
		local_error_turn(skb, at);
}

/* ---- fragments --------------------------------------------------------------------------------*/

/* A datagram that leaves is another one in the table of fragments than where it comes in, which it
 * may have done by a device of ours. */
#define LOCAL_LEAVES (4ull << 32)

/* The slot of a fragment that follows its datagram's first, if that is still of a flow between
 * these two; else 0. */
static __always_inline __u32 local_follows(const struct packet *p, const struct piece *f)
{
	__u32 at = piece_get(f->datagram ^ LOCAL_LEAVES, f->last ? LOOK_LAST : LOOK_LATER);
	struct spot is;

	if (!at || at & PIECE_OVER || !spot_get(at, &is))
		return 0;
	return slot_found(ONCE(is.s->head)) && is.m->service == is.s->service &&
			       sent_by_stack(is.s, is.w, is.m) &&
			       piece_ends(&p->src, &is.m->addr) &&
			       piece_ends(&p->dst, &is.s->client)
		       ? at
		       : 0;
}

/* The slot of the flow that a fragment is an answer of; 0: none. */
__noinline __u32 local_piece_find(struct __sk_buff *skb)
{
	struct packet p = {};
	struct piece f = {};
	struct poise_slot *s;
	__u32 at;

	if (!piece_read(skb, &p, &f))
		return 0;
	if (!f.first)
		return local_follows(&p, &f);
	at = local_find(&p.dst, &p.src, p.ports >> 16 | p.ports << 16, p.proto == IPPROTO_UDP);
	s = slot_get(at);
	if (!at || !s || !local_go_on(&p, at, s))
		return 0;
	if (ONCE(s->head) & POISE_SLOT_TIMED)
		latency_close(skb, at, LATENCY_HEADERS(&p));
	piece_put(f.datagram ^ LOCAL_LEAVES, at, s->service);
	return at;
}

/* A fragment of a backend's answer becomes one of the service's. */
__noinline int local_piece_turn(struct __sk_buff *skb, __u32 at)
{
	struct poise_slot *s = slot_get(at);
	struct rewrite is = {};
	struct packet p = {};
	struct piece f = {};

	if (!s || !piece_read(skb, &p, &f))
		return 0;
	local_becomes(s, &is);
	p.ttl++; /* as an error's */
	if (!piece_translate(skb, &p, &f, p.l3, &is))
		return 0;
	count_reason(s->service, POISE_R_FRAGMENTS);
	count_reason(s->service, POISE_R_REPLY);
	return 0;
}

static __always_inline void local_piece(struct __sk_buff *skb)
{
	__u32 at;

	if (bpf_skb_pull_data(skb, skb->len))
		return;
	at = local_piece_find(skb);
	if (at)
		local_piece_turn(skb, at);
}

/* The slot of the flow whose client's first fragment has become this one; 0: none. */
__noinline __u32 local_piece_sent(struct __sk_buff *skb)
{
	struct packet p = {};
	struct piece f = {};

	if (!piece_read(skb, &p, &f) || !f.first)
		return 0;
	return local_find(&p.src, &p.dst, p.ports, p.proto == IPPROTO_UDP);
}

/* ---- the program ------------------------------------------------------------------------------*/

static __always_inline bool local_overlay(const struct poise_meta *m)
{
	return ONCE(m->overlay) == POISE_OVERLAY_STANDS;
}

static __always_inline struct poise_meta *local_meta(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&meta, &zero);
}

/* Reads a packet's ends; false: it has none that flows of ours may have. */
static __always_inline bool local_look(struct __sk_buff *skb, struct packet *p, __u32 *l4)
{
	if ((void *)(long)skb->data + LOCAL_HEAD > (void *)(long)skb->data_end)
		bpf_skb_pull_data(skb, skb->len < LOCAL_HEAD ? skb->len : LOCAL_HEAD);
	return local_read(skb, p, l4);
}

SEC("tc")
int poise_local_out(struct __sk_buff *skb)
{
	struct rewrite is = {};
	struct packet p = {};
	struct poise_meta *known = local_meta();
	struct poise_slot *s;
	__u32 l4, at;

	if (!known || (!ONCE(known->locals) && !local_overlay(known)) || !local_look(skb, &p, &l4))
		return TC_ACT_UNSPEC;
	if (UNLIKELY(p.proto == (p.v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))) {
		local_error(skb);
		return TC_ACT_UNSPEC;
	}
	if (UNLIKELY(p.proto == IPPROTO_FRAGMENT)) {
		local_piece(skb);
		return TC_ACT_UNSPEC;
	}
	if (!local_read_ports(skb, &p, l4))
		return TC_ACT_UNSPEC;
	at = local_find(&p.dst, &p.src, p.ports >> 16 | p.ports << 16, p.proto == IPPROTO_UDP);
	s = slot_get(at);
	if (LIKELY(!at || !s) || !local_go_on(&p, at, s))
		return TC_ACT_UNSPEC;
	if (UNLIKELY(ONCE(s->head) & POISE_SLOT_TIMED))
		latency_close(skb, at, LATENCY_HEADERS(&p));
	local_becomes(s, &is);
	if (!local_rewrite(skb, &p, l4, &is)) {
		count_reason(s->service, POISE_R_BROKEN);
		return TC_ACT_SHOT;
	}
	count_reason(s->service, POISE_R_REPLY);
	return TC_ACT_UNSPEC;
}

/* The slot of the flow whose client's packet has become this one; 0: none. Of a fragmented datagram
 * the first fragment alone is asked about: its mark is that of all once the stack has put them
 * together, which it does before it translates. */
static __always_inline __u32 local_sent(struct __sk_buff *skb, struct packet *p, __u32 l4)
{
	if (UNLIKELY(p->proto == IPPROTO_FRAGMENT))
		return bpf_skb_pull_data(skb, skb->len) ? 0 : local_piece_sent(skb);
	if (!local_read_ports(skb, p, l4))
		return 0;
	return local_find(&p->src, &p->dst, p->ports, p->proto == IPPROTO_UDP);
}

/* Errors need no mark: the stack knows what they are about. */
SEC("tc")
int poise_local_in(struct __sk_buff *skb)
{
	struct poise_meta *known = local_meta();
	struct packet p = {};
	struct poise_slot *s;
	struct poise_member *m;
	__u32 l4, at;

	if (!known || !local_overlay(known) || !local_look(skb, &p, &l4))
		return TC_ACT_UNSPEC;
	at = local_sent(skb, &p, l4);
	s = slot_get(at);
	m = at && s ? member_get(POISE_WORD_MEMBER(ONCE(s->head))) : NULL;
	if (m && m->mode == POISE_NAT)
		skb->mark |= POISE_OVERLAY_MARK;
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
