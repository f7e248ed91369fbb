// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any JSON as objects of the API server, one or a List of them: whatever they say, what poise
 * should do then is a valid configuration, and every complaint names an object and can be shown.
 */
#include <string.h>

#include "loader/kube/desired.h"
#include "maps/error.h"
#include "tests/support/fuzz.h"

static struct json_object *parse(const uint8_t *data, size_t size)
{
	struct json_tokener *t = json_tokener_new();
	struct json_object *json = json_tokener_parse_ex(t, (const char *)data, (int)size);

	json_tokener_free(t);
	return json;
}

/* As whatever kind it says that it is; all of them if it says nothing. */
static void tell(struct kube_cache *c, struct json_object *obj)
{
	struct json_object *kind = NULL;

	if (json_object_is_type(obj, json_type_object))
		json_object_object_get_ex(obj, "kind", &kind);
	for (int k = 0; k < KUBE_KINDS; k++)
		if (!kind ||
		    !strcmp(json_object_get_string(kind), kube_kind_word((enum kube_kind)k)))
			kube_cache_object(c, (enum kube_kind)k, obj);
}

static void tell_all(struct kube_cache *c, struct json_object *json)
{
	struct json_object *items = NULL;

	if (json_object_is_type(json, json_type_object))
		json_object_object_get_ex(json, "items", &items);
	if (!json_object_is_type(items, json_type_array)) {
		tell(c, json);
		return;
	}
	for (size_t i = 0; i < json_object_array_length(items); i++)
		tell(c, json_object_array_get_idx(items, i));
}

static void check_findings(const struct kube_findings *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct kube_finding *f = &list->finding[i];

		fuzz_require(f->message[0] && poise_is_printable(f->message));
		fuzz_require(poise_is_printable(f->field) && poise_is_printable(f->uid));
		fuzz_require(poise_is_printable(f->ns) && poise_is_printable(f->name));
	}
}

static void check_desired(const struct kube_cache *c)
{
	const struct kube_options options = {.classless = true, .claim = "lo"};
	struct kube_desired *d = kube_desired(c, &options, NULL);
	struct poise_error err = {0};

	if (config_validate(d->cfg, &err))
		fprintf(stderr, "%s: %s\n", err.object, err.message);
	fuzz_require(!err.message[0]);
	check_findings(&d->findings);
	for (size_t i = 1; i < d->findings.n; i++)
		fuzz_require(
			kube_finding_cmp(&d->findings.finding[i - 1], &d->findings.finding[i]) < 0);
	kube_desired_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_object *json = parse(data, size);
	struct kube_cache *c;

	if (!json)
		return 0;
	c = kube_cache_new("node-a");
	tell_all(c, json);
	check_findings(kube_cache_lost(c));
	check_desired(c);
	kube_cache_free(c);
	json_object_put(json);
	return 0;
}

FUZZ_TARGET(kube_object)
