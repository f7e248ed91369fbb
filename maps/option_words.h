/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The words that options of type OPTION_ENUM take, a list each: part of the table in options.c,
 * which alone includes it. */
#ifndef POISE_OPTION_WORDS_H
#define POISE_OPTION_WORDS_H

#include "config.h"
#include "option.h"

static const struct option_word policies[] = {
	{.word = "maglev", .value = POISE_MAGLEV},
	{.word = "source-hash", .value = POISE_SOURCE_HASH},
	{.word = "round-robin", .value = POISE_ROUND_ROBIN},
	{.word = "random", .value = POISE_RANDOM},
	{.word = "least-conn", .value = POISE_LEAST_CONN},
	{.word = "p2c", .value = POISE_P2C},
	{.word = "latency-aware", .value = POISE_LATENCY_AWARE},
	{.word = "mh", .value = POISE_MAGLEV, .alias = true},
	{.word = "sh", .value = POISE_SOURCE_HASH, .alias = true},
	{.word = "rr", .value = POISE_ROUND_ROBIN, .alias = true},
	{.word = "wrr", .value = POISE_ROUND_ROBIN, .alias = true},
	{.word = "lc", .value = POISE_LEAST_CONN, .alias = true},
	{.word = "wlc", .value = POISE_LEAST_CONN, .alias = true},
	{0},
};

static const struct option_word modes[] = {
	{.word = "nat", .value = POISE_NAT},
	{.word = "l2", .value = POISE_L2},
	{.word = "ipip", .value = POISE_IPIP},
	{.word = "gue", .value = POISE_GUE},
	{.word = "local", .value = POISE_LOCAL},
	{.word = "dr", .value = POISE_L2, .alias = true},
	{.word = "tun", .value = POISE_IPIP, .alias = true},
	{.word = "masq", .value = POISE_NAT, .alias = true},
	{0},
};

static const struct option_word tracks[] = {
	{.word = "auto", .value = POISE_TRACK_AUTO},
	{.word = "always", .value = POISE_TRACK_ALWAYS},
	{.word = "off", .value = POISE_TRACK_OFF},
	{0},
};

static const struct option_word admins[] = {
	{.word = "enabled", .value = POISE_ENABLED},
	{.word = "draining", .value = POISE_DRAINING},
	{.word = "disabled", .value = POISE_DISABLED},
	{0},
};

static const struct option_word attach_modes[] = {
	{.word = "auto", .value = ATTACH_AUTO},
	{.word = "native", .value = ATTACH_NATIVE},
	{.word = "generic", .value = ATTACH_GENERIC},
	{.word = "inside", .value = ATTACH_INSIDE},
	{0},
};

static const struct option_word pings[] = {
	{.word = "yes", .value = POISE_PING_YES},
	{.word = "no", .value = POISE_PING_NO},
	{.word = "usable", .value = POISE_PING_USABLE},
	{0},
};

static const struct option_word others[] = {
	{.word = "refuse", .value = POISE_OTHER_REFUSE},
	{.word = "pass", .value = POISE_OTHER_PASS},
	{0},
};

static const struct option_word on_downs[] = {
	{.word = "keep", .value = POISE_ON_DOWN_KEEP},
	{.word = "move", .value = POISE_ON_DOWN_MOVE},
	{.word = "reset", .value = POISE_ON_DOWN_RESET},
	{0},
};

static const struct option_word on_downs_udp[] = {
	{.word = "keep", .value = POISE_UDP_KEEP},
	{.word = "move", .value = POISE_UDP_MOVE},
	{0},
};

static const struct option_word nones_up[] = {
	{.word = "try", .value = POISE_NONE_UP_TRY},
	{.word = "refuse", .value = POISE_NONE_UP_REFUSE},
	{0},
};

static const struct option_word nobodies[] = {
	{.word = "refuse", .value = POISE_NOBODY_REFUSE},
	{.word = "drop", .value = POISE_NOBODY_DROP},
	{0},
};

static const struct option_word checked[] = {
	{.word = "yes", .value = 0},
	{.word = "no", .value = 1},
	{0},
};

static const struct option_word checks[] = {
	{.word = "auto", .value = POISE_CHECK_AUTO},
	{.word = "none", .value = POISE_CHECK_NONE},
	{.word = "tcp", .value = POISE_CHECK_TCP},
	{.word = "http", .value = POISE_CHECK_HTTP},
	{.word = "https", .value = POISE_CHECK_HTTPS},
	{.word = "udp", .value = POISE_CHECK_UDP},
	{.word = "dns", .value = POISE_CHECK_DNS},
	{.word = "icmp", .value = POISE_CHECK_ICMP},
	{.word = "grpc", .value = POISE_CHECK_GRPC},
	{.word = "exec", .value = POISE_CHECK_EXEC},
	{0},
};

static const struct option_word vias[] = {
	{.word = "path", .value = POISE_VIA_PATH},
	{.word = "direct", .value = POISE_VIA_DIRECT},
	{0},
};

static const struct option_word methods[] = {
	{.word = "GET", .value = POISE_METHOD_GET},
	{.word = "HEAD", .value = POISE_METHOD_HEAD},
	{.word = "OPTIONS", .value = POISE_METHOD_OPTIONS},
	{0},
};

static const struct option_word queries[] = {
	{.word = "A", .value = POISE_QUERY_A},
	{.word = "AAAA", .value = POISE_QUERY_AAAA},
	{.word = "NS", .value = POISE_QUERY_NS},
	{.word = "SOA", .value = POISE_QUERY_SOA},
	{0},
};

static const struct option_word announces[] = {
	{.word = "auto", .value = POISE_ANNOUNCE_AUTO},
	{.word = "usable", .value = POISE_ANNOUNCE_USABLE},
	{.word = "always", .value = POISE_ANNOUNCE_ALWAYS},
	{0},
};

#endif
