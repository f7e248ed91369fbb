// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poised --withdraw-detached. A daemon that is away changes nothing: packets are forwarded, and
 * addresses stay announced. With the program gone too they would draw traffic that goes nowhere, so
 * the service manager has this run whenever poised has ended, however it did.
 */
#include <stdlib.h>

#include "net/overlay.h"
#include "poised.h"

static void say(void *ctx, bool fault, const char *sentence)
{
	(void)ctx;
	log_line(fault ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "%s", sentence);
}

/* The lock is held. */
static int withdraw(struct instance *i, struct poise_error *err)
{
	struct gate gate = {.alone = true};
	struct config *cfg = NULL;
	struct net *net = NULL;
	int rc = -1;

	if (instance_load(i, &cfg, err) || net_open(&net, err))
		goto out;
	rc = gate_settle(&gate, net, i, cfg, false, say, NULL, err);
out:
	gate_free(&gate);
	net_close(net);
	config_free(cfg);
	return rc < 0 ? -1 : 0;
}

int withdraw_detached(const struct options *o, struct poise_error *err)
{
	struct attach_state *list = NULL;
	struct instance *i = NULL;
	int devices, rc = -1;

	if (instance_open(&i, &o->where, err)) {
		/* Nothing to announce, and so nothing to withdraw. */
		return err->code == POISE_E_NO_INSTANCE ? 0 : -1;
	}
	devices = attach_list(i, &list, err);
	free(list);
	if (devices) {
		rc = devices < 0 ? -1 : 0;
		goto out;
	}
	overlay_remove(i, NULL); /* what it translated does not come in any more */
	if (instance_lock(i, err))
		goto out;
	rc = withdraw(i, err);
	instance_unlock(i);
out:
	instance_close(i);
	return rc;
}
