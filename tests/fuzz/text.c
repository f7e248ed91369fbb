// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any text as an address, a listener, a duration, an option's value: either an error that quotes
 * it, or a value whose own text reads back to the same.
 */
#include <string.h>

#include "maps/config.h"
#include "maps/option.h"
#include "maps/text.h"
#include "tests/support/fuzz.h"

#define TEXT_MAX 512

static void check_quote(const char *text)
{
	char buf[64];

	poise_quote(text, buf, sizeof(buf));
	fuzz_require(buf[0] && strlen(buf) < sizeof(buf));
	for (const char *c = buf; *c; c++)
		fuzz_require((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void check_addresses(const char *text)
{
	struct poise_listener_conf l, l2;
	union poise_addr a, a2;
	char buf[POISE_ENDPOINT_TEXT];
	__u16 port, port2;

	if (!poise_parse_addr(text, &a, NULL)) {
		fuzz_require(!poise_parse_addr(poise_format_addr(&a, buf, sizeof(buf)), &a2, NULL));
		fuzz_require(!poise_addr_cmp(&a, &a2));
	}
	if (!poise_parse_endpoint(text, &a, &port, NULL)) {
		poise_format_endpoint(&a, port, buf, sizeof(buf));
		fuzz_require(!poise_parse_endpoint(buf, &a2, &port2, NULL));
		fuzz_require(!poise_addr_cmp(&a, &a2) && port == port2);
	}
	if (!poise_parse_listener(text, &l, NULL)) {
		poise_format_listener(&l, buf, sizeof(buf));
		fuzz_require(!poise_parse_listener(buf, &l2, NULL));
		fuzz_require(!memcmp(&l, &l2, sizeof(l)));
	}
	if (!poise_check_name(text, NULL)) {
		fuzz_require(poise_parse_endpoint(text, &a, &port, NULL));
		fuzz_require(poise_parse_listener(text, &l, NULL));
	}
}

static void check_numbers(const char *text)
{
	char buf[POISE_WORD_TEXT];
	__u64 value, again;

	if (!poise_parse_duration(text, &value, NULL)) {
		poise_format_duration(value, buf, sizeof(buf));
		fuzz_require(!poise_parse_duration(buf, &again, NULL) && value == again);
	}
	if (!poise_parse_size(text, &value, NULL)) {
		poise_format_size(value, buf, sizeof(buf));
		fuzz_require(!poise_parse_size(buf, &again, NULL) && value == again);
	}
}

static void check_option(const struct option *o, const char *text)
{
	union {
		struct config_service service;
		struct poise_member_conf member;
		struct config_interface interface;
		struct config_limits limits;
	} first = {0}, second = {0};
	struct poise_error err = {0};
	static char buf[POISE_RANGES_MAX * RANGE_TEXT]; /* any value, a list too */

	option_defaults(o->scope, &first);
	option_defaults(o->scope, &second);
	if (option_set(o, &first, text, &err)) {
		fuzz_require(err.message[0] && !strncmp(err.object, o->key, strlen(o->key)));
		fuzz_require(!memcmp(&first, &second, sizeof(first)));
		return;
	}
	option_format(o, &first, buf, sizeof(buf));
	if (!strcmp(buf, "?"))
		return; /* forward reset: unsaid has no text */
	fuzz_require(!option_set(o, &second, buf, NULL));
	fuzz_require(option_equal(o, &first, &second));
	fuzz_require(option_is_default(o, &first) == option_is_default(o, &second));
	if (o->type == OPTION_RANGES) {
		ranges_free(option_list(o, &first));
		ranges_free(option_list(o, &second));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const words[] = {"policy", "forward", "drain-timeout", "services"};
	char text[TEXT_MAX];

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_quote(text);
	check_addresses(text);
	check_numbers(text);
	for (size_t i = 0; i < poise_options_count; i++)
		check_option(&poise_options[i], text);
	poise_closest(text, words, sizeof(words) / sizeof(words[0]));
	return 0;
}

FUZZ_TARGET(text)
