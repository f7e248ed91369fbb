// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * json-c parses values in pieces and says where one ends. What is around the items of a list, one
 * object and one array, is read here, byte by byte.
 *
 * An item that json-c does not take, for it is too deep or too large, must not cost the others
 * their list: an API server keeps what anybody may put into one object's metadata.managedFields at
 * any depth. So brackets are counted beside json-c, which is enough to find where such an item
 * ends. An event is not passed over: whose it was would be lost with it, and the list that follows
 * tells.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "../../maps/memory.h"

enum place {
	BEFORE,	     /* the list's { */
	KEY,	     /* a key or, of an empty object, its } */
	NEXT_KEY,    /* a key: a comma was before it */
	COLON,	     /* between key and value */
	VALUE,	     /* a value */
	AFTER_VALUE, /* a comma or } */
	ITEM,	     /* an item or, of an empty array, its ] */
	NEXT_ITEM,   /* an item: a comma was before it */
	AFTER_ITEM,  /* a comma or ] */
	END,	     /* the list is over */
	EVENT,	     /* an event */
};

struct kube_stream {
	bool (*value)(void *ctx, struct json_object *value);
	void *ctx;
	json_tokener *tokener;
	enum place place;
	bool inside;  /* of a value, which begins at `place` */
	size_t taken; /* bytes of it */
	bool counted; /* it is an item, and an object or array: */
	size_t open;  /* so many of its brackets are */
	bool quoted;  /* within a text of it ... */
	bool escaped; /* ... behind a backslash */
	bool passing; /* the rest of it is passed over */
	size_t passed;
	bool failed;
	bool items;  /* the key before this value is `items` */
	bool listed; /* there was such a key: without it, it is no list */
	bool about;  /* it is `metadata` */
	struct json_object *metadata;
};

struct kube_stream *kube_stream_new(enum kube_shape shape,
				    bool (*value)(void *ctx, struct json_object *value), void *ctx)
{
	struct kube_stream *s = memory_alloc(sizeof(*s));

	s->value = value;
	s->ctx = ctx;
	s->place = shape == KUBE_LIST ? BEFORE : EVENT;
	s->tokener = json_tokener_new();
	if (!s->tokener)
		abort();
	json_tokener_set_flags(s->tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
	return s;
}

void kube_stream_free(struct kube_stream *s)
{
	if (!s)
		return;
	json_tokener_free(s->tokener);
	json_object_put(s->metadata);
	free(s);
}

/* ---- whole values -----------------------------------------------------------------------------*/

static bool took_key(struct kube_stream *s, struct json_object *key)
{
	const char *text =
		json_object_is_type(key, json_type_string) ? json_object_get_string(key) : NULL;

	if (!text)
		return false;
	s->items = !strcmp(text, "items");
	s->about = !strcmp(text, "metadata");
	s->place = COLON;
	return true;
}

/* Items that are none of an array: null, for an array of none, but nothing else. */
static bool took_member(struct kube_stream *s, struct json_object *value)
{
	s->place = AFTER_VALUE;
	if (s->about) {
		json_object_put(s->metadata);
		s->metadata = json_object_get(value);
	}
	if (!s->items)
		return true;
	if (value || s->listed)
		return false;
	s->listed = true;
	return true;
}

/* NULL is JSON's null. */
static bool took(struct kube_stream *s, struct json_object *value)
{
	switch (s->place) {
	case KEY:
	case NEXT_KEY: return took_key(s, value);
	case VALUE: return took_member(s, value);
	case ITEM:
	case NEXT_ITEM: s->place = AFTER_ITEM; return s->value(s->ctx, value);
	default: return s->value(s->ctx, value);
	}
}

/* Up to the end of the line, where that ends what is an event: one that is cut off must not swallow
 * the next. */
static size_t part_of(const struct kube_stream *s, const char *data, size_t length)
{
	size_t part = length < KUBE_OBJECT_MOST ? length : KUBE_OBJECT_MOST;
	const char *end = s->place == EVENT ? memchr(data, '\n', part) : NULL;

	return end ? (size_t)(end - data) : part;
}

/* ---- items that are passed over ---------------------------------------------------------------*/

/* A byte of an item: true if it is the last one. */
static bool ends_item(struct kube_stream *s, char c)
{
	if (s->quoted) {
		s->quoted = s->escaped || c != '"';
		s->escaped = !s->escaped && c == '\\';
		return false;
	}
	if (c == '"')
		s->quoted = true;
	else if (c == '{' || c == '[')
		s->open++;
	else if (c == '}' || c == ']')
		return !--s->open;
	return false;
}

/* How many bytes of this part are the item's under way: all, unless it ends here. */
static size_t follow_item(struct kube_stream *s, const char *data, size_t part, bool *ended)
{
	size_t k = 0;

	if (!s->counted)
		return part;
	while (k < part && !*ended)
		*ended = ends_item(s, data[k++]);
	return k;
}

/* Takes bytes of one without looking into them. */
static size_t pass_item(struct kube_stream *s, size_t bytes, bool ended)
{
	if (!s->counted) {
		s->failed = true;
		return 0;
	}
	if (!s->passing)
		json_tokener_reset(s->tokener);
	s->passing = !ended;
	if (!ended)
		return bytes;
	s->inside = false;
	s->taken = 0;
	s->place = AFTER_ITEM;
	s->passed++;
	return bytes;
}

/* ---- values under way -------------------------------------------------------------------------*/

/* Feeds the value under way; returns how many bytes it took. */
static size_t feed(struct kube_stream *s, const char *data, size_t length)
{
	size_t part = part_of(s, data, length), of_item;
	struct json_object *value;
	bool ended = false;

	if (!part) {
		s->failed = true;
		return 0;
	}
	of_item = follow_item(s, data, part, &ended);
	if (s->passing)
		return pass_item(s, of_item, ended);
	value = json_tokener_parse_ex(s->tokener, data, (int)part);
	switch (json_tokener_get_error(s->tokener)) {
	case json_tokener_continue:
		s->taken += part;
		return s->taken > KUBE_OBJECT_MOST ? pass_item(s, of_item, ended) : part;
	case json_tokener_error_depth: return pass_item(s, of_item, ended);
	case json_tokener_success:
		part = json_tokener_get_parse_end(s->tokener);
		s->inside = false;
		s->taken = 0;
		json_tokener_reset(s->tokener);
		s->failed = !took(s, value);
		json_object_put(value);
		return part;
	default: s->failed = true; return 0;
	}
}

/* ---- what is between them ---------------------------------------------------------------------*/

static bool begins_value(struct kube_stream *s, char c)
{
	s->inside = true;
	s->counted = (s->place == ITEM || s->place == NEXT_ITEM) && (c == '{' || c == '[');
	s->open = 0;
	s->quoted = s->escaped = false;
	return false;
}

/* A byte that is not of a value: true if it is taken, false if a value begins with it, or failed.
 */
static bool step(struct kube_stream *s, char c)
{
	switch (s->place) {
	case BEFORE: s->place = KEY; return c == '{';
	case KEY:
		if (c == '}') {
			s->place = END;
			return true;
		}
		return c == '"' ? begins_value(s, c) : false;
	case NEXT_KEY: return c == '"' ? begins_value(s, c) : false;
	case COLON: s->place = VALUE; return c == ':';
	case VALUE:
		if (s->items && c == '[' && !s->listed) {
			s->listed = true;
			s->place = ITEM;
			return true;
		}
		return begins_value(s, c);
	case AFTER_VALUE: s->place = c == ',' ? NEXT_KEY : END; return c == ',' || c == '}';
	case ITEM:
		if (c == ']') {
			s->place = AFTER_VALUE;
			return true;
		}
		return begins_value(s, c);
	case AFTER_ITEM: s->place = c == ',' ? NEXT_ITEM : AFTER_VALUE; return c == ',' || c == ']';
	case NEXT_ITEM: return begins_value(s, c);
	case EVENT: return c == '{' ? begins_value(s, c) : false; /* a bare 1-1 has no one end */
	default: return false;
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool kube_stream_take(struct kube_stream *s, const char *data, size_t length)
{
	/* No JSON has one, and json-c takes it for the end. */
	s->failed |= memchr(data, '\0', length) != NULL;
	while (length && !s->failed) {
		size_t taken = 1;

		if (s->inside)
			taken = feed(s, data, length);
		else if (!is_space(*data) && !step(s, *data)) {
			taken = 0;
			s->failed = !s->inside;
		}
		data += taken;
		length -= taken;
	}
	return !s->failed;
}

bool kube_stream_is_whole(const struct kube_stream *s)
{
	return !s->failed && !s->inside && (s->place == EVENT || (s->place == END && s->listed));
}

struct json_object *kube_stream_metadata(const struct kube_stream *s)
{
	return s->metadata;
}

size_t kube_stream_passed(const struct kube_stream *s)
{
	return s->passed;
}
