// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A configuration bit by bit; see parts.h. */
#include "parts.h"

#include <criterion/criterion.h>

#include "maps/text.h"

struct config_service *part_service(struct config *cfg, const char *name)
{
	struct config_service *svc = config_service_add(cfg, name, POISE_OWNER_HAND, NULL);

	cr_assert_not_null(svc, "%s", name);
	svc->conf.forward = POISE_L2;
	return svc;
}

int part_listen(struct config *cfg, struct config_service *svc, const char *text,
		struct poise_error *err)
{
	struct poise_listener_conf l;

	cr_assert_eq(poise_parse_listener(text, &l, NULL), 0, "%s", text);
	return config_listen(cfg, svc, &l, err);
}

struct config_member *part_member(struct config_service *svc, const char *text,
				  struct poise_error *err)
{
	union poise_addr addr;
	__u16 port;

	cr_assert_eq(poise_parse_endpoint(text, &addr, &port, NULL), 0, "%s", text);
	return config_member_add(svc, &addr, port, err);
}

struct config_member *part_found(struct config_service *svc, const char *text)
{
	struct config_member *m = config_member_find(svc, text, NULL);

	cr_assert_not_null(m, "%s", text);
	return m;
}
