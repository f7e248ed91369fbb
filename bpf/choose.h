/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 4: the policies. Each is a file of its own and a line here:
 *
 *   __u64 place(const struct packet *, const struct poise_service_rec *): the hash by which the
 *   policy reads its service's table. Inlined. Policies that choose by load own a table too, for
 *   flows picked up mid-way and for full buckets.
 *
 *   answer_t choose(struct flow *): the member for a new flow; 0: nobody that it knows of may take
 *   it, and the table goes down the ladder. A global function: the verifier looks at each once,
 *   however many there are.
 */
#ifndef POISE_CHOOSE_H
#define POISE_CHOOSE_H

#include "latency_aware.h"
#include "least_conn.h"
#include "maglev.h"
#include "p2c.h"
#include "random.h"
#include "round_robin.h"
#include "source_hash.h"
#include "table.h"

/* clang-format off */
#define POISE_POLICY_TABLE(P)                                                                      \
	P(POISE_MAGLEV, maglev_place, table_choose)                                                \
	P(POISE_SOURCE_HASH, source_hash_place, table_choose)                                      \
	P(POISE_ROUND_ROBIN, maglev_place, round_robin_choose)                                     \
	P(POISE_RANDOM, maglev_place, random_choose)                                               \
	P(POISE_LEAST_CONN, maglev_place, least_conn_choose)                                       \
	P(POISE_P2C, maglev_place, p2c_choose)                                                     \
	P(POISE_LATENCY_AWARE, maglev_place, latency_aware_choose)
/* clang-format on */

static __always_inline __u64 policy_place(__u8 policy, const struct packet *p,
					  const struct poise_service_rec *rec)
{
	switch (policy) {
#define POLICY_PLACE(id, place, choose)                                                            \
	case id: return place(p, rec);
		POISE_POLICY_TABLE(POLICY_PLACE)
	}
	return p->hash;
}

/* The hash by which the service's table is read. Only where that is asked: a recorded flow goes on
 * without, whatever the policy. */
static __always_inline __u64 choose_place(const struct packet *p,
					  const struct poise_service_rec *rec)
{
	return policy_place(rec->policy, p, rec);
}

static __always_inline answer_t policy_ask(struct flow *f, __u8 policy)
{
	switch (policy) {
#define POLICY_CHOOSE(id, place, choose)                                                           \
	case id: return choose(f);
		POISE_POLICY_TABLE(POLICY_CHOOSE)
	}
	return 0;
}

static __always_inline answer_t policy_choose(struct flow *f, const struct poise_service_rec *rec)
{
	__u32 only = cycle_only(rec);
	answer_t answer;

	if (only && admitted(f, rec, only, member_get(only), 0))
		return only;
	answer = policy_ask(f, rec->policy);
	return answer ? answer : table_choose(f);
}

/* The hash that everything after goes by. */
static __always_inline void choose_hash(struct packet *p)
{
	p->hash = poise_flow_hash(&p->src, &p->dst, p->ports, p->proto, poise_key0, poise_key1);
	/* What half of it is needed later is made of it then: kept, it would take stack that the
	 * slow paths lack. */
	BARRIER(p->hash);
}

#endif
