// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * At which addresses a Service is served on this node.
 */
#include <stdio.h>
#include <string.h>

#include "maps/memory.h"
#include "maps/text.h"
#include "plan.h"

struct finder {
	const struct kube_service *s;
	struct places *out;
	struct kube_findings *findings;
};

static __u8 family_of(const union poise_addr *a)
{
	return poise_addr_is4(a) ? KUBE_IPV4 : KUBE_IPV6;
}

/* The first that has it keeps it: an ingress address that is an external one too has ranges. */
static void add(struct finder *f, const union poise_addr *addr, enum place_kind kind)
{
	struct places *p = f->out;

	for (size_t i = 0; i < p->n; i++)
		if (!poise_addr_cmp(&p->place[i].addr, addr) &&
		    (kind == PLACE_NODE) == (p->place[i].kind == PLACE_NODE))
			return;
	p->place = memory_grow(p->place, p->n, &p->room, sizeof(*p->place));
	p->place[p->n++] = (struct place){*addr, kind};
}

/* kube-proxy serves no address of a family that the Service is not of, so neither do we. */
static void add_if(struct finder *f, const union poise_addr *addr, size_t n, enum place_kind kind,
		   const char *field)
{
	const struct kube_about about = {KUBE_SERVICE, f->s->o.ns, f->s->o.name, f->s->o.uid};
	char text[POISE_ADDR_TEXT];

	for (size_t i = 0; i < n; i++) {
		if (f->s->families & family_of(&addr[i]))
			add(f, &addr[i], kind);
		else if (kind != PLACE_NODE)
			kube_find(f->findings, &about, KUBE_R_UNSUPPORTED, field,
				  "%s is not served: no family of the Service (ipFamilies)",
				  poise_format_addr(&addr[i], text, sizeof(text)));
	}
}

static void add_ingress(struct finder *f, const struct kube_cache *c, const struct kube_options *o)
{
	const struct kube_node *node = kube_cache_node(c);

	if (!kube_class_ours(f->s, o) || (node && node->excluded))
		return;
	add_if(f, f->s->ingress, f->s->ingresses, PLACE_INGRESS, "status.loadBalancer.ingress");
}

static void add_node(struct finder *f, const struct kube_cache *c, const struct kube_options *o)
{
	const struct kube_node *node = kube_cache_node(c);

	if (o->no_node_ports || f->s->type == KUBE_CLUSTER_IP)
		return;
	if (o->nodes)
		add_if(f, o->node, o->nodes, PLACE_NODE, NULL);
	else if (node)
		add_if(f, node->addr, node->addrs, PLACE_NODE, NULL);
}

void places_of(const struct kube_cache *c, const struct kube_options *o,
	       const struct kube_service *s, struct places *out, struct kube_findings *findings)
{
	struct finder f = {s, out, findings};

	memset(out, 0, sizeof(*out));
	add_ingress(&f, c, o);
	if (!o->no_external_ips)
		add_if(&f, s->external, s->externals, PLACE_EXTERNAL, "spec.externalIPs");
	add_node(&f, c, o);
}

int kube_node_ports(struct kube_options *o, const char *text, union poise_addr *room,
		    struct poise_error *err)
{
	char word[POISE_ADDR_TEXT + 1];

	o->no_node_ports = !strcmp(text, "none");
	o->node = room;
	o->nodes = 0;
	while (!o->no_node_ports && text) {
		size_t length = strcspn(text, ",");

		if (o->nodes == KUBE_ADDRS_MAX)
			return poise_fail(err, POISE_E_FULL, "more than %d addresses",
					  KUBE_ADDRS_MAX);
		/* what is too long for an address stays so */
		snprintf(word, sizeof(word), "%.*s",
			 (int)(length < sizeof(word) ? length : sizeof(word)), text);
		if (poise_parse_host(word, &room[o->nodes++], err))
			return -1;
		text = text[length] ? text + length + 1 : NULL;
	}
	return 0;
}

__u16 place_port(const struct place *p, const struct kube_port *port)
{
	return p->kind == PLACE_NODE ? port->node_port : port->port;
}
