// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Listeners of a configuration, and the index that says whose each is: an open hash table, built
 * when first asked for. It may name a service that has let go of the listener since
 * (config_unlisten does not know it); find looks at the service itself and is never wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "config_priv.h"
#include "hash.h"
#include "text.h"

#define INDEX_LEAST 64 /* slots; a power of two */

struct config_index {
	size_t slots; /* a power of two, at most half of them used */
	size_t used;
	struct entry {
		struct poise_listener_conf l;
		struct config_service *svc; /* NULL: free, or let go of if l.proto is set */
	} * entry;
};

/* Where the listener is or would be. */
static struct entry *probe(const struct config_index *index, const struct poise_listener_conf *l)
{
	size_t at = poise_listener_hash(&l->addr, l->port, l->proto);

	for (;; at++) {
		struct entry *e = &index->entry[at & (index->slots - 1)];

		if (!e->l.proto || config_same_listener(&e->l, l))
			return e;
	}
}

/* Returns the service that has the listener already, else NULL. */
static struct config_service *insert(struct config_index *index, struct config_service *svc,
				     const struct poise_listener_conf *l)
{
	struct entry *e = probe(index, l);

	if (e->svc)
		return e->svc;
	if (!e->l.proto)
		index->used++;
	e->l = *l;
	e->svc = svc;
	return NULL;
}

static struct config_index *index_new(size_t listeners)
{
	struct config_index *index = memory_alloc(sizeof(*index));

	index->slots = INDEX_LEAST;
	while (index->slots < 4 * listeners)
		index->slots *= 2;
	index->entry = memory_alloc(index->slots * sizeof(*index->entry));
	return index;
}

static void index_free(struct config_index *index)
{
	if (index)
		free(index->entry);
	free(index);
}

static size_t count_listeners(const struct config *cfg)
{
	size_t n = 0;

	for (size_t i = 0; i < cfg->services; i++)
		n += cfg->service[i]->conf.listeners;
	return n;
}

static void build(struct config *cfg)
{
	config_index_drop(cfg);
	cfg->index = index_new(count_listeners(cfg));
	for (size_t i = 0; i < cfg->services; i++)
		for (size_t k = 0; k < cfg->service[i]->conf.listeners; k++)
			insert(cfg->index, cfg->service[i], &cfg->service[i]->conf.listener[k]);
}

void config_index_drop(struct config *cfg)
{
	index_free(cfg->index);
	cfg->index = NULL;
}

static bool has(const struct config_service *svc, const struct poise_listener_conf *l)
{
	for (size_t k = 0; k < svc->conf.listeners; k++)
		if (config_same_listener(&svc->conf.listener[k], l))
			return true;
	return false;
}

struct config_service *config_index_find(struct config *cfg, const struct poise_listener_conf *l)
{
	struct entry *e;

	if (!cfg->index)
		build(cfg);
	e = probe(cfg->index, l);
	if (e->svc && !has(e->svc, l))
		e->svc = NULL;
	return e->svc;
}

void config_index_add(struct config *cfg, struct config_service *svc,
		      const struct poise_listener_conf *l)
{
	if (cfg->index && 2 * (cfg->index->used + 1) <= cfg->index->slots)
		insert(cfg->index, svc, l);
	else
		config_index_drop(cfg);
}

bool config_index_duplicate(const struct config *cfg, const struct config_service **first,
			    const struct config_service **second,
			    const struct poise_listener_conf **l)
{
	struct config_index *index = index_new(count_listeners(cfg));
	bool found = false;

	for (size_t i = 0; i < cfg->services && !found; i++)
		for (size_t k = 0; k < cfg->service[i]->conf.listeners && !found; k++) {
			*second = cfg->service[i];
			*l = &cfg->service[i]->conf.listener[k];
			*first = insert(index, cfg->service[i], *l);
			found = *first;
		}
	index_free(index);
	return found;
}

/* Listeners are kept in order, so that a configuration has one form. */
static int listener_cmp(const struct poise_listener_conf *a, const struct poise_listener_conf *b)
{
	int order = poise_addr_cmp(&a->addr, &b->addr);

	if (!order)
		order = memcmp(&a->port, &b->port, sizeof(a->port)); /* network order */
	return order ? order : a->proto - b->proto;
}

int config_listener_at(const struct config_service *svc, const struct poise_listener_conf *l)
{
	for (int i = 0; i < svc->conf.listeners; i++)
		if (config_same_listener(&svc->conf.listener[i], l))
			return i;
	return -1;
}

int config_listen(struct config *cfg, struct config_service *svc,
		  const struct poise_listener_conf *l, struct poise_error *err)
{
	struct config_service *holder = config_index_find(cfg, l);
	struct poise_service_conf *conf = &svc->conf;
	char text[POISE_ENDPOINT_TEXT];
	size_t at = conf->listeners;

	if (holder == svc)
		poise_fail(err, POISE_E_EXISTS, "listens there already");
	else if (holder)
		poise_fail(err, POISE_E_EXISTS, "belongs to service \"%s\"", holder->conf.name);
	else if (conf->listeners == POISE_LISTENERS_MAX)
		poise_fail(err, POISE_E_FULL, "a service has at most %d listeners",
			   POISE_LISTENERS_MAX);
	if (holder || conf->listeners == POISE_LISTENERS_MAX) {
		poise_error_about(err, "listener %s", poise_format_listener(l, text, sizeof(text)));
		return poise_error_about(err, "service \"%s\"", conf->name);
	}
	while (at && listener_cmp(&conf->listener[at - 1], l) > 0) {
		conf->listener[at] = conf->listener[at - 1];
		at--;
	}
	conf->listener[at] = *l;
	conf->listeners++;
	config_index_add(cfg, svc, l);
	return 0;
}

int config_unlisten(struct config_service *svc, const struct poise_listener_conf *l,
		    struct poise_error *err)
{
	struct poise_service_conf *conf = &svc->conf;
	char text[POISE_ENDPOINT_TEXT];
	int at = config_listener_at(svc, l);

	if (at < 0) {
		poise_fail(err, POISE_E_NOT_FOUND, "does not listen there");
		poise_error_about(err, "listener %s", poise_format_listener(l, text, sizeof(text)));
		return poise_error_about(err, "service \"%s\"", conf->name);
	}
	conf->listeners--;
	memmove(conf->listener + at, conf->listener + at + 1,
		(size_t)(conf->listeners - at) * sizeof(*conf->listener));
	memset(conf->listener + conf->listeners, 0, sizeof(*conf->listener));
	return 0;
}
