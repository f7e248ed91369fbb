/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files applied to what is live, a configuration in memory as if it were in force. */
#ifndef POISE_TEST_APPLYING_H
#define POISE_TEST_APPLYING_H

#include "parsed.h"

#define WEB                                                                                        \
	"services:\n"                                                                              \
	"  - name: web\n"                                                                          \
	"    forward: l2\n"                                                                        \
	"    listen: [ \"192.0.2.1:80\" ]\n"                                                       \
	"    backends: [ 10.0.0.1, { address: 10.0.0.2, weight: 2 } ]\n"
#define MAIL                                                                                       \
	"  - name: mail\n"                                                                         \
	"    forward: ipip\n"                                                                      \
	"    listen: [ \"192.0.2.2:25\" ]\n"                                                       \
	"    backends: [ 10.0.1.1 ]\n"

/* As if committed: every service and member has an id. */
void applying_ids(struct config *cfg);
/* A live configuration that a file was applied to. */
struct config *applying_live(const char *text);
/* Applies one more; it must succeed. */
struct config_summary applying(struct config *live, const char *text, unsigned int flags);
/* Applying it must fail with this, and leave live as it was. */
void applying_refused(struct config *live, const char *text, const char *error);
/* Counts of services, then of backends: added, changed, removed. */
void applying_counts(struct config_summary got, unsigned int s_added, unsigned int s_changed,
		     unsigned int s_removed, unsigned int b_added, unsigned int b_changed,
		     unsigned int b_removed);
/* The backend of the service, which is there. */
struct config_member *applying_member(struct config *cfg, const char *service, const char *text);

#endif
