/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The three privileges poised needs, and no other. */
#ifndef POISED_CAPS_H
#define POISED_CAPS_H

#include "../maps/error.h"

/* Keeps CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, gives up all others for good. An error if one of
 * the three is missing. */
int caps_drop(struct poise_error *err);

#endif
