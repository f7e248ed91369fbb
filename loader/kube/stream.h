/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects out of JSON that comes in pieces of any size: the `items` of a list, or the events of a
 * watch. Each is handed on when its last byte is there, and then forgotten, so that memory is that
 * of the largest object, however many there are.
 */
#ifndef POISE_KUBE_STREAM_H
#define POISE_KUBE_STREAM_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of one object. etcd takes 1.5 MiB of its denser form. */
#define KUBE_OBJECT_MOST (8u << 20)

enum kube_shape {
	KUBE_LIST,   /* {"items": [...], "metadata": {...}, ...} */
	KUBE_EVENTS, /* {...}, one a line */
};

struct kube_stream;

/* value: an item or event, lent; whatever JSON it is. False: enough. */
struct kube_stream *kube_stream_new(enum kube_shape shape,
				    bool (*value)(void *ctx, struct json_object *value), void *ctx);
void kube_stream_free(struct kube_stream *s);

/* False: that was not JSON of this shape, an event was too large or too deep, or value() had
 * enough. Then nothing more is taken. Such an item of a list is passed over. */
bool kube_stream_take(struct kube_stream *s, const char *data, size_t length);
/* Nothing is incomplete: a list is at its end, no event has only begun. */
bool kube_stream_is_whole(const struct kube_stream *s);
/* How many items were passed over. */
size_t kube_stream_passed(const struct kube_stream *s);
/* A list's metadata so far; NULL: none. */
struct json_object *kube_stream_metadata(const struct kube_stream *s);

#endif
