// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the commands that change services and backends refuse: each mistake is said once, with what
 * to do, in the same words to people and programs, and what is in force stays byte-equal.
 */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command.h"

static struct command c;

static void start(void)
{
	command_start_web(&c);
}

static void stop(void)
{
	command_stop(&c);
}

TestSuite(cli_refused, .init = start, .fini = stop);

struct refused {
	const char *line;
	int status;
	const char *text;   /* of the first line on standard error, behind "poise: " */
	const char *remedy; /* part of the second; NULL none is asked for */
};

static const struct refused refused[] = {
	/* the command line itself: 2 */
	{"frobnicate", 2, "unknown command \"frobnicate\"", NULL},
	{"shw", 2, "unknown command \"shw\"", "did you mean \"show\"?"},
	{"service", 2, "service: what to do is missing", "usage: poise service list|add"},
	{"service ad web", 2, "service: unknown command \"ad\"", "did you mean \"add\"?"},
	{"service add", 2, "service add: NAME is missing",
	 "usage: poise service add NAME LISTENER"},
	{"service add x", 2, "service add: LISTENER is missing (ADDR:PORT[/tcp|/udp])", "usage: "},
	{"service add x 192.0.2.1:80 ploicy maglev", 2, "service add: unknown key \"ploicy\"",
	 "did you mean \"policy\"?"},
	{"service add x 192.0.2.1:80 policy", 2,
	 "service add: policy: its value is missing (maglev|source-hash|", "usage: "},
	{"service set web", 2, "service set: KEY VALUE is missing", "usage: "},
	{"service set web idle 1h syn 5s idle 2h", 2, "service set: idle is said twice", "usage: "},
	{"flows web state establishd", 2, "unknown state \"establishd\"",
	 "did you mean \"established\"?"},
	{"flows web stat new", 1, "service \"web\": backend stat: no such backend",
	 "did you mean \"state\"?"},
	{"flows web idle", 2, "flows: the duration of idle is missing", "usage: "},
	{"flows idle 5", 1, "", NULL},
	{"flows source", 2, "flows: the address of source is missing", "usage: "},
	{"flows drop source 10.0.0.9", 2, "unknown word \"source\"", NULL},
	{"flows client", 2, "flows client: ADDR is missing", "usage: poise flows client ADDR"},
	{"flows client nobody", 1, "client nobody: not an IPv4 or IPv6 address", NULL},
	{"flows client 192.0.2.1 wbe", 1, "service wbe: no such service", "did you mean web?"},
	{"flows client 192.0.2.1 192.0.2.9:80", 1, "no service listens on 192.0.2.9:80", NULL},
	{"flows client 192.0.2.1 web twice", 2, "flows client: \"twice\" is one word too many",
	 "usage: "},
	{"flows drop", 2, "flows drop: which flows? SERVICE, state STATE, idle DURATION, or all",
	 "usage: "},
	{"flows drop all web", 2, "flows drop: all is every service's, web one's", "usage: "},
	{"flows drop idle 0", 2, "flows drop: which flows? ", "usage: "},
	{"service rename web", 2, "service rename: NEW is missing", "usage: "},
	{"service rename web a b", 2, "service rename: \"b\" is one word too many", "usage: "},
	{"service del web --watch", 2, "service del: --watch is not an option of this command",
	 "usage: "},
	{"backend add web", 2, "backend add: ADDR[:PORT] is missing", "usage: "},
	{"backend set web 10.0.0.1 wieght 2", 2,
	 "backend set: \"wieght\" is neither a backend nor a key", "did you mean weight?"},
	{"backend drain web", 2, "backend drain: BACKEND is missing", "usage: "},
	{"backend drain all", 2, "backend drain: BACKEND is missing", "usage: "},
	{"backend drain web three deadline", 2,
	 "backend drain: the duration of deadline is missing", "usage: "},
	{"backend disable web three more", 1, "service \"web\": backend more: no such backend",
	 NULL},
	/* what it asks for: 1 */
	{"service add web 192.0.2.1:80 forward l2", 1,
	 "service \"web\": there is a service of this name already", NULL},
	{"service add x 192.0.2.10:80 forward l2", 1,
	 "service \"x\": listener 192.0.2.10:80: belongs to service \"web\"", NULL},
	{"service add x 192.0.2.300:80 forward l2", 1,
	 "service \"x\": 192.0.2.300: not an IPv4 or IPv6 address", NULL},
	{"service add x 192.0.2.1:99999 forward l2", 1, "service \"x\": ", NULL},
	{"service add all 192.0.2.1:80 forward l2", 1, NULL, NULL},
	{"service set web idle 30", 1, "service \"web\": idle 30: ", NULL},
	{"service set web forward local", 1,
	 "service \"web\": backend 10.0.0.1: not of the family of listener ", NULL},
	{"service set web policy p2c track off", 1,
	 "service \"web\": track off: no hash finds the backend that policy p2c has chosen again",
	 "track auto records every flow"},
	{"service set web policy magelv", 1, "service \"web\": policy magelv: ", "maglev"},
	{"service set nope idle 1h", 1, "service nope: no such service", NULL},
	{"service listen web 192.0.2.10:80", 1, NULL, NULL},
	{"service unlisten web 192.0.2.11:80", 1, NULL, NULL},
	{"service unlisten web 192.0.2.10:80 [2001:db8::10]:80", 1, "service \"web\": ", NULL},
	{"service rename web all", 1, NULL, NULL},
	{"backend add web 10.0.0.300", 1,
	 "service \"web\": backend 10.0.0.300: not an IPv4 or IPv6 address", NULL},
	{"backend add web 10.0.0.9 10.0.0.1", 1,
	 "service \"web\": backend 10.0.0.1: is a backend of the service already", NULL},
	{"backend add web 10.0.0.9 weight 65536", 1,
	 "service \"web\": backend 10.0.0.9: weight 65536: out of range: 0 to 65535", NULL},
	{"backend add web 10.0.0.9:8080", 1, "service \"web\": backend 10.0.0.9:8080: ", NULL},
	{"backend add web 10.0.0.9 name three", 1, NULL, NULL},
	{"backend del web 10.0.0.9", 1, "service \"web\": backend 10.0.0.9: no such backend", NULL},
	{"backend drain all 10.0.0.9", 1, "no service has a backend \"10.0.0.9\"", NULL},
	{"backend drain web three deadline 30", 1, NULL, NULL},
};

Test(cli_refused, what_is_wrong_is_said_once_and_changes_nothing)
{
	char *before = command_saved(&c);

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct refused *r = &refused[i];
		char *after, *second;

		command(&c, "%s", r->line);
		cr_assert_eq(c.status, r->status, "%s: %d: %s", r->line, c.status, c.err);
		cr_assert_str_empty(c.out, "%s: %s", r->line, c.out);
		cr_assert(!strncmp(c.err, "poise: ", 7), "%s: %s", r->line, c.err);
		if (r->text)
			cr_assert(!strncmp(c.err + 7, r->text, strlen(r->text)), "%s: %s", r->line,
				  c.err);
		second = strchr(c.err, '\n') + 1;
		if (r->remedy)
			cr_assert(strstr(second, r->remedy), "%s: %s", r->line, c.err);
		cr_assert(!*second || second[strlen(second) - 1] == '\n', "%s: %s", r->line, c.err);
		after = command_saved(&c);
		cr_assert_str_eq(after, before, "%s", r->line);
		free(after);
	}
	free(before);
}

Test(cli_refused, errors_in_json_have_the_same_words)
{
	struct json_object *o, *e, *v;

	command(&c, "backend add web 10.0.0.300 --json");
	cr_assert_eq(c.status, 1);
	o = json_tokener_parse(c.err);
	cr_assert(json_object_object_get_ex(o, "error", &e), "%s", c.err);
	cr_assert(json_object_object_get_ex(e, "code", &v));
	cr_assert_str_eq(json_object_get_string(v), "bad-value");
	cr_assert(json_object_object_get_ex(e, "object", &v));
	cr_assert_str_eq(json_object_get_string(v), "service \"web\": backend 10.0.0.300");
	cr_assert(json_object_object_get_ex(e, "message", &v));
	cr_assert_str_eq(json_object_get_string(v), "not an IPv4 or IPv6 address");
	cr_assert_not(json_object_object_get_ex(e, "file", NULL), "absent = not known");
	json_object_put(o);
}
