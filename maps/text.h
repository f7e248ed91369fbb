/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words users type and read: addresses, listeners, durations, sizes, weights, policies. Each
 * poise_parse_* takes the whole string, prints nothing, and returns 0 or -1 with an error that
 * quotes the offending text. Each poise_format_* gives a text that parses back to the same value.
 */
#ifndef POISE_TEXT_H
#define POISE_TEXT_H

#include "abi.h"
#include "error.h"

#define POISE_ADDR_TEXT	     46	     /* INET6_ADDRSTRLEN */
#define POISE_WORD_TEXT	     32	     /* a duration, size, age or number for humans, and NUL */
#define POISE_HUNDREDTHS_MAX 1000000 /* of a number with decimal places */
#define POISE_ENDPOINT_TEXT  64	     /* [address]:65535/udp and NUL */

bool poise_addr_is4(const union poise_addr *a);
bool poise_addr_is_zero(const union poise_addr *a);
/* 127.0.0.0/8, ::1 */
bool poise_addr_is_loopback(const union poise_addr *a);
/* Orders by bytes; the order in which tables are filled. */
int poise_addr_cmp(const union poise_addr *a, const union poise_addr *b);
int poise_parse_addr(const char *text, union poise_addr *a, struct poise_error *err);
char *poise_format_addr(const union poise_addr *a, char *buf, size_t size);
/* The same, and refuses what no flow can go to or come from: 0.0.0.0, multicast, broadcast. */
int poise_parse_host(const char *text, union poise_addr *a, struct poise_error *err);
/* 0..65535, * is 0; network order. */
int poise_parse_port(const char *text, __u16 *port, struct poise_error *err);

/* ADDR[:PORT] of a backend; IPv6 with a port in [ ], bare without one. *port in network order. */
int poise_parse_endpoint(const char *text, union poise_addr *a, __u16 *port,
			 struct poise_error *err);
char *poise_format_endpoint(const union poise_addr *a, __u16 port, char *buf, size_t size);

/* ADDR:PORT[/tcp|/udp]; port 0 or * is every port. */
int poise_parse_listener(const char *text, struct poise_listener_conf *l, struct poise_error *err);
/* Always with /udp, without /tcp (the default). */
char *poise_format_listener(const struct poise_listener_conf *l, char *buf, size_t size);

/* 500ms 2s 5m 2h 3d, sums like 2h15m; a bare number is an error, 0 is not. Milliseconds. */
int poise_parse_duration(const char *text, __u64 *ms, struct poise_error *err);
char *poise_format_duration(__u64 ms, char *buf, size_t size);
/* Plain digits: no sign, no leading 0, which some would read as octal. */
int poise_parse_number(const char *text, __u64 *value, struct poise_error *err);
/* 10%; a bare number is an error, 0 is not. */
int poise_parse_percent(const char *text, __u64 *value, struct poise_error *err);
/* 0.5 1 2.25: at most two places, in hundredths. */
int poise_parse_hundredths(const char *text, __u64 *value, struct poise_error *err);
/* 64k 4M 1G, powers of 1024; a bare number is itself. */
int poise_parse_size(const char *text, __u64 *value, struct poise_error *err);
char *poise_format_size(__u64 value, char *buf, size_t size);

/* A name: 1..63 of [A-Za-z0-9._-], first one a letter or digit, not "all" or "default", and not
 * readable as an address, right or wrong, or listener. */
int poise_check_name(const char *text, struct poise_error *err);

/* Edit distance for "did you mean": the closest of words[n] to text, or NULL if none is near. */
const char *poise_closest(const char *text, const char *const *words, size_t n);

/* 12.3k, 4.1M: for human output. */
char *poise_format_human(double value, char *buf, size_t size);
/* 12s 2m 3d4h: how long ago, for SINCE. */
char *poise_format_age(__u64 seconds, char *buf, size_t size);

#endif
