// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Builds frames from words, from the last layer to the first: each then knows what it carries, how
 * long that is, and what its checksum covers.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

#define DYNAMIC_PORTS 49152 /* RFC 6335 */

/* A frame while it grows to the front. */
struct build {
	__u8 room[FRAME_MAX];
	size_t at;  /* where it begins in room */
	size_t end; /* where the outermost IP packet ends: padding stands behind */
	size_t l4;  /* transport header of the innermost IP layer, 0: none */
	enum layer_kind l4_kind;
	bool l4_csum;	/* is to be computed */
	size_t anyflow; /* as of struct frame, but in room */
	size_t anyport;
	unsigned int next; /* protocol number of what follows an IP header */
	unsigned int type; /* Ethernet type of what follows */
};

static __u8 *push(struct build *b, size_t n)
{
	if (n > b->at) {
		fprintf(stderr, "a test's frame is too long\n");
		abort();
	}
	b->at -= n;
	memset(b->room + b->at, 0, n);
	return b->room + b->at;
}

static void put16(__u8 *to, unsigned int value)
{
	to[0] = value >> 8;
	to[1] = value;
}

static void put32(__u8 *to, unsigned int value)
{
	put16(to, value >> 16);
	put16(to + 2, value);
}

/* RFC 1071, the plain way. */
static unsigned int sum(const __u8 *bytes, size_t n, unsigned int start)
{
	for (size_t k = 0; k < n; k++)
		start += k & 1 ? bytes[k] : bytes[k] << 8;
	return start;
}

static unsigned int fold(unsigned int value)
{
	while (value >> 16)
		value = (value & 0xffff) + (value >> 16);
	return ~value & 0xffff;
}

/* No byte is 0: what a program forgets to write over the old Ethernet header shows. */
void frame_mac(const char *name, __u8 mac[6])
{
	static const char *const names[] = {FRAME_MAC_NAMES};
	static const __u8 base[6] = {FRAME_MAC_BASE, FRAME_MAC_OURS};
	unsigned int n;

	memcpy(mac, base, sizeof(base));
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		if (!strcmp(name, names[k])) {
			mac[5] = k + 1;
			return;
		}
	if (!strcmp(name, "all")) {
		memset(mac, 0xff, 6);
	} else if (sscanf(name, "b%u", &n) == 1) {
		mac[4] = FRAME_MAC_BACKEND;
		mac[5] = n;
	} else {
		fprintf(stderr, "a test's own words are not understood: MAC \"%s\"\n", name);
		abort();
	}
}

static void address(int family, const char *text, __u8 *to)
{
	if (inet_pton(family, text, to) == 1)
		return;
	fprintf(stderr, "a test's own words are not understood: address \"%s\"\n", text);
	abort();
}

/* ---- layers -----------------------------------------------------------------------------------*/

static void build_data(struct build *b, const struct layer *l)
{
	__u8 *p = push(b, l->number);

	for (unsigned int k = 0; k < l->number; k++)
		p[k] = k * 7 + 1;
}

static void build_hex(struct build *b, const struct layer *l)
{
	size_t n = strlen(l->hex) / 2;
	__u8 *p = push(b, n);
	unsigned int byte;

	for (size_t k = 0; k < n && sscanf(l->hex + 2 * k, "%2x", &byte) == 1; k++)
		p[k] = byte;
}

static void set_l4(struct build *b, const struct layer *l, unsigned int proto)
{
	b->l4 = b->at;
	b->l4_kind = l->kind;
	b->l4_csum = !(l->given & 1u << PARAM_CSUM);
	b->next = proto;
}

static void build_tcp(struct build *b, const struct layer *l)
{
	unsigned int options = words_param(l, PARAM_OPT, 0);
	__u8 *p = push(b, 20 + options);

	put16(p, atoi(l->from));
	put16(p + 2, atoi(l->to));
	put32(p + 4, words_param(l, PARAM_SEQ, 1000));
	put32(p + 8, words_param(l, PARAM_ACK, 0));
	p[12] = (5 + options / 4) << 4;
	p[13] = l->flags;
	put16(p + 14, words_param(l, PARAM_WIN, 65535));
	put16(p + 16, words_param(l, PARAM_CSUM, 0));
	memset(p + 20, 1, options); /* no-operation */
	set_l4(b, l, IPPROTO_TCP);
}

static void build_udp(struct build *b, const struct layer *l)
{
	__u8 *p = push(b, 8);

	put16(p, atoi(l->from));
	put16(p + 2, atoi(l->to));
	put16(p + 4, words_param(l, PARAM_LEN, b->end - b->at));
	put16(p + 6, words_param(l, PARAM_CSUM, 0));
	if (!strcmp(l->from, "any"))
		b->anyport = b->at;
	set_l4(b, l, IPPROTO_UDP);
}

static void build_icmp(struct build *b, const struct layer *l)
{
	__u8 *p = push(b, 8);

	p[0] = l->number;
	p[1] = words_param(l, PARAM_CODE, 0);
	put32(p + 4, words_param(l, PARAM_MTU, 0));
	set_l4(b, l, l->kind == LAYER_ICMP6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
	if (l->kind == LAYER_ICMP) {
		b->l4_csum = false; /* it needs no pseudo header */
		put16(p + 2, fold(sum(p, b->end - b->at, 0)));
	}
}

static void build_igmp(struct build *b)
{
	__u8 *p = push(b, 8);

	p[0] = 0x16; /* a version 2 report */
	put16(p + 2, fold(sum(p, 8, 0)));
	b->next = IPPROTO_IGMP;
	b->l4 = 0;
}

/* The checksum of the transport header, now that its addresses are known; p of n bytes each. */
static void finish_l4(struct build *b, const __u8 *addresses, size_t n)
{
	static const size_t where[LAYER_KINDS] = {
		[LAYER_TCP] = 16, [LAYER_UDP] = 6, [LAYER_ICMP6] = 2};
	static const unsigned int proto[LAYER_KINDS] = {[LAYER_TCP] = IPPROTO_TCP,
							[LAYER_UDP] = IPPROTO_UDP,
							[LAYER_ICMP6] = IPPROTO_ICMPV6};
	unsigned int length = b->end - b->l4, value;

	if (!b->l4 || !b->l4_csum)
		return;
	value = sum(addresses, 2 * n, proto[b->l4_kind] + length);
	value = fold(sum(b->room + b->l4, length, value));
	if (!value && b->l4_kind == LAYER_UDP)
		value = 0xffff;
	put16(b->room + b->l4 + where[b->l4_kind], value);
}

static void build_ip4(struct build *b, const struct layer *l)
{
	unsigned int options = words_param(l, PARAM_OPT, 0), header = 20 + options;
	__u8 *p = push(b, header);

	p[0] = words_param(l, PARAM_VER, 4) << 4 | words_param(l, PARAM_IHL, header / 4);
	p[1] = words_param(l, PARAM_TOS, 0);
	put16(p + 2, words_param(l, PARAM_LEN, b->end - b->at));
	put16(p + 4, words_param(l, PARAM_ID, 0));
	put16(p + 6, l->df << 14 | l->mf << 13 | words_param(l, PARAM_OFF, 0));
	p[8] = words_param(l, PARAM_TTL, 64);
	p[9] = words_param(l, PARAM_PROTO, b->next);
	address(AF_INET, l->from, p + 12);
	address(AF_INET, l->to, p + 16);
	memset(p + 20, 1, options); /* no-operation */
	put16(p + 10, words_param(l, PARAM_CSUM, fold(sum(p, header, 0))));
	finish_l4(b, p + 12, 4);
	b->l4 = 0;
	b->next = IPPROTO_IPIP;
	b->type = 0x0800;
}

static void build_ip6(struct build *b, const struct layer *l)
{
	size_t payload = b->end - b->at;
	__u8 *p = push(b, 40);

	put32(p, words_param(l, PARAM_VER, 6) << 28 | words_param(l, PARAM_TOS, 0) << 20 |
			 words_param(l, PARAM_FLOW, 0));
	put16(p + 4, words_param(l, PARAM_LEN, payload));
	p[6] = words_param(l, PARAM_PROTO, b->next);
	p[7] = words_param(l, PARAM_TTL, 64);
	if (l->anyflow)
		b->anyflow = b->at;
	address(AF_INET6, l->from, p + 8);
	address(AF_INET6, l->to, p + 24);
	finish_l4(b, p + 8, 16);
	b->l4 = 0;
	b->next = IPPROTO_IPV6;
	b->type = 0x86dd;
}

/* hop, dst, route: the same form. */
static void build_extension(struct build *b, const struct layer *l)
{
	static const unsigned int proto[LAYER_KINDS] = {[LAYER_HOP] = IPPROTO_HOPOPTS,
							[LAYER_DST] = IPPROTO_DSTOPTS,
							[LAYER_ROUTE] = IPPROTO_ROUTING};
	__u8 *p = push(b, l->number);

	p[0] = b->next;
	p[1] = l->number / 8 - 1;
	if (l->kind == LAYER_ROUTE) {
		p[3] = words_param(l, PARAM_LEFT, 0);
	} else {
		p[2] = 1; /* PadN over the rest */
		p[3] = l->number - 4;
	}
	b->next = proto[l->kind];
}

static void build_frag6(struct build *b, const struct layer *l)
{
	__u8 *p = push(b, 8);

	p[0] = words_param(l, PARAM_PROTO, b->next);
	put16(p + 2, words_param(l, PARAM_OFF, 0) << 3 | l->mf);
	put32(p + 4, words_param(l, PARAM_ID, 1));
	b->next = IPPROTO_FRAGMENT;
}

static void build_vlan(struct build *b, const struct layer *l)
{
	__u8 *p = push(b, 4);

	put16(p, words_param(l, PARAM_PCP, 0) << 13 | l->number);
	put16(p + 2, b->type);
	b->type = words_param(l, PARAM_TPID, 0x8100);
}

static void build_arp(struct build *b, const struct layer *l)
{
	static const __u8 head[8] = {0, 1, 8, 0, 6, 4, 0, 1};
	__u8 *p = push(b, 28);

	memcpy(p, head, sizeof(head));
	frame_mac("gw", p + 8);
	address(AF_INET, l->from, p + 14);
	address(AF_INET, l->to, p + 24);
	b->type = 0x0806;
}

static void build_eth(struct build *b, const char *from, const char *to, unsigned int type)
{
	__u8 *p = push(b, 14);

	frame_mac(to, p);
	frame_mac(from, p + 6);
	put16(p + 12, type);
}

static void build_layer(struct build *b, const struct layer *l)
{
	switch (l->kind) {
	case LAYER_ETH: build_eth(b, l->from, l->to, words_param(l, PARAM_TYPE, b->type)); break;
	case LAYER_VLAN: build_vlan(b, l); break;
	case LAYER_IP4: build_ip4(b, l); break;
	case LAYER_IP6: build_ip6(b, l); break;
	case LAYER_HOP:
	case LAYER_DST:
	case LAYER_ROUTE: build_extension(b, l); break;
	case LAYER_FRAG6: build_frag6(b, l); break;
	case LAYER_TCP: build_tcp(b, l); break;
	case LAYER_UDP: build_udp(b, l); break;
	case LAYER_ICMP:
	case LAYER_ICMP6: build_icmp(b, l); break;
	case LAYER_IGMP: build_igmp(b); break;
	case LAYER_ARP: build_arp(b, l); break;
	case LAYER_DATA: build_data(b, l); break;
	case LAYER_HEX: build_hex(b, l); break;
	case LAYER_PAD:
		push(b, l->number);
		b->end = b->at;
		break;
	case LAYER_CUT:
	case LAYER_KINDS: break;
	}
}

void frame_build(struct frame *f, const char *text)
{
	struct layer layer[LAYERS_MAX];
	size_t n = words_read(text, layer), cut = 0;
	struct build b = {.at = FRAME_MAX, .end = FRAME_MAX, .next = IPPROTO_NONE, .type = 0x88b5};

	for (size_t k = n; k--;) {
		build_layer(&b, &layer[k]);
		if (layer[k].kind == LAYER_CUT)
			cut = layer[k].number;
	}
	if (!n || layer[0].kind != LAYER_ETH)
		build_eth(&b, "gw", "lb", b.type);
	f->length = FRAME_MAX - b.at - cut;
	f->anyflow = b.anyflow ? b.anyflow - b.at : 0;
	f->anyport = b.anyport ? b.anyport - b.at : 0;
	memcpy(f->byte, b.room + b.at, f->length);
}

static void take_label(struct frame *expected, const struct frame *actual)
{
	size_t at = expected->anyflow;

	if (!at || actual->length < at + 4)
		return;
	expected->byte[at + 1] = (expected->byte[at + 1] & 0xf0) | (actual->byte[at + 1] & 0x0f);
	memcpy(expected->byte + at + 2, actual->byte + at + 2, 2);
}

/* The checksum, if there is one, was made with port 0. */
static void take_port(struct frame *expected, const struct frame *actual)
{
	const __u8 *from = actual->byte + expected->anyport;
	__u8 *to = expected->byte + expected->anyport;
	unsigned int port = from[0] << 8 | from[1], check = to[6] << 8 | to[7];

	if (!expected->anyport || actual->length < expected->anyport + 8 || port < DYNAMIC_PORTS)
		return;
	put16(to, port);
	if (!check)
		return;
	check = fold((~check & 0xffff) + port);
	put16(to + 6, check ? check : 0xffff);
}

void frame_take_any(struct frame *expected, const struct frame *actual)
{
	take_label(expected, actual);
	take_port(expected, actual);
}

bool frame_equal(const struct frame *a, const struct frame *b)
{
	return a->length == b->length && !memcmp(a->byte, b->byte, a->length);
}
