// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How a service is checked: what its type needs, what it has no use for, and what takes two keys to
 * be wrong.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_priv.h"
#include "option.h"
#include "pattern.h"
#include "split.h"
#include "status.h"
#include "text.h"

#define BIT(type) (1u << POISE_CHECK_##type)
#define WEB	  (BIT(HTTP) | BIT(HTTPS))
#define ANY	  (~BIT(NONE))
#define PORTS	  (ANY & ~BIT(ICMP))

#define LABEL_MAX 63 /* bytes of a part of a name (RFC 1035, section 2.3.4) */

/* Which types look at a key; the rest are for all but none. */
static const struct use {
	const char *key;
	unsigned int types;
	unsigned int needed; /* by these */
} uses[] = {
	{"port", PORTS, 0},
	{"method", WEB, 0},
	{"path", WEB, 0},
	{"host", WEB | BIT(GRPC), 0},
	{"status", WEB, 0},
	{"body", WEB, 0},
	{"body-regex", WEB, 0},
	{"http2", WEB, 0},
	{"tls", BIT(GRPC), 0},
	{"verify", BIT(HTTPS) | BIT(GRPC), 0},
	{"ca", BIT(HTTPS) | BIT(GRPC), 0},
	{"cert", BIT(HTTPS) | BIT(GRPC), 0},
	{"key", BIT(HTTPS) | BIT(GRPC), 0},
	{"send", BIT(UDP), BIT(UDP)},
	{"expect", BIT(UDP), 0},
	{"query", BIT(DNS) | BIT(GRPC), BIT(DNS)},
	{"query-type", BIT(DNS), 0},
	{"command", BIT(EXEC), BIT(EXEC)},
};
#define USES (sizeof(uses) / sizeof(uses[0]))

void config_health_init(struct poise_health_conf *h)
{
	memset(h, 0, sizeof(*h));
	option_defaults(OPTION_HEALTH, h);
}

static int says_nothing(const struct poise_health_conf *h, const char *key, struct poise_error *err)
{
	return poise_fail(err, POISE_E_CONFLICT, "%s says nothing to a check of type %s", key,
			  option_word(option_find(OPTION_HEALTH, "type"), h->type));
}

static int check_use(const struct poise_health_conf *h, const struct use *u,
		     struct poise_error *err)
{
	const struct option *o = option_find(OPTION_HEALTH, u->key);
	bool said = !option_is_default(o, h), useless = !(u->types & 1u << h->type);

	if (said)
		return useless ? says_nothing(h, u->key, err) : 0;
	if (!(u->needed & 1u << h->type))
		return 0;
	return poise_fail(err, POISE_E_CONFLICT, "a check of type %s needs %s",
			  option_word(option_find(OPTION_HEALTH, "type"), h->type), u->key);
}

static int check_none(const struct poise_health_conf *h, struct poise_error *err)
{
	for (const struct option *o = option_first(OPTION_HEALTH); o; o = option_next(o))
		if (strcmp(o->key, "type") != 0 && !option_is_default(o, h))
			return says_nothing(h, o->key, err);
	return 0;
}

static int check_uses(const struct poise_health_conf *h, struct poise_error *err)
{
	if (h->type == POISE_CHECK_NONE)
		return check_none(h, err);
	for (size_t u = 0; u < USES; u++)
		if (check_use(h, &uses[u], err))
			return -1;
	return 0;
}

void config_health_fit(struct poise_health_conf *h)
{
	if (h->type == POISE_CHECK_NONE) {
		config_health_init(h);
		h->type = POISE_CHECK_NONE;
		return;
	}
	for (size_t u = 0; u < USES; u++)
		if (!(uses[u].types & 1u << h->type))
			option_set(option_find(OPTION_HEALTH, uses[u].key), h, "default", NULL);
}

/* Keys that another one makes idle, or wrong in any case. */
static int check_pairs(const struct poise_health_conf *h, const struct poise_health_conf *said,
		       struct poise_error *err)
{
	static const char *const tls[] = {"verify", "ca", "cert", "key"};
	bool plain = h->type == POISE_CHECK_GRPC && !h->tls;

	for (size_t k = 0; plain && k < sizeof(tls) / sizeof(tls[0]); k++) {
		if (option_is_default(option_find(OPTION_HEALTH, tls[k]), said))
			continue;
		poise_fail(err, POISE_E_CONFLICT,
			   "%s says nothing to a check of type grpc without tls", tls[k]);
		return poise_error_remedy(err, "say tls yes");
	}
	if (said->ca[0] && !h->verify)
		return poise_fail(err, POISE_E_CONFLICT,
				  "ca says nothing where verify no believes any certificate");
	if (said->key[0] && !h->cert[0])
		return poise_fail(err, POISE_E_CONFLICT, "key says nothing without cert");
	if (h->method == POISE_METHOD_HEAD && (h->body[0] || h->regex[0]))
		return poise_fail(err, POISE_E_CONFLICT, "%s: an answer to HEAD has no body",
				  h->body[0] ? "body" : "body-regex");
	return 0;
}

static int check_times(const struct poise_health_conf *h, struct poise_error *err)
{
	char a[POISE_WORD_TEXT], b[POISE_WORD_TEXT];

	if (h->timeout > h->interval)
		return poise_fail(err, POISE_E_CONFLICT, "timeout %s is longer than interval %s",
				  poise_format_duration(h->timeout, a, sizeof(a)),
				  poise_format_duration(h->interval, b, sizeof(b)));
	if (h->fast_interval > h->interval)
		return poise_fail(err, POISE_E_CONFLICT,
				  "fast-interval %s is longer than interval %s",
				  poise_format_duration(h->fast_interval, a, sizeof(a)),
				  poise_format_duration(h->interval, b, sizeof(b)));
	if (h->hold_down > h->hold_max)
		return poise_fail(err, POISE_E_CONFLICT, "hold-down %s is longer than its max %s",
				  poise_format_duration(h->hold_down, a, sizeof(a)),
				  poise_format_duration(h->hold_max, b, sizeof(b)));
	return 0;
}

int config_command_check(const char *command, struct poise_error *err)
{
	char *text = strdup(command), **words = NULL;
	int n;

	if (!text)
		abort();
	n = split_words(text, &words, err);
	if (!n)
		poise_fail(err, POISE_E_BAD_VALUE, "there is no command in it");
	free(words);
	free(text);
	return n > 0 ? 0 : -1;
}

/* Whether it is a name, or an address, that a URL can have as it stands. */
static bool is_host(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789.-_");
	char inner[POISE_CHECK_WORDS];
	struct in6_addr six;

	if (text[0] != '[')
		return !text[length];
	snprintf(inner, sizeof(inner), "%.*s", (int)strcspn(text + 1, "]"), text + 1);
	return !strcmp(text + 1 + strlen(inner), "]") && inet_pton(AF_INET6, inner, &six) == 1;
}

/* What cannot be asked for would fail with every backend. */
static int check_url(const struct poise_health_conf *h, struct poise_error *err)
{
	if (h->path[0] && h->path[0] != '/')
		return poise_fail_text(err, POISE_E_BAD_VALUE, h->path, "a path begins with /");
	if (strpbrk(h->path, " #"))
		return poise_fail_text(err, POISE_E_BAD_VALUE, h->path,
				       "no path: write a space as %%20, # as %%23");
	if (is_host(h->host))
		return 0;
	poise_fail_text(err, POISE_E_BAD_VALUE, h->host, "no name of a host");
	return poise_error_remedy(err, "write the name alone; the port is a key of its own");
}

/* Labels between dots, the last dot said or not. */
static int check_name(const char *name, struct poise_error *err)
{
	const char *label = name;

	for (size_t length; *label; label += length + (label[length] == '.')) {
		length = strcspn(label, ".");
		if (length > LABEL_MAX || (!length && strcmp(name, ".") != 0))
			return poise_fail_text(err, POISE_E_BAD_VALUE, name,
					       "no name that DNS has: 1 to %d bytes between dots",
					       LABEL_MAX);
	}
	return 0;
}

static int check_texts(const struct poise_health_conf *h, struct poise_error *err)
{
	if (!status_list_valid(h->status))
		return poise_fail_text(err, POISE_E_BAD_VALUE, h->status,
				       "no list of statuses, like 200-399,404");
	if (check_url(h, err))
		return -1;
	if (h->type == POISE_CHECK_DNS && check_name(h->query, err))
		return -1;
	if (h->command[0] && config_command_check(h->command, err))
		return poise_error_about(err, "command");
	if (h->regex[0] && pattern_check(h->regex, err))
		return poise_error_of(err, "body-regex");
	return 0;
}

/* Of the listeners with an address of that family, the one that clients of this port use; failing
 * that any: the way is the address's. NULL: there is none. */
static const struct poise_listener_conf *listener_of(const struct config_service *svc, bool v4,
						     __u16 port)
{
	const struct poise_listener_conf *found = NULL;

	for (int n = 0; n < svc->conf.listeners; n++) {
		const struct poise_listener_conf *l = &svc->conf.listener[n];

		if (poise_addr_is4(&l->addr) != v4)
			continue;
		if (ntohs(l->port) == port)
			return l;
		if (!found)
			found = l;
	}
	return found;
}

bool config_check_path(const struct config_service *svc, const struct config_member *m,
		       union poise_addr *address, const char **why)
{
	const enum poise_mode mode = config_mode(svc, m);
	const struct poise_listener_conf *l;
	struct poise_health_conf h;

	*why = NULL;
	config_check_of(svc, m, &h);
	if (h.type == POISE_CHECK_NONE || h.type == POISE_CHECK_EXEC || h.via != POISE_VIA_PATH)
		return false;
	if (mode != POISE_L2 && mode != POISE_IPIP && mode != POISE_GUE)
		return false;
	l = listener_of(svc, poise_addr_is4(&m->conf.addr), config_check_port(svc, m));
	if (!l) {
		*why = "the service has no address of its family";
		return false;
	}
	*address = l->addr;
	return true;
}

int config_health_validate(const struct poise_health_conf *h, const struct poise_health_conf *said,
			   struct poise_error *err)
{
	int failed = check_uses(h, err);

	if (!failed && h->type != POISE_CHECK_NONE)
		failed = check_pairs(h, said, err) || check_times(h, err) || check_texts(h, err);
	return failed ? poise_error_about(err, "health") : 0;
}

int config_health_texts(const struct poise_health_conf *h, struct poise_error *err)
{
	return check_texts(h, err) ? poise_error_about(err, "health") : 0;
}

int config_health_port(enum poise_check type, __u16 port, struct poise_error *err)
{
	const unsigned int without = BIT(NONE) | BIT(ICMP) | BIT(EXEC) | BIT(AUTO);

	if (port || without & 1u << type)
		return 0;
	poise_fail(err, POISE_E_CONFLICT, "which port? the service listens on every one");
	poise_error_remedy(err, "say port");
	return poise_error_about(err, "health");
}
