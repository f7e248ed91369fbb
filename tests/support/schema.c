// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "schema.h"

#define PATH_TEXT 256

void schema_read(struct schema *s)
{
	memset(s, 0, sizeof(*s));
	s->root = json_object_from_file("docs/schema.json");
	cr_assert_not_null(s->root, "%s", json_util_get_last_err());
}

void schema_free(struct schema *s)
{
	json_object_put(s->root);
}

static struct json_object *get(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(o, key, &value);
	return value;
}

static struct json_object *definition(const struct schema *s, const char *name)
{
	return get(get(s->root, "$defs"), name);
}

struct json_object *schema_property(const struct schema *s, const char *name, const char *property)
{
	return get(get(definition(s, name), "properties"), property);
}

/* Follows $ref; aborts on one that leads nowhere. */
static struct json_object *resolve(const struct schema *s, struct json_object *rule)
{
	static const char prefix[] = "#/$defs/";
	struct json_object *ref = get(rule, "$ref");
	const char *to = ref ? json_object_get_string(ref) : NULL;

	if (!to)
		return rule;
	cr_assert_eq(strncmp(to, prefix, strlen(prefix)), 0, "%s", to);
	rule = definition(s, to + strlen(prefix));
	cr_assert_not_null(rule, "%s", to);
	return rule;
}

static bool fault(struct schema *s, const char *path, const char *what, const char *detail)
{
	snprintf(s->fault, sizeof(s->fault), "%s: %s %s", path, what, detail);
	return false;
}

static bool is_type(struct json_object *value, const char *type)
{
	enum json_type is = json_object_get_type(value);

	/* Every integer is a number. */
	return !strcmp(type, json_type_to_name(is)) ||
	       (is == json_type_int && !strcmp(type, "integer")) ||
	       (!strcmp(type, "number") && (is == json_type_int || is == json_type_double));
}

static bool fits(struct schema *s, struct json_object *rule, struct json_object *value,
		 const char *path);

static bool object_fits(struct schema *s, struct json_object *rule, struct json_object *value,
			const char *path)
{
	struct json_object *properties = get(rule, "properties"), *required = get(rule, "required");
	char deeper[PATH_TEXT];

	for (size_t i = 0; required && i < json_object_array_length(required); i++) {
		const char *key = json_object_get_string(json_object_array_get_idx(required, i));

		if (!get(value, key))
			return fault(s, path, "lacks", key);
	}
	json_object_object_foreach(value, key, member)
	{
		struct json_object *inner = get(properties, key);

		if (!inner)
			return fault(s, path, "has what the schema lacks:", key);
		snprintf(deeper, sizeof(deeper), "%s.%s", path, key);
		if (!fits(s, inner, member, deeper))
			return false;
	}
	return true;
}

static bool array_fits(struct schema *s, struct json_object *rule, struct json_object *value,
		       const char *path)
{
	char deeper[PATH_TEXT];

	for (size_t i = 0; i < json_object_array_length(value); i++) {
		snprintf(deeper, sizeof(deeper), "%s[%zu]", path, i);
		if (!fits(s, get(rule, "items"), json_object_array_get_idx(value, i), deeper))
			return false;
	}
	return true;
}

static bool in_enum(struct json_object *words, struct json_object *value)
{
	for (size_t i = 0; i < json_object_array_length(words); i++)
		if (json_object_equal(json_object_array_get_idx(words, i), value))
			return true;
	return false;
}

static bool in_range(struct json_object *rule, struct json_object *value)
{
	struct json_object *low = get(rule, "minimum"), *high = get(rule, "maximum");
	double v = json_object_get_double(value);

	return (!low || v >= json_object_get_double(low)) &&
	       (!high || v <= json_object_get_double(high));
}

static bool matches(const char *pattern, const char *text)
{
	regex_t re;
	bool found;

	cr_assert_eq(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0, "%s", pattern);
	found = !regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return found;
}

static bool fits(struct schema *s, struct json_object *rule, struct json_object *value,
		 const char *path)
{
	const char *text = json_object_to_json_string(value);
	struct json_object *type, *words, *pattern;

	rule = resolve(s, rule);
	type = get(rule, "type");
	words = get(rule, "enum");
	pattern = get(rule, "pattern");
	if (!is_type(value, json_object_get_string(type)))
		return fault(s, path, "is of another type:", text);
	if (words && !in_enum(words, value))
		return fault(s, path, "is not among its words:", text);
	if (pattern && !matches(json_object_get_string(pattern), json_object_get_string(value)))
		return fault(s, path, "has another form:", text);
	switch (json_object_get_type(value)) {
	case json_type_object: return object_fits(s, rule, value, path);
	case json_type_array: return array_fits(s, rule, value, path);
	case json_type_int:
	case json_type_double:
		return in_range(rule, value) || fault(s, path, "is out of range:", text);
	default: return true;
	}
}

bool schema_fits(struct schema *s, const char *name, struct json_object *value)
{
	struct json_object *rule = definition(s, name);

	cr_assert_not_null(rule, "no %s in docs/schema.json", name);
	return fits(s, rule, value, name);
}
