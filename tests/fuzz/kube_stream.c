// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes as a list or as events, cut at any places: what comes out does not depend on the cuts,
 * and nothing comes out of what is not JSON.
 */
#include <string.h>

#include "loader/kube/stream.h"
#include "tests/support/fuzz.h"

#define MOST 4096 /* bytes of an input: as much of its text is told */

struct told {
	size_t values;
	char text[2 * MOST]; /* the first of them */
	size_t used;
};

static bool on_value(void *ctx, struct json_object *value)
{
	struct told *t = ctx;
	const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
	size_t length = strlen(text);

	t->values++;
	if (t->used + length < sizeof(t->text)) {
		memcpy(t->text + t->used, text, length);
		t->used += length;
	}
	return true;
}

/* Pieces of 1 to `most` bytes; 0: in one. */
static bool take(enum kube_shape shape, const char *data, size_t size, size_t most,
		 struct told *told)
{
	struct kube_stream *s = kube_stream_new(shape, on_value, told);
	size_t at = 0, piece = most ? most : size;
	bool whole;

	memset(told, 0, sizeof(*told));
	while (at < size) {
		size_t n = size - at < piece ? size - at : piece;

		if (!kube_stream_take(s, data + at, n))
			break;
		at += n;
		if (most)
			piece = piece % most + 1;
	}
	whole = kube_stream_is_whole(s);
	fuzz_require(!whole || at == size);
	/* What is no list is never taken for one without items. */
	fuzz_require(!whole || shape != KUBE_LIST || memmem(data, size, "items", 5) ||
		     memmem(data, size, "\\u00", 4));
	kube_stream_free(s);
	return whole;
}

static void check(enum kube_shape shape, const char *data, size_t size)
{
	static struct told one, other;
	bool whole = take(shape, data, size, 0, &one);

	for (size_t most = 1; most <= 7; most += 3) {
		/* json-c lets pass some numbers that come in pieces and are none: 8- */
		fuzz_require(take(shape, data, size, most, &other) || !whole);
		/* Of what breaks off somewhere, more or less may be told before that is seen. */
		fuzz_require(!whole || (one.values == other.values && one.used == other.used));
		fuzz_require(!whole || !memcmp(one.text, other.text, one.used));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > MOST)
		return 0;
	check(KUBE_LIST, (const char *)data, size);
	check(KUBE_EVENTS, (const char *)data, size);
	return 0;
}

FUZZ_TARGET(kube_stream)
