/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets that no service took. Nearly all are the host's, and pass. But an address that is
 * claimed, or that packets for a service come to without its being on the host, is nobody's else:
 * what comes there is answered for here (maps/hosts.h says which those are, and how). Passed on it
 * would reach the host's own servers, or, where the host does not have the address, loop between it
 * and the router that leads it here.
 *
 * An echo request is answered (echo.h). TCP and UDP are refused, as by a host without a listener;
 * so is any other protocol, for this host has none at the address: IPv4 has an ICMP error for that
 * (RFC 1122, 3.2.2.1), in IPv6 it is a next header that is not known (RFC 8200, 4). Other ICMP is
 * the kernel's: errors, and whatever keeps a link going.
 *
 * Nobody here puts fragments together. Those of a refused port or protocol are dropped; those of an
 * ICMP message go to the kernel if the address is on a device, so that it answers a large ping.
 */
#ifndef POISE_ADDRESS_H
#define POISE_ADDRESS_H

#include "answer.h"
#include "echo.h"
#include "fragment.h"

#define ADDRESS_FOUND	     0x100 /* beside its flags; with its service in the high half */
#define ADDRESS_FLAGS	     0xff
#define ADDRESS_SERVICE(got) ((got) >> 16)

/* A reason beyond every reason. */
#define ADDRESS_ECHO   0xfe
#define ADDRESS_USABLE 0x100 /* beside it: if its service could be forwarded to */

/* What stands for an address: 0 if it is not answered for; its service 0 if there are several. By
 * value: an address in memory would keep the fast path's packet out of the registers. */
__noinline __u32 address_find(__u64 high, __u64 low)
{
	const union poise_addr addr = {.q = {high, low}};
	struct poise_listener *l = listener_entry(&addr, 0, POISE_PROTO_HOST);
	__u32 service = l ? ONCE(l->service) : 0;

	if (!service)
		return 0;
	return (service == POISE_HOST_SHARED ? 0 : service << 16) | ADDRESS_FOUND | l->flags;
}

/* A TCP or UDP packet at a port that nobody listens on. */
static __always_inline int address_refuse(struct xdp_md *ctx, const struct packet *p)
{
	__u32 found;

	if (LIKELY(!p->refusing))
		return XDP_PASS;
	found = address_find(p->dst.q[0], p->dst.q[1]);
	if (!(found & POISE_A_REFUSE))
		return XDP_PASS;
	return answer(ctx, ADDRESS_SERVICE(found), DROP(NO_LISTENER), ASKED(p));
}

/* ---- what is no whole packet of TCP or UDP ----------------------------------------------------*/

static __always_inline bool address_any(void)
{
	__u32 zero = 0;
	struct poise_meta *m = bpf_map_lookup_elem(&meta, &zero);

	return m && ONCE(m->answering);
}

/* Is there somebody in the service whom packets could be sent to now? */
__noinline int address_usable(__u32 service)
{
	struct poise_service *s = bpf_map_lookup_elem(&services, &service);
	struct flow f = {.service = service};
	struct poise_service_rec *rec;

	if (!s)
		return 0;
	f.record = ONCE(s->active) & 1;
	rec = service_record(service, f.record);
	return rec && rec->table_size && !IS_DROP(table_scan(&f, rec));
}

static __always_inline __u32 address_icmp(struct xdp_md *ctx, const struct packet *p, __u32 l4,
					  bool part, __u32 flags)
{
	if (part)
		return flags & POISE_A_ECHO && flags & POISE_A_PLACED ? 0 : POISE_R_NO_ECHO;
	if (!echo_asks(ctx, p, l4))
		return 0;
	return flags & POISE_A_ECHO ? ADDRESS_ECHO : POISE_R_NO_ECHO;
}

/* Why the packet is dropped, ADDRESS_ECHO, or 0: it is the kernel's. */
static __always_inline __u32 address_reason(struct xdp_md *ctx, struct packet *p, __u32 l4,
					    __u32 flags)
{
	struct piece f = {};
	bool part = fragment_read(ctx, p, l4, &f);

	if (p->proto == (p->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
		return address_icmp(ctx, p, l4, part, flags);
	/* Whole TCP or UDP that is here was cut short; no protocol: only a station on the way, or
	 * nothing at all. */
	if (!part && (!p->proto || p->proto == IPPROTO_TCP || p->proto == IPPROTO_UDP ||
		      p->proto == IPPROTO_NONE))
		return 0;
	return flags & POISE_A_REFUSE ? POISE_R_NO_LISTENER : 0;
}

/* The reason as above, its service from bit 16 on, and ASKED() in the high half: what is done about
 * it takes stack that is not left below this function. */
__noinline __u64 address_look(struct xdp_md *ctx)
{
	struct packet p = {};
	__u32 l4, found, reason;

	if (!parse_ip(ctx, &p, &l4))
		return 0;
	found = address_find(p.dst.q[0], p.dst.q[1]);
	if (!found)
		return 0;
	reason = address_reason(ctx, &p, l4, found & ADDRESS_FLAGS);
	return (__u64)ASKED(&p) << 32 | ADDRESS_SERVICE(found) << 16 |
	       (reason == ADDRESS_ECHO && found & POISE_A_USABLE ? ADDRESS_USABLE : 0) | reason;
}

__noinline int address_rest(struct xdp_md *ctx)
{
	__u32 reason, service;
	__u64 found;

	if (LIKELY(!address_any()))
		return XDP_PASS;
	found = address_look(ctx);
	reason = found & 0xff;
	service = found >> 16 & 0xffff;
	if (!reason)
		return XDP_PASS;
	if (reason == ADDRESS_ECHO) {
		if (!(found & ADDRESS_USABLE) || !service || address_usable(service))
			return echo(ctx, service, found >> 32);
		reason = POISE_R_NO_ECHO;
	}
	return answer(ctx, service, DROP_BIT | reason, found >> 32);
}

#endif
