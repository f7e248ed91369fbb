// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The small steps of reading a tree: of which kind a node must be, and an option from a pair.
 */
#include <stdio.h>
#include <string.h>

#include "config_parse.h"

void parse_at(struct parser *p, const struct tree_node *n)
{
	p->err->line = n->line;
}

int parse_need(struct parser *p, const struct tree_node *n, enum tree_kind kind, const char *what)
{
	parse_at(p, n);
	if (tree_is_null(n))
		return poise_fail(p->err, POISE_E_BAD_VALUE, "%s: has no value", what);
	if (n->kind != kind)
		return poise_fail(p->err, POISE_E_BAD_VALUE, "%s: must be %s, not %s", what,
				  tree_kind_word(kind), tree_kind_word(n->kind));
	return 0;
}

const char *parse_text(struct parser *p, const struct tree_node *n, const char *what)
{
	return parse_need(p, n, TREE_TEXT, what) ? NULL : n->text;
}

/* A list, or one text as on the command line. */
static int parse_ranges(struct parser *p, const struct option *o, const struct tree_node *value,
			void *obj)
{
	struct ranges new = {0};

	for (size_t i = 0; i < value->items; i++) {
		const char *text = parse_text(p, value->item[i], o->key);

		if (!text || ranges_add(&new, text, p->err)) {
			ranges_free(&new);
			return text ? poise_error_of(p->err, o->key) : -1;
		}
	}
	ranges_free(option_list(o, obj));
	*option_list(o, obj) = new;
	return 0;
}

/* Likewise. */
static int parse_addrs(struct parser *p, const struct option *o, const struct tree_node *value,
		       void *obj)
{
	char all[2 * OPTION_TEXT] = ""; /* more than the option takes: it says so */
	size_t used = 0;

	for (size_t i = 0; i < value->items; i++) {
		const char *text = parse_text(p, value->item[i], o->key);

		if (!text)
			return -1;
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s",
						 i ? "," : "", text);
	}
	return option_set(o, obj, all, p->err);
}

int parse_option(struct parser *p, enum option_scope scope, const struct tree_node *key,
		 const struct tree_node *value, void *obj, const char *const *more, size_t n)
{
	const struct option *o = option_find(scope, key->text);
	const char *text;

	parse_at(p, key);
	if (!o)
		return option_unknown(scope, key->text, more, n, p->err);
	if (o->type == OPTION_RANGES && value->kind == TREE_LIST)
		return parse_ranges(p, o, value, obj);
	if (o->type == OPTION_ADDRS && value->kind == TREE_LIST)
		return parse_addrs(p, o, value, obj);
	text = parse_text(p, value, key->text);
	return text ? option_set(o, obj, text, p->err) : -1;
}

bool parse_among(const char *key, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

int parse_missing(struct parser *p, const struct tree_node *map, enum option_scope scope,
		  const char *const *keys, size_t n, const char *what)
{
	for (size_t i = 0; i < map->items; i += 2) {
		parse_at(p, map->item[i]);
		if (!parse_among(map->item[i]->text, keys, n) &&
		    !option_find(scope, map->item[i]->text))
			return option_unknown(scope, map->item[i]->text, keys, n, p->err);
	}
	parse_at(p, map);
	return poise_fail(p->err, POISE_E_BAD_VALUE, "%s", what);
}
