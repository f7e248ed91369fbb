/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Source ranges: lists of prefixes as users write them, and the bounds that packets are compared
 * with. Of all prefixes that hold a client's address the longest decides.
 *
 * IPv4 lies in ::ffff:0:0/96 as all of ours does, so one list, one order and one search serve both
 * families; that an IPv6 prefix around it says nothing about IPv4 is ranges_bounds' business.
 */
#ifndef POISE_RANGES_H
#define POISE_RANGES_H

#include "abi.h"
#include "error.h"

#define RANGE_TEXT	64 /* bytes of the longest prefix as text, and NUL */
#define RANGE_BITS	128
#define RANGE_BITS_IPV4 96 /* of RANGE_BITS, before an IPv4 address begins */
/* Bounds of so many prefixes: each begins and ends, and so does IPv4 as a whole. */
#define RANGES_BOUNDS(n) (2 * ((n) + 1))

/* A list, sorted by address, then length; no prefix twice. Owns its memory; all zero: empty. */
struct ranges {
	struct poise_range *range;
	size_t n;
};

/* ADDR/LENGTH, or ADDR alone for a single host. No bit behind the prefix may be set. */
int range_parse(const char *text, struct poise_range *range, struct poise_error *err);
/* The same of any address in it: bits behind the prefix are cleared. */
int range_parse_within(const char *text, struct poise_range *range, struct poise_error *err);
/* As it can be typed back; always with its length. */
char *range_format(const struct poise_range *range, char *buf, size_t size);
/* By address, then length: a prefix comes right before all that lie in it. */
int range_cmp(const struct poise_range *a, const struct poise_range *b);

/* Adds one prefix; an error if it is there already, or the list is full. */
int ranges_add(struct ranges *list, const char *text, struct poise_error *err);
/* Makes the list that of the text, prefixes with commas between. An error changes nothing. */
int ranges_set(struct ranges *list, const char *text, struct poise_error *err);
void ranges_free(struct ranges *list);
void ranges_copy(struct ranges *to, const struct ranges *from);
bool ranges_equal(const struct ranges *a, const struct ranges *b);
/* With commas, none if it is empty; a text that has not room ends in how many more there are, and
 * cannot be typed back.
 */
char *ranges_format(const struct ranges *list, char *buf, size_t size);
bool ranges_has(const struct ranges *list, const struct poise_range *range);
/* The first prefix of a that is in b too; NULL: none. */
const struct poise_range *ranges_common(const struct ranges *a, const struct ranges *b);

/*
 * The bounds of n prefixes in any order, none twice, into out[RANGES_BOUNDS(n)]; returns their
 * number, and in *deny whether :: is denied. Who is in no prefix is denied if any prefix allows,
 * of whatever family.
 */
size_t ranges_bounds(const struct poise_range *range, size_t n, struct poise_bound *out,
		     bool *deny);

#endif
