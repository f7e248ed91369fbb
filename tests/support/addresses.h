/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of addresses in words. */
#ifndef POISE_TEST_ADDRESSES_H
#define POISE_TEST_ADDRESSES_H

#include <stddef.h>

#include "maps/abi.h"

/* Addresses with blanks between; *n of them, which last. */
const union poise_addr *addresses(const char *text, size_t *n);

#endif
