// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When there is a table of nftables; see overlay.h. */
#include <stdio.h>

#include "../../maps/clock.h"
#include "../../maps/events.h"
#include "cache.h"
#include "nft.h"
#include "overlay.h"

#define LOOK_AGAIN NET_NS_PER_S /* flows that begin without it fail: they try again in a second */

static __u32 state(const struct instance *i)
{
	return __atomic_load_n(&i->meta->overlay, __ATOMIC_RELAXED);
}

static bool becomes(struct instance *i, enum poise_overlay now)
{
	return __atomic_exchange_n(&i->meta->overlay, now, __ATOMIC_RELAXED) != (__u32)now;
}

/* Flows that began by it may go on as long as there are backends to go on with. */
static bool needed(const struct instance *i, const struct net_seen *seen)
{
	return seen->by_stack || (seen->nats && state(i) == POISE_OVERLAY_STANDS);
}

static bool make(struct instance *i, const char *table, struct poise_error *err)
{
	bool stood = state(i) == POISE_OVERLAY_STANDS;
	char object[NFT_TABLE_TEXT + sizeof("inet ")];

	if (nft_table_make(table, err))
		return becomes(i, POISE_OVERLAY_FAILED);
	snprintf(object, sizeof(object), "inet %s", table);
	if (stood)
		events_object(i, POISE_EVENT_TABLE_RESTORED, object,
			      "somebody had removed it, or its rule (nft flush ruleset?)");
	return becomes(i, POISE_OVERLAY_STANDS);
}

bool overlay_settle(struct overlay *o, struct instance *i, const struct net_seen *seen,
		    struct poise_error *err)
{
	__u64 now = clock_monotonic();
	char table[NFT_TABLE_TEXT];

	if (!seen->whole)
		return false;
	if (!needed(i, seen))
		return state(i) != POISE_OVERLAY_NONE && !overlay_remove(i, err);
	if (state(i) != POISE_OVERLAY_NONE && now < o->next)
		return false;
	o->next = now + LOOK_AGAIN;
	nft_table_name((const char *)i->meta->instance, table);
	if (state(i) == POISE_OVERLAY_STANDS && nft_table_look(table, NULL) > 0)
		return false;
	return make(i, table, err);
}

int overlay_remove(struct instance *i, struct poise_error *err)
{
	char table[NFT_TABLE_TEXT];

	if (state(i) == POISE_OVERLAY_NONE)
		return 0;
	/* Who has no nftables any more has no table either. */
	if (nft_table_remove(nft_table_name((const char *)i->meta->instance, table), err) &&
	    state(i) == POISE_OVERLAY_STANDS)
		return -1;
	becomes(i, POISE_OVERLAY_NONE);
	return 0;
}
