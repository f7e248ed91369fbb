// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is asked of an API server: paths, and that the roles of deploy/kubernetes grant what the
 * table of requests says, each verb of it, and nothing besides.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/kube/rights.h"
#include "maps/tree.h"
#include "tests/support/longest.h"

#define ROLES  "deploy/kubernetes/rbac.yaml"
#define GRANTS 64

static struct grant {
	char group[64], resource[64], verb[16];
	bool own; /* by a Role, in our namespace alone */
	bool found;
} granted[GRANTS], wanted[GRANTS];
static size_t grants, wants;

TestSuite(kube_rights, .timeout = TEST_LONGEST);

static void add(struct grant *list, size_t *n, const char *group, const char *resource,
		const char *verb, bool own)
{
	struct grant *g = &list[(*n)++];

	cr_assert_lt(*n, GRANTS);
	snprintf(g->group, sizeof(g->group), "%s", group);
	snprintf(g->resource, sizeof(g->resource), "%s", resource);
	snprintf(g->verb, sizeof(g->verb), "%s", verb);
	g->own = own;
}

static void want(const char *group, const char *resource, const char *verbs, bool own)
{
	char copy[64], *at, *verb;

	snprintf(copy, sizeof(copy), "%s", verbs);
	for (verb = strtok_r(copy, " ", &at); verb; verb = strtok_r(NULL, " ", &at))
		add(wanted, &wants, group, resource, verb, own);
}

static const struct tree_node *items(const struct tree_node *rule, const char *key)
{
	const struct tree_node *list = tree_value(rule, key);

	cr_assert(list && list->kind == TREE_LIST && list->items, "a rule without %s", key);
	return list;
}

static void read_rule(const struct tree_node *rule, bool own)
{
	const struct tree_node *groups = items(rule, "apiGroups"), *verbs = items(rule, "verbs"),
			       *resources = items(rule, "resources");

	for (size_t g = 0; g < groups->items; g++)
		for (size_t r = 0; r < resources->items; r++)
			for (size_t v = 0; v < verbs->items; v++)
				add(granted, &grants, groups->item[g]->text,
				    resources->item[r]->text, verbs->item[v]->text, own);
}

static void read_document(const char *text)
{
	struct poise_error err = {0};
	struct tree *t = tree_read(text, strlen(text), &err);
	const struct tree_node *kind, *rules;

	cr_assert(t, "%s: %s", ROLES, err.message);
	kind = tree_value(t->root, "kind");
	rules = tree_value(t->root, "rules");
	cr_assert(kind);
	if (!strcmp(kind->text, "ClusterRole") || !strcmp(kind->text, "Role")) {
		cr_assert(rules && rules->items);
		for (size_t k = 0; k < rules->items; k++)
			read_rule(rules->item[k], !strcmp(kind->text, "Role"));
	}
	tree_free(t);
}

static void read_roles(void)
{
	char text[16384], *at = text, *end;
	FILE *f = fopen(ROLES, "re");

	cr_assert(f, "%s cannot be opened", ROLES);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	for (; (end = strstr(at, "\n---\n")); at = end + 5) {
		*end = '\0';
		read_document(at);
	}
	read_document(at);
}

static bool take(struct grant *list, size_t n, const struct grant *g)
{
	for (size_t k = 0; k < n; k++)
		if (!list[k].found && !strcmp(list[k].group, g->group) &&
		    !strcmp(list[k].resource, g->resource) && !strcmp(list[k].verb, g->verb) &&
		    list[k].own == g->own)
			return list[k].found = true;
	return false;
}

Test(kube_rights, the_roles_grant_what_is_asked_and_nothing_else)
{
#define WANT(sym, group, resource, verbs, own) want(group, resource, verbs, own);
	KUBE_RIGHTS(WANT)
	read_roles();
	for (size_t k = 0; k < wants; k++)
		cr_assert(take(granted, grants, &wanted[k]), "%s: nobody grants %s of %s", ROLES,
			  wanted[k].verb, wanted[k].resource);
	for (size_t k = 0; k < grants; k++)
		cr_assert(granted[k].found, "%s grants %s of %s, which nothing asks for", ROLES,
			  granted[k].verb, granted[k].resource);
}

Test(kube_rights, paths)
{
	char path[KUBE_RIGHT_PATH];

	cr_assert_str_eq(kube_right_path(KUBE_RIGHT_SERVICES, NULL, NULL, path),
			 "/api/v1/services");
	cr_assert_str_eq(kube_right_path(KUBE_RIGHT_SLICES, NULL, NULL, path),
			 "/apis/discovery.k8s.io/v1/endpointslices");
	cr_assert_str_eq(kube_right_path(KUBE_RIGHT_STATUS, "shop", "web", path),
			 "/api/v1/namespaces/shop/services/web/status");
	cr_assert_str_eq(kube_right_path(KUBE_RIGHT_EVENTS, "shop", NULL, path),
			 "/api/v1/namespaces/shop/events");
	cr_assert_str_eq(kube_right_path(KUBE_RIGHT_EVENTS, "shop", "web.17", path),
			 "/api/v1/namespaces/shop/events/web.17");
	cr_assert_str_eq(kube_right_path(KUBE_RIGHT_LEASES, "poise", "poise", path),
			 "/apis/coordination.k8s.io/v1/namespaces/poise/leases/poise");
}

Test(kube_rights, no_name_leads_elsewhere)
{
	static const char *const wrong[] = {
		"",   ".",    "..",   "../secrets", "a/b",  "web?x=1", "web#x", "web%2f",
		"We", "-web", "web-", ".web",	    "web.", "w b",     "w\nb",	"w\xc3\xa9",
	};
	char path[KUBE_RIGHT_PATH], name[10001];

	for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
		cr_assert_null(kube_right_path(KUBE_RIGHT_STATUS, "shop", wrong[k], path), "%s",
			       wrong[k]);
		cr_assert_null(kube_right_path(KUBE_RIGHT_STATUS, wrong[k], "web", path), "%s",
			       wrong[k]);
	}
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	cr_assert_null(kube_right_path(KUBE_RIGHT_STATUS, "shop", name, path));
	name[KUBE_NAME + 1] = '\0';
	cr_assert_null(kube_right_path(KUBE_RIGHT_STATUS, "shop", name, path));
	name[KUBE_NAME] = '\0';
	cr_assert(kube_right_path(KUBE_RIGHT_STATUS, name, name, path));
	cr_assert_eq(strlen(path),
		     strlen("/api/v1/namespaces//services//status") + 2 * (size_t)KUBE_NAME);
}
