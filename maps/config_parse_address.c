// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The section `addresses`: which addresses poise is to keep, and on which device. */
#include <string.h>

#include "config_parse.h"
#include "text.h"

static const char *const keys[] = {"address", "claim"};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static int unknown(struct parser *p, const struct tree_node *key)
{
	const char *near = poise_closest(key->text, keys, KEYS);

	parse_at(p, key);
	poise_fail_text(p->err, POISE_E_UNKNOWN_KEY, key->text, "no such key of an address");
	if (near)
		return poise_error_remedy(p->err, "did you mean %s?", near);
	return poise_error_remedy(p->err, "its keys are address and claim");
}

static int parse_address(struct parser *p, const struct tree_node *n)
{
	const struct tree_node *address, *device;
	struct config_address *a;
	union poise_addr addr;
	const char *text;

	if (parse_need(p, n, TREE_MAP, "an address"))
		return -1;
	for (size_t i = 0; i < n->items; i += 2)
		if (!parse_among(n->item[i]->text, keys, KEYS))
			return unknown(p, n->item[i]);
	address = tree_value(n, "address");
	if (!address)
		return poise_fail(p->err, POISE_E_BAD_VALUE, "the address is missing");
	text = parse_text(p, address, "address");
	if (!text || poise_parse_host(text, &addr, p->err))
		return -1;
	if (config_address_at(p->cfg, &addr))
		return poise_fail(p->err, POISE_E_EXISTS, "%s is listed twice", text);
	parse_at(p, n);
	device = tree_value(n, "claim");
	if (!device) {
		poise_fail(p->err, POISE_E_BAD_VALUE, "%s: claim is missing", text);
		return poise_error_remedy(p->err, "claim: lo, or the device it is to be on");
	}
	a = config_address_add(p->cfg, &addr, p->err);
	if (!a)
		return -1;
	a->line = n->line;
	a->conf.r.owner = POISE_OWNER_FILE;
	text = parse_text(p, device, "claim");
	return text ? config_address_device(a, text, p->err) : -1;
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
