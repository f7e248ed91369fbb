/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Services, listeners and backends put into a configuration one by one, by what people type. */
#ifndef POISE_TEST_PARTS_H
#define POISE_TEST_PARTS_H

#include "parsed.h"

/* A service of mode l2, by hand, without anything in it. */
struct config_service *part_service(struct config *cfg, const char *name);
/* As config_listen and config_member_add; text is a right one of its kind. */
int part_listen(struct config *cfg, struct config_service *svc, const char *text,
		struct poise_error *err);
struct config_member *part_member(struct config_service *svc, const char *text,
				  struct poise_error *err);
/* The backend that text finds; it is there. */
struct config_member *part_found(struct config_service *svc, const char *text);

#endif
