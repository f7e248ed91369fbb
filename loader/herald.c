// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Events on their way out: whatever is told in the ring, by poised or by a command, is a line of
 * the log. Read every few milliseconds, which is one load while there is nothing new.
 */
#include "poised.h"

void herald_open(struct herald *h, struct instance *i)
{
	h->instance = i;
	events_open(&h->reader, i, false);
}

void herald_tick(struct herald *h)
{
	__u64 missed = h->reader.missed;
	char text[EVENTS_TEXT];
	struct poise_event e;

	while (events_next(&h->reader, h->instance, &e))
		log_line(events_bad(e.kind) ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "%s",
			 events_words(&e, text, sizeof(text)));
	if (h->reader.missed != missed)
		log_line(LOG_LEVEL_WARNING, "%llu events were too many to be told",
			 h->reader.missed - missed);
}
