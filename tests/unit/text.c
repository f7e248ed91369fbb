// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What users type as addresses, listeners, durations, sizes and names, and what they are told. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

#include "maps/text.h"
#include "tests/support/parsed.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct sample {
	const char *in;
	const char *out; /* formatted again, or the error */
};

Test(text, addresses)
{
	static const struct sample good[] = {
		{"192.0.2.1", "192.0.2.1"},
		{"0.0.0.0", "0.0.0.0"},
		{"2001:db8::1", "2001:db8::1"},
		{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
		{"::", "::"},
		{"64:ff9b::192.0.2.1", "64:ff9b::c000:201"},
	};
	static const struct sample bad[] = {
		{"", "\"\": not an IPv4 or IPv6 address"},
		{"10.0.0.300", "10.0.0.300: not an IPv4 or IPv6 address"},
		{"10.0.0", "10.0.0: not an IPv4 or IPv6 address"},
		{"10.0.0.01", "10.0.0.01: not an IPv4 or IPv6 address"},
		{" 10.0.0.1", "\" 10.0.0.1\": not an IPv4 or IPv6 address"},
		{"host.example", "host.example: not an IPv4 or IPv6 address"},
		{"2001:db8:::1", "2001:db8:::1: not an IPv4 or IPv6 address"},
		{"::ffff:192.0.2.1",
		 "::ffff:192.0.2.1: an IPv4 address in IPv6 form: write 192.0.2.1"},
		{"fe80::1%eth0", "fe80::1%eth0: an address with a zone (%DEVICE) is not supported"},
	};
	char buf[POISE_ADDR_TEXT];
	union poise_addr a;

	for (size_t i = 0; i < COUNT(good); i++) {
		cr_expect_eq(poise_parse_addr(good[i].in, &a, NULL), 0, "%s", good[i].in);
		cr_expect_str_eq(poise_format_addr(&a, buf, sizeof(buf)), good[i].out);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct poise_error err = {0};

		cr_expect_eq(poise_parse_addr(bad[i].in, &a, &err), -1, "%s", bad[i].in);
		cr_expect_eq(err.code, POISE_E_BAD_VALUE);
		cr_expect_str_eq(said(&err), bad[i].out);
	}
}

Test(text, an_ipv4_address_is_kept_mapped)
{
	static const __u8 mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1};
	union poise_addr a, six;

	cr_assert_eq(poise_parse_addr("192.0.2.1", &a, NULL), 0);
	cr_assert_arr_eq(a.b, mapped, sizeof(mapped));
	cr_assert(poise_addr_is4(&a));
	cr_assert_eq(poise_parse_addr("2001:db8::1", &six, NULL), 0);
	cr_assert_not(poise_addr_is4(&six));
	cr_assert_lt(poise_addr_cmp(&a, &six), 0);
	cr_assert_not(poise_addr_is_zero(&a));
	cr_assert_eq(poise_parse_addr("::", &a, NULL), 0);
	cr_assert(poise_addr_is_zero(&a));
}

Test(text, hosts)
{
	static const struct sample bad[] = {
		{"0.0.0.0", "0.0.0.0: not the address of a host"},
		{"0.1.2.3", "0.1.2.3: not the address of a host"},
		{"::", "::: not the address of a host"},
		{"224.0.0.1", "224.0.0.1: a multicast address"},
		{"239.255.255.255", "239.255.255.255: a multicast address"},
		{"ff02::1", "ff02::1: a multicast address"},
		{"255.255.255.255", "255.255.255.255: the broadcast address"},
	};
	union poise_addr a;

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct poise_error err = {0};

		cr_expect_eq(poise_parse_host(bad[i].in, &a, &err), -1, "%s", bad[i].in);
		cr_expect_str_eq(said(&err), bad[i].out);
	}
	cr_expect_eq(poise_parse_host("223.255.255.255", &a, NULL), 0);
	cr_expect_eq(poise_parse_host("240.0.0.1", &a, NULL), 0);
}

#define NO_ENDPOINT "not an IPv4 or IPv6 address, or ADDR:PORT, or [IPv6]:PORT"
#define NO_PORT	    "what follows the colon is not a port (0..65535)"

Test(text, endpoints)
{
	static const struct sample good[] = {
		{"10.0.0.1", "10.0.0.1"},
		{"10.0.0.1:8080", "10.0.0.1:8080"},
		{"10.0.0.1:0", "10.0.0.1"},
		{"10.0.0.1:65535", "10.0.0.1:65535"},
		{"2001:db8::7", "2001:db8::7"},
		{"[2001:db8::7]", "2001:db8::7"},
		{"[2001:db8::7]:443", "[2001:db8::7]:443"},
	};
	static const struct sample bad[] = {
		{"10.0.0.1:", "10.0.0.1:: " NO_PORT},
		{"10.0.0.1:65536", "10.0.0.1:65536: " NO_PORT},
		{"10.0.0.1:080", "10.0.0.1:080: " NO_PORT},
		{"10.0.0.1:-1", "10.0.0.1:-1: " NO_PORT},
		{"10.0.0.1:4294967376", "10.0.0.1:4294967376: " NO_PORT},
		{"[10.0.0.1]:80", "[10.0.0.1]:80: " NO_ENDPOINT},
		{"[2001:db8::7", "[2001:db8::7: " NO_ENDPOINT},
		{"[2001:db8::7]80", "[2001:db8::7]80: " NO_ENDPOINT},
		{"[]:80", "[]:80: " NO_ENDPOINT},
		{":80", ":80: " NO_ENDPOINT},
		{"host:80", "host: not an IPv4 or IPv6 address"},
	};
	char buf[POISE_ENDPOINT_TEXT];
	union poise_addr a;
	__u16 port;

	for (size_t i = 0; i < COUNT(good); i++) {
		cr_expect_eq(poise_parse_endpoint(good[i].in, &a, &port, NULL), 0, "%s",
			     good[i].in);
		cr_expect_str_eq(poise_format_endpoint(&a, port, buf, sizeof(buf)), good[i].out);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct poise_error err = {0};

		cr_expect_eq(poise_parse_endpoint(bad[i].in, &a, &port, &err), -1, "%s", bad[i].in);
		cr_expect_str_eq(said(&err), bad[i].out);
	}
}

Test(text, listeners)
{
	static const struct sample good[] = {
		{"192.0.2.10:80", "192.0.2.10:80"},
		{"192.0.2.10:80/tcp", "192.0.2.10:80"},
		{"192.0.2.10:53/udp", "192.0.2.10:53/udp"},
		{"[2001:db8::10]:443", "[2001:db8::10]:443"},
		{"[2001:db8::10]:443/udp", "[2001:db8::10]:443/udp"},
		{"192.0.2.10:*", "192.0.2.10:0"},
		{"192.0.2.10:0/udp", "192.0.2.10:0/udp"},
	};
	static const struct sample bad[] = {
		{"192.0.2.10", "192.0.2.10: a listener needs a port"},
		{"2001:db8::10", "2001:db8::10: a listener needs a port"},
		{"192.0.2.10:80/sctp", "192.0.2.10:80/sctp: a listener's protocol is /tcp or /udp"},
		{"192.0.2.10:80/", "192.0.2.10:80/: a listener's protocol is /tcp or /udp"},
		{"192.0.2.10:http", "192.0.2.10:http: what follows the colon is not a port "
				    "(1..65535, 0 or * for every port)"},
		{"0.0.0.0:80", "0.0.0.0: not the address of a host"},
		{"", "\"\": not a listener: ADDR:PORT[/tcp|/udp], IPv6 in [ ]"},
	};
	char buf[POISE_ENDPOINT_TEXT];
	struct poise_listener_conf l;

	for (size_t i = 0; i < COUNT(good); i++) {
		cr_expect_eq(poise_parse_listener(good[i].in, &l, NULL), 0, "%s", good[i].in);
		cr_expect_str_eq(poise_format_listener(&l, buf, sizeof(buf)), good[i].out);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct poise_error err = {0};

		cr_expect_eq(poise_parse_listener(bad[i].in, &l, &err), -1, "%s", bad[i].in);
		cr_expect_str_eq(said(&err), bad[i].out);
	}
	cr_assert_eq(poise_parse_listener("192.0.2.10:80/udp", &l, NULL), 0);
	cr_assert_eq(l.port, htons(80));
	cr_assert_eq(l.proto, IPPROTO_UDP);
}

Test(text, a_listener_without_a_port_is_told_how)
{
	struct poise_listener_conf l;
	struct poise_error err = {0};

	poise_parse_listener("2001:db8::10", &l, &err);
	cr_assert_str_eq(err.remedy, "write [2001:db8::10]:80, or [2001:db8::10]:0 for every port");
}

Test(text, durations)
{
	static const struct {
		const char *in;
		__u64 ms;
		const char *out;
	} good[] = {
		{"0", 0, "0"},
		{"500ms", 500, "500ms"},
		{"2s", 2000, "2s"},
		{"5m", 300000, "5m"},
		{"2h15m", 8100000, "2h15m"},
		{"90m", 5400000, "1h30m"},
		{"3d", 259200000, "3d"},
		{"1d2h3m4s5ms", 93784005, "1d2h3m4s5ms"},
		{"0s", 0, "0"},
		{"18446744073709551615ms", ~0ULL, "213503982334d14h25m51s615ms"},
	};
	static const char *const bad[] = {
		"",
		"s",
		"5x",
		"5 s",
		"-5s",
		"1.5s",
		"2m3h",
		"5m5m",
		"5m3",
		"5S",
		"+5s",
		"m5",
		"18446744073709551616ms",
		"213503982335d",
	};
	struct poise_error err = {0};
	char buf[POISE_WORD_TEXT];
	__u64 ms;

	for (size_t i = 0; i < COUNT(good); i++) {
		cr_expect_eq(poise_parse_duration(good[i].in, &ms, NULL), 0, "%s", good[i].in);
		cr_expect_eq(ms, good[i].ms, "%s", good[i].in);
		cr_expect_str_eq(poise_format_duration(ms, buf, sizeof(buf)), good[i].out);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		cr_expect_eq(poise_parse_duration(bad[i], &ms, &err), -1, "%s", bad[i]);
		cr_expect_str_eq(err.message, "not a duration (500ms, 2s, 5m, 2h15m, 3d)");
	}
	cr_expect_eq(poise_parse_duration("30", &ms, &err), -1);
	cr_expect_str_eq(said(&err), "30: a duration needs a unit");
	cr_expect_str_eq(err.remedy, "write 30s for seconds, 30m for minutes");
}

Test(text, sizes)
{
	static const struct {
		const char *in;
		__u64 value;
		const char *out;
	} good[] = {
		{"0", 0, "0"},	       {"4099", 4099, "4099"},	 {"64k", 65536, "64k"},
		{"64K", 65536, "64k"}, {"65536", 65536, "64k"},	 {"4M", 4 << 20, "4M"},
		{"1G", 1 << 30, "1G"}, {"2T", 2ULL << 40, "2T"}, {"65537", 65537, "65537"},
	};
	static const char *const bad[] = {
		"", "k", "64kB", "064", "6.4k", "-1", "64 k", "18446744073709551616", "16777216T",
	};
	struct poise_error err = {0};
	char buf[POISE_WORD_TEXT];
	__u64 value;

	for (size_t i = 0; i < COUNT(good); i++) {
		cr_expect_eq(poise_parse_size(good[i].in, &value, NULL), 0, "%s", good[i].in);
		cr_expect_eq(value, good[i].value, "%s", good[i].in);
		cr_expect_str_eq(poise_format_size(value, buf, sizeof(buf)), good[i].out);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		cr_expect_eq(poise_parse_size(bad[i], &value, &err), -1, "%s", bad[i]);
		cr_expect_str_eq(err.message, "not a size (4099, 64k, 4M, 1G)");
	}
}

#define LONGEST	 "a23456789012345678901234567890123456789012345678901234567890123"
#define TOO_LONG "a234567890123456789012345678901234567890123456789012345678901234"

Test(text, names)
{
	static const char *const good[] = {
		"web", "a", "7", "web-1", "web_1.example", "1.2.3.4a", "dead", "ALL", LONGEST,
	};
	static const char *const bad[] = {
		"",	"all",	  "default",  "-web",	    ".web", "_web",	 "we b",
		"web/", "web:80", "10.0.0.1", "10.0.0.300", "1.2",  "w\xc3\xa9", TOO_LONG,
	};
	struct poise_error err = {0};

	for (size_t i = 0; i < COUNT(good); i++)
		cr_expect_eq(poise_check_name(good[i], NULL), 0, "%s", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		cr_expect_eq(poise_check_name(bad[i], NULL), -1, "%s", bad[i]);
	poise_check_name("10.0.0.300", &err);
	cr_expect_str_eq(said(&err), "10.0.0.300: reads like an address: no name");
}

Test(text, did_you_mean)
{
	static const char *const words[] = {"policy",	     "forward", "table-size",
					    "drain-timeout", "idle",	"udp"};
	static const struct sample near[] = {
		{"polcy", "policy"},	     {"policies", "policy"},
		{"Policy", "policy"},	     {"foward", "forward"},
		{"tablesize", "table-size"}, {"ilde", "idle"},
		{"drain", "drain-timeout"},  {"upd", "udp"},
	};
	static const char *const far[] = {"", "x", "weight", "zzzzzz", "health"};

	for (size_t i = 0; i < COUNT(near); i++) {
		const char *word = poise_closest(near[i].in, words, COUNT(words));

		cr_assert_not_null(word, "%s", near[i].in);
		cr_expect_str_eq(word, near[i].out);
	}
	for (size_t i = 0; i < COUNT(far); i++)
		cr_expect_null(poise_closest(far[i], words, COUNT(words)), "%s", far[i]);
}

Test(text, numbers_for_humans)
{
	static const struct {
		double value;
		const char *out;
	} human[] = {
		{0, "0"},	  {0.25, "0.2"},    {9.96, "10.0"},  {310, "310"},
		{999, "999"},	  {999.4, "999"},   {999.5, "1.0k"}, {1200, "1.2k"},
		{41234, "41.2k"}, {99949, "99.9k"}, {99951, "100k"}, {118000000, "118M"},
		{999499, "999k"}, {999500, "1.0M"}, {4.1e9, "4.1G"}, {-1500, "-1.5k"},
	};
	static const struct {
		__u64 seconds;
		const char *out;
	} age[] = {
		{0, "0s"},	{59, "59s"},   {60, "1m"},	 {119, "1m"},	{3600, "1h"},
		{3660, "1h1m"}, {86400, "1d"}, {273600, "3d4h"}, {86459, "1d"},
	};
	char buf[POISE_WORD_TEXT];

	for (size_t i = 0; i < COUNT(human); i++)
		cr_expect_str_eq(poise_format_human(human[i].value, buf, sizeof(buf)),
				 human[i].out);
	for (size_t i = 0; i < COUNT(age); i++)
		cr_expect_str_eq(poise_format_age(age[i].seconds, buf, sizeof(buf)), age[i].out);
}

Test(text, quoting)
{
	static const struct sample samples[] = {
		{"web", "web"},
		{"", "\"\""},
		{"we b", "\"we b\""},
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"a\nb\x1b[31m", "\"a\\x0ab\\x1b[31m\""},
		{"caf\xc3\xa9", "\"caf\xc3\xa9\""},
		{"\xff\xc3(", "\"\\xff\\xc3(\""},
		{"\xc2\x9b", "\"\\xc2\\x9b\""},		 /* a control character in UTF-8 */
		{"\xed\xa0\x80", "\"\\xed\\xa0\\x80\""}, /* a surrogate */
		{"\xc0\xaf", "\"\\xc0\\xaf\""},		 /* longer than needed */
		{"a long text that does not fit into it", "\"a long text that do...\""},
	};
	char buf[28];

	for (size_t i = 0; i < COUNT(samples); i++)
		cr_expect_str_eq(poise_quote(samples[i].in, buf, sizeof(buf)), samples[i].out);
}

Test(text, errors_grow_outwards)
{
	struct poise_error err = {.file = "web.yaml", .line = 14};
	union poise_addr a;

	poise_parse_addr("10.0.0.300", &a, &err);
	poise_error_of(&err, "backend");
	cr_assert_eq(poise_error_about(&err, "service \"%s\"", "web"), -1);
	cr_assert_str_eq(said(&err), "service \"web\": backend 10.0.0.300: not an IPv4 or IPv6 "
				     "address (web.yaml:14)");
	cr_assert_str_eq(poise_code_word(err.code), "bad-value");
	cr_assert_eq(poise_code_status(err.code), 1);
	cr_assert_eq(poise_code_status(POISE_E_USAGE), 2);
}

Test(text, errors_never_overflow)
{
	struct poise_error err = {0};
	char longest[2 * sizeof(err.remedy)];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	poise_fail_text(&err, POISE_E_BAD_VALUE, longest, "%s", longest);
	for (int i = 0; i < 5; i++)
		poise_error_about(&err, "%s", longest);
	poise_error_remedy(&err, "%s", longest);
	cr_assert_eq(strlen(err.object), sizeof(err.object) - 1);
	cr_assert_eq(strlen(err.message), sizeof(err.message) - 1);
	cr_assert_eq(strlen(err.remedy), sizeof(err.remedy) - 1);
	/* and without an error nothing happens */
	cr_assert_eq(poise_fail(NULL, POISE_E_FULL, "full"), -1);
	cr_assert_eq(poise_error_about(NULL, "it"), -1);
}
