/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options of type OPTION_OWN, for option.c: `health-KEY` of a backend has the value of health's KEY
 * as text, among the pairs of one field, which `at` is. What is right for KEY is so here.
 */
#ifndef POISE_OPTION_OWN_H
#define POISE_OPTION_OWN_H

#include "option.h"

/* text NULL: as the service says. */
int option_own_set(const struct option *o, void *at, const char *text, struct poise_error *err);
void option_own_format(const struct option *o, const void *at, char *buf, size_t size);
bool option_own_equal(const struct option *o, const void *a, const void *b);

/* option_set, but the error does not name the key. */
int option_put(const struct option *o, void *obj, const char *text, struct poise_error *err);

#endif
