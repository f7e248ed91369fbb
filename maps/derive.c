// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Derives what a transaction changed, and what an interrupted one left underived. A service's
 * listeners come after everything they lead to, and go before it.
 */
#include <stdlib.h>
#include <string.h>

#include "derive.h"
#include "events.h"
#include "hosts.h"
#include "listener.h"
#include "ports.h"

static bool is_used(const struct instance *i, __u16 id)
{
	return store_service(i, id)->r.state == POISE_REC_USED;
}

/* Only a service's own record says where it listens; its members may be all that changed. */
static bool record_changed(const struct instance *i, __u16 id)
{
	return store_service(i, id)->r.generation > i->meta->applied;
}

/* ---- listeners --------------------------------------------------------------------------------*/

static __u32 count_any_port(const struct instance *i)
{
	__u32 count = 0;

	for (__u32 id = 1; id < i->meta->services; id++) {
		const struct poise_service_conf *conf = store_service(i, id);

		if (conf->r.state != POISE_REC_USED)
			continue;
		for (int l = 0; l < conf->listeners; l++)
			count += !conf->listener[l].port;
	}
	return count;
}

static bool lists(const struct poise_service_conf *conf, const struct poise_listener_conf *l)
{
	if (conf->r.state != POISE_REC_USED)
		return false;
	for (int n = 0; n < conf->listeners; n++)
		if (!memcmp(&conf->listener[n].addr, &l->addr, sizeof(l->addr)) &&
		    conf->listener[n].port == l->port && conf->listener[n].proto == l->proto)
			return true;
	return false;
}

static void drop_host(struct listeners *ls, const struct hosts *hosts,
		      struct poise_listener_conf key)
{
	const struct poise_listener *e = listener_find(ls->i, &key);

	if (e && !hosts_wants(hosts, &key))
		listener_del(ls, &key, e->service);
}

/* What stood there for addresses as they were: all that could have to go now. */
static void drop_hosts(struct listeners *ls, const struct hosts *hosts,
		       const struct derive_list *dirty)
{
	struct instance *i = ls->i;

	for (size_t s = 0; s < dirty->services; s++) {
		const struct poise_service_conf *old = store_service_before(i, dirty->service[s]);

		if (old->r.state != POISE_REC_USED || !record_changed(i, dirty->service[s]))
			continue;
		for (int l = 0; l < old->listeners; l++) {
			drop_host(ls, hosts, hosts_key(&old->listener[l]));
			drop_host(ls, hosts, hosts_address(&old->listener[l].addr));
		}
	}
	for (__u32 slot = 0; slot < POISE_ADDRESSES && dirty->addresses; slot++)
		if (store_address_before(i, slot)->r.state == POISE_REC_USED)
			drop_host(ls, hosts, hosts_address(&store_address_before(i, slot)->addr));
}

/* Each address that has listeners leads to their service, and no other does; each that is answered
 * for says how. */
static void derive_hosts(struct listeners *ls, const struct derive_list *dirty)
{
	struct poise_meta *meta = ls->i->meta;
	struct hosts hosts;

	hosts_of(ls->i, &hosts);
	/* The first of them tells packets to look, the last goes before they stop. */
	if (hosts.answering)
		store32(&meta->answering, hosts.answering);
	if (hosts.refusing)
		store32(&meta->refusing, hosts.refusing);
	for (size_t n = 0; n < hosts.slots; n++) {
		const struct host *host = &hosts.slot[n];

		if (host->wanted)
			listener_put(ls, &host->key, host->service, host->flags);
	}
	drop_hosts(ls, &hosts, dirty);
	store32(&meta->answering, hosts.answering);
	store32(&meta->refusing, hosts.refusing);
	hosts_free(&hosts);
}

/* Whether somebody's echo depends on what may be chosen, which any change may concern. */
static bool asks_usable(const struct instance *i)
{
	for (__u32 slot = 0; slot < POISE_ADDRESSES; slot++)
		if (store_address(i, slot)->r.state == POISE_REC_USED &&
		    store_address(i, slot)->ping == POISE_PING_USABLE)
			return true;
	return false;
}

/* All that are wanted first: one that moves from a service to another is never nobody's. */
static void derive_listeners(struct instance *i, const struct derive_list *dirty)
{
	struct listeners ls = {.i = i};
	__u32 any_port = count_any_port(i);
	bool changed = dirty->addresses || asks_usable(i);

	if (any_port)
		store32(&i->meta->any_port, any_port);
	for (size_t s = 0; s < dirty->services; s++) {
		const struct poise_service_conf *conf = store_service(i, dirty->service[s]);

		if (!is_used(i, dirty->service[s]) || !record_changed(i, dirty->service[s]))
			continue;
		changed = true;
		for (int l = 0; l < conf->listeners; l++)
			listener_put(&ls, &conf->listener[l], dirty->service[s], 0);
	}
	for (size_t s = 0; s < dirty->services; s++) {
		const struct poise_service_conf *conf = store_service(i, dirty->service[s]);
		const struct poise_service_conf *old = store_service_before(i, dirty->service[s]);

		if (old->r.state != POISE_REC_USED || !record_changed(i, dirty->service[s]))
			continue;
		changed = true;
		for (int l = 0; l < old->listeners; l++)
			if (!lists(conf, &old->listener[l]))
				listener_del(&ls, &old->listener[l], dirty->service[s]);
	}
	if (changed)
		derive_hosts(&ls, dirty);
	store32(&i->meta->any_port, any_port);
	listeners_end(&ls);
}

/* ---- all of it --------------------------------------------------------------------------------*/

void derive(struct instance *i, const struct derive_list *dirty)
{
	bool began = store_begin(i);

	derive_ports(i, dirty); /* before packets translate */
	for (size_t s = 0; s < dirty->services; s++)
		if (is_used(i, dirty->service[s]))
			derive_service(i, dirty->service[s]);
	derive_listeners(i, dirty);
	for (size_t s = 0; s < dirty->services; s++)
		if (!is_used(i, dirty->service[s]))
			derive_service_gone(i, dirty->service[s]);
	for (size_t m = 0; m < dirty->members; m++)
		if (!store_is_member(store_member(i, dirty->member[m])))
			derive_member_void(i, dirty->member[m]);
	for (__u32 slot = 0; slot < POISE_ADDRESSES && dirty->addresses; slot++)
		events_of_address(i, slot);
	for (size_t m = 0; m < dirty->members; m++)
		events_of_member(i, dirty->member[m], store_member_before(i, dirty->member[m]));
	store64(&i->meta->applied, i->meta->committed);
	store_end(i, began);
}

void derive_rest(struct instance *i)
{
	const struct poise_meta *meta = i->meta;
	__u8 *touched = calloc(meta->services, 1);
	struct derive_list dirty = {
		.service = calloc(meta->services, sizeof(*dirty.service)),
		.member = calloc(meta->members, sizeof(*dirty.member)),
	};
	struct listeners ls = {.i = i};

	if (!touched || !dirty.service || !dirty.member)
		abort();
	for (__u32 id = 1; id < meta->members; id++) {
		const struct poise_member_conf *m = store_member(i, id);

		if (m->r.generation <= meta->applied)
			continue;
		dirty.member[dirty.members++] = (__u16)id;
		if (m->service < meta->services)
			touched[m->service] = 1;
	}
	for (__u32 id = 1; id < meta->services; id++)
		if (touched[id] || record_changed(i, (__u16)id))
			dirty.service[dirty.services++] = (__u16)id;
	for (__u32 slot = 0; slot < POISE_ADDRESSES; slot++)
		dirty.addresses |= store_address(i, slot)->r.generation > meta->applied;
	listener_repair(&ls);
	derive(i, &dirty);
	free(touched);
	free(dirty.service);
	free(dirty.member);
}
