// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checking the listeners' hash: every listener is found and leads to its service, nothing else is
 * found, and no bucket without a listener has a seed.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hash.h"
#include "hosts.h"
#include "listener.h"
#include "text.h"

struct seen {
	__u8 *slot;   /* [listener_slots]: a listener of the configuration stands there */
	__u8 *bucket; /* [listener_seeds]: has one */
};

static void check_wanted(struct check *c, __u32 service, const struct poise_listener_conf *l,
			 struct seen *seen)
{
	const struct instance *i = c->i;
	const struct poise_listener *e = listener_find(i, l);
	__u64 hash = poise_listener_hash(&l->addr, l->port, l->proto);
	char text[POISE_ENDPOINT_TEXT];

	seen->bucket[hash & (i->meta->listener_seeds - 1)] = 1;
	if (!e) {
		check_say(c, "listeners", "%s of service \"%s\" is not found",
			  poise_format_listener(l, text, sizeof(text)),
			  store_service(i, service)->name);
		return;
	}
	seen->slot[e - i->listeners] = 1;
	if (e->service != service || e->flags || e->retired || e->spare)
		check_say(c, "listeners",
			  "%s (entry %td) leads to service %u with flags %u, retired at %u, not to "
			  "service %u with none",
			  poise_format_listener(l, text, sizeof(text)), e - i->listeners,
			  e->service, e->flags, e->retired, service);
}

/* An address's own entry, by which fragments find its service, or what else packets for it get. */
static void check_host(struct check *c, const struct host *h, struct seen *seen)
{
	const struct instance *i = c->i;
	const struct poise_listener *e = listener_find(i, &h->key);
	__u64 hash = poise_listener_hash(&h->key.addr, h->key.port, h->key.proto);
	char text[POISE_ADDR_TEXT];

	seen->bucket[hash & (i->meta->listener_seeds - 1)] = 1;
	poise_format_addr(&h->key.addr, text, sizeof(text));
	if (!e) {
		check_say(c, "listeners", "address %s is not found", text);
		return;
	}
	seen->slot[e - i->listeners] = 1;
	if (e->service != h->service || e->flags != h->flags || e->retired || e->spare)
		check_say(c, "listeners",
			  "address %s (entry %td) leads to service %u with flags %u, retired at "
			  "%u, not to %u with %u",
			  text, e - i->listeners, e->service, e->flags, e->retired, h->service,
			  h->flags);
}

static void check_slot(struct check *c, __u32 slot, bool wanted)
{
	const struct poise_listener *e = &c->i->listeners[slot];

	if (wanted)
		return;
	check_stamp(c, "listeners", slot, e->retired);
	if (listener_reachable(c->i, slot))
		check_say(c, "listeners", "entry %u leads to service %u, which does not listen so",
			  slot, e->service);
	else if (!e->retired)
		check_zero(c, "listeners", slot, e, sizeof(*e), "an entry that was never used");
}

void check_listeners(struct check *c)
{
	const struct poise_meta *meta = c->i->meta;
	struct seen seen = {calloc(meta->listener_slots, 1), calloc(meta->listener_seeds, 1)};
	struct hosts hosts;
	__u32 any_port = 0;

	if (!seen.slot || !seen.bucket)
		abort();
	for (__u32 id = 1; id < meta->services; id++) {
		const struct poise_service_conf *conf = store_service(c->i, id);

		for (int l = 0; conf->r.state == POISE_REC_USED && l < conf->listeners; l++) {
			check_wanted(c, id, &conf->listener[l], &seen);
			any_port += !conf->listener[l].port;
		}
	}
	hosts_of(c->i, &hosts);
	for (size_t n = 0; n < hosts.slots; n++)
		if (hosts.slot[n].wanted)
			check_host(c, &hosts.slot[n], &seen);
	if (meta->answering != hosts.answering || meta->refusing != hosts.refusing)
		check_say(c, "meta", "says that %u addresses answer and %u refuse, not %u and %u",
			  meta->answering, meta->refusing, hosts.answering, hosts.refusing);
	hosts_free(&hosts);
	for (__u32 slot = 0; slot < meta->listener_slots; slot++)
		check_slot(c, slot, seen.slot[slot]);
	for (__u32 bucket = 0; bucket < meta->listener_seeds; bucket++)
		if (!seen.bucket[bucket] && c->i->listener_seeds[bucket])
			check_say(c, "listener_seeds", "entry %u is %u, but nobody listens there",
				  bucket, c->i->listener_seeds[bucket]);
	if (meta->any_port != any_port)
		check_say(c, "meta", "says %u listeners of every port, but there are %u",
			  meta->any_port, any_port);
	free(seen.slot);
	free(seen.bucket);
}
