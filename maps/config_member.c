// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Members of a service: one array sorted by address, then port, the order in which tables are
 * filled. A member that left stays in it, marked LEAVING, until its flows are gone; it counts for
 * nothing but them.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config_priv.h"
#include "derive.h"
#include "option.h"
#include "sorted.h"
#include "text.h"

struct endpoint {
	const union poise_addr *addr;
	__u16 port;
};

static int by_place(const void *endpoint, const void *entry)
{
	const struct endpoint *e = endpoint;
	const struct config_member *m = entry;
	int cmp = poise_addr_cmp(e->addr, &m->conf.addr);

	return cmp ? cmp : ntohs(e->port) - ntohs(m->conf.port);
}

bool config_limited(const struct config_service *svc)
{
	for (size_t m = 0; m < svc->members; m++)
		if (!config_member_leaving(&svc->member[m]) &&
		    config_max_conns(&svc->conf, &svc->member[m].conf))
			return true;
	return false;
}

/* The first member not before address and port; *found: it has them. */
static size_t locate(const struct config_service *svc, const union poise_addr *addr, __u16 port,
		     bool *found)
{
	const struct endpoint e = {addr, port};

	return sorted_find(&e, svc->member, svc->members, sizeof(*svc->member), by_place, found);
}

struct config_member *config_member_at(const struct config_service *svc,
				       const union poise_addr *addr, __u16 port)
{
	bool found;
	size_t at = locate(svc, addr, port, &found);

	return found ? &svc->member[at] : NULL;
}

static struct config_member *by_name(const struct config_service *svc, const char *name)
{
	struct config_member *leaving = NULL;

	for (size_t i = 0; i < svc->members; i++) {
		struct config_member *m = &svc->member[i];

		if (strcmp(m->conf.name, name))
			continue;
		if (!config_member_leaving(m))
			return m;
		leaving = m; /* its name may have gone to a successor */
	}
	return leaving;
}

static struct config_member *by_endpoint(const struct config_service *svc, const char *text,
					 struct poise_error *err)
{
	union poise_addr addr;
	__u16 port;
	bool found;
	size_t at;

	if (poise_parse_endpoint(text, &addr, &port, err))
		return NULL;
	at = locate(svc, &addr, port, &found);
	if (found)
		return &svc->member[at];
	if (port || at == svc->members || poise_addr_cmp(&svc->member[at].conf.addr, &addr)) {
		poise_fail_text(err, POISE_E_NOT_FOUND, text, "no such backend");
		return NULL;
	}
	if (at + 1 < svc->members && !poise_addr_cmp(&svc->member[at + 1].conf.addr, &addr)) {
		poise_fail_text(err, POISE_E_CONFLICT, text,
				"several backends have this address: say the port too");
		return NULL;
	}
	return &svc->member[at];
}

struct config_member *config_member_find(const struct config_service *svc, const char *text,
					 struct poise_error *err)
{
	struct config_member *m = *text ? by_name(svc, text) : NULL;

	if (m)
		return m;
	if (!poise_check_name(text, NULL))
		poise_fail_text(err, POISE_E_NOT_FOUND, text, "no such backend");
	else
		m = by_endpoint(svc, text, err);
	if (!m) {
		poise_error_of(err, "backend");
		poise_error_about(err, "service \"%s\"", svc->conf.name);
	}
	return m;
}

struct config_member *config_member_by_id(const struct config_service *svc, __u16 id)
{
	for (size_t m = 0; m < svc->members; m++)
		if (svc->member[m].id == id)
			return &svc->member[m];
	return NULL;
}

void config_member_pardon(struct config_member *m)
{
	m->conf.ejected = POISE_FAULT_NONE;
	m->conf.eject_time = 0;
	m->conf.eject_until = 0;
}

static struct config_member *place(struct config_service *svc, size_t at)
{
	svc->member = sorted_open(svc->member, at, &svc->members, &svc->room, sizeof(*svc->member));
	memset(svc->member + at, 0, sizeof(*svc->member));
	return svc->member + at;
}

struct config_member *config_member_add(struct config_service *svc, const union poise_addr *addr,
					__u16 port, struct poise_error *err)
{
	bool found;
	size_t at = locate(svc, addr, port, &found);
	struct config_member *m = found ? &svc->member[at] : NULL;
	char text[POISE_ENDPOINT_TEXT];

	if (m && !config_member_leaving(m)) {
		poise_fail(err, POISE_E_EXISTS, "is a backend of the service already");
		goto failed;
	}
	if (!m && svc->members >= CONFIG_MEMBERS_MAX) {
		poise_fail(err, POISE_E_FULL, "a service has at most %d backends",
			   CONFIG_MEMBERS_MAX);
		goto failed;
	}
	if (!m)
		m = place(svc, at);
	m->conf.addr = *addr;
	m->conf.port = port;
	m->conf.r.state = POISE_REC_USED;
	m->conf.r.owner = POISE_OWNER_HAND;
	m->conf.deadline = 0;
	option_defaults(OPTION_BACKEND, &m->conf);
	return m;
failed:
	poise_error_about(err, "backend %s", poise_format_endpoint(addr, port, text, sizeof(text)));
	poise_error_about(err, "service \"%s\"", svc->conf.name);
	return NULL;
}

void config_member_del(struct config_service *svc, struct config_member *m)
{
	sorted_close(svc->member, (size_t)(m - svc->member), &svc->members, sizeof(*m));
}

void config_member_leave(struct config_service *svc, struct config_member *m, __u64 now)
{
	if (!m->id) {
		config_member_del(svc, m);
		return;
	}
	if (config_member_leaving(m))
		return; /* its deadline runs already */
	m->conf.r.state = POISE_REC_LEAVING;
	m->conf.since = now;
	m->conf.deadline = now + svc->conf.drain_timeout * NS_PER_MS;
}

void config_member_admin(const struct config_service *svc, struct config_member *m,
			 enum poise_admin admin, __u64 timeout, __u64 now)
{
	if (m->conf.admin != admin)
		m->conf.since = now;
	m->conf.admin = (__u8)admin;
	if (!timeout)
		timeout = svc->conf.drain_timeout;
	m->conf.deadline = admin == POISE_DRAINING ? now + timeout * NS_PER_MS : 0;
}

bool config_drain_ended(const struct config_member *m)
{
	return m->conf.admin == POISE_DRAINING && m->conf.deadline == DERIVE_ENDED;
}

size_t config_members_in(const struct config_service *svc)
{
	size_t n = 0;

	for (size_t i = 0; i < svc->members; i++)
		n += !config_member_leaving(&svc->member[i]);
	return n;
}

enum poise_mode config_mode(const struct config_service *svc, const struct config_member *m)
{
	return m->conf.forward_set ? m->conf.forward : svc->conf.forward;
}

__u32 config_table_size(const struct config_service *svc)
{
	/* Primes with slots enough that about 1 % or less of the others' slots move when one of so
	 * many is lost, and that weights are met within 1 %. */
	static const struct {
		size_t members;
		__u32 slots;
	} automatic[] = {{6, 4099}, {25, 16381}, {102, 65537}};
	size_t n = config_members_in(svc);

	if (svc->conf.table_size)
		return svc->conf.table_size;
	for (size_t i = 0; i < sizeof(automatic) / sizeof(automatic[0]); i++)
		if (n <= automatic[i].members)
			return automatic[i].slots;
	return 131071;
}
