/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 2: whose packet is it. The collision-free array hash of maps/abi.h: one seed, one entry, one
 * comparison. Most of what is not ours ends at a seed of 0.
 */
#ifndef POISE_LISTENER_H
#define POISE_LISTENER_H

#include "packet.h"

static __always_inline struct poise_listener *listener_entry(const union poise_addr *dst,
							     __u16 port, __u8 proto)
{
	__u64 hash = poise_listener_hash(dst, port, proto);
	__u32 bucket = hash & poise_seed_mask;
	__u32 *seed = word_lookup(&listener_seeds, bucket);
	struct poise_listener *l;
	__u32 slot, value;

	if (!seed || !(value = ONCE(*seed)))
		return NULL;
	slot = poise_listener_slot(hash, value) & poise_slot_mask;
	l = bpf_map_lookup_elem(&listeners, &slot);
	if (!l || l->addr.q[1] != dst->q[1] || l->addr.q[0] != dst->q[0])
		return NULL;
	if (l->port != port || l->proto != proto)
		return NULL;
	return l;
}

static __always_inline __u32 listener_service(const struct packet *p, __u16 port, __u8 proto)
{
	struct poise_listener *l = listener_entry(&p->dst, port, proto);

	return l ? ONCE(l->service) : 0;
}

_Static_assert(__builtin_offsetof(struct poise_meta, any_port) % 8 == 0 &&
		       __builtin_offsetof(struct poise_meta, refusing) ==
			       __builtin_offsetof(struct poise_meta, any_port) + 4,
	       "one load reads both");

/* What else a packet is looked up for that its port leads nowhere: meta.any_port, meta.refusing. */
static __always_inline __u64 listener_more(void)
{
	__u32 zero = 0;
	struct poise_meta *m = bpf_map_lookup_elem(&meta, &zero);

	return m ? ONCE(*(__u64 *)&m->any_port) : 0;
}

/* The record in force of a service, by the packet that found it; NULL if it is gone. */
static __always_inline struct poise_service_rec *service_record(__u32 id, __u32 copy)
{
	struct poise_service *s = bpf_map_lookup_elem(&services, &id);

	return s ? &s->rec[copy & 1] : NULL;
}

/* The record in force of the service that p is for; NULL if that is gone. */
static __always_inline struct poise_service_rec *listener_record(struct packet *p, __u32 id)
{
	struct poise_service *s = bpf_map_lookup_elem(&services, &id);
	struct poise_service_rec *rec;
	__u32 active;

	if (!s)
		return NULL;
	active = ONCE(s->active);
	if (active & POISE_SERVICE_GONE)
		return NULL;
	p->service = id;
	/* A branch is predicted, where an index would have to be waited for. */
	p->record = 0;
	rec = &s->rec[0];
	if (active & 1) {
		p->record = 1;
		rec = &s->rec[1];
	}
	BARRIER(rec);
	return rec;
}

/* NULL: nobody listens there. */
static __always_inline struct poise_service_rec *listener_find(struct packet *p)
{
	__u32 id = listener_service(p, p->ports >> 16, p->proto);

	if (!id) {
		__u64 more = listener_more();

		p->refusing = more >> 32 != 0;
		if ((__u32)more)
			id = listener_service(p, 0, p->proto);
	}
	return id ? listener_record(p, id) : NULL;
}

/* Where a fragment without ports may belong: a service, POISE_HOST_SHARED, or 0: nobody listens on
 * its address. */
static __always_inline __u32 listener_host(const struct packet *p, __u8 proto)
{
	return listener_service(p, 0, proto | POISE_PROTO_HOST);
}

#endif
