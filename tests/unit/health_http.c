// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Probes of types http and https: what is a right answer, and what no server can do to us.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/status.h"
#include "tests/support/probing.h"

TestSuite(health_http, .init = probing_begin, .fini = probing_end, .timeout = PROBING_LONGEST);

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nall is well\n"

static const struct http_case {
	const char *what;
	enum manner manner;
	const char *answer;
	struct poise_health_conf conf;
	bool good;
	const char *words;
} http_cases[] = {
	{"right", ANSWER, OK, {.path = "/healthz"}, true, "http 200"},
	{"head", ANSWER, "HTTP/1.1 204 x\r\n\r\n", {.method = POISE_METHOD_HEAD}, true, "http 204"},
	{"error",
	 ANSWER,
	 "HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n",
	 {0},
	 false,
	 "http 503, wanted 200-399"},
	{"redirect refused",
	 ANSWER,
	 "HTTP/1.1 302 x\r\nLocation: http://127.0.0.9/\r\n\r\n",
	 {.status = "200"},
	 false,
	 "http 302, wanted 200"},
	{"redirect not followed",
	 ANSWER,
	 "HTTP/1.1 302 x\r\nLocation: /\r\n\r\n",
	 {0},
	 true,
	 "http 302"},
	{"body", ANSWER, OK, {.body = "is well"}, true, "http 200"},
	{"wrong body",
	 ANSWER,
	 OK,
	 {.body = "is sick"},
	 false,
	 "http 200, but not with the body wanted"},
	{"regex", ANSWER, OK, {.regex = "^all (is|was) well$"}, true, "http 200"},
	{"regex, not at the beginning", ANSWER, OK, {.regex = "is|was"}, true, "http 200"},
	{"regex, in any case", ANSWER, OK, {.regex = "(?i)ALL is"}, true, "http 200"},
	{"wrong regex",
	 ANSWER,
	 OK,
	 {.regex = "^well"},
	 false,
	 "http 200, but not with the body wanted"},
	{"silent", SILENCE, "", {0}, false, "answer: timed out after 400ms"},
	{"dribbles", DRIBBLE, OK, {0}, false, "answer: timed out after 400ms"},
	{"reset", RESET, "", {0}, false, "connection broke off"},
	{"closed", ANSWER, "", {0}, false, "closed without an answer"},
	{"HTTP/0.9", ANSWER, "all is well\n", {0}, false, "the answer is no HTTP"},
	{"garbage", ANSWER, "\1\2\3\377", {0}, false, "the answer is no HTTP"},
	{"endless headers",
	 FOREVER,
	 "HTTP/1.1 200 OK\r\n|X-Y: 0123456789012345678901234567890\r\n",
	 {0},
	 false,
	 "more than 65536 bytes of headers"},
	{"endless body",
	 FOREVER,
	 "HTTP/1.1 200 OK\r\n\r\n|0123456789012345678901234567890123456789\n",
	 {.body = "not in there"},
	 false,
	 "http 200, but not with the body wanted"},
	{"endless body, status alone",
	 FOREVER,
	 "HTTP/1.1 200 OK\r\n\r\n|0123456789012345678901234567890123456789\n",
	 {0},
	 true,
	 "http 200"},
};
#define HTTP_CASES (sizeof(http_cases) / sizeof(http_cases[0]))

Test(health_http, http)
{
	for (size_t f = 0; f < 2; f++) {
		struct server servers[HTTP_CASES];

		probing_forget();
		for (size_t n = 0; n < HTTP_CASES; n++) {
			struct poise_health_conf conf = http_cases[n].conf;

			conf.timeout = probing_timeout(http_cases[n].words);
			servers[n] = (struct server){.manner = http_cases[n].manner,
						     .answer = http_cases[n].answer};
			server_tcp(&servers[n], probing_families[f]);
			probing_ask(POISE_CHECK_HTTP, probing_families[f], servers[n].port, &conf);
		}
		probing_run();
		for (size_t n = 0; n < HTTP_CASES; n++) {
			cr_expect_str_eq(probing_result(n)->words, http_cases[n].words, "%s: %s",
					 http_cases[n].what, probing_result(n)->words);
			cr_expect_eq(probing_result(n)->good, http_cases[n].good, "%s",
				     http_cases[n].what);
			server_stop(&servers[n]);
		}
	}
}

Test(health_http, lists_of_statuses)
{
	static const char *const wrong[] = {"",	      "20",	  "2000",    "200-",	"-200",
					    "200,",   "300-200",  "99",	     "600",	"200 - 299",
					    "200,,1", "200-1000", "two 200", "200-299x"};

	cr_assert(status_wanted("200-299,404", 200));
	cr_assert(status_wanted("200-299,404", 299));
	cr_assert(status_wanted("200-299,404", 404));
	cr_assert_not(status_wanted("200-299,404", 300));
	cr_assert_not(status_wanted("200-299,404", 199));
	for (size_t n = 0; n < sizeof(wrong) / sizeof(wrong[0]); n++)
		cr_assert_not(status_list_valid(wrong[n]), "%s", wrong[n]);
	cr_assert(status_list_valid("100-599"));
}
