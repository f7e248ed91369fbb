// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Flow words as user space sees them: all of them, and those of one client. They are read where
 * packets change them, without lock or system call.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "clock.h"
#include "hash.h"
#include "instance.h"
#include "table.h"

#define NS_PER_US 1000
#define US_PER_S  1000000

#define PORTS	  65536
#define AHEAD	  32	     /* buckets on their way from memory while one is looked at */
#define TRIES_MAX (1u << 30) /* hashes tried for one listener: a few seconds */

void instance_flows_at(const struct instance *i, bool (*one)(void *ctx, __u64 word, __u32 slot),
		       void *ctx)
{
	for (__u32 b = 0; b < instance_buckets(i); b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++) {
			__u64 word = instance_word(i, b, w);

			if (word && !one(ctx, word, instance_slot(i, b, w)))
				return;
		}
}

struct words {
	bool (*one)(void *ctx, __u64 word);
	void *ctx;
};

static bool word_alone(void *ctx, __u64 word, __u32 slot)
{
	const struct words *w = ctx;

	(void)slot;
	return w->one(w->ctx, word);
}

void instance_flows(const struct instance *i, bool (*one)(void *ctx, __u64 word), void *ctx)
{
	struct words w = {one, ctx};

	instance_flows_at(i, word_alone, &w);
}

/*
 * The datapath's clock is jiffies64 scaled by 2^32 / HZ. The kernel starts jiffies at the 32-bit
 * value of -300 s (INITIAL_JIFFIES) and lets them run with CLOCK_MONOTONIC.
 */
#define JIFFIES_BEFORE_BOOT 300

__u32 instance_stamp_now(const struct instance *i)
{
	__u64 mult = i->meta->jiffies_mult, hz, ns = clock_monotonic(), jiffies;

	if (!mult)
		return (__u32)(ns / NS_PER_S);
	hz = ((1ull << 32) + mult / 2) / mult;
	jiffies = (__u32)(-JIFFIES_BEFORE_BOOT * (__s64)hz) + ns / NS_PER_US * hz / US_PER_S;
	return (__u32)(jiffies * mult >> 32);
}

#define LONG_UNIT_SHIFT 4  /* the long unit is 16 s */
#define STAMP_FUTURE	16 /* units that a stamp may be ahead of this reading of the clock */

__u32 instance_word_age(__u64 word, __u32 now)
{
	__u32 shift = word & POISE_WORD_UNIT ? LONG_UNIT_SHIFT : 0;
	__u32 units = ((now >> shift) - (__u32)word) & POISE_WORD_STAMP;

	return units > POISE_WORD_STAMP - STAMP_FUTURE ? 0 : units << shift;
}

static __u32 timeout_of(const struct poise_service_rec *rec, __u64 word)
{
	switch (POISE_WORD_STATE(word)) {
	case POISE_FLOW_FIN: return rec->closing;
	case POISE_FLOW_RST: return POISE_RST_SECONDS;
	case POISE_FLOW_AFFINITY: return rec->affinity;
	}
	if (POISE_WORD_TAG(word) & POISE_TAG_UDP)
		return rec->udp;
	switch (POISE_WORD_STATE(word)) {
	case POISE_FLOW_EST: return rec->idle;
	case POISE_FLOW_PICKUP: return rec->pickup;
	default: return rec->syn;
	}
}

__u32 instance_word_left(const struct instance *i, __u64 word, __u32 now)
{
	const struct poise_service *s =
		&i->services[i->members[POISE_WORD_MEMBER(word) % i->meta->members].service];
	__u32 timeout = timeout_of(&s->rec[s->active & 1], word);
	__u32 unit = word & POISE_WORD_UNIT ? 1 << LONG_UNIT_SHIFT : 1;
	__u32 age = instance_word_age(word, now);

	return age < timeout + unit ? timeout + unit - age : 0;
}

/* ---- a client's -------------------------------------------------------------------------------*/

struct search {
	const struct instance *i;
	const union poise_addr *client;
	const struct poise_listener_conf *l;
	__u16 service;
	bool (*one)(void *ctx, const struct instance_client_flow *flow);
	void *ctx;
};

static bool is_udp(const struct search *s)
{
	return s->l->proto == IPPROTO_UDP;
}

static __u64 hash_of(const struct search *s, __u32 client_port)
{
	__u32 ports = htons((__u16)client_port) | (__u32)s->l->port << 16;
	const __u64 *key = s->i->meta->hash_key;

	return poise_flow_hash(s->client, &s->l->addr, ports, s->l->proto, key[0], key[1]);
}

/* A word that may be a flow's of this listener: those of affinity are under another hash. */
static bool may_be(const struct search *s, __u64 word)
{
	return word && POISE_WORD_STATE(word) != POISE_FLOW_AFFINITY &&
	       POISE_WORD_MEMBER(word) < s->i->meta->members &&
	       s->i->members[POISE_WORD_MEMBER(word)].service == s->service;
}

/* As the datapath finds it: the first word with the flow's tag. */
static bool try_bucket(const struct search *s, __u32 client_port, __u64 hash, __u32 bucket)
{
	__u32 tag = poise_flow_tag(hash, is_udp(s));

	for (int k = 0; k < POISE_BUCKET_WORDS; k++) {
		struct instance_client_flow flow = {
			.word = instance_word(s->i, bucket, k),
			.client_port = htons((__u16)client_port),
			.port = s->l->port,
		};

		if (POISE_WORD_TAG(flow.word) == tag && may_be(s, flow.word))
			return s->one(s->ctx, &flow);
	}
	return true;
}

static bool try_port(const struct search *s, __u32 client_port, __u64 hash)
{
	const struct instance *i = s->i;
	__u32 bucket = hash & (i->flow_buckets - 1);

	if (!try_bucket(s, client_port, hash, bucket))
		return false;
	if (!i->beside_buckets)
		return true;
	bucket = i->flow_buckets + (hash & (i->beside_buckets - 1));
	return try_bucket(s, client_port, hash, bucket);
}

static void try_ports(const struct search *s)
{
	__u64 hash[AHEAD];

	for (__u32 port = 0; port < PORTS + AHEAD; port++) {
		if (port >= AHEAD && !try_port(s, port - AHEAD, hash[port % AHEAD]))
			return;
		if (port >= PORTS)
			continue;
		hash[port % AHEAD] = hash_of(s, port);
		__builtin_prefetch(&s->i->flows[hash[port % AHEAD] & (s->i->flow_buckets - 1)]);
	}
}

/* ---- of every port ----------------------------------------------------------------------------*/

struct found {
	struct instance_client_flow *flow;
	size_t n, room;
};

static struct instance_client_flow *found_more(struct found *f)
{
	if (f->n == f->room) {
		f->room = f->room ? 2 * f->room : 64;
		f->flow = realloc(f->flow, f->room * sizeof(*f->flow));
		if (!f->flow)
			abort();
	}
	return &f->flow[f->n++];
}

/* All hashes that lead a flow to this place: the tag lacks one bit of the high half, the bucket's
 * number those of the low half that are above it. */
static void try_word(const struct search *s, __u32 bucket, __u64 word, struct found *f)
{
	__u64 high = (__u64)(POISE_WORD_TAG(word) & ~POISE_TAG_UDP) << 32;
	const __u64 *key = s->i->meta->hash_key;
	bool beside = bucket >= s->i->flow_buckets;
	__u32 buckets = beside ? s->i->beside_buckets : s->i->flow_buckets;
	__u32 ports;

	for (__u64 low = bucket - (beside ? s->i->flow_buckets : 0); low < 1ull << 33;
	     low += buckets) {
		if (!poise_flow_ports(s->client, &s->l->addr, high + low, s->l->proto, key[0],
				      key[1], &ports))
			continue;
		f->flow = memory_grow(f->flow, f->n, &f->room, sizeof(*f->flow));
		f->flow[f->n++] =
			(struct instance_client_flow){word, (__u16)ports, (__u16)(ports >> 16), 0};
	}
}

static __u64 each_word(const struct search *s, struct found *f)
{
	__u64 n = 0;

	for (__u32 b = 0; b < instance_table_buckets(s->i); b++)
		for (int k = 0; k < POISE_BUCKET_WORDS; k++) {
			__u64 word = instance_word(s->i, b, k);

			if (!may_be(s, word) ||
			    !(POISE_WORD_TAG(word) & POISE_TAG_UDP) == is_udp(s))
				continue;
			n++;
			if (f)
				try_word(s, b, word, f);
		}
	return n;
}

static int by_port(const void *a, const void *b)
{
	const struct instance_client_flow *x = a, *y = b;
	int order = ntohs(x->client_port) - ntohs(y->client_port);

	return order ? order : ntohs(x->port) - ntohs(y->port);
}

static void found_tell(const struct search *s, struct found *f)
{
	if (f->n)
		qsort(f->flow, f->n, sizeof(*f->flow), by_port);
	for (size_t k = 0; k < f->n && s->one(s->ctx, &f->flow[k]); k++)
		;
	free(f->flow);
}

/* ---- of mode nat ------------------------------------------------------------------------------*/

static void try_slots(const struct search *s)
{
	const struct instance *i = s->i;
	struct found f = {0};

	for (__u32 b = instance_table_buckets(i); b < instance_buckets(i); b++)
		for (int k = 0; k < POISE_BUCKET_WORDS; k++) {
			__u64 word = instance_word(i, b, k);
			__u32 at = instance_slot(i, b, k);
			const struct poise_slot *slot = instance_slots(i, at, 1);

			if (!may_be(s, word) ||
			    !(POISE_WORD_TAG(word) & POISE_TAG_UDP) == is_udp(s) ||
			    memcmp(&slot->client, s->client, sizeof(slot->client)) ||
			    memcmp(&slot->address, &s->l->addr, sizeof(slot->address)) ||
			    (s->l->port && s->l->port != slot->ports >> 16))
				continue;
			*found_more(&f) = (struct instance_client_flow){
				word, (__u16)slot->ports, (__u16)(slot->ports >> 16), at};
		}
	found_tell(s, &f);
}

static bool translates(const struct search *s)
{
	const struct poise_service *service = &s->i->services[s->service];

	return service->rec[service->active & 1].flags & POISE_S_LINKS;
}

static int try_words(const struct search *s, struct poise_error *err)
{
	__u64 words = each_word(s, NULL), tries = words * (1ull << 33) / s->i->flow_buckets;
	struct found f = {0};

	if (tries > TRIES_MAX)
		return poise_fail(err, POISE_E_FULL,
				  "%llu flows of every port are too many to try all ports with",
				  words);
	each_word(s, &f);
	found_tell(s, &f);
	return 0;
}

int instance_client_flows(const struct instance *i, const union poise_addr *client,
			  const struct poise_listener_conf *l, __u16 service,
			  bool (*one)(void *ctx, const struct instance_client_flow *flow),
			  void *ctx, struct poise_error *err)
{
	struct search s = {i, client, l, service, one, ctx};

	if (translates(&s)) {
		try_slots(&s);
		return 0;
	}
	if (!l->port)
		return try_words(&s, err);
	try_ports(&s);
	return 0;
}
