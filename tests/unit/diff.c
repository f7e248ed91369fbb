// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The difference of two configurations in words, line by line. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/text.h"
#include "tests/support/parsed.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void collect(void *ctx, char sign, const char *line)
{
	char *all = ctx;

	sprintf(all + strlen(all), "%c %s\n", sign, line);
}

#define WEB	"services:\n  - name: web\n    forward: l2\n    listen: 192.0.2.1:80\n"
#define WEB_ONE WEB "    backends: [ 10.0.0.1 ]\n"

static const struct {
	const char *from, *to, *lines;
	int differences;
} cases[] = {
	{"", "", "", 0},
	{WEB_ONE, WEB_ONE, "", 0},
	/* spelled otherwise, the same */
	{WEB_ONE,
	 "services: [ { name: web, listen: [ 192.0.2.1:80/tcp ], forward: dr, idle: 135m, "
	 "backends: [ { address: 10.0.0.1, weight: 1 } ] } ]\n",
	 "", 0},
	{"", WEB_ONE,
	 "+ service web forward l2\n"
	 "+ listener web 192.0.2.1:80\n"
	 "+ backend web 10.0.0.1\n",
	 3},
	{WEB_ONE, "", "- service web\n", 1},
	{WEB, WEB "    policy: sh\n    table-size: 4k\n    source: 192.0.2.9\n",
	 "~ service web policy maglev -> source-hash\n"
	 "~ service web table-size auto -> 4096\n"
	 "~ service web source auto -> 192.0.2.9\n",
	 3},
	{WEB_ONE,
	 WEB "    backends: [ { address: 10.0.0.2, weight: 3, name: two }, 2001:db8::1 ]\n",
	 "- backend web 10.0.0.1\n"
	 "+ backend web 10.0.0.2 weight 3 name two\n"
	 "+ backend web 2001:db8::1\n",
	 3},
	{WEB "    source: [ 192.0.2.9, 192.0.2.8 ]\n    source6: [ \"2001:db8::1\" ]\n",
	 WEB "    source: 192.0.2.9\n    source6: [ \"2001:db8::1\", \"2001:db8::2\" ]\n",
	 "~ service web source 192.0.2.9,192.0.2.8 -> 192.0.2.9\n"
	 "~ service web source6 2001:db8::1 -> 2001:db8::1,2001:db8::2\n",
	 2},
	{WEB "    allow: [ 10.0.0.0/8, \"2001:db8::/32\" ]\n    deny: [ 10.1.0.0/16 ]\n",
	 WEB "    allow: 10.0.0.0/8,192.0.2.1\n    deny: none\n",
	 "- allow web 2001:db8::/32\n"
	 "- deny web 10.1.0.0/16\n"
	 "+ allow web 192.0.2.1/32\n",
	 3},
	{"", WEB "    deny: [ 10.0.0.0/8 ]\n",
	 "+ service web forward l2\n"
	 "+ deny web 10.0.0.0/8\n"
	 "+ listener web 192.0.2.1:80\n",
	 3},
	{WEB_ONE, WEB "    backends: [ { address: 10.0.0.1, weight: 2, forward: l2 } ]\n",
	 "~ backend web 10.0.0.1 weight 1 -> 2\n"
	 "~ backend web 10.0.0.1 forward default -> l2\n",
	 2},
	/* a backend's port is of its identity */
	{WEB_ONE, WEB "    backends: [ 10.0.0.1:80 ]\n",
	 "- backend web 10.0.0.1\n"
	 "+ backend web 10.0.0.1:80\n",
	 2},
	{WEB, "services: [ { name: web, forward: l2, listen: [ 192.0.2.1:80/udp ] } ]\n",
	 "- listener web 192.0.2.1:80\n"
	 "+ listener web 192.0.2.1:80/udp\n",
	 2},
	{"services: [ { name: b, forward: l2, listen: 192.0.2.2:80 } ]\n",
	 "services: [ { name: a, forward: l2, listen: 192.0.2.1:80 }, "
	 "{ name: c, forward: ipip, listen: 192.0.2.3:80 } ]\n",
	 "+ service a forward l2\n"
	 "+ listener a 192.0.2.1:80\n"
	 "- service b\n"
	 "+ service c forward ipip\n"
	 "+ listener c 192.0.2.3:80\n",
	 5},
	{"hash-key: 00000000000000000000000000000001\nlimits: { paths: 9 }\ninterfaces: [ a, b ]\n",
	 "hash-key: 00000000000000000000000000000002\nlimits: { flow-slots: 8M }\n"
	 "interfaces: [ { device: b, mode: native }, { device: c, shared: yes } ]\n",
	 "~ hash-key\n"
	 "~ limits flow-slots 4M -> 8M\n"
	 "~ limits paths 9 -> 1024\n"
	 "- interface a\n"
	 "~ interface b mode auto -> native\n"
	 "+ interface c shared yes\n",
	 6},
	/* what the second does not say is no difference */
	{"hash-key: 00000000000000000000000000000001\nlimits: { paths: 9 }\ninterfaces: [ a ]\n",
	 "", "", 0},
};

Test(diff, in_words)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *from = parsed(cases[i].from), *to = parsed(cases[i].to);
		char lines[2048] = "";

		cr_expect_eq(config_diff(from, to, collect, lines), cases[i].differences, "%s",
			     cases[i].lines);
		cr_expect_str_eq(lines, cases[i].lines);
		config_free(from);
		config_free(to);
	}
}

Test(diff, a_leaving_member_is_gone)
{
	struct config *from = parsed(WEB_ONE), *to = parsed(WEB_ONE);
	char lines[256] = "";

	to->service[0]->member[0].id = 1;
	config_member_leave(to->service[0], &to->service[0]->member[0], 1);
	cr_expect_eq(config_diff(from, to, collect, lines), 1);
	cr_expect_eq(config_diff(to, from, collect, lines), 1);
	cr_expect_eq(config_diff(to, to, collect, lines), 0);
	cr_expect_str_eq(lines, "- backend web 10.0.0.1\n+ backend web 10.0.0.1\n");
	config_free(from);
	config_free(to);
}
