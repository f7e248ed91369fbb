// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Places in an object's JSON; see spot.h. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "maps/text.h"
#include "object.h"
#include "spot.h"

#define WAY_TEXT  160 /* spec.ports[999].targetPort */
#define SHOW_TEXT 96  /* of a value */

/* spec.ports[3].port */
static void way(const struct spot *at, char *buf, size_t size)
{
	size_t used;

	buf[0] = '\0';
	if (!at->up)
		return;
	way(at->up, buf, size);
	used = strlen(buf);
	if (at->key)
		snprintf(buf + used, size - used, "%s%s", used ? "." : "", at->key);
	else
		snprintf(buf + used, size - used, "[%zu]", at->index);
}

void spot_fault(struct reader *r, const struct spot *at, enum kube_reason reason, const char *fmt,
		...)
{
	char message[KUBE_MESSAGE], field[WAY_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	way(at, field, sizeof(field));
	kube_find(r->faults, &r->about, reason, field, "%s", message);
}

void spot_wrong(struct reader *r, const struct spot *at, const char *text, const char *why)
{
	char value[SHOW_TEXT];

	spot_fault(r, at, KUBE_R_INVALID, "%s: %s", poise_quote(text, value, sizeof(value)), why);
}

static const char *type_word(enum json_type type)
{
	switch (type) {
	case json_type_boolean: return "a boolean";
	case json_type_double: return "a number with a fraction";
	case json_type_int: return "a number";
	case json_type_object: return "an object";
	case json_type_array: return "an array";
	case json_type_string: return "a string";
	default: return "null";
	}
}

/* Whether something of this type is there. */
static bool is(struct reader *r, const struct spot *at, enum json_type type)
{
	enum json_type found = json_object_get_type(at->json);

	if (!at->json || found == type)
		return at->json;
	spot_fault(r, at, KUBE_R_INVALID, "is %s where %s is due", type_word(found),
		   type_word(type));
	return false;
}

static bool field(struct reader *r, const struct spot *in, const char *key, enum json_type type,
		  struct spot *out)
{
	*out = (struct spot){.up = in, .key = key};
	if (!in->json || !json_object_object_get_ex(in->json, key, &out->json))
		return false;
	if (is(r, out, type))
		return true;
	out->json = NULL;
	return false;
}

bool spot_object(struct reader *r, const struct spot *in, const char *key, struct spot *out)
{
	return field(r, in, key, json_type_object, out);
}

bool spot_array(struct reader *r, const struct spot *in, const char *key, size_t most,
		struct spot *out, size_t *n)
{
	*n = 0;
	if (!field(r, in, key, json_type_array, out))
		return false;
	*n = json_object_array_length(out->json);
	if (*n > most) {
		spot_fault(r, out, KUBE_R_FULL, "has %zu entries: the first %zu count", *n, most);
		*n = most;
	}
	return true;
}

bool spot_is_text(struct reader *r, const struct spot *at, const char **text)
{
	const char *found;

	if (!is(r, at, json_type_string))
		return false;
	found = json_object_get_string(at->json);
	if (strlen(found) != (size_t)json_object_get_string_len(at->json)) {
		spot_fault(r, at, KUBE_R_INVALID, "has a NUL in it");
		return false;
	}
	*text = found;
	return true;
}

bool spot_text(struct reader *r, const struct spot *in, const char *key, const char **text)
{
	struct spot at;

	return field(r, in, key, json_type_string, &at) && spot_is_text(r, &at, text);
}

bool spot_number(struct reader *r, const struct spot *in, const char *key, __s64 min, __s64 max,
		 __s64 *value)
{
	struct spot at;
	__s64 got;

	if (!field(r, in, key, json_type_int, &at))
		return false;
	got = json_object_get_int64(at.json);
	if (got < min || got > max) {
		spot_fault(r, &at, KUBE_R_INVALID, "%lld: not %lld to %lld", got, min, max);
		return false;
	}
	*value = got;
	return true;
}

enum spot_truth spot_truth(struct reader *r, const struct spot *in, const char *key)
{
	struct spot at;

	if (field(r, in, key, json_type_boolean, &at))
		return json_object_get_boolean(at.json) ? SPOT_TRUE : SPOT_FALSE;
	if (in->json && json_object_object_get(in->json, key))
		return SPOT_WRONG;
	return SPOT_ABSENT;
}

static void entry(const struct spot *array, size_t i, struct spot *out)
{
	*out = (struct spot){.up = array, .index = i};
	out->json = json_object_array_get_idx(array->json, i);
}

/* A null among others is a fault: it says nothing. */
static bool entry_is(struct reader *r, const struct spot *array, size_t i, enum json_type type,
		     struct spot *out)
{
	entry(array, i, out);
	if (is(r, out, type))
		return true;
	if (!out->json)
		spot_fault(r, out, KUBE_R_INVALID, "is null where %s is due", type_word(type));
	return false;
}

bool spot_entry(struct reader *r, const struct spot *array, size_t i, struct spot *out)
{
	return entry_is(r, array, i, json_type_object, out);
}

bool spot_entry_text(struct reader *r, const struct spot *array, size_t i, struct spot *out,
		     const char **text)
{
	return entry_is(r, array, i, json_type_string, out) && spot_is_text(r, out, text);
}

static bool is_link_local(const union poise_addr *a)
{
	if (poise_addr_is4(a))
		return a->b[12] == 169 && a->b[13] == 254;
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

/* Go's net.ParseIP takes ::ffff:192.0.2.1 for 192.0.2.1, and so does the API server. */
static bool parse(const char *text, union poise_addr *addr, struct poise_error *err)
{
	char four[POISE_ADDR_TEXT];
	union poise_addr six;

	if (inet_pton(AF_INET6, text, six.b) == 1 && poise_addr_is4(&six))
		text = poise_format_addr(&six, four, sizeof(four));
	return !poise_parse_host(text, addr, err);
}

bool spot_addr(struct reader *r, const struct spot *at, __u8 families, union poise_addr *addr)
{
	struct poise_error err = {0};
	union poise_addr got;
	const char *text, *why = NULL;

	if (!spot_is_text(r, at, &text))
		return false;
	if (!parse(text, &got, &err))
		why = err.message;
	else if (poise_addr_is_loopback(&got))
		why = "a loopback address";
	else if (is_link_local(&got))
		why = "a link-local address";
	else if (!(families & (poise_addr_is4(&got) ? KUBE_IPV4 : KUBE_IPV6)))
		why = poise_addr_is4(&got) ? "IPv4 where IPv6 is due" : "IPv6 where IPv4 is due";
	if (why)
		spot_wrong(r, at, text, why);
	else
		*addr = got;
	return !why;
}
