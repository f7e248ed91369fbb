// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise apply, diff: a file against what is in force. Both make a copy of what is in force, apply
 * the file to the copy and look at the difference, so diff says exactly what apply would do.
 */
#include <stdlib.h>
#include <string.h>

#include "../maps/memory.h"
#include "attached.h"
#include "json.h"

struct differences {
	struct cli *c;
	struct json_object *list; /* NULL: print */
	size_t n;
};

static void emit(void *ctx, char sign, const char *line)
{
	static const char *const colour[] = {"32", "31", "33"};
	struct differences *d = ctx;
	char text[512];

	d->n++;
	snprintf(text, sizeof(text), "%c %s", sign, line);
	if (d->list)
		json_object_array_add(d->list, json_object_new_string(text));
	else if (d->c->colour)
		fprintf(d->c->out, "\033[%sm%s\033[0m\n",
			colour[sign == '+' ? 0 : (sign == '-' ? 1 : 2)], text);
	else
		fprintf(d->c->out, "%s\n", text);
}

static void print_json(struct cli *c, struct differences *d, const char *sentence)
{
	struct json_object *o = json_answer(c);

	json_add_known(o, "done", sentence);
	json_object_object_add(o, "differences", d->list);
	json_print(c, o);
}

/* Devices attached by hand stay: apply only ever attaches. */
static void keep_interfaces(struct cli *c, struct config *after, const struct config *live)
{
	for (size_t i = 0; i < live->interfaces; i++) {
		const struct config_interface *have = &live->interface[i];
		bool listed = false;

		for (size_t k = 0; k < after->interfaces && !listed; k++)
			listed = !strcmp(after->interface[k].device, have->device);
		if (listed)
			continue;
		after->interface =
			memory_realloc(after->interface, (after->interfaces + 1) * sizeof(*have));
		after->interface[after->interfaces++] = *have;
		cli_note(c, "attached to %s, which the file does not list (poise detach %s)",
			 have->device, have->device);
	}
}

static unsigned int apply_flags(const struct cli *c)
{
	return (c->args.set[OPT_MERGE] ? CONFIG_APPLY_MERGE : 0) |
	       (c->args.set[OPT_ALLOW_EMPTY] ? CONFIG_APPLY_EMPTY : 0);
}

/* The difference that applying file to live makes, printed; -1 on error. */
static int show_difference(struct cli *c, const struct config *live, const struct config *file,
			   unsigned int flags, struct differences *d)
{
	struct config *after = config_clone(live);
	int status = config_apply(after, file, flags, NULL, &c->error);

	*d = (struct differences){.c = c};
	if (!status) {
		d->list = c->json ? json_object_new_array() : NULL;
		keep_interfaces(c, after, live);
		config_diff(live, after, emit, d);
	}
	config_free(after);
	return status;
}

/* Hand-made services are nothing apply would touch, but a restart of the host would lose them. */
static size_t note_by_hand(struct cli *c, const struct config *live, const struct config *file)
{
	size_t n = 0;

	for (size_t i = 0; i < live->services; i++) {
		const struct config_service *svc = live->service[i];

		if (svc->conf.r.owner != POISE_OWNER_HAND ||
		    config_service_named(file, svc->conf.name))
			continue;
		cli_note(c,
			 "service %s was made by hand and is not in the file: poise save --boot "
			 "keeps it",
			 svc->conf.name);
		n++;
	}
	return n;
}

int cmd_diff(struct cli *c)
{
	char boot[256];
	const char *path = args_take(&c->args);
	struct differences d;
	struct config *file;
	size_t by_hand;
	int status = -1;

	if (cli_no_more(c) || cli_read(c) || attach_interfaces(c))
		return -1;
	file = config_read(path ? path : cli_boot_file(c, boot, sizeof(boot)), &c->error);
	if (!file)
		return -1;
	if (!show_difference(c, c->config, file, 0, &d)) {
		by_hand = note_by_hand(c, c->config, file);
		status = d.n || by_hand ? CLI_NO : CLI_OK;
		if (c->json)
			print_json(c, &d, status ? "differs" : "equal");
		else if (status || !c->quiet)
			cli_say(c, "%s",
				status ? "what is in force differs from the file."
				       : "what is in force is what the file says.");
		if (!c->json)
			cli_print_change(c);
	}
	config_free(file);
	return status;
}

/* ---- apply --------------------------------------------------------------------------------*/

/* Limits are set when the maps are created. */
static void note_limits(struct cli *c, const struct config *live, const struct config *file)
{
	if (file->has_limits && memcmp(&file->limits, &live->limits, sizeof(live->limits)))
		cli_note(c, "limits count only when an instance is created; those of this one "
			    "stay (poise status)");
}

static int dry_run(struct cli *c, const struct config *file)
{
	struct config *nothing = NULL;
	struct differences d;
	int status = -1;

	if (cli_read(c)) {
		if (c->error.code != POISE_E_NO_INSTANCE)
			return -1;
		nothing = config_new();
		cli_note(c, "there is no instance yet: apply would make one");
	} else if (attach_interfaces(c)) {
		return -1;
	} else {
		note_limits(c, c->config, file);
	}
	if (!show_difference(c, nothing ? nothing : c->config, file, apply_flags(c), &d)) {
		cli_say(c, d.n ? "nothing was changed (--dry-run)."
			       : "nothing would change (--dry-run).");
		if (c->json)
			print_json(c, &d, c->sentence);
		else
			cli_print_change(c);
		status = CLI_OK;
	}
	config_free(nothing);
	return status;
}

static int check_interfaces(struct cli *c, const struct config *file, const char *path)
{
	for (size_t i = 0; i < file->interfaces; i++) {
		if (if_nametoindex(file->interface[i].device))
			continue;
		poise_fail(&c->error, POISE_E_NO_DEVICE, "no device \"%s\"",
			   file->interface[i].device);
		snprintf(c->error.file, sizeof(c->error.file), "%s", path);
		c->error.line = file->interface[i].line;
		return poise_error_remedy(&c->error, "ip link shows what there is");
	}
	return 0;
}

static void say_applied(struct cli *c, const char *path, const struct config_summary *sum,
			size_t devices, bool created)
{
	unsigned int addresses =
		sum->addresses_added + sum->addresses_changed + sum->addresses_removed;

	if (addresses)
		cli_note(c, "addresses %u claimed, %u changed, %u released (poise address list)",
			 sum->addresses_added, sum->addresses_changed, sum->addresses_removed);
	if (devices)
		cli_note(c, "%zu device%s attached or changed (poise status)", devices,
			 devices == 1 ? "" : "s");
	if (!sum->services_added && !sum->services_changed && !sum->services_removed &&
	    !sum->backends_added && !sum->backends_changed && !sum->backends_removed && !addresses)
		cli_say(c, "%s applied%s: %s what was in force; no flow is touched.", path,
			created ? " to a new instance" : "",
			devices ? "its services are" : "it is");
	else
		cli_say(c,
			"%s applied%s: services %u added, %u changed, %u removed; backends %u "
			"added, "
			"%u changed, %u removed; %llu recorded flows lose their backend.",
			path, created ? " to a new instance" : "", sum->services_added,
			sum->services_changed, sum->services_removed, sum->backends_added,
			sum->backends_changed, sum->backends_removed, c->change.flows);
}

static int commit_file(struct cli *c, const struct config *file, struct config_summary *sum)
{
	if (!cli_begin(c) || config_apply(c->config, file, apply_flags(c), sum, &c->error))
		return -1;
	note_limits(c, c->config, file);
	cli_note_files(c, NULL);
	return cli_commit(c);
}

/* Devices first: if one cannot be attached, or the file cannot be committed, all is as it was. */
static int apply(struct cli *c, const struct config *file, const char *path)
{
	struct config_summary sum = {0};
	struct attached_new new = {0};
	bool created = false;
	int status = -1;

	if (check_interfaces(c, file, path) || attach_open(c, file, &created))
		return -1;
	if (!attach_all(c, file, &new) && !commit_file(c, file, &sum)) {
		attach_note_boot(c, path);
		say_applied(c, path, &sum, new.n, created);
		cli_print_change(c);
		status = CLI_OK;
	} else {
		attach_undo(c, &new, created);
	}
	attach_new_free(&new);
	return status;
}

int cmd_apply(struct cli *c)
{
	const char *path = cli_need(c, "FILE");
	struct config *file;
	int status;

	if (!path || cli_no_more(c))
		return -1;
	file = config_read(path, &c->error);
	if (!file)
		return -1;
	status = c->args.set[OPT_DRY_RUN] ? dry_run(c, file) : apply(c, file, path);
	config_free(file);
	return status;
}
