/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a user of a service's policy had better know, said by show. */
#ifndef POISE_CLI_POLICY_NOTES_H
#define POISE_CLI_POLICY_NOTES_H

#include "../maps/config.h"

/* The first note from *at on that holds for the service, and *at behind it; NULL: no more. */
const char *policy_note(const struct poise_service_conf *conf, size_t *at);

#endif
