/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the two sources of access share. */
#ifndef POISE_KUBE_ACCESS_PRIV_H
#define POISE_KUBE_ACCESS_PRIV_H

#include "access.h"

#define KUBE_FILE_MOST	(1u << 20) /* bytes of a kubeconfig: dozens of clusters fit */
#define KUBE_TOKEN_MOST 16384	   /* bytes of a token: a header that servers take */

/* Of at most `most` bytes, malloc'ed, NUL-terminated. */
char *access_read(const char *path, size_t most, size_t *length, struct poise_error *err);
/* Takes a text as the token, without the white space around it; refuses what cannot stand in a
 * header. */
int access_take_token(struct kube_access *a, const char *text, struct poise_error *err);
/* The token's file for the first time. */
int access_first_token(struct kube_access *a, struct poise_error *err);

#endif
