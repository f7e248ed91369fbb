// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The section `addresses`: which addresses poise is to keep, on which device, and their keys. */
#include <string.h>

#include "config_parse.h"
#include "text.h"

static const char *const keys[] = {"address", "claim"};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* Every KEY that is no place of its own. */
static int parse_keys(struct parser *p, const struct tree_node *n, struct config_address *a)
{
	for (size_t i = 0; i < n->items; i += 2)
		if (!parse_among(n->item[i]->text, keys, KEYS) &&
		    parse_option(p, OPTION_ADDRESS, n->item[i], n->item[i + 1], &a->conf, keys,
				 KEYS))
			return -1;
	return 0;
}

/* One that is not claimed must be told something at least. */
static int parse_unclaimed(struct parser *p, const struct tree_node *n, const char *text)
{
	for (size_t i = 0; i < n->items; i += 2)
		if (!parse_among(n->item[i]->text, keys, KEYS))
			return 0;
	poise_fail(p->err, POISE_E_BAD_VALUE, "%s: claim is missing", text);
	return poise_error_remedy(p->err, "claim: lo, or the device it is to be on");
}

static int parse_address(struct parser *p, const struct tree_node *n)
{
	const struct tree_node *address, *device;
	struct config_address *a;
	union poise_addr addr;
	const char *text;

	if (parse_need(p, n, TREE_MAP, "an address"))
		return -1;
	address = tree_value(n, "address");
	if (!address)
		return parse_missing(p, n, OPTION_ADDRESS, keys, KEYS, "the address is missing");
	text = parse_text(p, address, "address");
	if (!text || poise_parse_host(text, &addr, p->err))
		return -1;
	if (config_address_at(p->cfg, &addr))
		return poise_fail(p->err, POISE_E_EXISTS, "%s is listed twice", text);
	parse_at(p, n);
	device = tree_value(n, "claim");
	if (!device && parse_unclaimed(p, n, text))
		return -1;
	a = config_address_add(p->cfg, &addr, p->err);
	if (!a)
		return -1;
	a->line = n->line;
	a->conf.r.owner = POISE_OWNER_FILE;
	if (parse_keys(p, n, a))
		return -1;
	if (!device)
		return 0;
	text = parse_text(p, device, "claim");
	if (!text || (!*text && config_device(text, p->err)))
		return -1;
	return config_address_device(a, text, p->err);
}

int parse_addresses(struct parser *p, const struct tree_node *n)
{
	if (parse_need(p, n, TREE_LIST, "addresses"))
		return -1;
	for (size_t i = 0; i < n->items; i++)
		if (parse_address(p, n->item[i]))
			return poise_error_about(p->err, "addresses");
	return 0;
}
