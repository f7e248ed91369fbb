/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Claimed addresses: looked at when the configuration is another one or the network changed, so
 * that what a hand or a new device took off is put back; and whether they can be served at each
 * look, so that they are announced or withdrawn. Looking needs no lock; mending takes it if it is
 * free, and is tried again soon if it is not.
 */
#include <net/if.h>

#include "../maps/clock.h"
#include "net/announce.h"
#include "net/claim.h"
#include "net/own.h"
#include "net/unreach.h"
#include "poised.h"

/* A switch may forward a moment later than our link is up, and frames may be lost: told anew at
 * each look, which are a second apart at most. */
#define ANNOUNCEMENTS 4

static void say(void *ctx, bool fault, const char *sentence)
{
	struct settle *s = ctx;

	s->faults += fault;
	/* A fault that lasts is told once; what was done is an event. */
	if (!fault || !s->told_fault)
		log_line(fault ? LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG, "%s", sentence);
}

static int settle_locked(struct settle *s, struct follow *f, struct poise_error *err)
{
	struct config *cfg;
	int rc;

	if (instance_load(f->instance, &cfg, err) < 0)
		return -1;
	rc = gate_settle(&s->gate, f->net, f->instance, cfg, f->devices, say, s, err);
	if (rc >= 0)
		rc = net_own_settle(f->net, f->instance, cfg, err);
	config_free(cfg);
	return rc;
}

/* False if somebody else has the lock. */
static bool mend(struct settle *s, struct follow *f, struct poise_error *err)
{
	int rc = instance_try_lock(f->instance, err);

	if (!rc)
		return false;
	if (rc > 0) {
		settle_locked(s, f, err);
		instance_unlock(f->instance);
	}
	return true;
}

static struct settle_device *device_of(struct settle *s, const struct config_address *a)
{
	unsigned int ifindex = if_nametoindex(a->conf.device);

	for (size_t d = 0; d < s->devices; d++)
		if (s->device[d].ifindex == ifindex)
			return &s->device[d];
	if (!ifindex || s->devices == SETTLE_DEVICES)
		return NULL;
	s->device[s->devices] = (struct settle_device){.ifindex = ifindex};
	return &s->device[s->devices++];
}

/* Devices whose link came up since, and those that were not told of often enough. */
static void look_at_links(struct settle *s, const struct follow *f)
{
	for (size_t k = 0; k < s->devices; k++) {
		struct settle_device *d = &s->device[k];
		bool up = net_claim_link(f->net, d->ifindex);

		if (up && !d->up)
			d->left = ANNOUNCEMENTS;
		d->up = up;
		d->tell = up && d->left;
		d->left -= d->tell;
	}
}

static void announce_again(struct settle *s, const struct follow *f)
{
	char how[ANNOUNCE_TEXT];

	if (!f->cfg->addresses)
		s->devices = 0; /* forget them: there may be other ones by and by */
	for (size_t a = 0; a < f->cfg->addresses; a++)
		device_of(s, &f->cfg->address[a]);
	look_at_links(s, f);
	for (size_t a = 0; a < f->cfg->addresses; a++) {
		const struct config_address *address = &f->cfg->address[a];
		const struct settle_device *d = device_of(s, address);

		if (d && d->tell && !config_address_leaving(address) &&
		    !config_address_withdrawn(address) && address->conf.put != POISE_PUT_FOREIGN)
			announce(&address->conf.addr, d->ifindex, address->conf.device, how);
	}
}

/* Whether an address is to be announced or withdrawn. */
static bool gate_moves(struct settle *s, const struct follow *f)
{
	__u64 now = clock_monotonic();

	if (!f->cfg->addresses)
		return false;
	gate_look(&s->gate, f->instance, f->cfg, f->devices, now);
	return gate_due(&s->gate, f->cfg, now);
}

void settle_removed(struct settle *s, struct follow *f)
{
	struct poise_error err = {0};

	if (!f->cfg)
		return;
	if (net_unreach_settle(f->net, f->instance->meta->instance, NULL, say, s, &err) < 0)
		log_error(LOG_LEVEL_ERROR, &err);
	if (!f->cfg->addresses)
		return;
	/* There is nothing to lock or to commit to any more: what we know is all that is known. */
	s->gate.alone = true;
	gate_look(&s->gate, f->instance, f->cfg, false, clock_monotonic());
	gate_decide(&s->gate, f->cfg, say, s);
	if (net_claims_settle(f->net, f->cfg, say, s, &err) < 0)
		log_error(LOG_LEVEL_ERROR, &err);
}

void settle_close(struct settle *s)
{
	gate_free(&s->gate);
}

/* With a million routes in the kernel a look takes long: it may take a hundredth of the time. */
#define ROUTES_SHARE 100

static void look_at_routes(struct settle *s, struct follow *f, struct poise_error *err)
{
	__u64 began = clock_monotonic();

	s->routes_due = s->generation == f->cfg->generation && began < s->routes_next;
	if (s->routes_due)
		return;
	net_unreach_settle(f->net, f->instance->meta->instance, f->cfg, say, s, err);
	s->routes_next = began + NS_PER_S + ROUTES_SHARE * (clock_monotonic() - began);
}

void settle_tick(struct settle *s, struct follow *f)
{
	struct poise_error err = {0};
	bool moves;

	if (!f->cfg)
		return;
	moves = gate_moves(s, f);
	if (!moves && s->generation == f->cfg->generation && s->news == f->news &&
	    !(s->routes_due && clock_monotonic() >= s->routes_next))
		return;
	s->faults = 0;
	if ((moves || net_claims_due(f->net, f->cfg, &err) > 0 ||
	     net_own_due(f->net, f->cfg, &err) > 0) &&
	    !mend(s, f, &err))
		return;
	look_at_routes(s, f, &err);
	announce_again(s, f);
	s->generation = f->cfg->generation;
	s->news = f->news;
	if (err.code && !s->told_fault)
		log_error(LOG_LEVEL_ERROR, &err);
	s->told_fault = err.code || s->faults;
}
