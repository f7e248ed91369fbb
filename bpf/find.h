/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 3, the quick ways, which answer nearly every packet: the table alone, or a word that this
 * packet does not change.
 */
#ifndef POISE_FIND_H
#define POISE_FIND_H

#include "beside.h"
#include "quic.h"
#include "ranges.h"
#include "scratch.h"

/* The member that the table gives to every packet at this place; NULL: look closer. */
static __always_inline struct poise_member *find_table(const struct packet *p,
						       struct poise_service_rec *rec, __u32 *id)
{
	struct poise_member *m;
	__u32 *slot;

	if (!(rec->flags & POISE_S_TABLE))
		return NULL;
	slot = word_lookup(&table,
			   rec->table_at + poise_table_slot(choose_place(p, rec), rec->table_size));
	if (!slot || ONCE(*slot) & POISE_ENTRY_MIXED)
		return NULL;
	*id = member_of_ordinal(rec, POISE_ENTRY_CURRENT(ONCE(*slot)));
	m = member_get(*id);
	/* Who fades is beyond every rung. */
	if (!m || m->service != p->service || !ONCE(m->nexthop) ||
	    (ONCE(m->live) & (POISE_L_RANK | POISE_L_FADING)) > rec->rung)
		return NULL;
	return m;
}

/* The member of an established flow whose word is up to date; 0: look closer. */
static __always_inline __u32 find_word(const struct packet *p, const struct poise_service_rec *rec,
				       __u32 seconds)
{
	bool udp = p->proto == IPPROTO_UDP;
	__u32 tag = poise_flow_tag(p->hash, udp);
	struct poise_bucket *b = flow_bucket(p->hash);
	struct poise_member *m;
	__u64 w = 0;

	if (!b || !packet_plain(p))
		return 0;
	for (int i = 0; i < POISE_BUCKET_WORDS; i++) {
		w = ONCE(b->word[i]);
		if (POISE_WORD_TAG(w) == tag)
			break;
	}
	if (POISE_WORD_TAG(w) != tag ||
	    (w & 0xffff) !=
		    stamp_low(POISE_FLOW_EST, stamp_timeout(rec, POISE_FLOW_EST, udp), seconds))
		return 0;
	m = member_get(POISE_WORD_MEMBER(w));
	return member_keeps(m, p->service, udp) ? POISE_WORD_MEMBER(w) : 0;
}

static __always_inline __u64 find_client(const struct packet *p,
					 const struct poise_service_rec *rec)
{
	/* IPv4 is the last of the 128 bits. */
	__s32 bits = p->v6 ? rec->affinity_len6 : 96 + rec->affinity_len4;

	if (LIKELY(!rec->affinity))
		return 0;
	return poise_affinity_hash(&p->src, bits, p->service, poise_key0, poise_key1);
}

static __always_inline struct flow find_flow(const struct packet *p,
					     const struct poise_service_rec *rec, __u32 seconds)
{
	return (struct flow){
		.hash = p->hash,
		.place = choose_place(p, rec),
		.base = rec->base_size ? policy_place(rec->base_hash, p, rec) : 0,
		.client = find_client(p, rec),
		.service = p->service,
		.record = p->record,
		.seconds = seconds,
		.kind = packet_kind(p),
	};
}

/* The thorough way. */
static __always_inline answer_t find_closely(struct xdp_md *ctx, const struct packet *p,
					     struct poise_service_rec *rec, bool quic)
{
	struct scratch *s = scratch_get();

	if (!s)
		return DROP(BROKEN);
	s->flow = find_flow(p, rec, stamp_seconds());
	if (quic)
		quic_bind(ctx, &s->flow, p->l3 | (p->v6 ? QUIC_V6 : 0), p->length);
	if (rec->track == POISE_TRACK_OFF)
		return s->flow.bound ? s->flow.bound : table_choose(&s->flow);
	beside_bring(&s->flow);
	return track(&s->flow);
}

/* ctx NULL: a fragment, which is never QUIC's (RFC 9000 section 14). */
static __always_inline answer_t find(struct xdp_md *ctx, struct packet *p,
				     struct poise_service_rec *rec)
{
	__u32 current = 0, found;

	/* One look for most: neither of the two. */
	if (UNLIKELY(rec->flags & (POISE_S_RANGES | POISE_S_QUIC))) {
		if (ranges_denied(p, rec))
			return DROP(SOURCE);
		if (ctx && rec->flags & POISE_S_QUIC && p->proto == IPPROTO_UDP)
			return find_closely(ctx, p, rec, true);
	}
	if (rec->track != POISE_TRACK_ALWAYS) {
		__u32 entry = table_entry(rec->table_at, rec->table_size, choose_place(p, rec));
		bool off = rec->track == POISE_TRACK_OFF;
		struct poise_member *m;

		current = table_current(rec, entry);
		m = member_get(current);
		if (LIKELY(member_usable(m, p->service, rec->rung) && !member_fades(m) &&
			   (off || (!(entry & POISE_ENTRY_MIXED) && !rec->base_size))))
			return current;
		if (off)
			return find_closely(ctx, p, rec, false);
	}
	found = find_word(p, rec, stamp_seconds());
	/* A word that says what the table says may have to go: track_go_on knows. */
	if (LIKELY(found && found != current))
		return found;
	return find_closely(ctx, p, rec, false);
}

#endif
