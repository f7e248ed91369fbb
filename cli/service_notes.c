// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <netinet/in.h>

#include "service_notes.h"

static bool records_all(const struct config_service *svc)
{
	return !config_by_hash(&svc->conf);
}

static bool draws(const struct config_service *svc)
{
	return svc->conf.policy == POISE_LEAST_CONN &&
	       svc->conf.cycle_slots > POISE_LEAST_CONN_MOST;
}

/* Only what both ends send shows the latency of datagrams. */
static bool lacks_latency(const struct config_service *svc)
{
	bool tcp = false;

	for (int l = 0; l < svc->conf.listeners; l++)
		tcp |= svc->conf.listener[l].proto == IPPROTO_TCP;
	return svc->conf.policy == POISE_LATENCY_AWARE && !config_translates(svc->conf.forward) &&
	       !tcp;
}

/* Somebody's checks cannot go by the path. */
static bool checks_directly(const struct config_service *svc)
{
	union poise_addr address;
	const char *why;

	for (size_t m = 0; m < svc->members; m++)
		if (!config_check_path(svc, &svc->member[m], &address, &why) && why)
			return true;
	return false;
}

static bool checks_nobody(const struct config_service *svc)
{
	for (size_t m = 0; m < svc->members; m++)
		if (config_is_checked(svc, &svc->member[m]))
			return false;
	return svc->members && svc->conf.health.type == POISE_CHECK_AUTO &&
	       config_check_type(svc) == POISE_CHECK_NONE;
}

static const struct {
	bool (*holds)(const struct config_service *svc);
	const char *text;
} notes[] = {
	{records_all, "other balancers do not know its flows: if routers share packets out among "
		      "several (ECMP), choose maglev or source-hash"},
	{draws, "of so many backends each new flow compares 64, drawn by chance"},
	{lacks_latency, "latency of UDP is not measured in this mode: chosen by chance"},
	{checks_nobody,
	 "it has no listener of a TCP port: its backends are not checked (poise health "
	 "set)"},
	{checks_directly, "checks of backends that it has no virtual address of the family of go "
			  "directly, not by clients' way"},
};

const char *service_note(const struct config_service *svc, size_t *at)
{
	while (*at < sizeof(notes) / sizeof(notes[0]))
		if (notes[(*at)++].holds(svc))
			return notes[*at - 1].text;
	return NULL;
}
