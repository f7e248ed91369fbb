// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Statuses that are not yet as they should be stand in a list in the order of the Services, and go
 * from it when the cache shows them right: an answer that says so is not believed before.
 */
#include "publish.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "maps/clock.h"
#include "maps/memory.h"
#include "maps/text.h"
#include "rights.h"

#define HTTP_MISSING  404
#define HTTP_CONFLICT 409

#define PATH (KUBE_RIGHT_PATH + sizeof("?fieldManager=" KUBE_PUBLISH_MANAGER))

struct item {
	struct kube_publish *all;
	char *name_space, *name;
	char *body;		/* the patch, as of the last look */
	struct kube_call *call; /* under way */
	__u32 failures;		/* in a row */
	__u64 next;		/* ms: not before this */
};

struct kube_publish {
	struct kube_http *http;
	struct item **item; /* by namespace and name */
	size_t items;
	struct item **fresh; /* of the look under way; room for all */
	size_t freshes, room;
	size_t at; /* items before this have been looked at */
	size_t calls;
	struct poise_error fault;
};

/* ---- what is to be written --------------------------------------------------------------------*/

bool kube_publish_wrote(struct json_object *service)
{
	struct json_object *managers =
		kube_json_field(kube_json_field(service, "metadata"), "managedFields");

	if (!json_object_is_type(managers, json_type_array))
		return false;
	for (size_t k = 0; k < json_object_array_length(managers); k++) {
		struct json_object *m = json_object_array_get_idx(managers, k);
		struct json_object *at = kube_json_field(m, "fieldsV1");

		if (strcmp(kube_json_text(m, "manager"), KUBE_PUBLISH_MANAGER) != 0)
			continue;
		at = kube_json_field(kube_json_field(at, "f:status"), "f:loadBalancer");
		if (kube_json_field(at, "f:ingress"))
			return true;
	}
	return false;
}

static bool has(const union poise_addr *list, size_t n, const union poise_addr *addr)
{
	for (size_t k = 0; k < n; k++)
		if (!poise_addr_cmp(&list[k], addr))
			return true;
	return false;
}

enum kube_publish_act kube_publish_judge(const struct kube_publish_item *item)
{
	if (!item->wants)
		return item->is_ours && (item->iss || item->is_other) ? KUBE_PUBLISH_CLEAR
								      : KUBE_PUBLISH_LEAVE;
	if (item->is_other || item->iss != item->wants)
		return KUBE_PUBLISH_SET;
	for (size_t k = 0; k < item->wants; k++)
		if (!has(item->is, item->iss, &item->want[k]))
			return KUBE_PUBLISH_SET;
	return KUBE_PUBLISH_LEAVE;
}

char *kube_publish_body(const struct kube_publish_item *item, enum kube_publish_act act)
{
	struct json_object *o = json_object_new_object(), *list = NULL, *status;
	char text[POISE_ADDR_TEXT], *body;

	kube_json_put_text(kube_json_put(o, "metadata"), "resourceVersion", item->version);
	status = kube_json_put(kube_json_put(o, "status"), "loadBalancer");
	if (act == KUBE_PUBLISH_SET)
		list = json_object_new_array();
	for (size_t k = 0; list && k < item->wants; k++) {
		struct json_object *one = json_object_new_object();

		kube_json_put_text(one, "ip",
				   poise_format_addr(&item->want[k], text, sizeof(text)));
		json_object_array_add(list, one);
	}
	json_object_object_add(status, "ingress", list);
	body = memory_text(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return body;
}

/* ---- the list ---------------------------------------------------------------------------------*/

struct kube_publish *kube_publish_new(struct kube_http *http)
{
	struct kube_publish *p = memory_alloc(sizeof(*p));

	p->http = http;
	return p;
}

static void item_free(struct item *i)
{
	if (i->call) {
		kube_http_drop(i->call);
		i->all->calls--;
	}
	free(i->name_space);
	free(i->name);
	free(i->body);
	free(i);
}

void kube_publish_free(struct kube_publish *p)
{
	if (!p)
		return;
	for (size_t k = 0; k < p->items; k++)
		item_free(p->item[k]);
	free(p->item);
	free(p->fresh);
	free(p);
}

static int order(const struct item *i, const struct kube_publish_item *by)
{
	int ns = strcmp(i->name_space, by->name_space);

	return ns ? ns : strcmp(i->name, by->name);
}

static struct item *item_new(struct kube_publish *p, const struct kube_publish_item *by)
{
	struct item *i = memory_alloc(sizeof(*i));

	i->all = p;
	i->name_space = memory_text(by->name_space);
	i->name = memory_text(by->name);
	return i;
}

void kube_publish_begin(struct kube_publish *p)
{
	p->freshes = 0;
	p->at = 0;
}

void kube_publish_put(struct kube_publish *p, const struct kube_publish_item *item)
{
	enum kube_publish_act act = kube_publish_judge(item);
	struct item *i = NULL;

	while (p->at < p->items && order(p->item[p->at], item) < 0)
		item_free(p->item[p->at++]); /* there is no such Service any more */
	if (p->at < p->items && !order(p->item[p->at], item))
		i = p->item[p->at++];
	if (act == KUBE_PUBLISH_LEAVE) {
		if (i)
			item_free(i);
		return;
	}
	if (!i)
		i = item_new(p, item);
	free(i->body);
	i->body = kube_publish_body(item, act);
	p->fresh = memory_grow(p->fresh, p->freshes, &p->room, sizeof(struct item *));
	p->fresh[p->freshes++] = i;
}

void kube_publish_end(struct kube_publish *p)
{
	while (p->at < p->items)
		item_free(p->item[p->at++]);
	free(p->item);
	p->item = p->fresh;
	p->items = p->freshes;
	p->fresh = NULL;
	p->freshes = p->room = 0;
}

size_t kube_publish_pending(const struct kube_publish *p)
{
	return p->items;
}

const struct poise_error *kube_publish_fault(const struct kube_publish *p)
{
	return &p->fault;
}

/* ---- patches ----------------------------------------------------------------------------------*/

static __u64 delay(__u32 failures)
{
	__u64 ms = KUBE_PUBLISH_RETRY_MS;

	while (--failures && ms < KUBE_PUBLISH_RETRY_MOST)
		ms *= 2;
	return ms < KUBE_PUBLISH_RETRY_MOST ? ms : KUBE_PUBLISH_RETRY_MOST;
}

static void on_done(void *ctx, const struct kube_answer *answer)
{
	struct item *i = ctx;
	__u64 now = clock_monotonic() / NS_PER_MS, wait;

	i->call = NULL;
	i->all->calls--;
	if (kube_answer_good(answer)) {
		i->failures = 0;
		i->all->fault = (struct poise_error){0};
		i->next = now + KUBE_PUBLISH_SHOWS_MS;
		return;
	}
	i->failures++;
	wait = delay(i->failures);
	i->next = now + (wait > answer->retry_after ? wait : answer->retry_after);
	if (answer->status == HTTP_CONFLICT || answer->status == HTTP_MISSING)
		return; /* it changed, or went, and the cache will say so */
	i->all->fault = answer->err;
	poise_error_about(&i->all->fault, "status of Service %s/%s", i->name_space, i->name);
}

static void send(struct kube_publish *p, struct item *i)
{
	char path[KUBE_RIGHT_PATH], whole[PATH];

	if (!kube_right_path(KUBE_RIGHT_STATUS, i->name_space, i->name, path)) {
		i->next = UINT64_MAX;
		return;
	}
	snprintf(whole, sizeof(whole), "%s?fieldManager=" KUBE_PUBLISH_MANAGER, path);
	i->call = kube_http_send(p->http, &(struct kube_request){
						  .verb = KUBE_MERGE_PATCH,
						  .path = whole,
						  .body = i->body,
						  .done = on_done,
						  .ctx = i,
					  });
	p->calls++;
}

__u32 kube_publish_tick(struct kube_publish *p, __u64 now, bool leads)
{
	__u64 next = UINT64_MAX;

	for (size_t k = 0; leads && k < p->items; k++) {
		struct item *i = p->item[k];

		if (i->call)
			continue;
		if (now >= i->next && p->calls < KUBE_PUBLISH_AT_ONCE)
			send(p, i);
		if (!i->call && i->next < next)
			next = i->next;
	}
	if (next == UINT64_MAX || p->calls == KUBE_PUBLISH_AT_ONCE)
		return UINT32_MAX; /* the next answer is waited for */
	if (next <= now)
		return 0;
	return next - now < UINT32_MAX ? (__u32)(next - now) : UINT32_MAX;
}
