// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise attach DEV, detach DEV, reset. Attaching where there is no instance makes one, by the boot
 * file if there is one: `poise` needs no daemon to have run before.
 */
#include "../loader/attach/attach.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../loader/net/nft.h"
#include "../loader/net/overlay.h"
#include "attached.h"
#include "json.h"

static const char *mode_word(enum attach_mode mode)
{
	return option_word(option_find(OPTION_INTERFACE, "mode"), mode);
}

/* DEV, then `mode WORD`, `shared` and `inside` in any order; `shared` may stand alone, `inside` is
 * `mode inside`. */
static int take_interface(struct cli *c, struct config_interface *want)
{
	const char *dev = cli_need(c, "DEV"), *word;

	memset(want, 0, sizeof(*want));
	option_defaults(OPTION_INTERFACE, want);
	if (!dev)
		return -1;
	if (strlen(dev) >= sizeof(want->device))
		return poise_fail(&c->error, POISE_E_NO_DEVICE, "no device \"%.32s\"", dev);
	memcpy(want->device, dev, strlen(dev) + 1);
	while ((word = args_take(&c->args))) {
		bool inside = !strcmp(word, "inside");
		const struct option *key = cli_key(c, OPTION_INTERFACE, inside ? "mode" : word);
		const char *value = inside ? word : args_peek(&c->args);
		bool bare = key && !strcmp(key->key, "shared") &&
			    (!value || (strcmp(value, "yes") && strcmp(value, "no")));

		if (!key)
			return cli_usage(c, "\"%s\" is no word of attach", word);
		if (!bare && !value)
			return cli_usage(c, "%s: its value is missing (%s)", key->key,
					 key->argument);
		if (option_set(key, want,
			       bare	? "yes"
			       : inside ? value
					: args_take(&c->args),
			       &c->error))
			return -1;
	}
	return 0;
}

/* The limits and the key that the boot file asks for. No boot file: defaults. */
static int boot_config(struct cli *c, struct config **boot)
{
	char path[256];

	cli_boot_file(c, path, sizeof(path));
	if (access(path, F_OK)) {
		*boot = config_new();
		return 0;
	}
	*boot = config_read(path, &c->error);
	return *boot ? 0 : -1;
}

/* New maps: what the file says becomes what is in force. */
static int apply_boot(struct cli *c, const struct config *boot)
{
	char path[256];

	if (!boot->services)
		return 0;
	if (!cli_begin(c) || config_apply(c->config, boot, 0, NULL, &c->error) ||
	    instance_commit(c->instance, c->config, &c->change, &c->error))
		return -1;
	cli_tell_change(c);
	attach_note_boot(c, cli_boot_file(c, path, sizeof(path)));
	instance_unlock(c->instance);
	return 0;
}

/* Next hops may lead through the new device, or no longer through the old. */
static int resolve_now(struct cli *c, bool wait)
{
	bool look;

	if (instance_daemon_runs(c->instance))
		return 0;
	if (!cli_begin(c))
		return -1;
	look = cli_resolve(c);
	instance_unlock(c->instance);
	if (look && wait) {
		cli_came(c, true);
		cli_reach(c, false);
	}
	cli_settle_alone(c);
	if (look)
		cli_note(c, "poised is not running: next hops are not followed (systemctl start "
			    "poised)");
	return 0;
}

int cmd_attach(struct cli *c)
{
	struct config_interface want;
	struct attach_state state;
	struct config *boot = NULL;
	bool created = false;
	int status = -1;

	if (take_interface(c, &want) || boot_config(c, &boot))
		goto out;
	if (attach_open(c, boot, &created))
		goto out;
	if ((created && apply_boot(c, boot)) || attach_one(c, &want, &state)) {
		attach_undo(c, &(struct attached_new){0}, created);
		goto out;
	}
	if (resolve_now(c, true))
		goto out;
	cli_say(c, "attached to %s in %s mode%s%s; no established flow is touched.", state.device,
		mode_word(state.mode), state.shared ? ", shared" : "",
		created ? " (a new instance)" : "");
	if (c->config && !c->config->services)
		cli_note(c, "next: poise service add NAME ADDR:PORT");
	cli_print_change(c);
	status = CLI_OK;
out:
	config_free(boot);
	return status;
}

/* Takes away the table of nftables that nobody needs any more. */
static void overlay_drop(struct cli *c)
{
	struct poise_error err = {0};

	if (overlay_remove(c->instance, &err))
		cli_note(c, "%s", err.message);
}

/* The last device may be detached, and no poised be there to see it. */
static void overlay_rest(struct cli *c)
{
	struct attach_state *list = NULL;
	int left = attach_list(c->instance, &list, NULL);

	free(list);
	if (!left && !instance_daemon_runs(c->instance))
		overlay_drop(c);
}

int cmd_detach(struct cli *c)
{
	const char *dev = cli_need(c, "DEV");

	if (!dev || cli_no_more(c) || cli_read(c) || attach_detach(c->instance, dev, &c->error))
		return -1;
	cli_say(c, "detached from %s: packets that come there are no longer balanced.", dev);
	if (resolve_now(c, false))
		return -1;
	overlay_rest(c);
	cli_print_change(c);
	return CLI_OK;
}

/* A daemon would go on with maps that nobody else sees. */
static int refuse_daemon(struct cli *c, const char *name)
{
	if (!instance_daemon_runs(c->instance))
		return 0;
	poise_fail(&c->error, POISE_E_BUSY, "poised is running (process %u)",
		   c->instance->meta->daemon_pid);
	poise_error_remedy(&c->error, "stop it first: systemctl stop poised");
	return poise_error_about(&c->error, "instance \"%s\"", name);
}

/* What cannot be read can be reset all the same: half-made maps, or the backend side alone. */
int cmd_reset(struct cli *c)
{
	const char *name = c->where.name ? c->where.name : POISE_DEFAULT_INSTANCE;
	char table[NFT_TABLE_TEXT];
	size_t services = 0;
	bool read;

	if (cli_no_more(c))
		return -1;
	read = !cli_read(c);
	if (read) {
		if (refuse_daemon(c, name))
			return -1;
		services = c->config->services;
		cli_release_all(c);
		overlay_drop(c);
		instance_close(c->instance);
		c->instance = NULL;
	}
	if (attach_reset(&c->where, &c->error))
		return -1;
	if (!read) /* nobody knows whether there is one */
		nft_table_remove(nft_table_name(name, table), NULL);
	cli_say(c, "instance %s removed: %zu service%s, their flows, programs and maps.", name,
		services, services == 1 ? "" : "s");
	cli_print_change(c);
	return CLI_OK;
}
