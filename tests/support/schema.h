/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * docs/schema.json as a judge of what poise prints. Of JSON Schema it knows what that file uses:
 * $ref within the file, type, properties, required, items, enum, minimum, maximum, pattern. Unlike
 * a reader of the output, it takes a property that the schema lacks for a fault: it was added and
 * not written down.
 */
#ifndef POISE_TEST_SCHEMA_H
#define POISE_TEST_SCHEMA_H

#include <json-c/json.h>
#include <stdbool.h>

struct schema {
	struct json_object *root;
	char fault[512]; /* where and what, of the last value that is not as it should be */
};

/* Reads docs/schema.json; fails the test if it cannot. */
void schema_read(struct schema *s);
void schema_free(struct schema *s);
/* Whether value is as $defs/NAME says. */
bool schema_fits(struct schema *s, const char *name, struct json_object *value);
/* The definition of a property of $defs/NAME; NULL if there is none. */
struct json_object *schema_property(const struct schema *s, const char *name, const char *property);

#endif
