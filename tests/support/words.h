/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words of frame.h, as read: layers with their parameters. Shared by the reader (words.c) and
 * the builder (frame.c).
 */
#ifndef POISE_TEST_WORDS_H
#define POISE_TEST_WORDS_H

#include "frame.h"

enum layer_kind {
	LAYER_ETH,
	LAYER_VLAN,
	LAYER_IP4,
	LAYER_IP6,
	LAYER_HOP,
	LAYER_DST,
	LAYER_ROUTE,
	LAYER_FRAG6,
	LAYER_TCP,
	LAYER_UDP,
	LAYER_ICMP,
	LAYER_ICMP6,
	LAYER_IGMP,
	LAYER_ARP,
	LAYER_DATA,
	LAYER_HEX,
	LAYER_PAD,
	LAYER_CUT,
	LAYER_KINDS,
};

enum param {
	PARAM_TYPE,
	PARAM_PCP,
	PARAM_TPID,
	PARAM_TTL,
	PARAM_TOS,
	PARAM_ID,
	PARAM_OFF,
	PARAM_OPT,
	PARAM_LEN,
	PARAM_IHL,
	PARAM_VER,
	PARAM_PROTO,
	PARAM_CSUM,
	PARAM_FLOW,
	PARAM_LEFT,
	PARAM_SEQ,
	PARAM_ACK,
	PARAM_CODE,
	PARAM_MTU,
	PARAM_WIN,
	PARAMS,
};

#define LAYERS_MAX 16

struct layer {
	enum layer_kind kind;
	char from[64]; /* as written: addresses, names, ports */
	char to[64];
	unsigned int number; /* of layers that have one: vlan 7, data 20 */
	unsigned int flags;  /* of TCP */
	bool df, mf, anyflow;
	unsigned int given; /* bit per enum param */
	unsigned int value[PARAMS];
	char hex[512];
};

/* Returns the number of layers; aborts on words it does not know. */
size_t words_read(const char *text, struct layer layer[LAYERS_MAX]);

/* The value of a parameter, or what it is when left out. */
unsigned int words_param(const struct layer *l, enum param p, unsigned int fallback);

#endif
