/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The boot file: applied when the instance's maps are new or nothing ever was applied, and on
 * reload; never by a restart. If it cannot be read then, the last good state is applied instead,
 * and meta.boot_error says why, until a later reload succeeds.
 *
 * The last good state is the whole configuration as it last stood, written to STATE/INSTANCE.yaml
 * within a second of each change.
 */
#ifndef POISED_BOOT_H
#define POISED_BOOT_H

#include "../maps/instance.h"
#include "options.h"

struct boot {
	struct config *cfg; /* to be applied; NULL: nothing */
	bool last_good;	    /* cfg is the last good state, not the file */
	struct poise_error
		error; /* why the file cannot be applied; code NONE: it can, or is absent */
};

/* Reads the file, else the last good state. Never fails: an instance without configuration is
 * better than none. */
void boot_read(struct boot *b, const struct options *o);
/* Reads the file only: for reload and --check-config. Absence is an error here. */
int boot_reread(struct boot *b, const struct options *o, struct poise_error *err);
void boot_free(struct boot *b);
/* True if what was read is due: see above. */
bool boot_is_due(const struct instance *i, bool created);
/* Applies what was read in one transaction, and says in meta how it went. */
int boot_apply(struct instance *i, const struct boot *b, const struct options *o,
	       struct poise_error *err);
/* Says in meta that the file could not be read; what is in force stays. */
void boot_refuse(struct instance *i, const struct options *o, const struct poise_error *why);
/* Writes the last good state. */
int boot_save_last(struct instance *i, const struct options *o, struct poise_error *err);

#endif
