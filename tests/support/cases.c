// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs tables of packets (cases.h).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "place.h"

#define EMULATED_STEP 7 /* of the lengths to cut to: one in so many where the CPU is emulated */

#define REASON_NAME(symbol, name, text) name,
static const char *const reasons[] = {POISE_REASONS(REASON_NAME) POISE_EVENTS(REASON_NAME)};

static const char *verdict_word(int verdict)
{
	static const char *const words[] = {"ABORTED", "DROP", "PASS", "TX", "REDIRECT"};

	if (verdict < 0)
		return strerror(-verdict);
	return verdict < 5 ? words[verdict] : "?";
}

/* ---- what is counted --------------------------------------------------------------------------*/

static unsigned int reason_named(const char *word)
{
	for (unsigned int k = 0; k < sizeof(reasons) / sizeof(reasons[0]); k++)
		if (!strcmp(reasons[k], word))
			return k;
	cr_assert_fail("there is no reason \"%s\"", word);
	return 0;
}

/* The lines that "SERVICE REASON..." names, as a set of bits; SERVICE none: what belongs to none of
 * them. */
static __u64 find_reasons(const struct rig *r, const char *text, __u16 *service)
{
	char words[128], *rest, *word;
	__u64 set = 0;

	snprintf(words, sizeof(words), "%s", text);
	word = strtok_r(words, " ", &rest);
	*service = strcmp(word, "none") ? rig_service(r, word) : 0;
	while ((word = strtok_r(NULL, " ", &rest)))
		set |= 1ull << reason_named(word);
	cr_assert(set, "a test's own words: %s", text);
	return set;
}

static bool wrong(const char *what, unsigned int id, long long expected, long long actual)
{
	if (expected == actual)
		return false;
	fprintf(stderr, "  %s %u: expected %lld more, got %lld\n", what, id, expected, actual);
	return true;
}

/* What the case says has been counted `times`, and nothing else. */
static bool count_is(const struct rig *r, const struct packet_case *c, const struct frame *in,
		     const struct rig_counts *was, long long times)
{
	static struct rig_counts now;
	const struct rig_counts *is = &now;
	__u16 member = c->member ? rig_member(r, c->member) : 0, service = 0;
	__u64 set = 0;
	size_t bytes = member ? frame_ip_end(in) - frame_ip_at(in) : 0;
	bool bad = false;

	rig_count(r, &now);
	if (c->drop)
		set = find_reasons(r, c->drop, &service);
	for (__u32 m = 0; m < r->i->meta->members; m++) {
		const struct poise_counter *a = &was->member[m], *b = &is->member[m];
		bool it = member && m == member;

		bad |= wrong("packets of member", m, it ? times : 0,
			     (long long)(b->packets - a->packets));
		bad |= wrong("bytes of member", m, it ? times * (long long)bytes : 0,
			     (long long)(b->bytes - a->bytes));
	}
	for (__u32 s = 0; s < r->i->meta->services; s++)
		for (unsigned int k = 0; k < POISE_REASON_SLOTS; k++) {
			bool it = s == service && set >> k & 1;
			__u64 more = is->service[s].count[k] - was->service[s].count[k];

			if (wrong("drops of service", s, it ? times : 0, (long long)more)) {
				fprintf(stderr, "    (reason %u, %s)\n", k,
					k < POISE_R_COUNT ? reasons[k] : "?");
				bad = true;
			}
		}
	return !bad;
}

/* ---- one packet -------------------------------------------------------------------------------*/

struct attempt {
	struct frame in;
	struct frame out;
	int verdict;
};

static void try(struct rig *r, struct attempt *a)
{
	rig_forget(r);
	rig_refill(r);
	a->verdict = rig_run(r, &a->in, &a->out);
}

static bool whole(struct rig *r, const struct packet_case *c, struct attempt *a)
{
	static struct rig_counts was;
	struct frame expected;
	bool fine = true;

	frame_build(&a->in, c->in);
	if (c->out)
		frame_build(&expected, c->out);
	else
		expected = a->in;
	rig_count(r, &was);
	try(r, a);
	if (a->verdict != c->verdict) {
		fprintf(stderr, "%s: expected %s, got %s\n", c->name, verdict_word(c->verdict),
			verdict_word(a->verdict));
		fine = false;
	}
	frame_take_any(&expected, &a->out);
	if (!frame_equal(&expected, &a->out)) {
		fprintf(stderr, "%s: the frame is not as expected\n", c->name);
		frame_print_difference(&expected, &a->out);
		fine = false;
	}
	if (!count_is(r, c, &a->in, &was, 1)) {
		fprintf(stderr, "%s: counted otherwise\n", c->name);
		fine = false;
	}
	return fine;
}

/* ---- the same packet, cut short ---------------------------------------------------------------*/

/* Cut into its IP packet it is nobody's: passed untouched. Cut behind it, in the padding, it is
 * what it was: `same`. */
static bool cut(struct rig *r, const struct packet_case *c, const struct attempt *full,
		size_t length, bool same)
{
	static struct attempt a;
	int verdict = same ? c->verdict : XDP_PASS;
	size_t kept;

	a.in = full->in;
	a.in.length = length;
	try(r, &a);
	kept = a.out.length < full->out.length ? a.out.length : full->out.length;
	if (a.verdict == verdict &&
	    (same ? !memcmp(a.out.byte, full->out.byte, kept) : frame_equal(&a.in, &a.out)))
		return true;
	fprintf(stderr, "%s, cut to %zu bytes: expected %s, got %s\n", c->name, length,
		verdict_word(verdict), verdict_word(a.verdict));
	if (!same)
		frame_print_difference(&a.in, &a.out);
	return false;
}

static bool every_cut(struct rig *r, const struct packet_case *c, const struct attempt *full)
{
	static struct rig_counts was;
	size_t end = c->verdict == XDP_PASS ? 0 : frame_ip_end(&full->in);
	const size_t step = place_emulated() ? EMULATED_STEP : 1;
	long long times = 0;

	rig_count(r, &was);
	for (size_t length = ETH_HLEN; length < full->in.length; length += step) {
		bool same = end && length >= end;

		if (!cut(r, c, full, length, same))
			return false; /* the others would say the same again */
		times += same;
	}
	if (count_is(r, c, &full->in, &was, times))
		return true;
	fprintf(stderr, "%s, cut short at every length: counted otherwise\n", c->name);
	return false;
}

void cases_run(struct rig *r, const struct packet_case *c, size_t n)
{
	static struct attempt a; /* too large for the stack of a test */
	size_t failed = 0;

	for (size_t k = 0; k < n; k++)
		if (!whole(r, &c[k], &a) || !every_cut(r, &c[k], &a))
			failed++;
	cr_expect(!failed, "%zu of %zu packets", failed, n);
}
