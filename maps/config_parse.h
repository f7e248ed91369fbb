/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of config_parse*.c share: the parser and its small steps. Every step notes its
 * line in the error first, so whatever fails inside has one.
 */
#ifndef POISE_CONFIG_PARSE_H
#define POISE_CONFIG_PARSE_H

#include "config_priv.h"
#include "option.h"
#include "tree.h"

struct parser {
	struct config *cfg;
	struct poise_error *err;
	struct config_service defaults; /* its options */
	const struct tree_node *services;
	size_t backends; /* of all services */
};

/* What follows is about this node: its line goes into errors. */
void parse_at(struct parser *p, const struct tree_node *n);
int parse_need(struct parser *p, const struct tree_node *n, enum tree_kind kind, const char *what);
/* The text of a scalar; NULL with an error if it is none. */
const char *parse_text(struct parser *p, const struct tree_node *n, const char *what);
/* Sets the scope's option called key on obj. more: n keys that are no options but may be meant. */
int parse_option(struct parser *p, enum option_scope scope, const struct tree_node *key,
		 const struct tree_node *value, void *obj, const char *const *more, size_t n);
bool parse_among(const char *key, const char *const *keys, size_t n);
/* The error for a mapping without a key that it needs: if another key is unknown, that is it,
 * misspelled. */
int parse_missing(struct parser *p, const struct tree_node *map, enum option_scope scope,
		  const char *const *keys, size_t n, const char *what);

/* The section `addresses`. */
int parse_addresses(struct parser *p, const struct tree_node *n);
/* The section `services`. */
int parse_services(struct parser *p, const struct tree_node *n);

#endif
