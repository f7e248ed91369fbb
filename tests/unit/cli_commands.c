// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The commands that change services and backends, on an instance of plain memory: what they say,
 * and that a refused one leaves what is in force byte-equal.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "../support/command.h"

static struct command c;

static void start(void)
{
	command_start(&c);
	command(&c, "service add web 192.0.2.10:80 [2001:db8::10]:80 forward ipip track always");
	cr_assert_eq(c.status, 0, "%s", c.err);
	command(&c, "backend add web 10.0.0.1 10.0.0.2 10.0.0.3 weight 2");
	cr_assert_eq(c.status, 0, "%s", c.err);
	command(&c, "backend set web 10.0.0.3 name three");
	cr_assert_eq(c.status, 0, "%s", c.err);
}

static void stop(void)
{
	command_stop(&c);
}

TestSuite(commands, .init = start, .fini = stop);

/* What is in force, as a file. */
static char *saved(void)
{
	struct config *cfg;
	char *text;

	cr_assert_eq(instance_load(c.cli.instance, &cfg, NULL), 0);
	text = config_save(cfg, 0);
	config_free(cfg);
	return text;
}

static const struct config_member *member(const char *text)
{
	static struct config *cfg;
	struct config_service *svc;

	config_free(cfg);
	cr_assert_eq(instance_load(c.cli.instance, &cfg, NULL), 0);
	svc = config_service_find(cfg, "web", NULL);
	return svc ? config_member_find(svc, text, NULL) : NULL;
}

/* How long backend three drains, to the nearest second: the change is stamped when committed. */
static int deadline_seconds(void)
{
	const struct poise_member_conf *m = &member("three")->conf;

	return (int)((m->deadline - m->since + 500000000) / 1000000000);
}

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

Test(commands, what_is_wrong_is_said_once_and_changes_nothing)
{
	char *before = saved();

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
		after = saved();
		cr_assert_str_eq(after, before, "%s", r->line);
		free(after);
	}
	free(before);
}

Test(commands, errors_in_json_have_the_same_words)
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

Test(commands, a_change_prints_one_sentence_and_quiet_prints_none)
{
	command(&c, "service set web idle 1h");
	cr_assert(!strncmp(c.out,
			   "service web: idle is now 1h; established flows stay where they "
			   "are.\n",
			   60),
		  "%s", c.out);
	command(&c, "service set web idle 2h -q");
	cr_assert_eq(c.status, 0);
	cr_assert_str_empty(c.out);
	cr_assert_str_empty(c.err);
	command(&c, "service set web idle 3h -q --json");
	cr_assert_eq(c.status, 0);
	cr_assert_str_empty(c.out);
}

/* As if `apply` had made web and all that is in it. */
static void give_to_file(void)
{
	struct config *cfg;
	struct config_service *svc;

	cr_assert_eq(instance_lock(c.cli.instance, NULL), 0);
	cr_assert_eq(instance_load(c.cli.instance, &cfg, NULL), 0);
	svc = config_service_find(cfg, "web", NULL);
	svc->conf.r.owner = POISE_OWNER_FILE;
	for (size_t i = 0; i < svc->members; i++)
		svc->member[i].conf.r.owner = POISE_OWNER_FILE;
	for (unsigned int i = 0; i < svc->conf.listeners; i++)
		svc->conf.listener[i].owner = POISE_OWNER_FILE;
	cr_assert_eq(instance_commit(c.cli.instance, cfg, NULL, NULL), 0);
	instance_unlock(c.cli.instance);
	config_free(cfg);
}

/* apply undoes what the file says otherwise, and leaves what a hand added. */
Test(commands, what_an_apply_would_undo_is_said_and_nothing_else)
{
	static const struct {
		const char *line, *note, *not ;
	} changes[] = {
		{"service set web idle 1h", "the next apply of it undoes this", "leaves"},
		{"backend set web three weight 4", "the next apply of it undoes this", "leaves"},
		{"backend add web 10.0.0.9", "leaves what was added by hand", "undoes"},
		{"service listen web 192.0.2.11:80", "leaves what was added by hand", "undoes"},
		{"backend set web 10.0.0.9 weight 4", NULL, "undoes"},
		{"backend set web 10.0.0.9 three weight 5", "undoes this", NULL},
		{"service unlisten web 192.0.2.11:80", NULL, "undoes"},
		{"backend del web 10.0.0.9", NULL, "undoes"},
		{"backend del web three", "the next apply of it undoes this", NULL},
	};

	give_to_file();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		cr_assert_eq(command(&c, "%s", changes[i].line), 0, "%s", c.err);
		cr_expect(!changes[i].note || strstr(c.out, changes[i].note), "%s: %s",
			  changes[i].line, c.out);
		cr_expect(!changes[i].not || !strstr(c.out, changes[i].not ), "%s: %s",
			  changes[i].line, c.out);
	}
}

Test(commands, a_backend_that_is_said_twice_is_meant_once)
{
	cr_assert_eq(command(&c, "backend drain all three 10.0.0.3"), 0, "%s", c.err);
	cr_assert(!strncmp(c.out, "backend three of web drains: ", 29), "%s", c.out);
	cr_assert_eq(command(&c, "backend enable web three 10.0.0.3 three"), 0, "%s", c.err);
	cr_assert(!strncmp(c.out, "backend three of web enabled", 28), "%s", c.out);
}

Test(commands, a_service_answers_to_its_listeners)
{
	cr_assert_eq(command(&c, "service set 192.0.2.10:80 idle 1h"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "backend set [2001:db8::10]:80 three weight 7"), 0, "%s", c.err);
	cr_assert_eq(member("10.0.0.3")->conf.weight, 7);
}

Test(commands, ipvs_words_are_taken_and_shown_in_ours)
{
	cr_assert_eq(command(&c, "service add old 192.0.2.9:53/udp policy sh forward tun"), 0, "%s",
		     c.err);
	cr_assert_eq(command(&c, "show old --no-header --columns policy,mode"), 0);
	cr_assert_str_eq(c.out, " source-hash  ipip\n");
	cr_assert_eq(command(&c, "service set old policy mh"), 0, "%s", c.err);
	cr_assert(strstr(c.out, "policy is now maglev;"), "%s", c.out);
	cr_assert_eq(command(&c, "backend set web three weight default"), 0, "%s", c.err);
	cr_assert(strstr(c.out, "weight is now 1;"), "%s", c.out);
}

Test(commands, drain_enable_disable_and_default_reset)
{
	cr_assert_eq(command(&c, "backend drain web three 10.0.0.1 deadline 90s"), 0, "%s", c.err);
	cr_assert(!strncmp(c.out,
			   "2 backends drain: no new flows, 0 flows stay until they end, at "
			   "most 1m30s.\n",
			   70),
		  "%s", c.out);
	cr_assert_eq(member("three")->conf.admin, POISE_DRAINING);
	cr_assert_eq(deadline_seconds(), 90);
	cr_assert_eq(command(&c, "backend enable all three"), 0, "%s", c.err);
	cr_assert_eq(member("three")->conf.admin, POISE_ENABLED);
	cr_assert_eq(member("three")->conf.deadline, 0);
	cr_assert_eq(command(&c, "backend disable web 10.0.0.1"), 0, "%s", c.err);
	cr_assert_eq(member("10.0.0.1")->conf.admin, POISE_DISABLED);
	cr_assert_eq(command(&c, "backend set web 10.0.0.1 admin default weight default"), 0, "%s",
		     c.err);
	cr_assert_eq(member("10.0.0.1")->conf.admin, POISE_ENABLED);
	cr_assert_eq(member("10.0.0.1")->conf.weight, 1);
}

Test(commands, set_admin_draining_has_the_service_s_deadline)
{
	cr_assert_eq(command(&c, "service set web drain-timeout 10s"), 0);
	cr_assert_eq(command(&c, "backend set web three admin draining"), 0, "%s", c.err);
	cr_assert_eq(deadline_seconds(), 10);
}

Test(commands, a_deleted_backend_that_is_idle_is_gone_and_can_come_back)
{
	cr_assert_eq(command(&c, "backend del web three 10.0.0.1"), 0, "%s", c.err);
	cr_assert_null(member("10.0.0.1"));
	cr_assert_not_null(member("10.0.0.2"));
	cr_assert_eq(command(&c, "backend add web 10.0.0.3"), 0, "%s", c.err);
	cr_assert_eq(member("10.0.0.3")->conf.weight, 1);
	cr_assert_eq(command(&c, "backend del web 10.0.0.2 10.0.0.3 --now"), 0, "%s", c.err);
	cr_assert_null(member("10.0.0.2"));
	cr_assert_null(member("10.0.0.3"));
}

Test(commands, a_backend_that_leaves_can_only_come_back_or_be_cut)
{
	c.cli.instance->counters[member("three")->id].opened = 1; /* a live flow keeps it */
	cr_assert_eq(command(&c, "backend del web three"), 0, "%s", c.err);
	cr_assert(strstr(c.out, "1 flow stays"), "%s", c.out);
	cr_assert_eq(member("three")->conf.r.state, POISE_REC_LEAVING);
	cr_assert_eq(command(&c, "backend enable web three"), 1);
	cr_assert(!strncmp(c.err,
			   "poise: service \"web\": backend three: is leaving\n"
			   "       poise backend add web 10.0.0.3 brings it back\n",
			   60),
		  "%s", c.err);
	cr_assert_eq(command(&c, "backend set web three weight 4"), 1);
	cr_assert_eq(command(&c, "backend drain all three"), 1);
	cr_assert_eq(command(&c, "service drain web"), 0, "%s", c.err);
	cr_assert(!strncmp(c.out, "2 backends drain", 16), "%s", c.out);
	cr_assert_eq(command(&c, "backend add web 10.0.0.3"), 0, "%s", c.err);
	cr_assert_eq(member("10.0.0.3")->conf.r.state, POISE_REC_USED);
	cr_assert_eq(command(&c, "backend del web 10.0.0.3"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "backend del web 10.0.0.3 --now"), 0, "%s", c.err);
	cr_assert_null(member("10.0.0.3"));
}

Test(commands, json_of_show_has_the_words_of_the_file)
{
	struct json_object *o, *list, *svc, *b, *v;

	cr_assert_eq(command(&c, "show web --json"), 0, "%s", c.err);
	o = json_tokener_parse(c.out);
	cr_assert(json_object_object_get_ex(o, "services", &list), "%s", c.out);
	cr_assert_eq(json_object_array_length(list), 1);
	svc = json_object_array_get_idx(list, 0);
	cr_assert(json_object_object_get_ex(svc, "table_size", &v));
	cr_assert_eq(json_object_get_int(v), 4099);
	cr_assert(json_object_object_get_ex(svc, "flows", &v), "track always counts");
	cr_assert(json_object_object_get_ex(svc, "backends", &list));
	b = json_object_array_get_idx(list, 2);
	cr_assert(json_object_object_get_ex(b, "name", &v));
	cr_assert_str_eq(json_object_get_string(v), "three");
	cr_assert(json_object_object_get_ex(b, "share_ratio", &v));
	cr_assert_float_eq(json_object_get_double(v), 1.0 / 3, 0.001);
	cr_assert_not(json_object_object_get_ex(b, "packets_per_second", NULL), "no daemon");
	cr_assert_not(json_object_object_get_ex(b, "latency", NULL));
	json_object_put(o);
	cr_assert_eq(command(&c, "service set web track auto"), 0);
	cr_assert_eq(command(&c, "show web --json"), 0);
	cr_assert_not(strstr(c.out, "\"flows\""), "a hash service has no gauge: %s", c.out);
}

/* ---- batch --------------------------------------------------------------------------------*/

static const char *file(const char *content)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/poise-cli-%d.txt", getpid());
	f = fopen(path, "w");
	cr_assert_not_null(f);
	fputs(content, f);
	fclose(f);
	return path;
}

Test(commands, a_batch_is_one_transaction)
{
	__u64 before = c.cli.instance->meta->committed;
	const char *path = file("# a rolling change\n"
				"poise service add dns 192.0.2.53:53/udp forward l2\n"
				"\n"
				"backend add dns 10.0.1.1 10.0.1.2\n"
				"backend set web three weight 9; # not a comment sign behind ;\n");

	cr_assert_eq(command(&c, "batch %s", path), 1, "9; is no weight");
	path = file("# a rolling change\n"
		    "poise service add dns 192.0.2.53:53/udp forward l2\n"
		    "\n"
		    "backend add dns 10.0.1.1 10.0.1.2   # two of them\n"
		    "backend set web 'three' weight 9\n");
	cr_assert_eq(command(&c, "batch %s", path), 0, "%s", c.err);
	cr_assert(!strncmp(c.out, "3 commands done as one: ", 24), "%s", c.out);
	cr_assert_eq(c.cli.instance->meta->committed, before + 1);
	cr_assert_eq(member("three")->conf.weight, 9);
	unlink(path);
}

struct bad_batch {
	const char *content;
	int status;
	const char *error; /* with %s for the file */
};

Test(commands, a_batch_with_a_mistake_changes_nothing_and_names_the_line)
{
	static const struct bad_batch bad[] = {
		{"service add dns 192.0.2.53:53 forward l2\nbackend add dns 10.0.0.300\n", 1,
		 "poise: service \"dns\": backend 10.0.0.300: not an IPv4 or IPv6 address (%s:2)"},
		{"service add dns 192.0.2.53:53 forward l2\n\n\nfrob\n", 2,
		 "poise: unknown command \"frob\" (%s:4)"},
		{"service add dns 192.0.2.53:53 forward l2\nshow\n", 2,
		 "poise: show cannot stand in a batch (%s:2)"},
		{"service add dns 192.0.2.53:53 forward l2\nbatch x\n", 2,
		 "poise: batch cannot stand in a batch (%s:2)"},
		{"service add 'dns 192.0.2.53:53\n", 1, "poise: a ' is not closed (%s:1)"},
		{"backend drain web three --wait\n", 2,
		 "poise: backend drain: --wait cannot stand in a batch"},
		{"backend drain web three --json\n", 2,
		 "poise: backend drain: --json is not an option of this command"},
		{"ser add dns 192.0.2.53:53 forward l2\n", 2,
		 "poise: unknown command \"ser\" (%s:1)"},
		/* only the whole is valid or not */
		{"\nservice add dns 192.0.2.53:53 track off policy p2c\n", 1,
		 "poise: service \"dns\": track off: no hash finds the backend that policy p2c has "
		 "chosen again (%s:2)"},
		{"service set web quic yes\nbackend set web three server-id 9\n"
		 "backend add web 10.0.0.9 server-id 9\n",
		 1,
		 "poise: service \"web\": backend 10.0.0.9: backend 10.0.0.3 has server-id 9 too "
		 "(%s:3)"},
	};
	char *before = saved();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *path = file(bad[i].content);
		char expected[512], *after;

		snprintf(expected, sizeof(expected), bad[i].error, path);
		cr_assert_eq(command(&c, "batch %s", path), bad[i].status, "%s: %d: %s",
			     bad[i].content, c.status, c.err);
		cr_assert(!strncmp(c.err, expected, strlen(expected)), "%s: %s", expected, c.err);
		after = saved();
		cr_assert_str_eq(after, before, "%s", bad[i].content);
		free(after);
		unlink(path);
	}
	free(before);
}

Test(commands, words_may_be_shortened_on_a_terminal)
{
	cr_assert_eq(command(&c, "ba s web thr wei 3"), 2);
	c.cli.abbreviate = true;
	cr_assert_eq(command(&c, "back s web three wei 3"), 0, "%s", c.err);
	cr_assert_eq(member("three")->conf.weight, 3);
	cr_assert_eq(command(&c, "ba s web three weight 3"), 2);
	cr_assert(strstr(c.err, "ambiguous: backend, batch"), "%s", c.err);
}

/* What looks uneven under least-conn: live flows are alike, those that ever began are not. */
Test(commands, live_flows_and_those_that_ever_began_are_told_apart)
{
	static const struct {
		const char *backend;
		__u64 opened, closed;
	} flows[] = {{"10.0.0.1", 4000, 3993}, {"10.0.0.2", 90, 83}};
	char *manual;
	FILE *f;
	size_t size = 0;

	for (int k = 0; k < 2; k++) {
		__u16 id = member(flows[k].backend)->id;
		char line[80];

		c.cli.instance->counters[id].opened = flows[k].opened;
		c.cli.instance->counters[id].closed = flows[k].closed;
		cr_assert_eq(command(&c, "stats web %s --json", flows[k].backend), 0, "%s", c.err);
		snprintf(line, sizeof(line), "\"flows\":7,\"flows_opened_total\":%llu",
			 flows[k].opened);
		cr_assert(strstr(c.out, line), "%s: %s", line, c.out);
	}
	f = fopen("docs/man/poise.8.in", "r");
	cr_assert_not_null(f);
	manual = NULL;
	cr_assert_gt(getdelim(&manual, &size, '\0', f), 0);
	fclose(f);
	cr_assert(strstr(manual, ".Dq least-conn is uneven"));
	free(manual);
}

Test(commands, service_del_refuses_live_flows_and_names_them)
{
	__u16 id = member("three")->id;

	c.cli.instance->counters[id].opened = 12;
	c.cli.instance->counters[id].closed = 5;
	cr_assert_eq(command(&c, "service del web"), 1);
	cr_assert(!strncmp(c.err, "poise: service \"web\": 7 live flows\n", 35), "%s", c.err);
	cr_assert(strstr(c.err, "--now"), "%s", c.err);
	cr_assert_eq(command(&c, "service del web --now"), 0, "%s", c.err);
	cr_assert(!strncmp(c.out, "service web deleted with 3 backends; 7 flows are cut.\n", 50),
		  "%s", c.out);
}

Test(commands, a_full_instance_says_which_limit)
{
	char line[64];
	int status = 0;
	char *before, *after;

	for (int i = 0; i < 16 && !status; i++) {
		snprintf(line, sizeof(line), "service add s%d 192.0.2.20:%d forward l2", i,
			 1000 + i);
		before = saved();
		status = command(&c, "%s", line);
		after = saved();
		if (status)
			cr_assert_str_eq(after, before);
		free(after);
		free(before);
	}
	cr_assert_eq(status, 1, "16 services and web are one too many");
	cr_assert_eq(c.cli.error.code, POISE_E_FULL, "%s", c.err);
	cr_assert(strstr(c.err, "16"), "%s", c.err);
}
