// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From libyaml's events to a tree. Files come from people and programs that err, so everything is
 * bounded: depth, nodes, keys of a mapping (their uniqueness is checked one by one), anchors.
 * Aliases share nodes; what they could blow up is bounded where the tree is walked.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "config_priv.h"
#include "tree.h"

#define DEPTH_MAX   16	       /* the file's structure needs 5 */
#define NODES_MAX   (4u << 20) /* 65535 services and backends with a dozen keys each fit */
#define KEYS_MAX    128	       /* of one mapping: several times the keys there are */
#define ANCHORS_MAX 256	       /* looked up one by one */

struct builder {
	struct tree *tree;
	struct poise_error *err;
	struct tree_node *stack[DEPTH_MAX]; /* open lists and mappings */
	char *stack_anchor[DEPTH_MAX];
	size_t depth;
	struct {
		char *name;
		struct tree_node *node;
	} anchor[ANCHORS_MAX];
	size_t anchors;
	bool ended; /* the first document is over */
};

const char *tree_kind_word(enum tree_kind kind)
{
	static const char *const words[] = {"a value", "a list", "a mapping"};

	return words[kind];
}

bool tree_is_null(const struct tree_node *n)
{
	return n->kind == TREE_TEXT && !n->quoted &&
	       (!n->text[0] || !strcmp(n->text, "~") || !strcmp(n->text, "null"));
}

const struct tree_node *tree_value(const struct tree_node *map, const char *key)
{
	for (size_t i = 0; i < map->items; i += 2)
		if (!strcmp(map->item[i]->text, key))
			return map->item[i + 1];
	return NULL;
}

void tree_free(struct tree *t)
{
	struct tree_node *older;

	if (!t)
		return;
	for (struct tree_node *n = t->newest; n; n = older) {
		older = n->older;
		free(n->text);
		free(n->item);
		free(n);
	}
	free(t);
}

static int fail_at(struct builder *b, int line, const char *why)
{
	b->err->line = line;
	return poise_fail(b->err, POISE_E_SYNTAX, "%s", why);
}

static struct tree_node *node_new(struct builder *b, enum tree_kind kind, const yaml_event_t *e)
{
	struct tree_node *n = memory_alloc(sizeof(*n));

	n->kind = kind;
	n->line = (int)e->start_mark.line + 1;
	n->older = b->tree->newest;
	b->tree->newest = n;
	b->tree->nodes++;
	return n;
}

static void append(struct tree_node *to, struct tree_node *n)
{
	to->item = memory_grow(to->item, to->items, &to->room, sizeof(*to->item));
	to->item[to->items++] = n;
}

static int check_key(struct builder *b, const struct tree_node *map, const struct tree_node *key,
		     int line)
{
	char quoted[64];

	if (key->kind != TREE_TEXT)
		return fail_at(b, line, "a key must be a word");
	if (map->items >= 2 * KEYS_MAX)
		return fail_at(b, line, "a mapping with far too many keys");
	for (size_t i = 0; i < map->items; i += 2)
		if (!strcmp(map->item[i]->text, key->text) && strcmp(key->text, "<<")) {
			b->err->line = line;
			poise_fail(b->err, POISE_E_EXISTS, "the key is in line %d already",
				   map->item[i]->line);
			return poise_error_about(b->err, "%s",
						 poise_quote(key->text, quoted, sizeof(quoted)));
		}
	return 0;
}

/* Gives a complete node, first met in this line, to whoever is open. */
static int attach(struct builder *b, struct tree_node *n, int line)
{
	struct tree_node *to;

	if (!b->depth) {
		b->tree->root = n;
		return 0;
	}
	to = b->stack[b->depth - 1];
	if (to->kind == TREE_MAP && to->items % 2 == 0 && check_key(b, to, n, line))
		return -1;
	append(to, n);
	return 0;
}

static int merge_from(struct builder *b, struct tree_node *map, const struct tree_node *from)
{
	if (from->kind != TREE_MAP)
		return fail_at(b, from->line, "<< takes a mapping or a list of mappings");
	for (size_t i = 0; i < from->items; i += 2) {
		if (tree_value(map, from->item[i]->text))
			continue;
		if (check_key(b, map, from->item[i], from->line))
			return -1;
		append(map, from->item[i]);
		append(map, from->item[i + 1]);
	}
	return 0;
}

/* Replaces the keys << of a complete mapping by what they stand for; its own keys win. */
static int merge(struct builder *b, struct tree_node *map)
{
	for (size_t i = 0; i < map->items;) {
		const struct tree_node *value = map->item[i + 1];
		size_t n = value->kind == TREE_LIST ? value->items : 1;

		if (map->item[i]->quoted || strcmp(map->item[i]->text, "<<")) {
			i += 2;
			continue;
		}
		map->items -= 2;
		memmove(map->item + i, map->item + i + 2, (map->items - i) * sizeof(*map->item));
		for (size_t k = 0; k < n; k++)
			if (merge_from(b, map, value->kind == TREE_LIST ? value->item[k] : value))
				return -1;
	}
	return 0;
}

static int remember(struct builder *b, char *name, struct tree_node *n)
{
	if (!name)
		return 0;
	for (size_t i = 0; i < b->anchors; i++)
		if (!strcmp(b->anchor[i].name, name)) {
			free(name);
			b->anchor[i].node = n;
			return 0;
		}
	if (b->anchors == ANCHORS_MAX) {
		free(name);
		return fail_at(b, n->line, "far too many anchors");
	}
	b->anchor[b->anchors].name = name;
	b->anchor[b->anchors++].node = n;
	return 0;
}

static char *anchor_name(const yaml_char_t *name)
{
	return name ? strdup((const char *)name) : NULL;
}

static int on_scalar(struct builder *b, const yaml_event_t *e)
{
	struct tree_node *n = node_new(b, TREE_TEXT, e);
	size_t length = e->data.scalar.length;

	n->text = memory_alloc(length + 1);
	memcpy(n->text, e->data.scalar.value, length);
	n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	if (strlen(n->text) != length)
		return fail_at(b, n->line, "a text with a NUL character");
	if (remember(b, anchor_name(e->data.scalar.anchor), n))
		return -1;
	return attach(b, n, n->line);
}

static int on_open(struct builder *b, enum tree_kind kind, const yaml_event_t *e,
		   const yaml_char_t *anchor)
{
	struct tree_node *n = node_new(b, kind, e);

	if (b->depth == DEPTH_MAX)
		return fail_at(b, n->line, "nested too deep");
	b->stack_anchor[b->depth] = anchor_name(anchor);
	b->stack[b->depth++] = n;
	return 0;
}

static int on_close(struct builder *b)
{
	struct tree_node *n;
	char *anchor;

	assert(b->depth); /* libyaml closes what it opened */
	n = b->stack[--b->depth];
	anchor = b->stack_anchor[b->depth];
	if (n->kind == TREE_MAP && merge(b, n)) {
		free(anchor);
		return -1;
	}
	return remember(b, anchor, n) ? -1 : attach(b, n, n->line);
}

static int on_alias(struct builder *b, const yaml_event_t *e)
{
	const char *name = (const char *)e->data.alias.anchor;
	int line = (int)e->start_mark.line + 1;

	for (size_t i = 0; i < b->anchors; i++)
		if (!strcmp(b->anchor[i].name, name)) {
			b->tree->nodes++; /* no new node, but as much work */
			return attach(b, b->anchor[i].node, line);
		}
	b->err->line = line;
	return poise_fail(b->err, POISE_E_SYNTAX, "no anchor &%.40s ends before this line", name);
}

static int on_event(struct builder *b, const yaml_event_t *e)
{
	int line = (int)e->start_mark.line + 1;

	if (b->tree->nodes > NODES_MAX)
		return fail_at(b, line, "far too large");
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		return b->ended ? fail_at(b, line, "a second document: one file, one document") : 0;
	case YAML_DOCUMENT_END_EVENT: b->ended = true; return 0;
	case YAML_SCALAR_EVENT: return on_scalar(b, e);
	case YAML_ALIAS_EVENT: return on_alias(b, e);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(b, TREE_LIST, e, e->data.sequence_start.anchor);
	case YAML_MAPPING_START_EVENT: return on_open(b, TREE_MAP, e, e->data.mapping_start.anchor);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT: return on_close(b);
	default: return 0;
	}
}

static int line_of(const char *text, size_t length, size_t offset)
{
	int line = 1;

	for (size_t i = 0; i < length && i < offset; i++)
		line += text[i] == '\n';
	return line;
}

static int on_libyaml(struct builder *b, const yaml_parser_t *p, const char *text, size_t length)
{
	const char *problem = p->problem ? p->problem : "cannot be read";

	if (p->error == YAML_READER_ERROR) {
		b->err->line = line_of(text, length, p->problem_offset);
		return poise_fail(b->err, POISE_E_SYNTAX, "%s (byte 0x%02x)", problem,
				  (unsigned int)p->problem_value);
	}
	b->err->line = (int)p->problem_mark.line + 1;
	poise_fail(b->err, POISE_E_SYNTAX, "not YAML: %s%s%s", p->context ? p->context : "",
		   p->context ? ", " : "", problem);
	if (p->problem_mark.index < length && text[p->problem_mark.index] == '\t')
		poise_error_remedy(b->err, "indent with spaces: YAML takes no tabs");
	return -1;
}

static int build(struct builder *b, const char *text, size_t length)
{
	yaml_parser_t parser;
	int failed = 0;
	bool over = false;

	if (!yaml_parser_initialize(&parser))
		abort(); /* out of memory, as elsewhere */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (!failed && !over) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event)) {
			failed = on_libyaml(b, &parser, text, length);
			break;
		}
		over = event.type == YAML_STREAM_END_EVENT;
		failed = on_event(b, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return failed;
}

struct tree *tree_read(const char *text, size_t length, struct poise_error *err)
{
	struct poise_error ignored = {0};
	struct builder b = {.err = err ? err : &ignored};

	b.tree = memory_alloc(sizeof(*b.tree));
	if (build(&b, text, length)) {
		tree_free(b.tree);
		b.tree = NULL;
	}
	while (b.depth)
		free(b.stack_anchor[--b.depth]);
	while (b.anchors)
		free(b.anchor[--b.anchors].name);
	return b.tree;
}
