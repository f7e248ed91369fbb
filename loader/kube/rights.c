// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rights.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *group;
	const char *resource;
} table[] = {
#define KUBE_RIGHT_ROW(sym, group, resource, verbs, own) {group, resource},
	KUBE_RIGHTS(KUBE_RIGHT_ROW)};

/* Lower case letters, digits, - and ., the first and last one no mark: RFC 1123. */
static bool is_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.");

	return length && length <= KUBE_NAME && !name[length] && !strchr("-.", name[0]) &&
	       !strchr("-.", name[length - 1]);
}

char *kube_right_path(enum kube_right right, const char *name_space, const char *name,
		      char buf[KUBE_RIGHT_PATH])
{
	const char *group = table[right].group, *resource = table[right].resource;
	int kind = (int)strcspn(resource, "/");

	if ((name_space && !is_name(name_space)) || (name && !is_name(name)))
		return NULL;
	snprintf(buf, KUBE_RIGHT_PATH, "%s%s/v1%s%s/%.*s%s%s%s", *group ? "/apis/" : "/api", group,
		 name_space ? "/namespaces/" : "", name_space ? name_space : "", kind, resource,
		 name ? "/" : "", name ? name : "", resource + kind);
	return buf;
}
