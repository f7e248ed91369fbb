// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is amiss with objects of the cluster; see finding.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finding.h"
#include "maps/error.h"
#include "maps/memory.h"

#define NAME_SHOWN  80 /* bytes of a name that is no right one */
#define FIELD_SHOWN 160

/* A copy that can be shown, of at most `most` bytes. */
static char *shown(const char *text, size_t most)
{
	size_t length = text ? strnlen(text, most) : 0;
	char *copy = memory_alloc(length + 1);

	if (length)
		memcpy(copy, text, length);
	return poise_printable(copy);
}

void kube_finding_free(struct kube_finding *f)
{
	free(f->ns);
	free(f->name);
	free(f->uid);
	free(f->field);
	free(f->message);
}

static bool same_object(const struct kube_finding *a, const struct kube_finding *b)
{
	return a->kind == b->kind && !strcmp(a->name, b->name) && !strcmp(a->ns, b->ns);
}

/* Takes it over, or frees it. Those of one object come one after the other. */
static void put(struct kube_findings *list, struct kube_finding *f)
{
	size_t already = 0;

	while (already < list->n && same_object(&list->finding[list->n - 1 - already], f)) {
		if (!kube_finding_cmp(&list->finding[list->n - 1 - already], f))
			goto drop;
		already++;
	}
	if (already >= KUBE_FINDINGS_EACH)
		goto drop;
	if (already == KUBE_FINDINGS_EACH - 1) {
		free(f->field);
		free(f->message);
		f->field = shown("", 0);
		f->message = shown("more is amiss than is listed", KUBE_MESSAGE);
	}
	list->finding = memory_grow(list->finding, list->n, &list->room, sizeof(*list->finding));
	list->finding[list->n++] = *f;
	return;
drop:
	kube_finding_free(f);
}

void kube_find(struct kube_findings *list, const struct kube_about *about, enum kube_reason reason,
	       const char *field, const char *fmt, ...)
{
	struct kube_finding f = {.kind = about->kind, .reason = reason};
	char message[KUBE_MESSAGE];
	va_list ap;

	if (!list)
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	f.ns = shown(about->ns, KUBE_NAME_MAX);
	f.name = shown(about->name, KUBE_NAME_MAX);
	f.uid = shown(about->uid, NAME_SHOWN);
	f.field = shown(field, FIELD_SHOWN);
	f.message = shown(message, KUBE_MESSAGE);
	put(list, &f);
}

void kube_findings_add(struct kube_findings *list, const struct kube_findings *others)
{
	for (size_t i = 0; others && i < others->n; i++) {
		const struct kube_finding *f = &others->finding[i];
		const struct kube_about about = {f->kind, f->ns, f->name, f->uid};

		kube_find(list, &about, f->reason, f->field, "%s", f->message);
	}
}

void kube_findings_free(struct kube_findings *list)
{
	for (size_t i = 0; i < list->n; i++)
		kube_finding_free(&list->finding[i]);
	free(list->finding);
	memset(list, 0, sizeof(*list));
}

int kube_finding_cmp(const struct kube_finding *a, const struct kube_finding *b)
{
	int order = (int)a->kind - (int)b->kind;

	if (!order)
		order = strcmp(a->ns, b->ns);
	if (!order)
		order = strcmp(a->name, b->name);
	if (!order)
		order = (int)a->reason - (int)b->reason;
	if (!order)
		order = strcmp(a->field, b->field);
	return order ? order : strcmp(a->message, b->message);
}

static int cmp(const void *a, const void *b)
{
	return kube_finding_cmp(a, b);
}

void kube_findings_sort(struct kube_findings *list)
{
	if (list->n)
		qsort(list->finding, list->n, sizeof(*list->finding), cmp);
}

const char *kube_reason_word(enum kube_reason reason)
{
	static const char *const words[] = {
#define KUBE_REASON_WORD(sym, word) [KUBE_R_##sym] = (word),
		KUBE_REASONS(KUBE_REASON_WORD)};

	return words[reason];
}

const char *kube_kind_word(enum kube_kind kind)
{
	static const char *const words[KUBE_KINDS] = {"Service", "EndpointSlice", "Node"};

	return words[kind];
}

char *kube_finding_text(const struct kube_finding *f, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s%s%s: %s%s%s", kube_kind_word(f->kind), f->ns,
		 f->ns[0] ? "/" : "", f->name, f->field, f->field[0] ? ": " : "", f->message);
	return buf;
}
