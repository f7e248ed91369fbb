/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A YAML document as a tree in which every node knows its line. All scalars are text: what `no` or
 * `0x10` means is for the option that it is given to. Anchors, aliases and merge keys (<<) are
 * resolved here; aliases make nodes shared, so the tree is read-only and freed as a whole.
 */
#ifndef POISE_TREE_H
#define POISE_TREE_H

#include "error.h"

enum tree_kind {
	TREE_TEXT,
	TREE_LIST,
	TREE_MAP,
};

struct tree_node {
	enum tree_kind kind;
	int line;
	char *text;  /* TREE_TEXT */
	bool quoted; /* TREE_TEXT in quotes: "" is an empty text and not the lack of one */
	struct tree_node **item; /* TREE_LIST: entries; TREE_MAP: key, value, key, value */
	size_t items;		 /* of a map: twice its pairs */
	size_t room;
	struct tree_node *older; /* all nodes, for tree_free */
};

struct tree {
	struct tree_node *root; /* NULL: an empty document */
	struct tree_node *newest;
	size_t nodes;
};

/* NULL with an error that has a line; err->file is left alone. */
struct tree *tree_read(const char *text, size_t length, struct poise_error *err);
void tree_free(struct tree *t);

/* The value of a key in a map; NULL if it has none. */
const struct tree_node *tree_value(const struct tree_node *map, const char *key);
/* No value: nothing, ~ or null, without quotes. */
bool tree_is_null(const struct tree_node *n);
/* a value, a list, a mapping */
const char *tree_kind_word(enum tree_kind kind);

#endif
