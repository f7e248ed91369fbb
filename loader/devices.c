/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interfaces of the file: attached at first and on reload, and again when a device comes back; and
 * what others take off any device's TC. */
#include <stdlib.h>
#include <string.h>

#include "poised.h"

static void devices_attach(struct devices *d, struct instance *i, size_t k)
{
	struct attach_state state;
	struct poise_error err = {0};

	if (attach_device(i, &d->want[k], &state, &err) < 0) {
		log_error(LOG_LEVEL_ERROR, &err);
		return;
	}
	if (state.warning[0])
		log_line(LOG_LEVEL_WARNING, "%s: %s", d->want[k].device, state.warning);
}

void devices_free(struct devices *d)
{
	free(d->want);
	free(d->ifindex);
	memset(d, 0, sizeof(*d));
}

void devices_take(struct devices *d, struct instance *i, const struct config *cfg)
{
	devices_free(d);
	if (!cfg || !cfg->interfaces)
		return;
	d->count = cfg->interfaces;
	d->want = calloc(d->count, sizeof(d->want[0]));
	d->ifindex = calloc(d->count, sizeof(d->ifindex[0]));
	if (!d->want || !d->ifindex)
		abort();
	for (size_t k = 0; k < d->count; k++) {
		d->want[k] = cfg->interface[k];
		d->ifindex[k] = if_nametoindex(d->want[k].device);
		devices_attach(d, i, k);
	}
}

void devices_look(struct devices *d, struct instance *i)
{
	for (size_t k = 0; k < d->count; k++) {
		unsigned int ifindex = if_nametoindex(d->want[k].device);

		if (ifindex && ifindex != d->ifindex[k])
			devices_attach(d, i, k);
		d->ifindex[k] = ifindex;
	}
}

/* What is said of a kind when all have it again, and when that cannot be. */
static const struct {
	const char *again, *lost;
} words[] = {
	[ATTACH_CUT] = {"the program at TC ingress that cuts packets in two",
			"what is too big is dropped"},
	[ATTACH_PROBE] = {"the programs at TC that health checks take clients' way by",
			  "they go the host's own way"},
	[ATTACH_LOCAL] = {"the programs at TC that packets of mode local pass by",
			  "clients are answered by an address that they do not know"},
};

static void mend(struct instance *i, enum attach_filter kind)
{
	bool did = attach_filters_all(i, kind), does;
	int lacking = attach_filters_lacking(i, kind, NULL, NULL);
	struct poise_error err = {0};

	/* Whoever has the lock may be attaching: there is a next time. */
	if (lacking < 0 || (!lacking && did) || instance_try_lock(i, &err) <= 0)
		return;
	does = attach_filters_mend(i, kind);
	instance_unlock(i);
	if (does)
		log_line(LOG_LEVEL_NOTICE, "every device again has %s", words[kind].again);
	else if (did)
		log_line(LOG_LEVEL_WARNING,
			 "a device lacks %s, it cannot be put back: %s (poise status)",
			 words[kind].again, words[kind].lost);
}

void devices_filters(struct instance *i)
{
	mend(i, ATTACH_CUT);
	mend(i, ATTACH_PROBE);
	mend(i, ATTACH_LOCAL);
	attach_note_generic(i);
}
