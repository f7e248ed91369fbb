/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An event (maps/events.h) as a line with its time, and as a JSON object. */
#ifndef POISE_CLI_EVENT_H
#define POISE_CLI_EVENT_H

#include "json.h"

void event_print(struct cli *c, const struct poise_event *e);
struct json_object *event_json(const struct poise_event *e);

#endif
