/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a user of a service had better know, said by show. */
#ifndef POISE_CLI_SERVICE_NOTES_H
#define POISE_CLI_SERVICE_NOTES_H

#include "../maps/config.h"

/* The first note from *at on that holds for the service, and *at behind it; NULL: no more. */
const char *service_note(const struct config_service *svc, size_t *at);

#endif
