// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Nodes: where NodePorts are served, and what a node is excepted from. */
#include <string.h>

#include "decode.h"

/* Names are no addresses, and are not looked up. */
static bool is_address(const char *type)
{
	return !strcmp(type, "InternalIP") || !strcmp(type, "ExternalIP");
}

static void decode_addresses(struct decoder *d, struct kube_node *n)
{
	struct spot status, list;
	size_t entries;

	if (!spot_object(&d->r, &d->root, "status", &status) ||
	    !spot_array(&d->r, &status, "addresses", KUBE_ADDRS_MAX, &list, &entries))
		return;
	n->addr = decode_array(d, entries, sizeof(*n->addr));
	for (size_t i = 0; i < entries; i++) {
		struct spot entry, at = {.up = &entry, .key = "address"};
		const char *type = "";

		if (!spot_entry(&d->r, &list, i, &entry) ||
		    !spot_text(&d->r, &entry, "type", &type) || !is_address(type) ||
		    !json_object_object_get_ex(entry.json, "address", &at.json))
			continue;
		if (spot_addr(&d->r, &at, KUBE_IPV4 | KUBE_IPV6, &n->addr[n->addrs]))
			n->addrs++;
	}
}

void kube_node_decode(struct decoder *d, struct kube_node *n)
{
	n->zone = decode_label(d, "topology.kubernetes.io/zone");
	if (!n->zone)
		n->zone = "";
	/* That it is there counts, whatever it says. */
	n->excluded = json_object_object_get_ex(
		d->labels.json, "node.kubernetes.io/exclude-from-external-load-balancers", NULL);
	decode_addresses(d, n);
}
