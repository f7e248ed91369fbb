/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One daemon per instance: flock on the directory above the instance's pins, which death releases
 * and which everybody who shares the bpffs sees. (Writers lock the pin directory itself.)
 */
#ifndef POISED_SOLE_H
#define POISED_SOLE_H

#include "../maps/instance.h"

/* Takes the place, for as long as the process lives; the descriptor, or -1 with an error that says
 * who has it. */
int sole_take(const struct instance_where *where, struct poise_error *err);

#endif
