// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of options: that it is sound, and that every option can be set, shown and reset. */
#include <criterion/criterion.h>
#include <string.h>

#include "maps/option.h"
#include "maps/text.h"
#include "tests/support/parsed.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Room for the structure of any scope. */
union any {
	struct config_service service;
	struct poise_member_conf member;
	struct config_interface interface;
	struct config_limits limits;
	struct poise_health_conf health;
};

static const size_t scope_size[OPTION_SCOPES] = {
	sizeof(struct config_service),	  sizeof(struct poise_member_conf),
	sizeof(struct config_interface),  sizeof(struct poise_address_conf),
	sizeof(struct poise_health_conf), sizeof(struct config_limits)};

Test(option, the_table_is_sound)
{
	for (size_t i = 0; i < poise_options_count; i++) {
		const struct option *o = &poise_options[i];
		size_t length = strlen(o->help);

		cr_expect_eq(option_find(o->scope, o->key), o, "%s is there twice", o->key);
		cr_expect_lt(o->offset, scope_size[o->scope], "%s", o->key);
		cr_expect_lt(o->set_offset, scope_size[o->scope], "%s", o->key);
		cr_expect_eq(o->key[strspn(o->key, "abcdefghijklmnopqrstuvwxyz0123456789-")], '\0');
		cr_expect_gt(strlen(o->argument), 0, "%s", o->key);
		cr_expect(length && o->help[length - 1] == '.', "%s: a sentence", o->key);
		cr_expect_eq(o->type == OPTION_ENUM, o->words != NULL, "%s", o->key);
	}
}

Test(option, a_walk_meets_every_option_of_a_scope_once)
{
	size_t met = 0;

	for (int scope = 0; scope < OPTION_SCOPES; scope++)
		for (const struct option *o = option_first(scope); o; o = option_next(o)) {
			cr_expect_eq((int)o->scope, scope);
			met++;
		}
	cr_assert_eq(met, poise_options_count);
}

/* What the manual promises. */
Test(option, defaults)
{
	static const struct {
		enum option_scope scope;
		const char *key, *value;
	} promised[] = {
		{OPTION_SERVICE, "policy", "maglev"},
		{OPTION_SERVICE, "choices", "auto"},
		{OPTION_SERVICE, "table-size", "auto"},
		{OPTION_SERVICE, "track", "auto"},
		{OPTION_SERVICE, "idle", "2h15m"},
		{OPTION_SERVICE, "syn", "30s"},
		{OPTION_SERVICE, "closing", "2m"},
		{OPTION_SERVICE, "udp", "2m"},
		{OPTION_SERVICE, "drain-timeout", "5m"},
		{OPTION_SERVICE, "source", "auto"},
		{OPTION_SERVICE, "source6", "auto"},
		{OPTION_SERVICE, "entropy", "no"},
		{OPTION_SERVICE, "gue-port", "6080"},
		{OPTION_SERVICE, "gue-checksum", "no"},
		{OPTION_SERVICE, "quic", "no"},
		{OPTION_SERVICE, "quic-id-offset", "1"},
		{OPTION_SERVICE, "quic-id-length", "2"},
		{OPTION_SERVICE, "affinity", "no"},
		{OPTION_SERVICE, "affinity-timeout", "5m"},
		{OPTION_SERVICE, "affinity-prefix4", "32"},
		{OPTION_SERVICE, "affinity-prefix6", "128"},
		{OPTION_SERVICE, "allow", "none"},
		{OPTION_SERVICE, "deny", "none"},
		{OPTION_SERVICE, "max-conns", "none"},
		{OPTION_BACKEND, "max-conns", "default"},
		{OPTION_SERVICE, "rate", "none"},
		{OPTION_SERVICE, "rate-burst", "auto"},
		{OPTION_SERVICE, "fade-in", "auto"},
		{OPTION_SERVICE, "fade-exponent", "1"},
		{OPTION_SERVICE, "fade-floor", "10%"},
		{OPTION_SERVICE, "on-down", "keep"},
		{OPTION_SERVICE, "on-down-udp", "move"},
		{OPTION_SERVICE, "on-none-up", "try"},
		{OPTION_SERVICE, "on-nobody", "refuse"},
		{OPTION_SERVICE, "panic", "0%"},
		{OPTION_SERVICE, "notify", ""},
		{OPTION_SERVICE, "passive", "yes"},
		{OPTION_SERVICE, "passive-window", "5s"},
		{OPTION_SERVICE, "max-ejected", "1/3"},
		{OPTION_SERVICE, "eject-time", "30s"},
		{OPTION_SERVICE, "eject-time-max", "5m"},
		{OPTION_SERVICE, "min-up", "none"},
		{OPTION_SERVICE, "min-up-margin", "0"},
		{OPTION_BACKEND, "sorry", "no"},
		{OPTION_BACKEND, "checked", "yes"},
		{OPTION_BACKEND, "health-type", "default"},
		{OPTION_BACKEND, "health-port", "default"},
		{OPTION_BACKEND, "health-via", "default"},
		{OPTION_BACKEND, "health-interval", "default"},
		{OPTION_BACKEND, "health-fast-interval", "default"},
		{OPTION_BACKEND, "health-timeout", "default"},
		{OPTION_BACKEND, "health-rise", "default"},
		{OPTION_BACKEND, "health-fall", "default"},
		{OPTION_BACKEND, "health-jitter", "default"},
		{OPTION_BACKEND, "health-hold-down", "default"},
		{OPTION_BACKEND, "health-hold-down-max", "default"},
		{OPTION_BACKEND, "health-method", "default"},
		{OPTION_BACKEND, "health-path", "default"},
		{OPTION_BACKEND, "health-host", "default"},
		{OPTION_BACKEND, "health-status", "default"},
		{OPTION_BACKEND, "health-body", "default"},
		{OPTION_BACKEND, "health-body-regex", "default"},
		{OPTION_BACKEND, "health-http2", "default"},
		{OPTION_BACKEND, "health-tls", "default"},
		{OPTION_BACKEND, "health-verify", "default"},
		{OPTION_BACKEND, "health-ca", "default"},
		{OPTION_BACKEND, "health-cert", "default"},
		{OPTION_BACKEND, "health-key", "default"},
		{OPTION_BACKEND, "health-send", "default"},
		{OPTION_BACKEND, "health-expect", "default"},
		{OPTION_BACKEND, "health-query", "default"},
		{OPTION_BACKEND, "health-query-type", "default"},
		{OPTION_BACKEND, "health-command", "default"},
		{OPTION_BACKEND, "server-id", "0"},
		{OPTION_BACKEND, "weight", "1"},
		{OPTION_BACKEND, "forward", "default"},
		{OPTION_BACKEND, "admin", "enabled"},
		{OPTION_BACKEND, "name", ""},
		{OPTION_INTERFACE, "mode", "auto"},
		{OPTION_INTERFACE, "shared", "no"},
		{OPTION_ADDRESS, "ping", "yes"},
		{OPTION_ADDRESS, "other-ports", "refuse"},
		{OPTION_ADDRESS, "announce", "auto"},
		{OPTION_ADDRESS, "withdraw-grace", "3s"},
		{OPTION_HEALTH, "type", "auto"},
		{OPTION_HEALTH, "port", "auto"},
		{OPTION_HEALTH, "via", "path"},
		{OPTION_HEALTH, "interval", "2s"},
		{OPTION_HEALTH, "fast-interval", "500ms"},
		{OPTION_HEALTH, "timeout", "1s"},
		{OPTION_HEALTH, "rise", "2"},
		{OPTION_HEALTH, "fall", "3"},
		{OPTION_HEALTH, "jitter", "10"},
		{OPTION_HEALTH, "hold-down", "5s"},
		{OPTION_HEALTH, "hold-down-max", "5m"},
		{OPTION_HEALTH, "method", "GET"},
		{OPTION_HEALTH, "path", ""},
		{OPTION_HEALTH, "host", ""},
		{OPTION_HEALTH, "status", "200-399"},
		{OPTION_HEALTH, "body", ""},
		{OPTION_HEALTH, "body-regex", ""},
		{OPTION_HEALTH, "http2", "no"},
		{OPTION_HEALTH, "tls", "no"},
		{OPTION_HEALTH, "verify", "yes"},
		{OPTION_HEALTH, "ca", ""},
		{OPTION_HEALTH, "cert", ""},
		{OPTION_HEALTH, "key", ""},
		{OPTION_HEALTH, "send", ""},
		{OPTION_HEALTH, "expect", ""},
		{OPTION_HEALTH, "query", ""},
		{OPTION_HEALTH, "query-type", "A"},
		{OPTION_HEALTH, "command", ""},
		{OPTION_LIMIT, "services", "4096"},
		{OPTION_LIMIT, "backends", "32768"},
		{OPTION_LIMIT, "listeners", "65536"},
		{OPTION_LIMIT, "flow-slots", "4M"},
		{OPTION_LIMIT, "table-slots", "32M"},
		{OPTION_LIMIT, "paths", "1024"},
		{OPTION_LIMIT, "source-ranges", "16384"},
		{OPTION_LIMIT, "nat-groups", "4"},
		{OPTION_LIMIT, "nat-port-low", "1024"},
		{OPTION_LIMIT, "nat-port-high", "65535"},
		{OPTION_LIMIT, "reset-rate", "1000"},
		{OPTION_LIMIT, "icmp-rate", "1000"},
		{OPTION_SERVICE, "forward", "nat"},
	};
	char text[OPTION_TEXT];
	union any obj;

	cr_expect_eq(COUNT(promised), poise_options_count);
	for (size_t i = 0; i < COUNT(promised); i++) {
		const struct option *o = option_find(promised[i].scope, promised[i].key);

		cr_assert_not_null(o, "%s", promised[i].key);
		memset(&obj, 0xa5, sizeof(obj));
		option_defaults(promised[i].scope, &obj);
		cr_expect_str_eq(option_format(o, &obj, text, sizeof(text)), promised[i].value);
		cr_expect(option_is_default(o, &obj), "%s", o->key);
	}
}

static const struct {
	enum option_scope scope;
	const char *key, *in;
	__u64 stored;
	const char *out;
} good[] = {
	{OPTION_SERVICE, "policy", "source-hash", POISE_SOURCE_HASH, "source-hash"},
	{OPTION_SERVICE, "policy", "sh", POISE_SOURCE_HASH, "source-hash"},
	{OPTION_SERVICE, "policy", "mh", POISE_MAGLEV, "maglev"},
	{OPTION_SERVICE, "policy", "wrr", POISE_ROUND_ROBIN, "round-robin"},
	{OPTION_SERVICE, "policy", "rr", POISE_ROUND_ROBIN, "round-robin"},
	{OPTION_SERVICE, "policy", "lc", POISE_LEAST_CONN, "least-conn"},
	{OPTION_SERVICE, "policy", "wlc", POISE_LEAST_CONN, "least-conn"},
	{OPTION_SERVICE, "choices", "auto", 0, "auto"},
	{OPTION_SERVICE, "source", "192.0.2.9,192.0.2.1", 0, "192.0.2.9,192.0.2.1"},
	{OPTION_SERVICE, "source6", "2001:DB8::1,2001:db8:0::2", 0, "2001:db8::1,2001:db8::2"},
	{OPTION_SERVICE, "choices", "64", 64, "64"},
	{OPTION_SERVICE, "forward", "l2", POISE_L2, "l2"},
	{OPTION_SERVICE, "forward", "dr", POISE_L2, "l2"},
	{OPTION_SERVICE, "forward", "tun", POISE_IPIP, "ipip"},
	{OPTION_SERVICE, "table-size", "auto", 0, "auto"},
	{OPTION_SERVICE, "table-size", "64", 64, "64"},
	{OPTION_SERVICE, "table-size", "64k", 65536, "65536"},
	{OPTION_SERVICE, "table-size", "1M", 1 << 20, "1048576"},
	{OPTION_SERVICE, "track", "off", POISE_TRACK_OFF, "off"},
	{OPTION_SERVICE, "idle", "1s", 1000, "1s"},
	{OPTION_SERVICE, "idle", "16h", 57600000, "16h"},
	{OPTION_SERVICE, "udp", "1h", 3600000, "1h"},
	{OPTION_SERVICE, "drain-timeout", "1500ms", 1500, "1s500ms"},
	{OPTION_SERVICE, "entropy", "yes", 1, "yes"},
	{OPTION_SERVICE, "entropy", "true", 1, "yes"},
	{OPTION_SERVICE, "entropy", "off", 0, "no"},
	{OPTION_SERVICE, "fade-in", "0", 0, "0"},
	{OPTION_SERVICE, "fade-in", "90s", 90000, "1m30s"},
	{OPTION_SERVICE, "fade-in", "auto", POISE_FADE_AUTO, "auto"},
	{OPTION_SERVICE, "fade-exponent", "0.1", 10, "0.1"},
	{OPTION_SERVICE, "fade-exponent", "2.25", 225, "2.25"},
	{OPTION_SERVICE, "fade-exponent", "1.50", 150, "1.5"},
	{OPTION_SERVICE, "fade-exponent", "10", 1000, "10"},
	{OPTION_SERVICE, "fade-floor", "0%", 0, "0%"},
	{OPTION_SERVICE, "fade-floor", "0", 0, "0%"},
	{OPTION_SERVICE, "fade-floor", "100%", 100, "100%"},
	{OPTION_BACKEND, "weight", "0", 0, "0"},
	{OPTION_BACKEND, "weight", "65535", 65535, "65535"},
	{OPTION_BACKEND, "forward", "l2", POISE_L2, "l2"},
	{OPTION_BACKEND, "admin", "disabled", POISE_DISABLED, "disabled"},
	{OPTION_INTERFACE, "mode", "generic", ATTACH_GENERIC, "generic"},
	{OPTION_LIMIT, "flow-slots", "1G", 1 << 30, "1G"},
	{OPTION_LIMIT, "backends", "65535", 65535, "65535"},
};

Test(option, values)
{
	char text[OPTION_TEXT];

	for (size_t i = 0; i < COUNT(good); i++) {
		const struct option *o = option_find(good[i].scope, good[i].key);
		union any obj = {0}, again = {0};

		option_defaults(o->scope, &obj);
		option_defaults(o->scope, &again);
		cr_expect_eq(option_set(o, &obj, good[i].in, NULL), 0, "%s %s", o->key, good[i].in);
		cr_expect_eq(option_number(o, &obj), good[i].stored, "%s %s", o->key, good[i].in);
		cr_expect_str_eq(option_format(o, &obj, text, sizeof(text)), good[i].out);
		cr_expect_eq(option_set(o, &again, text, NULL), 0, "%s %s", o->key, text);
		cr_expect(option_equal(o, &obj, &again), "%s %s", o->key, text);
		cr_expect_arr_eq(&obj, &again, sizeof(obj));
	}
}

#define POLICIES "maglev, source-hash, round-robin, random, least-conn, p2c, latency-aware"

static const struct {
	enum option_scope scope : 16;
	enum poise_code code : 16;
	const char *key, *in, *error, *remedy;
} bad[] = {
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "policy", "maglv",
	 "policy maglv: not one of: " POLICIES, "did you mean maglev?"},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "policy", "", "policy \"\": not one of: " POLICIES, ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "choices", "1", "choices 1: out of range: 2 to 64", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "table-size", "63",
	 "table-size 63: out of range: 64 to 1048576", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "table-size", "2M",
	 "table-size 2M: out of range: 64 to 1048576", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "table-size", "0",
	 "table-size 0: out of range: 64 to 1048576", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "idle", "30", "idle 30: a duration needs a unit",
	 "write 30s for seconds, 30m for minutes"},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "idle", "17h", "idle 17h: out of range: 1s to 16h", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "idle", "0", "idle 0: out of range: 1s to 16h", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "udp", "1500ms", "udp 1500ms: not a multiple of 1s",
	 ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "udp", "2h", "udp 2h: out of range: 1s to 1h", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "source", "2001:db8::1",
	 "source 2001:db8::1: not an IPv4 address", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "source6", "192.0.2.1",
	 "source6 192.0.2.1: not an IPv6 address", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "source", "224.0.0.1",
	 "source 224.0.0.1: a multicast address", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "source", "192.0.2.1,192.0.2.1",
	 "source 192.0.2.1: is there twice", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "source", "192.0.2.1,2001:db8::1",
	 "source 2001:db8::1: not an IPv4 address", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "source",
	 "10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5,10.0.0.6,10.0.0.7,10.0.0.8,10.0.0.9",
	 "source 10.0.0.9: one too many: at most 8 addresses", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "entropy", "maybe", "entropy maybe: not yes or no", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "fade-in", "10", "fade-in 10: a duration needs a unit",
	 "write 10s for seconds, 10m for minutes"},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "fade-in", "25h", "fade-in 25h: out of range: 0 to 1d",
	 ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "fade-exponent", "0",
	 "fade-exponent 0: out of range: 0.1 to 10", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "fade-exponent", "1.234",
	 "fade-exponent 1.234: not a number like 2 or 0.25", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "fade-exponent", "1.",
	 "fade-exponent 1.: not a number like 2 or 0.25", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "fade-exponent", "-1",
	 "fade-exponent -1: not a number like 2 or 0.25", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "fade-floor", "10",
	 "fade-floor 10: not a percentage like 10%", ""},
	{OPTION_SERVICE, POISE_E_BAD_VALUE, "fade-floor", "101%",
	 "fade-floor 101%: out of range: 0% to 100%", ""},
	{OPTION_BACKEND, POISE_E_BAD_VALUE, "weight", "65536",
	 "weight 65536: out of range: 0 to 65535", ""},
	{OPTION_BACKEND, POISE_E_BAD_VALUE, "weight", "-1", "weight -1: not a whole number", ""},
	{OPTION_BACKEND, POISE_E_BAD_VALUE, "weight", "1.5", "weight 1.5: not a whole number", ""},
	{OPTION_BACKEND, POISE_E_BAD_VALUE, "weight", "010", "weight 010: not a whole number", ""},
	{OPTION_BACKEND, POISE_E_BAD_VALUE, "name", "all", "name all: a word commands use: no name",
	 ""},
	{OPTION_LIMIT, POISE_E_BAD_VALUE, "backends", "65536",
	 "backends 65536: out of range: 1 to 65535", ""},
	{OPTION_LIMIT, POISE_E_BAD_VALUE, "flow-slots", "2G",
	 "flow-slots 2G: out of range: 1k to 1G", ""},
};

Test(option, wrong_values_change_nothing_and_say_why)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		const struct option *o = option_find(bad[i].scope, bad[i].key);
		union any obj = {0}, before;
		struct poise_error err = {0};

		option_defaults(o->scope, &obj);
		before = obj;
		cr_expect_eq(option_set(o, &obj, bad[i].in, &err), -1, "%s %s", o->key, bad[i].in);
		cr_expect_eq(err.code, bad[i].code, "%s %s", o->key, bad[i].in);
		cr_expect_str_eq(said(&err), bad[i].error);
		cr_expect_str_eq(err.remedy, bad[i].remedy);
		cr_expect_arr_eq(&obj, &before, sizeof(obj));
	}
}

Test(option, default_resets)
{
	for (size_t i = 0; i < COUNT(good); i++) {
		const struct option *o = option_find(good[i].scope, good[i].key);
		union any obj = {0}, fresh = {0};

		option_defaults(o->scope, &fresh);
		obj = fresh;
		option_set(o, &obj, good[i].in, NULL);
		cr_expect_eq(option_set(o, &obj, "default", NULL), 0, "%s", o->key);
		cr_expect_arr_eq(&obj, &fresh, sizeof(obj));
	}
}

Test(option, an_override_is_told_from_its_absence)
{
	const struct option *o = option_find(OPTION_BACKEND, "forward");
	struct poise_member_conf said_l2 = {0}, unsaid = {0};

	option_defaults(OPTION_BACKEND, &said_l2);
	option_defaults(OPTION_BACKEND, &unsaid);
	cr_assert_eq(option_set(o, &said_l2, "l2", NULL), 0);
	cr_assert_eq(said_l2.forward, unsaid.forward); /* l2 is 0 */
	cr_assert_not(option_equal(o, &said_l2, &unsaid));
	cr_assert_not(option_is_default(o, &said_l2));
	option_copy(o, &unsaid, &said_l2);
	cr_assert(option_equal(o, &said_l2, &unsaid));
}

/* Whatever is set can be saved, and read from there. */
Test(option, texts_are_what_a_file_can_hold)
{
	static const char *const bad[] = {"a\nb",     "\x1b[1m", "\x7f",	"\xff",
					  "\xc2\x9b", "a\xc3",	 "\xed\xa0\x80"};
	const struct option *o = option_find(OPTION_HEALTH, "body");
	struct poise_health_conf h = {0};
	struct poise_error err = {0};

	for (size_t n = 0; n < COUNT(bad); n++)
		cr_expect_eq(option_set(o, &h, bad[n], &err), -1, "%zu", n);
	cr_expect_str_eq(err.message, "a control character, or no UTF-8; write it as \\xHH");
	cr_expect_eq(option_set(o, &h, "a \xc3\xa4 \xe2\x82\xac", NULL), 0);
	cr_expect_str_eq(h.body, "a \xc3\xa4 \xe2\x82\xac");
	cr_expect_eq(option_set(o, &h, "", NULL), 0);
}

Test(option, unknown_keys)
{
	static const struct {
		enum option_scope scope;
		const char *key, *error, *remedy;
	} keys[] = {
		{OPTION_SERVICE, "polcy", "polcy: no such service key", "did you mean policy?"},
		{OPTION_SERVICE, "weight", "weight: no such service key", ""},
		{OPTION_SERVICE, "zzz", "zzz: no such service key", ""},
		{OPTION_BACKEND, "wieght", "wieght: no such backend key", "did you mean weight?"},
		{OPTION_BACKEND, "hash", "hash: not in this version", ""},
		{OPTION_LIMIT, "flow_slots", "flow_slots: no such limits key",
		 "did you mean flow-slots?"},
		{OPTION_INTERFACE, "Mode", "Mode: no such interface key", "did you mean mode?"},
	};

	for (size_t i = 0; i < COUNT(keys); i++) {
		struct poise_error err = {0};

		cr_expect_null(option_need(keys[i].scope, keys[i].key, &err), "%s", keys[i].key);
		cr_expect_str_eq(said(&err), keys[i].error);
		cr_expect_str_eq(err.remedy, keys[i].remedy);
	}
	cr_expect_not_null(option_need(OPTION_SERVICE, "policy", NULL));
}
