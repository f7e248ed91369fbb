// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Server ids by two hashes: a word stands in the emptier of its two buckets when it comes. With two
 * members a bucket at most, a bucket of eight does not fill up (tests/unit/server_ids.c tries); if
 * both should be full, the id is not routed by, and poise map check says so.
 *
 * A word that is right stays where it is, one whose server id has another member now is replaced by
 * one store, and only then goes what nobody asks for: a packet finds an id that stays.
 */
#include "server_ids.h"
#include "hash.h"

static struct poise_server_ids *bucket(const struct instance *i, __u64 key, int second)
{
	__u32 buckets = poise_server_id_buckets(i->meta->members);

	return &i->server_ids[poise_server_id_bucket(key, second, buckets)];
}

/* A leaver keeps no UDP flows: its id is free for another. */
__u64 server_id_word(const struct poise_service_conf *svc, const struct poise_member_conf *m,
		     __u16 id)
{
	if (!svc->quic || !m->server_id || m->r.state != POISE_REC_USED)
		return 0;
	return POISE_ID_WORD(m->server_id, m->service, id);
}

__u64 *server_id_find(const struct instance *i, __u64 key)
{
	for (int second = 0; second < 2; second++) {
		struct poise_server_ids *b = bucket(i, key, second);

		for (int k = 0; k < POISE_SERVER_ID_WORDS; k++)
			if (b->word[k] && POISE_ID_KEY(b->word[k]) == key)
				return &b->word[k];
	}
	return NULL;
}

bool server_id_wanted(const struct instance *i, __u64 word)
{
	const struct poise_member_conf *m;
	const struct poise_service_conf *svc;

	if (POISE_ID_MEMBER(word) >= i->meta->members ||
	    POISE_ID_SERVICE(word) >= i->meta->services)
		return false;
	m = store_member(i, POISE_ID_MEMBER(word));
	svc = store_service(i, POISE_ID_SERVICE(word));
	return svc->r.state == POISE_REC_USED && m->service == POISE_ID_SERVICE(word) &&
	       word == server_id_word(svc, m, POISE_ID_MEMBER(word));
}

/* How many words are free, and where the first is. */
static int room(struct poise_server_ids *b, __u64 **first)
{
	int n = 0;

	for (int k = POISE_SERVER_ID_WORDS - 1; k >= 0; k--)
		if (!b->word[k]) {
			*first = &b->word[k];
			n++;
		}
	return n;
}

static void put(const struct instance *i, __u64 word)
{
	__u64 *at = server_id_find(i, POISE_ID_KEY(word)), *other = NULL;
	int here;

	if (!at) {
		here = room(bucket(i, POISE_ID_KEY(word), 0), &at);
		if (room(bucket(i, POISE_ID_KEY(word), 1), &other) > here)
			at = other;
	}
	if (at)
		store64(at, word);
}

void server_ids_derive(struct instance *i, __u16 service, const struct derived *d)
{
	__u32 buckets = poise_server_id_buckets(i->meta->members);

	for (size_t m = 0; d && m < d->members; m++) {
		__u64 word = server_id_word(d->conf, d->member[m].conf, d->member[m].id);

		if (word)
			put(i, word);
	}
	for (__u32 b = 0; b < buckets; b++)
		for (int k = 0; k < POISE_SERVER_ID_WORDS; k++) {
			__u64 *word = &i->server_ids[b].word[k];

			if (*word && POISE_ID_SERVICE(*word) == service &&
			    (!d || !server_id_wanted(i, *word)))
				store64(word, 0);
		}
}
