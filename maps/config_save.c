// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A configuration as YAML that config_parse reads back to the same. One form only: keys in the
 * option table's order, services by name, backends by address, so that equal configurations give
 * equal bytes. Texts that some YAML reader would take for a number or a truth are quoted.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_priv.h"
#include "option.h"
#include "text.h"

struct saver {
	FILE *out;
	unsigned int flags;
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether a name in plain style is a text to every reader of YAML 1.1 and 1.2. */
static bool plain_is_text(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-";
	static const char *const other[] = {"y",   "n",	   "yes",   "no",  "on",
					    "off", "true", "false", "null"};

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (!strcasecmp(name, other[i]))
			return false;
	return is_letter(name[0]) && !name[strspn(name, plain)];
}

static void save_text(const struct saver *s, const char *text)
{
	if (plain_is_text(text)) {
		fputs(text, s->out);
		return;
	}
	fputc('"', s->out);
	for (; *text; text++)
		fprintf(s->out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	fputc('"', s->out);
}

static bool to_save(const struct saver *s, const struct option *o, const void *obj)
{
	return (s->flags & CONFIG_SAVE_ALL) || o->always_saved || !option_is_default(o, obj);
}

/* In one line, as they are short; those of IPv6 quoted for their colons. */
static void save_ranges(const struct saver *s, const struct ranges *list)
{
	char text[RANGE_TEXT];

	fputs("[", s->out);
	for (size_t i = 0; i < list->n; i++) {
		range_format(&list->range[i], text, sizeof(text));
		fprintf(s->out, strchr(text, ':') ? "%s\"%s\"" : "%s%s", i ? ", " : " ", text);
	}
	fputs(list->n ? " ]" : "]", s->out);
}

/* Several likewise, with commas in text; one alone. */
static void save_addrs(const struct saver *s, const char *text)
{
	const char *quote = strchr(text, ':') ? "\"" : "", *comma = "";
	bool several = strchr(text, ',');

	fputs(several ? "[ " : "", s->out);
	for (const char *at = text;; at++, comma = ", ") {
		size_t length = strcspn(at, ",");

		fprintf(s->out, "%s%s%.*s%s", comma, quote, (int)length, at, quote);
		at += length;
		if (!*at)
			break;
	}
	fputs(several ? " ]" : "", s->out);
}

/* before, KEY: VALUE, after. */
static void save_option(const struct saver *s, const struct option *o, const void *obj,
			const char *before, const char *after)
{
	const enum option_type type = o->type == OPTION_OWN ? option_owned(o)->type : o->type;
	char text[OPTION_TEXT];

	fprintf(s->out, "%s%s: ", before, o->key);
	option_format(o, obj, text, sizeof(text));
	if (type == OPTION_RANGES)
		save_ranges(s, option_list_const(o, obj));
	else if (type == OPTION_ADDRS)
		save_addrs(s, text);
	else if (type == OPTION_NAME || type == OPTION_STRING)
		save_text(s, text);
	else
		fputs(text, s->out);
	fputs(after, s->out);
}

static void save_limits(const struct saver *s, const struct config_limits *limits)
{
	bool any = false;

	for (const struct option *o = option_first(OPTION_LIMIT); o; o = option_next(o)) {
		if (!to_save(s, o, limits))
			continue;
		if (!any)
			fprintf(s->out, "limits:\n");
		any = true;
		save_option(s, o, limits, "  ", "\n");
	}
}

static void save_interfaces(const struct saver *s, const struct config *cfg)
{
	if (cfg->interfaces)
		fprintf(s->out, "interfaces:\n");
	for (size_t i = 0; i < cfg->interfaces; i++) {
		const struct config_interface *dev = &cfg->interface[i];

		fputs("  - { device: ", s->out);
		save_text(s, dev->device);
		for (const struct option *o = option_first(OPTION_INTERFACE); o; o = option_next(o))
			if (to_save(s, o, dev))
				save_option(s, o, dev, ", ", "");
		fprintf(s->out, " }\n");
	}
}

static void save_address(const struct saver *s, const union poise_addr *addr)
{
	const char *quote = poise_addr_is4(addr) ? "" : "\"";
	char text[POISE_ADDR_TEXT];

	fprintf(s->out, "address: %s%s%s", quote, poise_format_addr(addr, text, sizeof(text)),
		quote);
}

static void save_addresses(const struct saver *s, const struct config *cfg)
{
	bool any = false;

	for (size_t i = 0; i < cfg->addresses; i++) {
		const struct config_address *a = &cfg->address[i];

		if (config_address_leaving(a))
			continue;
		if (!any)
			fprintf(s->out, "addresses:\n");
		any = true;
		fputs("  - { ", s->out);
		save_address(s, &a->conf.addr);
		if (a->conf.device[0]) {
			fputs(", claim: ", s->out);
			save_text(s, a->conf.device);
		}
		for (const struct option *o = option_first(OPTION_ADDRESS); o; o = option_next(o))
			if (to_save(s, o, &a->conf))
				save_option(s, o, &a->conf, ", ", "");
		fputs(" }\n", s->out);
	}
}

static void save_member(const struct saver *s, const struct config_member *m)
{
	fputs("      - { ", s->out);
	save_address(s, &m->conf.addr);
	if (m->conf.port)
		fprintf(s->out, ", port: %u", ntohs(m->conf.port));
	for (const struct option *o = option_first(OPTION_BACKEND); o; o = option_next(o))
		if (to_save(s, o, &m->conf))
			save_option(s, o, &m->conf, ", ", "");
	fprintf(s->out, " }\n");
}

/* A check has a type and what else is not at its default; one of none has no more to say. */
static void save_health(const struct saver *s, const struct poise_health_conf *h)
{
	const struct option *type = option_find(OPTION_HEALTH, "type");
	bool none = h->type == POISE_CHECK_NONE && !(s->flags & CONFIG_SAVE_ALL);
	bool any = none;

	for (const struct option *o = option_first(OPTION_HEALTH); o; o = option_next(o))
		any |= to_save(s, o, h);
	if (!any)
		return;
	save_option(s, type, h, "    health: { ", "");
	for (const struct option *o = option_first(OPTION_HEALTH); o && !none; o = option_next(o))
		if (o != type && to_save(s, o, h))
			save_option(s, o, h, ", ", "");
	fputs(" }\n", s->out);
}

static void save_service(const struct saver *s, const struct config_service *svc)
{
	const struct poise_service_conf *conf = &svc->conf;
	char text[POISE_ENDPOINT_TEXT];

	fputs("  - name: ", s->out);
	save_text(s, conf->name);
	fputs("\n    listen:\n", s->out);
	for (size_t i = 0; i < conf->listeners; i++)
		fprintf(s->out, "      - \"%s\"\n",
			poise_format_listener(&conf->listener[i], text, sizeof(text)));
	for (const struct option *o = option_first(OPTION_SERVICE); o; o = option_next(o))
		if (to_save(s, o, svc))
			save_option(s, o, svc, "    ", "\n");
	save_health(s, &conf->health);
	if (config_members_in(svc))
		fprintf(s->out, "    backends:\n");
	for (size_t i = 0; i < svc->members; i++)
		if (!config_member_leaving(&svc->member[i]))
			save_member(s, &svc->member[i]);
}

char *config_save(const struct config *cfg, unsigned int flags)
{
	char *text = NULL;
	size_t length;
	struct saver s = {.out = open_memstream(&text, &length), .flags = flags};

	if (!s.out)
		abort(); /* out of memory, as elsewhere */
	if (cfg->has_hash_key && !(flags & CONFIG_SAVE_NO_SECRETS))
		fprintf(s.out, "hash-key: \"%016llx%016llx\"\n", cfg->hash_key[0],
			cfg->hash_key[1]);
	if (cfg->has_limits)
		save_limits(&s, &cfg->limits);
	save_interfaces(&s, cfg);
	save_addresses(&s, cfg);
	if (cfg->services)
		fprintf(s.out, "services:\n");
	for (size_t i = 0; i < cfg->services; i++)
		save_service(&s, cfg->service[i]);
	if (fclose(s.out))
		abort();
	return text;
}
