/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* HTTP statuses as the configuration lists them: "200-399,404". */
#ifndef POISE_STATUS_H
#define POISE_STATUS_H

#include <stdbool.h>

/* Whether the list holds this status. A list that status_list_valid refuses holds none. */
bool status_wanted(const char *list, unsigned int status);
/* Numbers and ranges of 100..599, upwards, with commas between. */
bool status_list_valid(const char *list);

#endif
