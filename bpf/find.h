/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Step 3, the quick way, which answers nearly every packet: the table alone, or a word that this
 * packet does not change.
 */
#ifndef POISE_FIND_H
#define POISE_FIND_H

#include "track.h"

/* The member of an established flow whose word is up to date; 0: look closer. */
static __always_inline __u32 find_word(const struct packet *p, const struct poise_service_rec *rec)
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
	if ((w & 0xffff) !=
	    stamp_low(POISE_FLOW_EST, stamp_timeout(rec, POISE_FLOW_EST, udp), p->seconds))
		return 0;
	m = member_get(POISE_WORD_MEMBER(w));
	if (POISE_WORD_TAG(w) != tag || !member_keeps(m, p->service, p->proto))
		return 0;
	return POISE_WORD_MEMBER(w);
}

static __always_inline answer_t find(struct packet *p, struct poise_service_rec *rec)
{
	__u32 current = 0, found;

	choose_hashes(p, rec);
	if (rec->track != POISE_TRACK_ALWAYS) {
		__u32 entry = table_entry(rec->table_at, rec->table_size, p->place);
		bool off = rec->track == POISE_TRACK_OFF;
		struct poise_member *m;

		current = table_current(rec, entry);
		m = member_get(current);
		if (LIKELY(member_usable(m, p->service, rec->rung) && !member_fades(m) &&
			   (off || !(entry & POISE_ENTRY_MIXED))))
			return current;
		if (off)
			return table_choose(p);
	}
	p->seconds = stamp_seconds();
	found = find_word(p, rec);
	/* A word that says what the table says may have to go: track_go_on knows. */
	return found && found != current ? found : track(p);
}

#endif
