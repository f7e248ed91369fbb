// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a configuration must be as a whole. A fault of a single value is found where the value is
 * set; here are those that take two values to be wrong. The first fault is reported, in order of
 * services, members and listeners, so that the same configuration gives the same message.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_priv.h"
#include "option.h"
#include "text.h"

/* Adds the service, and the line it begins in if no better one is known. */
static int about_service(struct poise_error *err, const struct config_service *svc)
{
	if (!err->line)
		err->line = svc->line;
	return poise_error_about(err, "service \"%s\"", svc->conf.name);
}

static int about_member(struct poise_error *err, const struct config_service *svc,
			const struct config_member *m)
{
	char text[POISE_ENDPOINT_TEXT];

	err->line = m->line;
	poise_error_about(err, "backend %s",
			  poise_format_endpoint(&m->conf.addr, m->conf.port, text, sizeof(text)));
	return about_service(err, svc);
}

static int check_member_against(const struct config_service *svc, const struct config_member *m,
				const struct poise_listener_conf *l, struct poise_error *err)
{
	enum poise_mode mode = config_mode(svc, m);
	char text[POISE_ENDPOINT_TEXT];

	if (mode == POISE_LOCAL && poise_addr_is4(&m->conf.addr) != poise_addr_is4(&l->addr)) {
		poise_format_listener(l, text, sizeof(text));
		poise_fail(err, POISE_E_CONFLICT,
			   "not of the family of listener %s, and forward local keeps the client's "
			   "address",
			   text);
		poise_error_remedy(err, "make a service of each family, or take forward nat");
		return about_member(err, svc, m);
	}
	if (config_translates(mode))
		return 0;
	if (m->conf.port && m->conf.port != l->port) {
		poise_format_listener(l, text, sizeof(text));
		poise_fail(err, POISE_E_CONFLICT,
			   "port %u is not that of listener %s, and forward %s changes no ports",
			   ntohs(m->conf.port), text,
			   option_word(option_find(OPTION_SERVICE, "forward"), (int)mode));
		poise_error_remedy(err, "leave the port out: the backend gets the packet's own");
		return about_member(err, svc, m);
	}
	if (!poise_addr_cmp(&m->conf.addr, &l->addr)) {
		poise_format_listener(l, text, sizeof(text));
		poise_fail(err, POISE_E_CONFLICT,
			   "the service itself listens there (%s): packets would loop", text);
		return about_member(err, svc, m);
	}
	return 0;
}

static int name_cmp(const void *a, const void *b)
{
	const struct config_member *const *x = a, *const *y = b;
	int order = strcmp((*x)->conf.name, (*y)->conf.name);

	return order ? order : (*x)->line - (*y)->line;
}

static int check_names(const struct config_service *svc, struct poise_error *err)
{
	const struct config_member **named = memory_alloc(svc->members * sizeof(*named));
	const struct config_member *twin = NULL;
	char other[POISE_ENDPOINT_TEXT];
	size_t n = 0, i;

	for (i = 0; i < svc->members; i++)
		if (svc->member[i].conf.name[0] && !config_member_leaving(&svc->member[i]))
			named[n++] = &svc->member[i];
	qsort(named, n, sizeof(*named), name_cmp);
	for (i = 1; i < n && !twin; i++)
		if (!strcmp(named[i - 1]->conf.name, named[i]->conf.name))
			twin = named[i];
	if (twin) {
		const struct poise_member_conf *first = &named[i - 2]->conf;

		poise_format_endpoint(&first->addr, first->port, other, sizeof(other));
		poise_fail(err, POISE_E_EXISTS, "backend %s is named \"%s\" too", other,
			   twin->conf.name);
		about_member(err, svc, twin);
	}
	free(named);
	return twin ? -1 : 0;
}

static int server_id_cmp(const void *a, const void *b)
{
	const struct config_member *const *x = a, *const *y = b;

	if ((*x)->conf.server_id != (*y)->conf.server_id)
		return (*x)->conf.server_id < (*y)->conf.server_id ? -1 : 1;
	return (*x)->line - (*y)->line;
}

/* Packets could not tell two backends with one id apart, and never meet one that has no room. */
static int check_server_ids(const struct config_service *svc, struct poise_error *err)
{
	const struct config_member **with = memory_alloc(svc->members * sizeof(*with));
	__u64 most = (1ull << 8 * svc->conf.quic_length) - 1;
	const struct config_member *bad = NULL;
	char other[POISE_ENDPOINT_TEXT];
	size_t n = 0;

	for (size_t i = 0; i < svc->members; i++)
		if (svc->member[i].conf.server_id && !config_member_leaving(&svc->member[i]))
			with[n++] = &svc->member[i];
	qsort(with, n, sizeof(*with), server_id_cmp);
	for (size_t i = 0; i < n && !bad; i++) {
		__u32 id = with[i]->conf.server_id;

		if (i && with[i - 1]->conf.server_id == id) {
			bad = with[i];
			poise_fail(err, POISE_E_EXISTS, "backend %s has server-id %u too",
				   poise_format_endpoint(&with[i - 1]->conf.addr,
							 with[i - 1]->conf.port, other,
							 sizeof(other)),
				   id);
		} else if (svc->conf.quic && id > most) {
			bad = with[i];
			poise_fail(err, POISE_E_CONFLICT,
				   "server-id %u has no room in %u bytes: at most %llu", id,
				   svc->conf.quic_length, most);
			poise_error_remedy(err, "give it a smaller one, or the service a larger "
						"quic-id-length");
		}
	}
	if (bad)
		about_member(err, svc, bad);
	free(with);
	return bad ? -1 : 0;
}

static int check_loopback(const struct config_service *svc, const struct config_member *m,
			  struct poise_error *err)
{
	if (!poise_addr_is_loopback(&m->conf.addr) || config_mode(svc, m) == POISE_LOCAL)
		return 0;
	poise_fail(err, POISE_E_CONFLICT, "a loopback address is not reached over a network");
	return about_member(err, svc, m);
}

/* A service finds its flows either by what stands for translated ones, or by what does for all
 * others. */
static int check_mixed(const struct config_service *svc, const struct config_member *m,
		       struct poise_error *err)
{
	enum poise_mode mode = config_mode(svc, m);

	if (config_translates(mode) == config_translates(svc->conf.forward))
		return 0;
	poise_fail(err, POISE_E_CONFLICT, "forward %s beside the service's forward %s",
		   option_word(option_find(OPTION_SERVICE, "forward"), (int)mode),
		   option_word(option_find(OPTION_SERVICE, "forward"), svc->conf.forward));
	poise_error_remedy(err, "nat and local are for all backends of a service or for none");
	return about_member(err, svc, m);
}

static int check_members(const struct config_service *svc, struct poise_error *err)
{
	for (size_t i = 0; i < svc->members; i++) {
		const struct config_member *m = &svc->member[i];

		if (config_member_leaving(m))
			continue;
		if (check_loopback(svc, m, err) || check_mixed(svc, m, err))
			return -1;
		if (config_check_validate(svc, m, err))
			return about_member(err, svc, m);
		for (size_t k = 0; k < svc->conf.listeners; k++)
			if (check_member_against(svc, m, &svc->conf.listener[k], err))
				return -1;
	}
	return check_names(svc, err) || check_server_ids(svc, err) ? -1 : 0;
}

static int check_ranges(const struct config_service *svc, struct poise_error *err)
{
	const struct poise_range *both = ranges_common(&svc->allow, &svc->deny);
	char text[RANGE_TEXT];

	if (both) {
		poise_fail(err, POISE_E_CONFLICT, "is in allow and in deny");
		return poise_error_about(err, "prefix %s", range_format(both, text, sizeof(text)));
	}
	if (svc->allow.n + svc->deny.n <= POISE_RANGES_MAX)
		return 0;
	poise_fail(err, POISE_E_FULL, "%zu prefixes in allow and deny: a service has at most %d",
		   svc->allow.n + svc->deny.n, POISE_RANGES_MAX);
	return poise_error_remedy(err, "fewer, shorter prefixes; or a second service for some");
}

/* As it will be once this is committed. */
static const char *record_key(const struct config_service *svc)
{
	struct poise_service_conf conf = svc->conf;

	conf.limited = config_limited(svc);
	return config_record_key(&conf);
}

static int check_notify(const struct config_service *svc, struct poise_error *err)
{
	if (!svc->conf.notify[0] || !config_command_check(svc->conf.notify, err))
		return 0;
	return poise_error_about(err, "notify");
}

static int check_service(const struct config_service *svc, struct poise_error *err)
{
	size_t members = config_members_in(svc);
	char time[POISE_WORD_TEXT], most[POISE_WORD_TEXT];

	if (!svc->conf.listeners) {
		poise_fail(err, POISE_E_BAD_VALUE, "has no listener");
		poise_error_remedy(err, "give it at least one ADDR:PORT");
	} else if (svc->conf.track == POISE_TRACK_OFF && !config_by_hash(&svc->conf)) {
		poise_fail(err, POISE_E_CONFLICT,
			   "track off: no hash finds the backend that policy %s has chosen again",
			   option_word(option_find(OPTION_SERVICE, "policy"), svc->conf.policy));
		poise_error_remedy(err, "track auto records every flow of this policy; maglev and "
					"source-hash need no records");
	} else if (svc->conf.track == POISE_TRACK_OFF && record_key(svc)) {
		poise_fail(err, POISE_E_CONFLICT, "track off: %s goes by the records of flows",
			   record_key(svc));
		poise_error_remedy(err, "with it track auto records every flow");
	} else if (svc->conf.table_size && svc->conf.table_size < members) {
		poise_fail(err, POISE_E_CONFLICT, "table-size %u is less than its %zu backends",
			   svc->conf.table_size, members);
		poise_error_remedy(err, "table-size auto fits any number");
	} else if (svc->conf.quic_offset + svc->conf.quic_length > POISE_QUIC_CID_MAX) {
		poise_fail(err, POISE_E_CONFLICT,
			   "a connection id has at most %d bytes, quic-id-offset %u and "
			   "quic-id-length %u make %d",
			   POISE_QUIC_CID_MAX, svc->conf.quic_offset, svc->conf.quic_length,
			   svc->conf.quic_offset + svc->conf.quic_length);
	} else if (svc->conf.eject_time > svc->conf.eject_max) {
		poise_fail(err, POISE_E_CONFLICT, "eject-time %s is longer than eject-time-max %s",
			   poise_format_duration(svc->conf.eject_time, time, sizeof(time)),
			   poise_format_duration(svc->conf.eject_max, most, sizeof(most)));
	} else if (!check_ranges(svc, err) && !check_notify(svc, err) &&
		   !config_health_validate(&svc->conf.health, &svc->conf.health, err) &&
		   !config_health_port(svc->conf.health.type, config_check_port(svc, NULL), err)) {
		return check_members(svc, err);
	}
	return about_service(err, svc);
}

static int check_limit(const char *key, size_t used, __u32 limit, struct poise_error *err)
{
	if (used <= limit)
		return 0;
	poise_fail(err, POISE_E_FULL, "%zu %s, and this instance has room for %u", used, key,
		   limit);
	return poise_error_remedy(err, "limits: %s, which counts when the maps are created", key);
}

static int check_limits(const struct config *cfg, struct poise_error *err)
{
	size_t backends = 0, listeners = 0, slots = 0, ranges = 0;

	for (size_t i = 0; i < cfg->services; i++) {
		backends += config_members_in(cfg->service[i]);
		listeners += cfg->service[i]->conf.listeners;
		slots += config_table_size(cfg->service[i]);
		ranges += cfg->service[i]->allow.n + cfg->service[i]->deny.n;
	}
	if (check_limit("services", cfg->services, cfg->limits.services, err) ||
	    check_limit("backends", backends, cfg->limits.backends, err) ||
	    check_limit("listeners", listeners, cfg->limits.listeners, err) ||
	    check_limit("table-slots", slots, cfg->limits.table_slots, err) ||
	    check_limit("source-ranges", ranges, cfg->limits.ranges, err))
		return -1;
	return 0;
}

static int check_listeners(const struct config *cfg, struct poise_error *err)
{
	const struct config_service *first, *second;
	const struct poise_listener_conf *l;
	char text[POISE_ENDPOINT_TEXT];

	if (!config_index_duplicate(cfg, &first, &second, &l))
		return 0;
	poise_fail(err, POISE_E_EXISTS, "belongs to service \"%s\"", first->conf.name);
	poise_error_about(err, "listener %s", poise_format_listener(l, text, sizeof(text)));
	return about_service(err, second);
}

static int check_nat(const struct config *cfg, struct poise_error *err)
{
	const struct config_limits *l = &cfg->limits;

	if (l->nat_low > l->nat_high)
		return poise_fail(err, POISE_E_CONFLICT,
				  "limits: nat-port-low %u is above nat-port-high %u", l->nat_low,
				  l->nat_high);
	if (l->nat_low >= POISE_PROBE_PORT) {
		poise_fail(
			err, POISE_E_CONFLICT,
			"limits: nat-port-low %u leaves none: health checks are sent from ports %u "
			"to %u",
			l->nat_low, POISE_PROBE_PORT, POISE_PROBE_PORT + POISE_PROBE_PORTS - 1);
		return poise_error_remedy(err, "choose one below them");
	}
	if (l->nat_groups)
		return 0;
	for (size_t i = 0; i < cfg->services; i++) {
		if (!config_translates(cfg->service[i]->conf.forward))
			continue;
		poise_fail(err, POISE_E_FULL, "%s, and this instance has no ports for it",
			   config_record_key(&cfg->service[i]->conf));
		poise_error_remedy(err, "limits: nat-groups, which counts when the maps are "
					"created");
		return about_service(err, cfg->service[i]);
	}
	return 0;
}

static int check_all(const struct config *cfg, struct poise_error *err)
{
	for (size_t i = 0; i < cfg->services; i++)
		if (check_service(cfg->service[i], err))
			return -1;
	if (check_listeners(cfg, err))
		return -1;
	return cfg->has_limits && (check_limits(cfg, err) || check_nat(cfg, err)) ? -1 : 0;
}

int config_validate(const struct config *cfg, struct poise_error *err)
{
	struct poise_error mine = {0}; /* whatever line and file err came with are not ours */

	if (!check_all(cfg, &mine))
		return 0;
	snprintf(mine.file, sizeof(mine.file), "%s", cfg->file);
	if (err)
		*err = mine;
	return -1;
}
