// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From the tree of a file to a configuration. Which keys a service or backend has is the option
 * table's business; here is the structure around them: what is a list, what a mapping, what must be
 * there. Services are read in config_parse_service.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_parse.h"
#include "text.h"

#define HASH_KEY_DIGITS 32
#define INTERFACES_MAX	256 /* more devices than hosts have */

/* ---- top level --------------------------------------------------------------------------------*/

static int parse_hash_key(struct parser *p, const struct tree_node *n)
{
	const char *text = parse_text(p, n, "hash-key");

	if (!text)
		return -1;
	if (strlen(text) != HASH_KEY_DIGITS ||
	    strspn(text, "0123456789abcdefABCDEF") != HASH_KEY_DIGITS)
		return poise_fail(p->err, POISE_E_BAD_VALUE, "hash-key: must be %d hex digits",
				  HASH_KEY_DIGITS); /* a secret: not quoted */
	for (size_t i = 0; i < HASH_KEY_DIGITS; i++) {
		char digit[] = {text[i], '\0'};
		__u64 *half = &p->cfg->hash_key[i / (HASH_KEY_DIGITS / 2)];

		*half = *half << 4 | strtoul(digit, NULL, 16);
	}
	p->cfg->has_hash_key = true;
	return 0;
}

static int parse_limits(struct parser *p, const struct tree_node *n)
{
	if (parse_need(p, n, TREE_MAP, "limits"))
		return -1;
	for (size_t i = 0; i < n->items; i += 2)
		if (parse_option(p, OPTION_LIMIT, n->item[i], n->item[i + 1], &p->cfg->limits, NULL,
				 0))
			return poise_error_about(p->err, "limits");
	p->cfg->has_limits = true;
	return 0;
}

static int parse_defaults(struct parser *p, const struct tree_node *n)
{
	if (parse_need(p, n, TREE_MAP, "defaults"))
		return -1;
	for (size_t i = 0; i < n->items; i += 2)
		if (parse_option(p, OPTION_SERVICE, n->item[i], n->item[i + 1], &p->defaults, NULL,
				 0))
			return poise_error_about(p->err, "defaults");
	return 0;
}

/* ---- interfaces -------------------------------------------------------------------------------*/

static int parse_interface(struct parser *p, const struct tree_node *n)
{
	static const char *const more[] = {"device"};
	struct config *cfg = p->cfg;
	struct config_interface new = {.line = n->line};
	const struct tree_node *device = n;
	const char *name;
	size_t room = cfg->interfaces;

	option_defaults(OPTION_INTERFACE, &new);
	for (size_t i = 0; n->kind == TREE_MAP && i < n->items; i += 2)
		if (strcmp(n->item[i]->text, more[0]) &&
		    parse_option(p, OPTION_INTERFACE, n->item[i], n->item[i + 1], &new, more, 1))
			return -1;
	parse_at(p, n);
	if (n->kind == TREE_MAP)
		device = tree_value(n, more[0]);
	if (!device)
		return poise_fail(p->err, POISE_E_BAD_VALUE, "the device is missing");
	name = parse_text(p, device, more[0]);
	if (!name || config_device(name, p->err))
		return -1;
	for (size_t i = 0; i < cfg->interfaces; i++)
		if (!strcmp(cfg->interface[i].device, name))
			return poise_fail(p->err, POISE_E_EXISTS, "device %s is listed twice",
					  name);
	if (cfg->interfaces == INTERFACES_MAX)
		return poise_fail(p->err, POISE_E_FULL, "more than %d devices", INTERFACES_MAX);
	snprintf(new.device, sizeof(new.device), "%s", name);
	cfg->interface =
		memory_grow(cfg->interface, cfg->interfaces, &room, sizeof(*cfg->interface));
	cfg->interface[cfg->interfaces++] = new;
	return 0;
}

static int parse_interfaces(struct parser *p, const struct tree_node *n)
{
	if (parse_need(p, n, TREE_LIST, "interfaces"))
		return -1;
	for (size_t i = 0; i < n->items; i++)
		if (parse_interface(p, n->item[i]))
			return poise_error_about(p->err, "interfaces");
	return 0;
}

/* ---- the whole --------------------------------------------------------------------------------*/

/* In the order in which they are read, whatever their order in the file. */
static const struct {
	const char *key;
	int (*parse)(struct parser *p, const struct tree_node *n);
} sections[] = {
	{"hash-key", parse_hash_key},	  {"limits", parse_limits},
	{"interfaces", parse_interfaces}, {"addresses", parse_addresses},
	{"defaults", parse_defaults},	  {"services", parse_services},
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

static int check_sections(struct parser *p, const struct tree_node *root)
{
	const char *keys[SECTIONS], *near;

	for (size_t s = 0; s < SECTIONS; s++)
		keys[s] = sections[s].key;
	for (size_t i = 0; i < root->items; i += 2) {
		const char *key = root->item[i]->text;

		if (parse_among(key, keys, SECTIONS))
			continue;
		parse_at(p, root->item[i]);
		near = poise_closest(key, keys, SECTIONS);
		poise_fail_text(p->err, POISE_E_UNKNOWN_KEY, key, "no such key of the file");
		if (near)
			return poise_error_remedy(p->err, "did you mean %s?", near);
		return poise_error_remedy(p->err, "its keys are hash-key, limits, interfaces, "
						  "addresses, defaults and services");
	}
	return 0;
}

static int parse_root(struct parser *p, const struct tree_node *root)
{
	if (!root || tree_is_null(root))
		return 0;
	if (parse_need(p, root, TREE_MAP, "the file") || check_sections(p, root))
		return -1;
	option_defaults(OPTION_SERVICE, &p->defaults);
	for (size_t s = 0; s < SECTIONS; s++) {
		const struct tree_node *n = tree_value(root, sections[s].key);

		if (n && sections[s].parse(p, n))
			return -1;
	}
	return config_validate(p->cfg, p->err);
}

struct config *config_parse(const char *file, const char *text, size_t length,
			    struct poise_error *err)
{
	struct poise_error mine = {
		0}; /* kept from err, whose file and line would outlive success */
	struct parser p = {.cfg = config_new(), .err = &mine};
	struct tree *tree;

	snprintf(mine.file, sizeof(mine.file), "%s", file);
	snprintf(p.cfg->file, sizeof(p.cfg->file), "%s", file);
	if (length > CONFIG_FILE_MAX) {
		poise_fail(&mine, POISE_E_SYNTAX, "larger than %d MiB", CONFIG_FILE_MAX >> 20);
		tree = NULL;
	} else {
		tree = tree_read(text, length, &mine);
	}
	if (!tree || parse_root(&p, tree->root)) {
		config_free(p.cfg);
		p.cfg = NULL;
		if (err)
			*err = mine;
	}
	tree_free(tree);
	ranges_free(&p.defaults.allow);
	ranges_free(&p.defaults.deny);
	return p.cfg;
}
