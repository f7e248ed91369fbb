// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reset: an instance leaves no trace. Devices go first, so that no program runs over half of its
 * maps; then everything pinned; then the directories.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "decap.h"

struct reset {
	const char *dir;
	struct poise_error *err;
};

static int detach_one(void *ctx, const char *name)
{
	struct reset *r = ctx;
	struct attach_pin p;

	return attach_pin_parse(name, &p) ? attach_remove(r->dir, &p, r->err) : 0;
}

static int undecap_one(void *ctx, const char *name)
{
	struct reset *r = ctx;
	struct decap_pin p;

	return attach_decap_parse(name, &p) ? attach_decap_remove(r->dir, &p, r->err) : 0;
}

/* One of the instance's two directories, if it is there. */
static int reset_dir(const struct instance_where *where, const char *leaf,
		     int (*one)(void *ctx, const char *name), struct poise_error *err)
{
	struct attach_dir d;
	struct reset r = {d.path, err};
	int rc;

	if (attach_dir_open(&d, where, leaf, false, err))
		return -1;
	attach_pin_leftover(d.path);
	rc = attach_dir_abi(&d, err);
	if (!rc)
		rc = attach_dir_each(d.path, one, &r, err);
	if (!rc)
		rc = attach_dir_remove(d.path, err);
	attach_dir_close(&d);
	if (!rc)
		rmdir(d.base); /* once both are gone */
	return rc;
}

int attach_reset(const struct instance_where *where, struct poise_error *err)
{
	struct poise_error none = {0};
	bool decap;

	attach_log_start();
	if (attach_privileges(err))
		return -1;
	decap = !reset_dir(where, DECAP_DIR, undecap_one, &none);
	if (!decap && none.code != POISE_E_NO_INSTANCE) {
		if (err)
			*err = none;
		return -1;
	}
	/* a host with the backend side only has no maps of a balancer, and that is fine */
	if (!reset_dir(where, NULL, detach_one, &none))
		return 0;
	if (decap && none.code == POISE_E_NO_INSTANCE)
		return 0;
	if (err)
		*err = none;
	return -1;
}
