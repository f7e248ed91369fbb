// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A mirror of Services; see mirror.h. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kube/json.h"
#include "mirror.h"

static const char *name_of(struct json_object *obj)
{
	static char name[512];
	struct json_object *about = kube_json_field(obj, "metadata");

	snprintf(name, sizeof(name), "%s/%s", kube_json_text(about, "namespace"),
		 kube_json_text(about, "name"));
	return name;
}

/* ---- what is told -----------------------------------------------------------------------------*/

static void on_begin(void *ctx)
{
	struct mirror *m = ctx;

	cr_assert_null(m->next, "a list within a list");
	m->next = json_object_new_object();
	m->begun++;
}

static void on_object(void *ctx, struct json_object *obj)
{
	struct mirror *m = ctx;

	json_object_object_add(m->next ? m->next : m->now, name_of(obj),
			       json_object_new_string(kube_json_text(
				       kube_json_field(obj, "metadata"), "resourceVersion")));
	m->events += !m->next;
}

static void on_deleted(void *ctx, struct json_object *obj)
{
	struct mirror *m = ctx;

	cr_assert_null(m->next);
	json_object_object_del(m->now, name_of(obj));
	m->events++;
}

static void on_end(void *ctx)
{
	struct mirror *m = ctx;

	json_object_put(m->now);
	m->now = m->next;
	m->next = NULL;
	m->ended++;
}

static void on_abort(void *ctx)
{
	struct mirror *m = ctx;

	json_object_put(m->next);
	m->next = NULL;
	m->aborted++;
}

/* ---- the mirror -------------------------------------------------------------------------------*/

const struct kube_handler *mirror_open(struct mirror *m)
{
	*m = (struct mirror){
		.now = json_object_new_object(),
		.handler =
			{
				.ctx = m,
				.relist_begin = on_begin,
				.object = on_object,
				.deleted = on_deleted,
				.relist_end = on_end,
				.relist_abort = on_abort,
			},
	};
	return &m->handler;
}

void mirror_close(struct mirror *m)
{
	json_object_put(m->now);
	json_object_put(m->next);
}

bool mirror_has(const struct mirror *m, const char *name)
{
	return json_object_object_get_ex(m->now, name, NULL);
}

bool mirror_is_true(const struct mirror *m, struct kube_server *server)
{
	char *all = strdup(kube_server_do(server, "list services")), *rest = all, *name;
	int n = 0;
	bool same = true;

	while ((name = strsep(&rest, "\n"))) {
		if (!name[0])
			continue;
		n++;
		same &= mirror_has(m, name);
	}
	free(all);
	return same && n == json_object_object_length(m->now);
}
