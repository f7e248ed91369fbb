/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Configurations from the words of a file, and what an error says. */
#ifndef POISE_TEST_PARSED_H
#define POISE_TEST_PARSED_H

#include "maps/config.h"

/* What people are told, in one line; good until the next call. */
const char *said(const struct poise_error *err);
/* The configuration of a file "f.yaml"; fails the test if it is not right. */
struct config *parsed(const char *text);

#endif
