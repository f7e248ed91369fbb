/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JSON as poise prints it: one object, what is not known is absent (never 0), ratios 0..1, integers
 * exact, times RFC 3339 UTC.
 */
#ifndef POISE_CLI_JSON_H
#define POISE_CLI_JSON_H

#include <json-c/json.h>

#include "cli.h"

#define JSON_FLAGS (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

/* A new object that begins with "poise": version, abi, and the generation if an instance is open.
 */
struct json_object *json_answer(const struct cli *c);
/* The same of a change: what it has to say so far. */
struct json_object *json_change(const struct cli *c);
/* Prints o on a line of its own and frees it. */
void json_print(const struct cli *c, struct json_object *o);

/* The same for an object whose last field is a list too long to be held in memory: json_begin
 * prints o and opens the list; json_item prints one, n counts from 0; json_end closes both. All
 * free what they print. */
void json_begin(const struct cli *c, struct json_object *o, const char *list);
void json_item(const struct cli *c, __u64 n, struct json_object *item);
void json_end(const struct cli *c);

/* Adds text unless it is empty or NULL. */
void json_add_known(struct json_object *o, const char *key, const char *text);
void json_add_u64(struct json_object *o, const char *key, __u64 value);
/* At most six significant digits: what was measured, without the noise of binary fractions. */
void json_add_real(struct json_object *o, const char *key, double value);
/* Nanoseconds of CLOCK_REALTIME; 0 is not known. */
void json_add_time(struct json_object *o, const char *key, __u64 realtime_ns);

#endif
