// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Services, backends and keys as words of a command line, and back into words. */
#include <stdlib.h>
#include <string.h>

#include "transact.h"

struct config_service *cli_service(struct cli *c)
{
	const char *word = cli_need(c, "SERVICE");
	struct config_service *svc = word ? config_service_find(c->config, word, &c->error) : NULL;

	if (svc)
		svc->line = c->line;
	return svc;
}

#define KEYS_MAX 64 /* of one scope; more than there will ever be, and a test says so */

struct keys {
	const char *word[KEYS_MAX];
	const struct option *option[KEYS_MAX];
	size_t n;
};

static void keys_of(enum option_scope scope, struct keys *k)
{
	k->n = 0;
	for (const struct option *o = option_first(scope); o && k->n < KEYS_MAX;
	     o = option_next(o)) {
		k->word[k->n] = o->key;
		k->option[k->n++] = o;
	}
}

const struct option *cli_key(const struct cli *c, int scope, const char *word)
{
	struct keys k;
	int at;

	keys_of((enum option_scope)scope, &k);
	at = args_match("key", word, k.word, k.n, c->abbreviate, NULL);
	return at < 0 ? NULL : k.option[at];
}

int cli_keys(struct cli *c, enum option_scope scope, void *obj, bool some)
{
	const char *key, *value;
	__u64 said = 0; /* as the file, a command has each key once */
	struct keys k;
	int at;

	keys_of(scope, &k);
	if (some && !args_left(&c->args))
		return cli_usage(c, "KEY VALUE is missing");
	while ((key = args_take(&c->args))) {
		at = args_match("key", key, k.word, k.n, c->abbreviate, &c->error);
		if (at < 0)
			return poise_error_about(&c->error, "%s", c->command->name);
		if (said & 1ull << at)
			return cli_usage(c, "%s is said twice", k.word[at]);
		said |= 1ull << at;
		value = args_take(&c->args);
		if (!value)
			return cli_usage(c, "%s: its value is missing (%s)", k.word[at],
					 k.option[at]->argument);
		if (option_set(k.option[at], obj, value, &c->error))
			return -1;
	}
	return 0;
}

bool cli_flows_known(const struct config_service *svc)
{
	return config_records_all(&svc->conf);
}

__u64 cli_member_flows(const struct cli *c, const struct config_member *m)
{
	struct instance_stats s;

	if (!m->id)
		return 0;
	instance_member_stats(c->instance, m->id, &s);
	return s.flows > 0 ? (__u64)s.flows : 0;
}

__u64 cli_service_flows(const struct cli *c, const struct config_service *svc)
{
	__u64 n = 0;

	for (size_t i = 0; i < svc->members; i++)
		n += cli_member_flows(c, &svc->member[i]);
	return n;
}

const char *cli_flows_text(bool known, __u64 n, char *buf, size_t size)
{
	if (known || n)
		snprintf(buf, size, "%s%llu flow%s", known ? "" : "at least ", n,
			 n == 1 ? "" : "s");
	else
		snprintf(buf, size, "its flows (not counted: track auto)");
	return buf;
}

const char *cli_member_name(const struct config_member *m, char buf[POISE_NAME_MAX])
{
	if (m->conf.name[0])
		return m->conf.name;
	return poise_format_endpoint(&m->conf.addr, m->conf.port, buf, POISE_NAME_MAX);
}

const char *cli_now_is(const struct cli *c, enum option_scope scope, const char *word,
		       const void *obj, char *buf, size_t size)
{
	const struct option *o = cli_key(c, scope, word);
	char value[POISE_NAME_MAX];

	if (!o)
		abort(); /* cli_keys has taken it */
	option_format(o, obj, value, sizeof(value));
	snprintf(buf, size, "%s is now %s", o->key, value[0] ? value : "none");
	return buf;
}

const char *cli_word(enum option_scope scope, const char *key, const void *obj, char *buf,
		     size_t size)
{
	return option_format(option_find(scope, key), obj, buf, size);
}

const char *cli_owner(int owner)
{
	static const char *const words[] = {
		[POISE_OWNER_HAND] = "hand",
		[POISE_OWNER_FILE] = "file",
		[POISE_OWNER_KUBERNETES] = "kubernetes",
	};

	return owner >= 0 && owner <= POISE_OWNER_KUBERNETES ? words[owner] : "?";
}

const char *cli_boot_file(const struct cli *c, char *buf, size_t size)
{
	if (!c->instance || !c->instance->meta->boot_file[0])
		return instance_boot_file(&c->where, buf, size);
	snprintf(buf, size, "%.*s", (int)sizeof(c->instance->meta->boot_file),
		 (const char *)c->instance->meta->boot_file);
	return buf;
}
