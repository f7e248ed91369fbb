// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How one backend is checked: as its service says, but for the keys that it has of its own. Such a
 * key is 0 or empty in its record where the service's holds.
 */
#include <stdio.h>

#include "config_priv.h"
#include "option.h"

static bool has_own(const struct poise_member_conf *m)
{
	return m->check_port || m->check_interval || m->check_fast_interval || m->check_timeout ||
	       m->check_rise || m->check_fall || m->check_path[0];
}

bool config_is_checked(const struct config_service *svc, const struct config_member *m)
{
	return config_check_type(svc) != POISE_CHECK_NONE && !m->conf.check_off;
}

#define OWN(field)                                                                                 \
	if (own->check_##field)                                                                    \
	h->field = own->check_##field

void config_check_of(const struct config_service *svc, const struct config_member *m,
		     struct poise_health_conf *h)
{
	const struct poise_member_conf *own = &m->conf;

	*h = svc->conf.health;
	if (!config_is_checked(svc, m)) {
		h->type = POISE_CHECK_NONE;
		return;
	}
	h->type = config_check_type(svc);
	OWN(port);
	OWN(interval);
	OWN(fast_interval);
	OWN(timeout);
	OWN(rise);
	OWN(fall);
	if (own->check_path[0])
		snprintf(h->path, sizeof(h->path), "%s", own->check_path);
}

int config_check_validate(const struct config_service *svc, const struct config_member *m,
			  struct poise_error *err)
{
	struct poise_health_conf h;

	if (!has_own(&m->conf))
		return 0;
	config_check_of(svc, m, &h);
	/* A service that was not told of a type may be told of one with paths yet. */
	if (svc->conf.health.type == POISE_CHECK_AUTO)
		h.path[0] = '\0';
	return config_health_validate(&h, err);
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
