// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Passive signals (loader/health/passive.h): where backends can be judged by them. */
#include <netinet/in.h>
#include <stdio.h>

#include "config_priv.h"

static bool has_tcp(const struct poise_service_conf *conf)
{
	for (int l = 0; l < conf->listeners; l++)
		if (conf->listener[l].proto == IPPROTO_TCP)
			return true;
	return false;
}

const char *config_passive_obstacle(const struct poise_service_conf *conf)
{
	if (!conf->passive)
		return "passive no";
	if (!config_records_all(conf) && !config_translates(conf->forward))
		return "not every flow is recorded; track always does";
	if (conf->policy == POISE_SOURCE_HASH || conf->affinity)
		return "all flows of a client go to one backend, so that one client could make it "
		       "look sick";
	return has_tcp(conf) || config_translates(conf->forward)
		       ? NULL
		       : "whether UDP is answered is not seen";
}

char *config_eject_words(const struct poise_member_conf *m, char *buf, size_t size)
{
	static const char *const words[POISE_FAULTS] = {
		[POISE_FAULT_NONE] = "flows at fault",
		[POISE_FAULT_UNANSWERED] = "new flows unanswered",
		[POISE_FAULT_UNFINISHED] = "answered flows left hanging",
		[POISE_FAULT_REFUSED] = "answered flows reset",
	};

	snprintf(buf, size, "%u %% of %u %s, pool's median %u %%", m->eject_bad, m->eject_flows,
		 words[m->ejected < POISE_FAULTS ? m->ejected : 0], m->eject_median);
	return buf;
}
