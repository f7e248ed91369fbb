/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fields of JSON that others wrote, and JSON of our own. */
#ifndef POISE_KUBE_JSON_H
#define POISE_KUBE_JSON_H

#include <json-c/json.h>

/* NULL: o is no object, or has no such field, or null is its value. */
static inline struct json_object *kube_json_field(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(o, json_type_object))
		json_object_object_get_ex(o, key, &value);
	return value;
}

/* "": no such field, or no text. */
static inline const char *kube_json_text(struct json_object *o, const char *key)
{
	struct json_object *value = kube_json_field(o, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static inline void kube_json_put_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

/* An empty object in o. */
static inline struct json_object *kube_json_put(struct json_object *o, const char *key)
{
	struct json_object *inner = json_object_new_object();

	json_object_object_add(o, key, inner);
	return inner;
}

#endif
