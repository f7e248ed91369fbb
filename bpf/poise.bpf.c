// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A packet's way through the balancer, one line a step. What is for no service passes untouched,
 * unless its address is one that we answer for; what is for one is forwarded, or answered or
 * dropped for a counted reason, never passed on.
 */
#include "parse.h"
#include "listener.h"
#include "find.h"
#include "forward.h"
#include "address.h"
#include "local_send.h"
#include "nat_back.h"
#include "nat_fragment46.h"
#include "nat_icmp46.h"
#include "rare.h"
#include "sweep.h"

SEC("xdp")
int poise_xdp(struct xdp_md *ctx)
{
	struct packet p = {};
	struct poise_service_rec *service;
	struct poise_member *m;
	answer_t member;

	if (UNLIKELY(!parse(ctx, &p))) {
		bpf_tail_call(ctx, &tails, POISE_TAIL_RARE);
		return XDP_PASS;
	}
	service = listener_find(&p);
	if (!service) {
		if (nat_may_come_back(&p))
			bpf_tail_call(ctx, &tails, POISE_TAIL_NAT_BACK);
		return address_refuse(ctx, &p);
	}
	if (p.ttl <= 1)
		return answer(ctx, p.service, DROP(TTL), ASKED(&p));
	choose_hash(&p);
	m = find_table(&p, service, &member);
	if (UNLIKELY(!m)) {
		if (UNLIKELY(service->flags & POISE_S_LINKS)) {
			int verdict = nat_plain(&p);

			if (LIKELY(verdict >= 0))
				verdict = nat_in_place(ctx, p.hash, p.service, verdict);
			if (LIKELY(verdict >= 0))
				return verdict;
			bpf_tail_call(ctx, &tails, POISE_TAIL_NAT);
			return drop(p.service, DROP(BROKEN));
		}
		member = find(ctx, &p, service);
		if (IS_DROP(member))
			return answer(ctx, p.service, member, ASKED(&p));
		m = member_get(member);
	}
	return forward(ctx, &p, m, member, true);
}

SEC("xdp")
int poise_rare(struct xdp_md *ctx)
{
	return rare(ctx);
}

/* Mode nat: packets of flows that go on, then all others; to the backend (nat.h) and back
 * (nat_back.h). */
SEC("xdp")
int poise_nat(struct xdp_md *ctx)
{
	struct packet p = {};
	struct poise_service_rec *service;
	int verdict;

	if (!parse(ctx, &p))
		return XDP_PASS;
	service = listener_find(&p);
	if (!service || !(service->flags & POISE_S_LINKS)) /* of another mode since a moment */
		return drop(p.service, DROP(BROKEN));
	if (UNLIKELY(back_mistaken(&p, service)))
		bpf_tail_call(ctx, &tails, POISE_TAIL_NAT_BACK);
	choose_hash(&p);
	verdict = nat_quickly(ctx, &p, service);
	if (LIKELY(verdict >= 0))
		return verdict;
	bpf_tail_call(ctx, &tails, POISE_TAIL_NAT_CLOSELY);
	return drop(p.service, DROP(BROKEN));
}

SEC("xdp")
int poise_nat_closely(struct xdp_md *ctx)
{
	answer_t slot = nat_closely(ctx);
	int verdict;

	if (!IS_DROP(slot) && local_is(slot))
		return nat_go_local(ctx, slot);
	verdict = IS_DROP(slot) ? (int)slot : nat_closely_send(ctx, slot);
	if (verdict < 0)
		return nat_not(ctx, verdict);
	if (nat_was4())
		translate_sum(ctx);
	return verdict;
}

/* A client's packet for a backend on this host (local_send.h). */
SEC("xdp")
int poise_local(struct xdp_md *ctx)
{
	const struct scratch *n = scratch_get();

	return n ? local_send(ctx, n->at) : XDP_DROP;
}

SEC("xdp")
int poise_nat_back(struct xdp_md *ctx)
{
	struct packet p = {};
	__u32 slot;

	if (!parse(ctx, &p))
		return XDP_PASS;
	slot = back_slot(&p);
	if (LIKELY(slot)) {
		int verdict = back_send(ctx, &p, slot, false);

		if (LIKELY(verdict >= 0))
			return verdict;
	}
	bpf_tail_call(ctx, &tails, POISE_TAIL_NAT_BACK_CLOSELY);
	return drop(0, DROP(BROKEN));
}

SEC("xdp")
int poise_nat_back_closely(struct xdp_md *ctx)
{
	__u64 found = back_closely(ctx);
	answer_t slot = (answer_t)found;
	int verdict;

	if (!found)
		return back_none(ctx);
	verdict = IS_DROP(slot) ? (int)slot : back_closely_send(ctx, slot);
	if (verdict < 0)
		return back_not(ctx, BACK_SERVICE(found), verdict);
	if (verdict & BACK_WAS4)
		translate_sum(ctx);
	return verdict & ~BACK_WAS4;
}

/* ICMP errors about either (nat_icmp.h). */
SEC("xdp")
int poise_nat_icmp(struct xdp_md *ctx)
{
	return nat_icmp(ctx);
}

/* Fragments of either (nat_fragment.h). */
SEC("xdp")
int poise_nat_fragment(struct xdp_md *ctx)
{
	return nat_fragment(ctx);
}

/* Frees what is over in a part of the flow table (struct poise_sweep). */
SEC("syscall")
int poise_sweep(struct poise_sweep *io)
{
	return sweep(io);
}

/* The two clocks side by side: HZ, which no program is told, follows from two calls. */
SEC("syscall")
int poise_clock(struct poise_clock *io)
{
	io->jiffies = bpf_jiffies64();
	io->ns = bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
