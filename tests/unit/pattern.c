// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Regular expressions: what is found, what is refused, and that no expression takes long with any
 * text.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "maps/pattern.h"

#define BODY 65536

static const struct {
	const char *pattern, *text;
	enum pattern_found found;
} cases[] = {
	{"well", "all is well", PATTERN_PRESENT},
	{"^well", "all is well", PATTERN_ABSENT},
	{"^well$", "all is\nwell\n", PATTERN_PRESENT},
	{"a.b", "a\nb", PATTERN_ABSENT},
	{"^status: (ok|fine)$", "head\nstatus: fine\ntail", PATTERN_PRESENT},
	{"[[:digit:]]{3}", "ab12", PATTERN_ABSENT},
	{"(?i)OK", "ok", PATTERN_PRESENT},
	{"\\(\\?=[+]\\+", "(?=++", PATTERN_PRESENT},
	{"a{2}b*?c", "xaabbc", PATTERN_PRESENT},
	{"x|", "", PATTERN_PRESENT},
	{"a|b", "cb", PATTERN_PRESENT},
};

Test(pattern, what_is_found)
{
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++)
		cr_expect_eq(pattern_find(cases[n].pattern, cases[n].text, strlen(cases[n].text)),
			     cases[n].found, "%s in %s", cases[n].pattern, cases[n].text);
	cr_expect_eq(pattern_find("b", "a\0b", 3), PATTERN_PRESENT, "behind a NUL");
}

Test(pattern, what_is_refused)
{
	static const char *const wrong[] = {"(a*)\\1",
					    "a++",
					    "a{3}+",
					    "(?=a)b",
					    "(?>a*)b",
					    "(?<!a)b",
					    "(*UTF)a",
					    "(?R)",
					    "(?x)a* +b",
					    "(?ix)a",
					    "(?i-sx:a)",
					    "a{129}",
					    "(?:[a-z]{100}){29}",
					    "a{30000}b",
					    "a{30000,}b",

					    "a(",
					    "a)",
					    "a)|(b",
					    "[",
					    "*",
					    "\\",
					    "\\Qa",
					    "a{2,1}",
					    "(((a{1,500}){1,500}){1,500}){1,500}"};
	struct poise_error err;

	for (size_t n = 0; n < sizeof(wrong) / sizeof(wrong[0]); n++) {
		err = (struct poise_error){0};
		cr_expect_neq(pattern_check(wrong[n], &err), 0, "%s", wrong[n]);
		cr_expect(err.object[0] && err.message[0], "%s: %s", wrong[n], err.message);
	}
	cr_expect_eq(pattern_check("^(a|b)*c$", &err), 0);
	cr_expect_eq(pattern_check("^(?i)(?s-m:[0-9a-f]{64}) .{64}x{0,300}x{,300}$", &err), 0);
}

/* Each would take from seconds to longer than there is time. */
Test(pattern, none_takes_long, .timeout = 20)
{
	static const struct {
		const char *pattern;
		char of;
	} foolish[] = {
		{"(a+)+$", 'a'},
		{"(a|aa)*$", 'a'},
		{"(a*)*b", 'a'},
		{".*.*.*=.*", 'x'},
		{"x.*y", 'x'},
		{"(x?){99}y", 'x'},
		{"(?:x+x+)+y", 'x'},
		{"[a-z ]+: ok", 'x'},
		{"(x|x|x|x|x|x)*y", 'x'},
		{"x{128}y", 'x'},
		{"(x{64}|x{64})*y", 'x'},
	};
	static char body[BODY];

	for (size_t n = 0; n < sizeof(foolish) / sizeof(foolish[0]); n++) {
		memset(body, foolish[n].of, sizeof(body));
		body[BODY - 1] = '!';
		cr_assert_eq(pattern_check(foolish[n].pattern, NULL), 0, "%s", foolish[n].pattern);
		cr_expect_neq(pattern_find(foolish[n].pattern, body, sizeof(body)), PATTERN_PRESENT,
			      "%s", foolish[n].pattern);
	}
	cr_expect_eq(pattern_find("(a+)+$", memset(body, 'a', BODY - 1), BODY), PATTERN_ENDLESS);
}
