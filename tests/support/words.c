// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the words of frame.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

enum shape { SHAPE_NONE, SHAPE_NUMBER, SHAPE_PAIR, SHAPE_HEX };

static const struct {
	const char *word;
	enum shape shape; /* what follows it */
} layers[LAYER_KINDS] = {
	[LAYER_ETH] = {"eth", SHAPE_PAIR},	 [LAYER_VLAN] = {"vlan", SHAPE_NUMBER},
	[LAYER_IP4] = {"ip4", SHAPE_PAIR},	 [LAYER_IP6] = {"ip6", SHAPE_PAIR},
	[LAYER_HOP] = {"hop", SHAPE_NUMBER},	 [LAYER_DST] = {"dst", SHAPE_NUMBER},
	[LAYER_ROUTE] = {"route", SHAPE_NUMBER}, [LAYER_FRAG6] = {"frag6", SHAPE_NONE},
	[LAYER_TCP] = {"tcp", SHAPE_PAIR},	 [LAYER_UDP] = {"udp", SHAPE_PAIR},
	[LAYER_ICMP] = {"icmp", SHAPE_NUMBER},	 [LAYER_ICMP6] = {"icmp6", SHAPE_NUMBER},
	[LAYER_IGMP] = {"igmp", SHAPE_NONE},	 [LAYER_ARP] = {"arp", SHAPE_PAIR},
	[LAYER_DATA] = {"data", SHAPE_NUMBER},	 [LAYER_HEX] = {"hex", SHAPE_HEX},
	[LAYER_PAD] = {"pad", SHAPE_NUMBER},	 [LAYER_CUT] = {"cut", SHAPE_NUMBER},
};

static const char *const params[PARAMS] = {
	[PARAM_TYPE] = "type", [PARAM_PCP] = "pcp",   [PARAM_TPID] = "tpid",
	[PARAM_TTL] = "ttl",   [PARAM_TOS] = "tos",   [PARAM_ID] = "id",
	[PARAM_OFF] = "off",   [PARAM_OPT] = "opt",   [PARAM_LEN] = "len",
	[PARAM_IHL] = "ihl",   [PARAM_VER] = "ver",   [PARAM_PROTO] = "proto",
	[PARAM_CSUM] = "csum", [PARAM_FLOW] = "flow", [PARAM_LEFT] = "left",
	[PARAM_SEQ] = "seq",   [PARAM_ACK] = "ack",   [PARAM_CODE] = "code",
	[PARAM_MTU] = "mtu",   [PARAM_WIN] = "win",
};

static const char tcp_flags[] = "FSRPA"; /* from bit 0 of the flags byte */

static void lost(const char *text, const char *word)
{
	fprintf(stderr, "a test's own words are not understood: \"%s\" in \"%s\"\n",
		word ? word : "(end)", text);
	abort();
}

static unsigned int number(const char *text, const char *word)
{
	char *end;
	unsigned long n;

	if (!word)
		lost(text, word);
	n = strtoul(word, &end, 0);
	if (*end)
		lost(text, word);
	return (unsigned int)n;
}

static void copy(char *to, size_t size, const char *text, const char *word)
{
	if (!word || snprintf(to, size, "%s", word) >= (int)size)
		lost(text, word);
}

static enum layer_kind kind_of(const char *text, const char *word)
{
	for (int k = 0; word && k < LAYER_KINDS; k++)
		if (!strcmp(layers[k].word, word))
			return (enum layer_kind)k;
	lost(text, word);
	return LAYER_KINDS;
}

/* Letters of FSRPA, if word has no others. */
static bool read_flags(struct layer *l, const char *word)
{
	if (l->kind != LAYER_TCP || strspn(word, tcp_flags) != strlen(word))
		return false;
	for (; *word; word++)
		l->flags |= 1u << (strchr(tcp_flags, *word) - tcp_flags);
	return true;
}

static void read_param(struct layer *l, const char *text, const char *word, char **rest)
{
	l->df |= !strcmp(word, "df");
	l->mf |= !strcmp(word, "mf");
	l->anyflow |= !strcmp(word, "anyflow");
	if (!strcmp(word, "df") || !strcmp(word, "mf") || !strcmp(word, "anyflow"))
		return;
	if (read_flags(l, word))
		return;
	for (int k = 0; k < PARAMS; k++) {
		if (strcmp(params[k], word) != 0)
			continue;
		l->given |= 1u << k;
		l->value[k] = number(text, strtok_r(NULL, " ", rest));
		return;
	}
	lost(text, word);
}

static void read_layer(struct layer *l, const char *text, char *words)
{
	char *rest, *word = strtok_r(words, " ", &rest);

	memset(l, 0, sizeof(*l));
	l->kind = kind_of(text, word);
	switch (layers[l->kind].shape) {
	case SHAPE_PAIR:
		copy(l->from, sizeof(l->from), text, strtok_r(NULL, " ", &rest));
		word = strtok_r(NULL, " ", &rest);
		if (!word || strcmp(word, ">") != 0)
			lost(text, word);
		copy(l->to, sizeof(l->to), text, strtok_r(NULL, " ", &rest));
		break;
	case SHAPE_NUMBER: l->number = number(text, strtok_r(NULL, " ", &rest)); break;
	case SHAPE_HEX: copy(l->hex, sizeof(l->hex), text, strtok_r(NULL, " ", &rest)); break;
	case SHAPE_NONE: break;
	}
	while ((word = strtok_r(NULL, " ", &rest)))
		read_param(l, text, word, &rest);
}

size_t words_read(const char *text, struct layer layer[LAYERS_MAX])
{
	char *words = strdup(text), *rest, *one;
	size_t n = 0;

	if (!words)
		abort();
	for (one = strtok_r(words, "|", &rest); one; one = strtok_r(NULL, "|", &rest)) {
		if (n == LAYERS_MAX)
			lost(text, one);
		read_layer(&layer[n++], text, one);
	}
	free(words);
	return n;
}

unsigned int words_param(const struct layer *l, enum param p, unsigned int fallback)
{
	return l->given & 1u << p ? l->value[p] : fallback;
}
