/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a reflector tells, as a mirror of the Services that the test API server has.
 */
#ifndef POISE_TEST_MIRROR_H
#define POISE_TEST_MIRROR_H

#include "kube.h"
#include "loader/kube/reflector.h"

/* Objects by name, and how often lists were begun, ended, broken off; and events. */
struct mirror {
	struct json_object *now;  /* namespace/name -> resourceVersion */
	struct json_object *next; /* of the list under way; NULL: none is */
	unsigned int begun, ended, aborted, events;
	struct kube_handler handler;
};

/* Empty; returns who is to be told, which lives as long as the mirror. */
const struct kube_handler *mirror_open(struct mirror *m);
/* One that was never opened, too. */
void mirror_close(struct mirror *m);

bool mirror_has(const struct mirror *m, const char *name);
/* The server's names are the mirror's. */
bool mirror_is_true(const struct mirror *m, struct kube_server *server);

#endif
