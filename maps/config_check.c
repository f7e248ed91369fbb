// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How one backend is checked: as its service says, but for the keys that it has of its own. With a
 * type of its own, what its service says to another type alone is not for it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "config_priv.h"
#include "option.h"

/* For whoever asks of every backend whether it has a key: most have none. */
static bool has_own(const struct config_member *m)
{
	return m && m->conf.check[0];
}

/* A key of its own into *h, if it has one. */
static bool take(const struct config_member *m, const struct option *o, struct poise_health_conf *h)
{
	return has_own(m) && option_own(o, &m->conf, h);
}

/* The same of a key by name, which is looked for only then. */
static bool take_key(const struct config_member *m, const char *key, struct poise_health_conf *h)
{
	return has_own(m) && take(m, option_find(OPTION_BACKEND, key), h);
}

/* The type that was said, `auto` as it stands. */
static enum poise_check said_type(const struct config_service *svc, const struct config_member *m)
{
	struct poise_health_conf h;

	if (take_key(m, "health-type", &h))
		return h.type;
	return svc->conf.health.type;
}

static __u16 listener_port(const struct config_service *svc, bool tcp)
{
	for (int l = 0; l < svc->conf.listeners; l++)
		if (svc->conf.listener[l].port &&
		    (!tcp || svc->conf.listener[l].proto == IPPROTO_TCP))
			return ntohs(svc->conf.listener[l].port);
	return 0;
}

/* Of tcp if there is a listener of it, and a port to ask at. */
static enum poise_check automatic(const struct config_service *svc)
{
	for (int l = 0; l < svc->conf.listeners; l++)
		if (svc->conf.listener[l].proto == IPPROTO_TCP)
			return svc->conf.health.port || listener_port(svc, true) ? POISE_CHECK_TCP
										 : POISE_CHECK_NONE;
	return POISE_CHECK_NONE;
}

static enum poise_check type_of(const struct config_service *svc, const struct config_member *m)
{
	enum poise_check said = said_type(svc, m);

	return said == POISE_CHECK_AUTO ? automatic(svc) : said;
}

enum poise_check config_check_type(const struct config_service *svc)
{
	return type_of(svc, NULL);
}

bool config_is_checked(const struct config_service *svc, const struct config_member *m)
{
	return type_of(svc, m) != POISE_CHECK_NONE && !m->conf.check_off;
}

__u16 config_check_port(const struct config_service *svc, const struct config_member *m)
{
	struct poise_health_conf h = {.port = svc->conf.health.port};

	take_key(m, "health-port", &h);
	if (h.port)
		return h.port;
	if (m && m->conf.port)
		return ntohs(m->conf.port);
	return listener_port(svc, said_type(svc, m) == POISE_CHECK_AUTO);
}

/* All that are its own, but for its type, into *h. */
static void take_all(const struct config_member *m, struct poise_health_conf *h)
{
	for (const struct option *o = option_first(OPTION_BACKEND); o; o = option_next(o))
		if (o->type == OPTION_OWN && strcmp(o->key, "health-type") != 0)
			take(m, o, h);
}

bool config_check_own(const struct config_member *m, struct poise_health_conf *own)
{
	if (!has_own(m))
		return false;
	config_health_init(own);
	take_all(m, own);
	return true;
}

void config_check_of(const struct config_service *svc, const struct config_member *m,
		     struct poise_health_conf *h)
{
	*h = svc->conf.health;
	h->type = config_is_checked(svc, m) ? type_of(svc, m) : POISE_CHECK_NONE;
	if (!has_own(m) || h->type == POISE_CHECK_NONE)
		return;
	if (said_type(svc, m) != svc->conf.health.type)
		config_health_fit(h);
	take_all(m, h);
}

int config_check_validate(const struct config_service *svc, const struct config_member *m,
			  struct poise_error *err)
{
	struct poise_health_conf h, own;

	if (!config_check_own(m, &own))
		return 0;
	/* Nobody looks at those that wait, but they are wrong from the beginning. */
	if (config_health_texts(&own, err))
		return -1;
	if (take_key(m, "health-type", &own) && own.type == POISE_CHECK_NONE)
		return config_health_validate(&own, &own, err);
	config_check_of(svc, m, &h);
	if (h.type == POISE_CHECK_NONE)
		return 0;
	/* A service that was not told of a type may be told of one yet. */
	if (svc->conf.health.type == POISE_CHECK_AUTO &&
	    !take_key(m, "health-type", &(struct poise_health_conf){0})) {
		config_health_fit(&h);
		config_health_fit(&own);
	}
	if (config_health_validate(&h, &own, err))
		return -1;
	return config_health_port(h.type, config_check_port(svc, m), err);
}

void config_health_forget(struct config_service *svc)
{
	for (size_t m = 0; m < svc->members; m++)
		config_health_forget_one(svc, &svc->member[m]);
}

void config_health_forget_one(const struct config_service *svc, struct config_member *m)
{
	if (!config_is_checked(svc, m))
		m->conf.health = POISE_HEALTH_NONE;
}
