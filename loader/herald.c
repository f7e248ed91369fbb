// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Events on their way out: whatever is told in the ring, by poised or by a command, is a line of
 * the log, and is told to whoever is to be notified. Read every few milliseconds, which is one load
 * while there is nothing new.
 */
#include <stdio.h>

#include "poised.h"

void herald_open(struct herald *h, struct instance *i, const char *command)
{
	h->instance = i;
	h->command = command;
	snprintf(h->notify.instance, sizeof(h->notify.instance), "%s", i->meta->instance);
	events_open(&h->reader, i, false);
}

static void tell(struct herald *h, const struct poise_event *e, const struct config *cfg)
{
	const struct config_service *svc =
		cfg && e->service[0] ? config_service_named(cfg, e->service) : NULL;
	char text[EVENTS_TEXT];

	log_line(events_bad(e->kind) ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "%s",
		 events_words(e, text, sizeof(text)));
	if (svc && svc->conf.notify[0])
		notify_put(&h->notify, svc->conf.notify, e);
	if (h->command)
		notify_put(&h->notify, h->command, e);
}

void herald_tick(struct herald *h, const struct config *cfg)
{
	__u64 missed = h->reader.missed;
	struct poise_event e;

	while (events_next(&h->reader, h->instance, &e))
		tell(h, &e, cfg);
	if (h->reader.missed != missed)
		log_line(LOG_LEVEL_WARNING, "%llu events were too many to be told",
			 h->reader.missed - missed);
	notify_tick(&h->notify);
}

void herald_close(struct herald *h, const struct config *cfg)
{
	herald_tick(h, cfg);
	notify_close(&h->notify);
}
