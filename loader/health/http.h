/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request by libcurl, as types http, https and grpc share it. */
#ifndef POISE_HEALTH_HTTP_H
#define POISE_HEALTH_HTTP_H

#include "probe_priv.h"

#define HTTP_HEAD 65536 /* bytes of headers that are read: no honest server sends more */

/* The handle: where to, for whom, and how to behave; callbacks get the probe. */
void http_prepare(struct probe *p, bool tls, const char *path);
/* On its way. */
void http_begin(struct probe *p);
/* The answer for a transfer that failed. */
void http_failed(struct probe *p, CURLcode code);
/* For struct probe_kind. */
const char *http_late(struct probe *p);
void http_close(struct probe *p);

#endif
