/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Base64 as files have it: RFC 4648, section 4, with white space anywhere between. */
#ifndef POISE_KUBE_BASE64_H
#define POISE_KUBE_BASE64_H

#include <stddef.h>

/* The bytes that text stands for, malloc'ed, a NUL after them; NULL: it is none. */
char *base64_decode(const char *text, size_t *length);

#endif
