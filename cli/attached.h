/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Making an instance and attaching it, for the commands attach and apply. */
#ifndef POISE_CLI_ATTACHED_H
#define POISE_CLI_ATTACHED_H

#include "../loader/attach/attach.h"
#include "transact.h"

/* Opens the instance, or makes one with boot's limits and key. */
int attach_open(struct cli *c, const struct config *boot, bool *created);
/* Attaches to one device; its warning becomes a note. */
int attach_one(struct cli *c, const struct config_interface *want, struct attach_state *state);

/* What a command did to devices, so that it can take that back. */
struct attached_new {
	struct attached_before {
		struct config_interface as; /* as it was asked for until then */
		bool attached;		    /* it was; else only as.device is set */
	} * device;
	size_t n;
};

/* Attaches to every interface of file; -1 with what was done until then in *new. */
int attach_all(struct cli *c, const struct config *file, struct attached_new *new);
/* Makes those devices what they were, and removes the instance if it was created for this; keeps
 * c->error. */
void attach_undo(struct cli *c, const struct attached_new *new, bool created);
void attach_new_free(struct attached_new *new);

/* Puts the devices that are attached, as they were asked for, into c->config. */
int attach_interfaces(struct cli *c);
/* If path is the boot file, says in meta that it has been applied. */
void attach_note_boot(struct cli *c, const char *path);

#endif
