// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "policy_notes.h"

static bool records_all(const struct poise_service_conf *conf)
{
	return !config_by_hash(conf);
}

static bool draws(const struct poise_service_conf *conf)
{
	return conf->policy == POISE_LEAST_CONN && conf->cycle_slots > POISE_LEAST_CONN_MOST;
}

static bool lacks_latency(const struct poise_service_conf *conf)
{
	return conf->policy == POISE_LATENCY_AWARE;
}

static const struct {
	bool (*holds)(const struct poise_service_conf *conf);
	const char *text;
} notes[] = {
	{records_all, "other balancers do not know its flows: if routers share packets out among "
		      "several (ECMP), choose maglev or source-hash"},
	{draws, "of so many backends each new flow compares 64, drawn by chance"},
	{lacks_latency, "latency is not measured in this version: chosen by chance"},
};

const char *policy_note(const struct poise_service_conf *conf, size_t *at)
{
	while (*at < sizeof(notes) / sizeof(notes[0]))
		if (notes[(*at)++].holds(conf))
			return notes[*at - 1].text;
	return NULL;
}
