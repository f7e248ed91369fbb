// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checking server ids: every one that the configuration asks for is found, nothing else stands.
 */
#include "check.h"
#include "server_ids.h"

static void check_wanted(struct check *c, __u32 id)
{
	const struct poise_member_conf *m = store_member(c->i, id);
	const struct poise_service_conf *svc;
	const __u64 *found;
	__u64 word;

	/* a service that cannot be is check_records' to tell */
	if (m->r.state != POISE_REC_USED || m->service >= c->i->meta->services)
		return;
	svc = store_service(c->i, m->service);
	word = server_id_word(svc, m, (__u16)id);
	if (!word)
		return;
	found = server_id_find(c->i, POISE_ID_KEY(word));
	if (!found)
		check_say(c, "server_ids", "server id %u of service \"%s\" is not found",
			  m->server_id, svc->name);
	else if (*found != word)
		check_say(c, "server_ids",
			  "server id %u of service \"%s\" leads to member %u, not to %u",
			  m->server_id, svc->name, POISE_ID_MEMBER(*found), id);
}

void check_server_ids(struct check *c)
{
	const struct instance *i = c->i;

	for (__u32 id = 1; id < i->meta->members; id++)
		check_wanted(c, id);
	for (__u32 b = 0; b < poise_server_id_buckets(i->meta->members); b++)
		for (int k = 0; k < POISE_SERVER_ID_WORDS; k++) {
			const __u64 *word = &i->server_ids[b].word[k];

			if (*word && (!server_id_wanted(i, *word) ||
				      server_id_find(i, POISE_ID_KEY(*word)) != word))
				check_say(c, "server_ids",
					  "entry %u: word %d (0x%016llx) is asked for by nobody", b,
					  k, *word);
		}
}
