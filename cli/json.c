// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The forms of JSON values; see json.h. */
#include "json.h"

#include <string.h>
#include <time.h>

#include "../maps/clock.h"

struct json_object *json_answer(const struct cli *c)
{
	struct json_object *o = json_object_new_object(), *p = json_object_new_object();

	json_object_object_add(p, "version", json_object_new_string(POISE_VERSION));
	json_object_object_add(p, "abi", json_object_new_int(POISE_ABI));
	if (c->instance)
		json_add_u64(p, "generation", c->instance->meta->committed);
	json_object_object_add(o, "poise", p);
	return o;
}

void json_print(const struct cli *c, struct json_object *o)
{
	fprintf(c->out, "%s\n", json_object_to_json_string_ext(o, JSON_FLAGS));
	fflush(c->out);
	json_object_put(o);
}

void json_begin(const struct cli *c, struct json_object *o, const char *list)
{
	const char *text = json_object_to_json_string_ext(o, JSON_FLAGS);

	fprintf(c->out, "%.*s,\"%s\":[", (int)strlen(text) - 1, text, list);
	json_object_put(o);
}

void json_item(const struct cli *c, __u64 n, struct json_object *item)
{
	fprintf(c->out, "%s%s", n ? "," : "", json_object_to_json_string_ext(item, JSON_FLAGS));
	json_object_put(item);
}

void json_end(const struct cli *c)
{
	fputs("]}\n", c->out);
}

void json_add_known(struct json_object *o, const char *key, const char *text)
{
	if (text && *text)
		json_object_object_add(o, key, json_object_new_string(text));
}

void json_add_u64(struct json_object *o, const char *key, __u64 value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

void json_add_real(struct json_object *o, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	json_object_object_add(o, key, json_object_new_double_s(value, text));
}

void json_add_time(struct json_object *o, const char *key, __u64 realtime_ns)
{
	time_t s = (time_t)(realtime_ns / NS_PER_S);
	char text[40];
	struct tm tm;
	size_t used;

	if (!realtime_ns || !gmtime_r(&s, &tm))
		return;
	used = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + used, sizeof(text) - used, ".%03uZ",
		 (unsigned int)(realtime_ns % NS_PER_S / NS_PER_MS));
	json_object_object_add(o, key, json_object_new_string(text));
}
