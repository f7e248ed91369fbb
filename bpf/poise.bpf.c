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
#include "rare.h"
#include "sweep.h"

SEC("xdp")
int poise_xdp(struct xdp_md *ctx)
{
	struct packet p = {};
	struct poise_service_rec *service;
	struct poise_member *m;
	answer_t member;

	if (UNLIKELY(!parse(ctx, &p)))
		return rare(ctx);
	service = listener_find(&p);
	if (!service)
		return address_refuse(ctx, &p);
	if (p.ttl <= 1)
		return answer(ctx, p.service, DROP(TTL), ASKED(&p));
	choose_hashes(&p, service);
	m = find_table(&p, service, &member);
	if (UNLIKELY(!m)) {
		member = find(ctx, &p, service);
		if (IS_DROP(member))
			return answer(ctx, p.service, member, ASKED(&p));
		m = member_get(member);
	}
	return forward(ctx, &p, m, member, true);
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
