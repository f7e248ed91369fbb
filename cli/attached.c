// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Making instances and attaching them, and taking that back; see attached.h. */
#include "attached.h"

#include <stdlib.h>
#include <string.h>

int attach_open(struct cli *c, const struct config *boot, bool *created)
{
	*created = false;
	if (c->instance || !instance_open(&c->instance, &c->where, &c->error))
		return 0;
	if (c->error.code != POISE_E_NO_INSTANCE)
		return -1;
	memset(&c->error, 0, sizeof(c->error));
	return attach_load(&c->instance, &c->where, boot, created, &c->error);
}

int attach_one(struct cli *c, const struct config_interface *want, struct attach_state *state)
{
	memset(state, 0, sizeof(*state));
	if (attach_device(c->instance, want, state, &c->error))
		return -1;
	if (state->warning[0])
		cli_note(c, "%s: %s", state->device, state->warning);
	return 0;
}

/* How the device stands before it becomes what is wanted. */
static struct attached_before stands(const struct attach_state *list, int n, const char *device)
{
	struct attached_before b = {0};

	memcpy(b.as.device, device, sizeof(b.as.device));
	for (int i = 0; i < n; i++) {
		if (strcmp(list[i].device, device) != 0)
			continue;
		b.attached = true;
		b.as.mode = (__u8)list[i].wanted;
		b.as.shared = list[i].shared;
	}
	return b;
}

int attach_all(struct cli *c, const struct config *file, struct attached_new *new)
{
	struct attach_state state, *list = NULL;
	int n = attach_list(c->instance, &list, &c->error), status = n < 0 ? -1 : 0;

	new->n = 0;
	new->device = calloc(file->interfaces + 1, sizeof(*new->device));
	if (!new->device)
		abort();
	for (size_t i = 0; i < file->interfaces && !status; i++) {
		const struct config_interface *want = &file->interface[i];
		struct attached_before before = stands(list, n, want->device);

		status = attach_one(c, want, &state);
		if (!status && !(before.attached && before.as.mode == want->mode &&
				 before.as.shared == want->shared))
			new->device[new->n++] = before;
	}
	free(list);
	return status;
}

void attach_undo(struct cli *c, const struct attached_new *new, bool created)
{
	struct attach_state state;
	struct poise_error ignored;

	for (size_t i = 0; i < new->n; i++) {
		if (new->device[i].attached)
			attach_device(c->instance, &new->device[i].as, &state, &ignored);
		else
			attach_detach(c->instance, new->device[i].as.device, &ignored);
	}
	if (!created)
		return;
	instance_close(c->instance);
	c->instance = NULL;
	attach_reset(&c->where, &ignored);
}

void attach_new_free(struct attached_new *new)
{
	free(new->device);
	new->device = NULL;
}

void attach_note_boot(struct cli *c, const char *path)
{
	struct poise_meta *m = c->instance->meta;
	char boot[256], *a, *b;
	bool locked = c->instance->locked;

	cli_boot_file(c, boot, sizeof(boot));
	a = realpath(boot, NULL);
	b = realpath(path, NULL);
	if (a && b && !strcmp(a, b) && strlen(boot) < sizeof(m->boot_file) &&
	    (locked || !instance_lock(c->instance, NULL))) {
		strcpy((char *)m->boot_file, boot);
		m->boot_error[0] = 0;
		m->boot_applied = cli_now();
		if (!locked)
			instance_unlock(c->instance);
	}
	free(b);
	free(a);
}

int attach_interfaces(struct cli *c)
{
	struct attach_state *state = NULL;
	int n = attach_list(c->instance, &state, &c->error);

	if (n < 0)
		return -1;
	free(c->config->interface);
	c->config->interface = calloc((size_t)n + 1, sizeof(*c->config->interface));
	if (!c->config->interface)
		abort();
	c->config->interfaces = (size_t)n;
	for (int i = 0; i < n; i++) {
		struct config_interface *o = &c->config->interface[i];

		memcpy(o->device, state[i].device, sizeof(o->device));
		o->mode = (__u8)state[i].wanted;
		o->shared = state[i].shared;
	}
	free(state);
	return 0;
}
