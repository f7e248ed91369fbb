/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Claimed addresses: looked at when the configuration is another one or the network changed, so
 * that what a hand or a new device took off is put back. Looking needs no lock; mending takes it if
 * it is free, and is tried again soon if it is not.
 */
#include "net/claim.h"
#include "poised.h"

static void say(void *ctx, bool fault, const char *sentence)
{
	struct settle *s = ctx;

	s->faults += fault;
	/* A fault that lasts is told once. */
	if (!fault || !s->told_fault)
		log_line(fault ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "%s", sentence);
}

static int settle_locked(struct settle *s, struct follow *f, struct poise_error *err)
{
	struct config *cfg;
	int rc;

	if (instance_load(f->instance, &cfg, err) < 0)
		return -1;
	rc = net_claims_settle(f->net, cfg, say, s, err);
	if (rc > 0)
		rc = instance_commit(f->instance, cfg, NULL, err);
	config_free(cfg);
	return rc;
}

/* False if somebody else has the lock. */
static bool mend(struct settle *s, struct follow *f, struct poise_error *err)
{
	int rc = follow_try_lock(f->instance, err);

	if (!rc)
		return false;
	if (rc > 0) {
		settle_locked(s, f, err);
		instance_unlock(f->instance);
	}
	return true;
}

void settle_tick(struct settle *s, struct follow *f)
{
	struct poise_error err = {0};

	if (!f->cfg || (s->generation == f->cfg->generation && s->news == f->news))
		return;
	s->faults = 0;
	if (net_claims_due(f->net, f->cfg, &err) > 0 && !mend(s, f, &err))
		return;
	s->generation = f->cfg->generation;
	s->news = f->news;
	if (err.code && !s->told_fault)
		log_error(LOG_LEVEL_ERROR, &err);
	s->told_fault = err.code || s->faults;
}
