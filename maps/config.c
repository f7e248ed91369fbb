// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A configuration and its services. Services are kept in one array of pointers sorted by name:
 * look-ups are a binary search, and everything derived from the configuration comes out in one
 * order whatever the history.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_priv.h"
#include "option.h"
#include "sorted.h"
#include "text.h"

struct config *config_new(void)
{
	struct config *cfg = memory_alloc(sizeof(*cfg));

	option_defaults(OPTION_LIMIT, &cfg->limits);
	return cfg;
}

void config_service_free(struct config_service *svc)
{
	if (!svc)
		return;
	free(svc->member);
	ranges_free(&svc->allow);
	ranges_free(&svc->deny);
	free(svc);
}

void config_free(struct config *cfg)
{
	if (!cfg)
		return;
	config_index_drop(cfg);
	for (size_t i = 0; i < cfg->services; i++)
		config_service_free(cfg->service[i]);
	free(cfg->service);
	free(cfg->interface);
	free(cfg->address);
	free(cfg);
}

static void *copy(const void *from, size_t size)
{
	void *to = memory_realloc(NULL, size);

	if (size)
		memcpy(to, from, size);
	return to;
}

struct config *config_clone(const struct config *cfg)
{
	struct config *c = copy(cfg, sizeof(*cfg));

	c->index = NULL;
	c->interface = copy(cfg->interface, cfg->interfaces * sizeof(*cfg->interface));
	c->address = copy(cfg->address, cfg->addresses * sizeof(*cfg->address));
	c->address_room = cfg->addresses;
	c->service = copy(cfg->service, cfg->services * sizeof(*cfg->service));
	c->room = cfg->services;
	for (size_t i = 0; i < cfg->services; i++) {
		const struct config_service *from = cfg->service[i];
		struct config_service *to = copy(from, sizeof(*from));

		to->member = copy(from->member, from->members * sizeof(*from->member));
		to->room = from->members;
		to->allow = to->deny = (struct ranges){0};
		ranges_copy(&to->allow, &from->allow);
		ranges_copy(&to->deny, &from->deny);
		c->service[i] = to;
	}
	return c;
}

static int by_name(const void *name, const void *entry)
{
	const struct config_service *const *svc = entry;

	return strcmp(name, (*svc)->conf.name);
}

/* Where the name is or would be; *found tells which. */
static size_t locate(const struct config *cfg, const char *name, bool *found)
{
	return sorted_find(name, cfg->service, cfg->services, sizeof(*cfg->service), by_name,
			   found);
}

struct config_service *config_service_by_id(const struct config *cfg, __u16 id)
{
	for (size_t s = 0; s < cfg->services; s++)
		if (cfg->service[s]->id == id)
			return cfg->service[s];
	return NULL;
}

struct config_service *config_service_named(const struct config *cfg, const char *name)
{
	bool found;
	size_t at = locate(cfg, name, &found);

	return found ? cfg->service[at] : NULL;
}

static struct config_service *listens_on(const struct config *cfg,
					 const struct poise_listener_conf *l)
{
	for (size_t i = 0; i < cfg->services; i++) {
		struct poise_service_conf *conf = &cfg->service[i]->conf;

		for (size_t k = 0; k < conf->listeners; k++)
			if (config_same_listener(&conf->listener[k], l))
				return cfg->service[i];
	}
	return NULL;
}

struct config_service *config_service_find(const struct config *cfg, const char *text,
					   struct poise_error *err)
{
	struct config_service *svc = config_service_named(cfg, text);
	struct poise_listener_conf l;
	const char **names;
	const char *near;

	if (svc)
		return svc;
	if (!poise_parse_listener(text, &l, NULL)) {
		svc = listens_on(cfg, &l);
		if (!svc)
			poise_fail(err, POISE_E_NOT_FOUND, "no service listens on %s", text);
		return svc;
	}
	poise_fail_text(err, POISE_E_NOT_FOUND, text, "no such service");
	poise_error_of(err, "service");
	names = memory_alloc(cfg->services * sizeof(*names));
	for (size_t i = 0; i < cfg->services; i++)
		names[i] = cfg->service[i]->conf.name;
	near = poise_closest(text, names, cfg->services);
	if (near)
		poise_error_remedy(err, "did you mean %s?", near);
	free(names);
	return NULL;
}

static void place(struct config *cfg, struct config_service *svc, size_t at)
{
	cfg->service =
		sorted_open(cfg->service, at, &cfg->services, &cfg->room, sizeof(*cfg->service));
	cfg->service[at] = svc;
}

static void unplace(struct config *cfg, const struct config_service *svc)
{
	size_t at = 0;

	while (cfg->service[at] != svc)
		at++;
	sorted_close(cfg->service, at, &cfg->services, sizeof(*cfg->service));
}

/* Whether a new service or name may be called so. */
static int name_free(const struct config *cfg, const char *name, struct poise_error *err)
{
	bool found;

	if (poise_check_name(name, err))
		return poise_error_of(err, "service");
	locate(cfg, name, &found);
	if (!found)
		return 0;
	poise_fail(err, POISE_E_EXISTS, "there is a service of this name already");
	return poise_error_about(err, "service \"%s\"", name);
}

struct config_service *config_service_add(struct config *cfg, const char *name,
					  enum poise_owner owner, struct poise_error *err)
{
	struct config_service *svc;
	bool found;

	if (name_free(cfg, name, err))
		return NULL;
	svc = memory_alloc(sizeof(*svc));
	svc->conf.r.state = POISE_REC_USED;
	svc->conf.r.owner = (__u8)owner;
	memcpy(svc->conf.name, name, strlen(name));
	option_defaults(OPTION_SERVICE, svc);
	config_health_init(&svc->conf.health);
	place(cfg, svc, locate(cfg, name, &found));
	return svc;
}

void config_service_take(struct config *cfg, struct config_service *svc)
{
	unplace(cfg, svc);
	config_index_drop(cfg);
}

void config_service_put(struct config *cfg, struct config_service *svc)
{
	bool found;

	place(cfg, svc, locate(cfg, svc->conf.name, &found));
	config_index_drop(cfg);
}

void config_service_del(struct config *cfg, struct config_service *svc)
{
	config_service_take(cfg, svc);
	config_service_free(svc);
}

int config_service_rename(struct config *cfg, struct config_service *svc, const char *name,
			  struct poise_error *err)
{
	bool found;

	if (name_free(cfg, name, err))
		return -1;
	unplace(cfg, svc);
	memset(svc->conf.name, 0, sizeof(svc->conf.name));
	memcpy(svc->conf.name, name, strlen(name));
	place(cfg, svc, locate(cfg, name, &found));
	return 0;
}
