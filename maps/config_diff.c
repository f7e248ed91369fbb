// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The difference between two configurations, a line each. Both sides are sorted the same way, so
 * each level is one walk along both. Members that are leaving are no longer of the configuration.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config_priv.h"
#include "option.h"
#include "text.h"

#define LINE_TEXT 2048 /* a name, an address and every option of a backend or a check */

struct differ {
	config_emit emit;
	void *ctx;
	int differences;
};

static void emit(struct differ *d, char sign, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void emit(struct differ *d, char sign, const char *fmt, ...)
{
	char line[LINE_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	d->differences++;
	if (d->emit)
		d->emit(d->ctx, sign, line);
}

/* " KEY VALUE" for every option that is not at its default; lists have lines of their own. */
static char *said(enum option_scope scope, const void *obj, char *buf, size_t size)
{
	char text[OPTION_TEXT];
	size_t used = 0;

	buf[0] = '\0';
	for (const struct option *o = option_first(scope); o && used < size; o = option_next(o))
		if (o->type != OPTION_RANGES && !option_is_default(o, obj))
			used += (size_t)snprintf(buf + used, size - used, " %s %s", o->key,
						 option_format(o, obj, text, sizeof(text)));
	return buf;
}

static void diff_options(struct differ *d, enum option_scope scope, const char *what,
			 const void *from, const void *to)
{
	char before[OPTION_TEXT], after[OPTION_TEXT];

	for (const struct option *o = option_first(scope); o; o = option_next(o))
		if (o->type != OPTION_RANGES && !option_equal(o, from, to))
			emit(d, '~', "%s %s %s -> %s", what, o->key,
			     option_format(o, from, before, sizeof(before)),
			     option_format(o, to, after, sizeof(after)));
}

/* Prefixes of a that b lacks, of each list. */
static void diff_ranges(struct differ *d, char sign, const struct config_service *a,
			const struct config_service *b)
{
	static const struct ranges none;
	char text[RANGE_TEXT];

	for (const struct option *o = option_first(OPTION_SERVICE); o; o = option_next(o)) {
		const struct ranges *mine, *other;

		if (o->type != OPTION_RANGES)
			continue;
		mine = option_list_const(o, a);
		other = b ? option_list_const(o, b) : &none;
		for (size_t i = 0; i < mine->n; i++)
			if (!ranges_has(other, &mine->range[i]))
				emit(d, sign, "%s %s %s", o->key, a->conf.name,
				     range_format(&mine->range[i], text, sizeof(text)));
	}
}

/* ---- listeners --------------------------------------------------------------------------------*/

static bool lists(const struct poise_service_conf *conf, const struct poise_listener_conf *l)
{
	for (size_t i = 0; i < conf->listeners; i++)
		if (config_same_listener(&conf->listener[i], l))
			return true;
	return false;
}

/* Listeners of a that b lacks. */
static void diff_listeners(struct differ *d, char sign, const struct poise_service_conf *a,
			   const struct poise_service_conf *b)
{
	char text[POISE_ENDPOINT_TEXT];

	for (size_t i = 0; i < a->listeners; i++)
		if (!b || !lists(b, &a->listener[i]))
			emit(d, sign, "listener %s %s", a->name,
			     poise_format_listener(&a->listener[i], text, sizeof(text)));
}

/* ---- backends ---------------------------------------------------------------------------------*/

static const char *endpoint(const struct config_member *m, char *buf, size_t size)
{
	return poise_format_endpoint(&m->conf.addr, m->conf.port, buf, size);
}

/* Members of a that b lacks. */
static void diff_members(struct differ *d, char sign, const struct config_service *a,
			 const struct config_service *b)
{
	char text[POISE_ENDPOINT_TEXT], options[LINE_TEXT / 2];

	for (size_t i = 0; i < a->members; i++) {
		const struct config_member *m = &a->member[i], *twin;

		if (config_member_leaving(m))
			continue;
		twin = b ? config_member_at(b, &m->conf.addr, m->conf.port) : NULL;
		if (twin && !config_member_leaving(twin))
			continue;
		said(OPTION_BACKEND, &m->conf, options, sizeof(options));
		emit(d, sign, "backend %s %s%s", a->conf.name, endpoint(m, text, sizeof(text)),
		     sign == '+' ? options : "");
	}
}

static void diff_common_members(struct differ *d, const struct config_service *from,
				const struct config_service *to)
{
	char text[POISE_ENDPOINT_TEXT], what[LINE_TEXT / 2];

	for (size_t i = 0; i < to->members; i++) {
		const struct config_member *m = &to->member[i];
		const struct config_member *old =
			config_member_at(from, &m->conf.addr, m->conf.port);

		if (!old || config_member_leaving(old) || config_member_leaving(m))
			continue;
		snprintf(what, sizeof(what), "backend %s %s", to->conf.name,
			 endpoint(m, text, sizeof(text)));
		diff_options(d, OPTION_BACKEND, what, &old->conf, &m->conf);
	}
}

/* ---- services ---------------------------------------------------------------------------------*/

static void diff_health(struct differ *d, const struct config_service *from,
			const struct config_service *to)
{
	char what[POISE_NAME_MAX + sizeof("health ")];

	snprintf(what, sizeof(what), "health %s", to->conf.name);
	diff_options(d, OPTION_HEALTH, what, &from->conf.health, &to->conf.health);
}

static void diff_service(struct differ *d, const struct config_service *from,
			 const struct config_service *to)
{
	char what[POISE_NAME_MAX + sizeof("service ")];

	snprintf(what, sizeof(what), "service %s", to->conf.name);
	diff_options(d, OPTION_SERVICE, what, from, to);
	diff_health(d, from, to);
	diff_ranges(d, '-', from, to);
	diff_ranges(d, '+', to, from);
	diff_listeners(d, '-', &from->conf, &to->conf);
	diff_listeners(d, '+', &to->conf, &from->conf);
	diff_members(d, '-', from, to);
	diff_members(d, '+', to, from);
	diff_common_members(d, from, to);
}

static void new_service(struct differ *d, const struct config_service *svc)
{
	char options[LINE_TEXT / 2];

	emit(d, '+', "service %s%s", svc->conf.name,
	     said(OPTION_SERVICE, svc, options, sizeof(options)));
	said(OPTION_HEALTH, &svc->conf.health, options, sizeof(options));
	if (options[0])
		emit(d, '+', "health %s%s", svc->conf.name, options);
	diff_ranges(d, '+', svc, NULL);
	diff_listeners(d, '+', &svc->conf, NULL);
	diff_members(d, '+', svc, NULL);
}

static void diff_services(struct differ *d, const struct config *from, const struct config *to)
{
	size_t f = 0, t = 0;

	for (;;) {
		const struct config_service *a = f < from->services ? from->service[f] : NULL;
		const struct config_service *b = t < to->services ? to->service[t] : NULL;
		int order;

		if (!a && !b)
			return;
		order = !a ? 1 : !b ? -1 : strcmp(a->conf.name, b->conf.name);
		if (order < 0)
			emit(d, '-', "service %s", a->conf.name);
		else if (order > 0)
			new_service(d, b);
		else
			diff_service(d, a, b);
		f += order <= 0;
		t += order >= 0;
	}
}

/* ---- interfaces -------------------------------------------------------------------------------*/

static const struct config_interface *interface_named(const struct config *cfg, const char *device)
{
	for (size_t i = 0; i < cfg->interfaces; i++)
		if (!strcmp(cfg->interface[i].device, device))
			return &cfg->interface[i];
	return NULL;
}

static void diff_interfaces(struct differ *d, const struct config *from, const struct config *to)
{
	char what[IF_NAMESIZE + sizeof("interface ")], options[LINE_TEXT / 2];

	for (size_t i = 0; i < from->interfaces; i++)
		if (!interface_named(to, from->interface[i].device))
			emit(d, '-', "interface %s", from->interface[i].device);
	for (size_t i = 0; i < to->interfaces; i++) {
		const struct config_interface *new = &to->interface[i];
		const struct config_interface *old = interface_named(from, new->device);

		snprintf(what, sizeof(what), "interface %s", new->device);
		if (old)
			diff_options(d, OPTION_INTERFACE, what, old, new);
		else
			emit(d, '+', "%s%s", what,
			     said(OPTION_INTERFACE, new, options, sizeof(options)));
	}
}

/* ---- addresses --------------------------------------------------------------------------------*/

static const char *claimed_on(const struct config_address *a)
{
	return a->conf.device[0] ? a->conf.device : "none";
}

static void diff_address(struct differ *d, const struct config_address *old,
			 const struct config_address *new, const char *text)
{
	char what[POISE_ADDR_TEXT + sizeof("address ")];

	snprintf(what, sizeof(what), "address %s", text);
	if (strcmp(old->conf.device, new->conf.device) != 0)
		emit(d, '~', "%s claim %s -> %s", what, claimed_on(old), claimed_on(new));
	diff_options(d, OPTION_ADDRESS, what, &old->conf, &new->conf);
}

/* Those of from that are not leaving, with what became of them in to. */
static void diff_addresses_gone(struct differ *d, const struct config *from,
				const struct config *to)
{
	char text[POISE_ADDR_TEXT];

	for (size_t i = 0; i < from->addresses; i++) {
		const struct config_address *old = &from->address[i];
		const struct config_address *new = config_address_at(to, &old->conf.addr);

		if (config_address_leaving(old))
			continue;
		poise_format_addr(&old->conf.addr, text, sizeof(text));
		if (!new || config_address_leaving(new))
			emit(d, '-', "address %s", text);
		else
			diff_address(d, old, new, text);
	}
}

static void diff_addresses(struct differ *d, const struct config *from, const struct config *to)
{
	char text[POISE_ADDR_TEXT], options[LINE_TEXT / 2];

	diff_addresses_gone(d, from, to);
	for (size_t i = 0; i < to->addresses; i++) {
		const struct config_address *new = &to->address[i];
		const struct config_address *old = config_address_at(from, &new->conf.addr);

		if (!config_address_leaving(new) && (!old || config_address_leaving(old)))
			emit(d, '+', "address %s%s%s%s",
			     poise_format_addr(&new->conf.addr, text, sizeof(text)),
			     new->conf.device[0] ? " claim " : "", new->conf.device,
			     said(OPTION_ADDRESS, &new->conf, options, sizeof(options)));
	}
}

int config_diff(const struct config *from, const struct config *to, config_emit line, void *ctx)
{
	struct differ d = {.emit = line, .ctx = ctx};

	if (from->has_hash_key && to->has_hash_key &&
	    memcmp(from->hash_key, to->hash_key, sizeof(to->hash_key)))
		emit(&d, '~', "hash-key"); /* a secret: no values */
	if (from->has_limits && to->has_limits)
		diff_options(&d, OPTION_LIMIT, "limits", &from->limits, &to->limits);
	if (to->interfaces)
		diff_interfaces(&d, from, to);
	diff_addresses(&d, from, to);
	diff_services(&d, from, to);
	return d.differences;
}
