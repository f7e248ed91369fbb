// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Health checks by the way of clients' packets (maps/probes.h). Who checks speaks with the
 * backend's own address: a connection to the virtual one would never leave a host that has it, and
 * what comes from there would be martian. At TC egress the virtual address becomes the destination,
 * and the packet goes on as XDP would forward a client's, by the very functions it does that with,
 * compiled for the stack's kind of packet; the answer, which the backend sends directly, gets the
 * backend's address back at TC ingress, before any routing. So do ICMP errors about what was sent.
 *
 * Checksums are mended by the kernel's helpers: they know those that a device is yet to fill in.
 */
#include "platform.h"
#include <linux/pkt_cls.h>

/* Says to the stack what it is that comes in front, so that a device's offloads fit or are not
 * used; of the modes' headers no two are of one length. */
static __always_inline int tc_adjust_head(struct __sk_buff *skb, int delta)
{
	__u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO;

	switch (-delta) {
	case sizeof(struct iphdr): flags |= BPF_F_ADJ_ROOM_ENCAP_L3_IPV4; break;
	case sizeof(struct ipv6hdr): flags |= BPF_F_ADJ_ROOM_ENCAP_L3_IPV6; break;
	case sizeof(struct iphdr) + sizeof(struct udphdr):
		flags |= BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L4_UDP;
		break;
	case sizeof(struct ipv6hdr) + sizeof(struct udphdr):
		flags |= BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 | BPF_F_ADJ_ROOM_ENCAP_L4_UDP;
		break;
	default: return -1;
	}
	return bpf_skb_adjust_room(skb, -delta, BPF_ADJ_ROOM_MAC, flags);
}

static __always_inline int tc_adjust_tail(struct __sk_buff *skb, int delta)
{
	return bpf_skb_change_tail(skb, skb->len + delta, 0);
}

#define xdp_md		    __sk_buff
#define bpf_xdp_adjust_head tc_adjust_head
#define bpf_xdp_adjust_tail tc_adjust_tail

#include "member.h"
#include "mode.h"

/* Types and places of ICMP (RFC 792, 4443): the headers for them do not go without a C library. */
#define ECHO4_REPLY   0
#define ECHO4_REQUEST 8
#define ECHO6_REQUEST 128
#define ECHO6_REPLY   129
#define ECHO_ID	      4
#define ICMP6_CHECK   2
#define ERRORS4	      (1u << 3 | 1u << 11)		      /* unreachable, time exceeded */
#define ERRORS6	      (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4) /* too big and parameters, too */

/* Bytes that must lie in one piece: an IPv6 header, an ICMP error, and what it quotes. */
#define PROBE_HEAD	(ETH_HLEN + 2 * sizeof(struct ipv6hdr) + 2 * PROBE_TRANSPORT)
#define PROBE_TRANSPORT 8    /* of a transport header: as much as errors quote at least */
#define PROBE_FULL_MAX	9216 /* bytes of a packet: no Ethernet carries more */
#define PROBE_GSO_MTU	65535

/* What is looked at of a packet. */
struct sight {
	__u32 l3, l4;	    /* offsets */
	__u32 address;	    /* offset of that which is not ours */
	__u16 ours, theirs; /* ports, network order; of an echo its identifier, and 0 */
	__u8 proto;
	__u8 v6;
	__u8 type; /* of ICMP */
	__u8 begins;
};

static __always_inline bool sight_icmp(struct sight *s, const __u8 *l4, bool outgoing)
{
	s->type = l4[0];
	s->ours = *(__u16 *)(l4 + ECHO_ID);
	s->theirs = 0;
	s->begins = 1;
	if (s->v6)
		return s->type == (outgoing ? ECHO6_REQUEST : ECHO6_REPLY);
	return s->type == (outgoing ? ECHO4_REQUEST : ECHO4_REPLY);
}

/* Whether the packet whose IP header is at l3 can be a probe's, on its way out or back. What is no
 * more than an ICMP message has its kind and place noted. */
static __always_inline bool sight(struct __sk_buff *skb, __u32 l3, bool outgoing, struct sight *s)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct iphdr *ip;
	struct ipv6hdr *ip6;
	__u16 *ports;

	BOUND(l3, 0x7f);
	ip = data + l3;
	ip6 = data + l3;
	*s = (struct sight){.l3 = l3};
	if ((void *)(ip + 1) > end)
		return false;
	if (ip->version == 4 && ip->ihl >= 5 && !(ip->frag_off & bpf_htons(IP4_FRAGMENT))) {
		s->proto = ip->protocol;
		s->l4 = l3 + ip->ihl * 4;
		s->address = l3 + (outgoing ? offsetof(struct iphdr, daddr)
					    : offsetof(struct iphdr, saddr));
	} else if (ip->version == 6 && (void *)(ip6 + 1) <= end) {
		s->proto = ip6->nexthdr;
		s->l4 = l3 + sizeof(*ip6);
		s->address = l3 + (outgoing ? offsetof(struct ipv6hdr, daddr)
					    : offsetof(struct ipv6hdr, saddr));
		s->v6 = 1;
	} else {
		return false;
	}
	BOUND(s->l4, 0xff);
	ports = data + s->l4;
	if ((void *)ports + PROBE_TRANSPORT > end)
		return false;
	if (s->proto == (s->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return sight_icmp(s, (void *)ports, outgoing);
	s->ours = outgoing ? ports[0] : ports[1];
	s->theirs = outgoing ? ports[1] : ports[0];
	s->begins =
		s->proto != IPPROTO_TCP || ((void *)ports + sizeof(struct tcphdr) <= end &&
					    (((__u8 *)ports)[13] & (TCP_SYN | TCP_ACK)) == TCP_SYN);
	return s->proto == IPPROTO_TCP || s->proto == IPPROTO_UDP;
}

/* Is this address of a probe's the one in the packet? */
static __always_inline bool sight_is(struct __sk_buff *skb, const struct sight *s,
				     const union poise_addr *addr)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	bool four = !addr->q[0] && addr->w[2] == bpf_htonl(0xffff);
	__u32 at = s->address;
	__u32 *word;

	BOUND(at, 0xff);
	word = data + at;
	if (four)
		return !s->v6 && (void *)(word + 1) <= end && word[0] == addr->w[3];
	return s->v6 && (void *)(word + 4) <= end && word[0] == addr->w[0] &&
	       word[1] == addr->w[1] && word[2] == addr->w[2] && word[3] == addr->w[3];
}

/* NULL: it is none. */
static __always_inline struct poise_probe *probe_of(const struct sight *s)
{
	__u32 at = (__u32)bpf_ntohs(s->ours) - POISE_PROBE_PORT;
	struct poise_probe *probe;

	if (at >= POISE_PROBE_PORTS)
		return NULL;
	probe = bpf_map_lookup_elem(&probes, &at);
	return probe && ONCE(probe->proto) == s->proto && probe->port == s->theirs ? probe : NULL;
}

/* The place of the checksum that covers addresses; 0: there is none. */
static __always_inline __u32 check_at(const struct sight *s)
{
	switch (s->proto) {
	case IPPROTO_TCP: return s->l4 + offsetof(struct tcphdr, check);
	case IPPROTO_UDP: return s->l4 + offsetof(struct udphdr, check);
	case IPPROTO_ICMPV6: return s->l4 + ICMP6_CHECK;
	default: return 0;
	}
}

/* Puts `to` where `from` is; mangled: a checksum of 0 says that there is none. */
static __always_inline bool turn(struct __sk_buff *skb, const struct sight *s,
				 const union poise_addr *from, const union poise_addr *to)
{
	__u64 flags = BPF_F_PSEUDO_HDR | (s->proto == IPPROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0);
	__u32 check = check_at(s);
	__be32 was = from->w[3], is = to->w[3];

	if (!s->v6)
		return (!check || !bpf_l4_csum_replace(skb, check, was, is, flags | sizeof(is))) &&
		       !bpf_l3_csum_replace(skb, s->l3 + offsetof(struct iphdr, check), was, is,
					    sizeof(is)) &&
		       !bpf_skb_store_bytes(skb, s->address, &is, sizeof(is), 0);
	/* The packet's sum, if a device made one, follows both changes, which cancel. */
	return !bpf_l4_csum_replace(
		       skb, check, 0,
		       bpf_csum_diff((void *)from, sizeof(*from), (void *)to, sizeof(*to), 0),
		       flags) &&
	       !bpf_skb_store_bytes(skb, s->address, to, sizeof(*to), BPF_F_RECOMPUTE_CSUM);
}

/* ---- out --------------------------------------------------------------------------------------*/

/* Zeros behind the packet until it is as large as the path takes in this mode. */
static __always_inline bool fill(struct __sk_buff *skb, struct packet *p,
				 const struct poise_member *m, const struct poise_path *path)
{
	__u32 most = path->mtu < PROBE_FULL_MAX ? path->mtu : PROBE_FULL_MAX;

	if (m->mode != POISE_L2)
		most -= outer_bytes(m) + (m->mode == POISE_GUE ? sizeof(struct udphdr) : 0);
	if ((__s32)most <= (__s32)p->length)
		return true;
	p->length = most;
	return !bpf_skb_change_tail(skb, p->l3 + most, 0);
}

/* As XDP's forward() does: TC_ACT_*. */
static __always_inline int forward_probe(struct __sk_buff *skb, const struct poise_probe *probe,
					 bool full)
{
	__u32 id = probe->member, out, l4;
	struct poise_member *m = member_get(id);
	__u64 nexthop = m ? ONCE(m->nexthop) : 0;
	struct poise_path *known, path;
	struct packet p = {};

	out = nexthop >> 48;
	known = bpf_map_lookup_elem(&paths, &out);
	if (!m || !nexthop || !known || !parse_ip(skb, &p, &l4))
		return TC_ACT_SHOT;
	path = *known;
	path.vlans = 0; /* the VLAN device has put them where the driver finds them */
	if (full && !fill(skb, &p, m, &path))
		return TC_ACT_SHOT;
	if (skb->gso_size) /* its segments fit: poised has seen to that */
		path.mtu = PROBE_GSO_MTU;
	p.hash = poise_flow_hash(&p.src, &p.dst, probe->port, p.proto, poise_key0, poise_key1);
	if (forward_mode(skb, &p, m, &path, nexthop))
		return TC_ACT_SHOT;
	return path.ifindex == skb->ifindex ? TC_ACT_UNSPEC : bpf_redirect(path.ifindex, 0);
}

static __always_inline bool untagged(struct __sk_buff *skb)
{
	struct ethhdr *eth = (void *)(long)skb->data;

	return (void *)(eth + 1) <= (void *)(long)skb->data_end &&
	       (eth->h_proto == bpf_htons(ETH_P_IP) || eth->h_proto == bpf_htons(ETH_P_IPV6));
}

/* Only what this host sends itself has a socket: what it routes may be from any port. */
SEC("tc")
int poise_probe_out(struct __sk_buff *skb)
{
	struct poise_probe *probe;
	struct sight s;
	bool full;

	if (!skb->sk || !untagged(skb) || !sight(skb, ETH_HLEN, true, &s))
		return TC_ACT_UNSPEC;
	probe = probe_of(&s);
	if (!probe || !sight_is(skb, &s, &probe->backend))
		return TC_ACT_UNSPEC;
	full = s.begins && probe->flags & POISE_PROBE_FULL;
	if (bpf_skb_pull_data(skb, skb->len) || !turn(skb, &s, &probe->backend, &probe->address))
		return TC_ACT_SHOT;
	return forward_probe(skb, probe, full);
}

/* ---- back -------------------------------------------------------------------------------------*/

static __always_inline bool is_error(const struct sight *s)
{
	if (s->type > 31)
		return false;
	return s->v6 ? s->proto == IPPROTO_ICMPV6 && 1u << s->type & ERRORS6
		     : s->proto == IPPROTO_ICMP && 1u << s->type & ERRORS4;
}

/* An error about what a probe sent quotes it as it went: to the virtual address. */
static __always_inline void turn_quote(struct __sk_buff *skb, const struct sight *error)
{
	struct poise_probe *probe;
	struct sight s;
	__be32 is;

	if (!sight(skb, error->l4 + PROBE_TRANSPORT, true, &s))
		return;
	probe = probe_of(&s);
	if (!probe || !sight_is(skb, &s, &probe->address))
		return;
	is = probe->backend.w[3];
	if (s.v6) {
		/* The quote is the error's payload, which its checksum covers. */
		if (!bpf_l4_csum_replace(skb, check_at(error), 0,
					 bpf_csum_diff((void *)&probe->address, 16,
						       (void *)&probe->backend, 16, 0),
					 0))
			bpf_skb_store_bytes(skb, s.address, &probe->backend, 16, 0);
		return;
	}
	/* In IPv4 a header adds up to nothing before and after. */
	if (!bpf_l3_csum_replace(skb, s.l3 + offsetof(struct iphdr, check), probe->address.w[3], is,
				 sizeof(is)))
		bpf_skb_store_bytes(skb, s.address, &is, sizeof(is), 0);
}

SEC("tc")
int poise_probe_in(struct __sk_buff *skb)
{
	struct poise_probe *probe;
	struct sight s;

	if (!untagged(skb))
		return TC_ACT_UNSPEC;
	if ((void *)(long)skb->data + PROBE_HEAD > (void *)(long)skb->data_end)
		bpf_skb_pull_data(skb, skb->len < PROBE_HEAD ? skb->len : PROBE_HEAD);
	if (!sight(skb, ETH_HLEN, false, &s)) {
		if (is_error(&s))
			turn_quote(skb, &s);
		return TC_ACT_UNSPEC;
	}
	probe = probe_of(&s);
	if (probe && sight_is(skb, &s, &probe->address))
		turn(skb, &s, &probe->address, &probe->backend);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
