// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The commands that change services and backends, on an instance of plain memory: what they do and
 * say. What they refuse: cli_refused.c; several as one: cli_batch.c.
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

TestSuite(commands, .init = start, .fini = stop);

/* How long backend three drains, to the nearest second: the change is stamped when committed. */
static int deadline_seconds(void)
{
	const struct poise_member_conf *m = &command_member(&c, "three")->conf;

	return (int)((m->deadline - m->since + 500000000) / 1000000000);
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

Test(commands, a_mode_that_cannot_go_on_with_flows_is_told)
{
	command(&c, "service set web forward gue");
	cr_assert(strstr(c.out, "established flows stay"), "%s%s", c.out, c.err);
	command(&c, "service set web forward nat");
	cr_assert(strstr(c.out, "established flows are cut"), "%s%s", c.out, c.err);
	command(&c, "service set web idle 2h");
	cr_assert(strstr(c.out, "established flows stay"), "%s%s", c.out, c.err);
	command(&c, "service unlisten web [2001:db8::10]:80");
	command(&c, "backend set web 10.0.0.1 weight 3");
	cr_assert(strstr(c.out, "established flows stay"), "%s%s", c.out, c.err);
	command(&c, "backend set web 10.0.0.1 forward local");
	cr_assert(strstr(c.out, "established flows are cut"), "%s%s", c.out, c.err);
	command(&c, "service set web forward ipip");
	cr_assert_neq(c.status, 0, "local beside ipip: %s", c.out);
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
	cr_assert_eq(command_member(&c, "10.0.0.3")->conf.weight, 7);
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
	cr_assert_eq(command_member(&c, "three")->conf.admin, POISE_DRAINING);
	cr_assert_eq(deadline_seconds(), 90);
	cr_assert_eq(command(&c, "backend enable all three"), 0, "%s", c.err);
	cr_assert_eq(command_member(&c, "three")->conf.admin, POISE_ENABLED);
	cr_assert_eq(command_member(&c, "three")->conf.deadline, 0);
	cr_assert_eq(command(&c, "backend disable web 10.0.0.1"), 0, "%s", c.err);
	cr_assert_eq(command_member(&c, "10.0.0.1")->conf.admin, POISE_DISABLED);
	cr_assert_eq(command(&c, "backend set web 10.0.0.1 admin default weight default"), 0, "%s",
		     c.err);
	cr_assert_eq(command_member(&c, "10.0.0.1")->conf.admin, POISE_ENABLED);
	cr_assert_eq(command_member(&c, "10.0.0.1")->conf.weight, 1);
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
	cr_assert_null(command_member(&c, "10.0.0.1"));
	cr_assert_not_null(command_member(&c, "10.0.0.2"));
	cr_assert_eq(command(&c, "backend add web 10.0.0.3"), 0, "%s", c.err);
	cr_assert_eq(command_member(&c, "10.0.0.3")->conf.weight, 1);
	cr_assert_eq(command(&c, "backend del web 10.0.0.2 10.0.0.3 --now"), 0, "%s", c.err);
	cr_assert_null(command_member(&c, "10.0.0.2"));
	cr_assert_null(command_member(&c, "10.0.0.3"));
}

Test(commands, a_backend_that_leaves_can_only_come_back_or_be_cut)
{
	c.cli.instance->counters[command_member(&c, "three")->id].opened =
		1; /* a live flow keeps it */
	cr_assert_eq(command(&c, "backend del web three"), 0, "%s", c.err);
	cr_assert(strstr(c.out, "1 flow stays"), "%s", c.out);
	cr_assert_eq(command_member(&c, "three")->conf.r.state, POISE_REC_LEAVING);
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
	cr_assert_eq(command_member(&c, "10.0.0.3")->conf.r.state, POISE_REC_USED);
	cr_assert_eq(command(&c, "backend del web 10.0.0.3"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "backend del web 10.0.0.3 --now"), 0, "%s", c.err);
	cr_assert_null(command_member(&c, "10.0.0.3"));
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

Test(commands, words_may_be_shortened_on_a_terminal)
{
	cr_assert_eq(command(&c, "ba s web thr wei 3"), 2);
	c.cli.abbreviate = true;
	cr_assert_eq(command(&c, "back s web three wei 3"), 0, "%s", c.err);
	cr_assert_eq(command_member(&c, "three")->conf.weight, 3);
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
		__u16 id = command_member(&c, flows[k].backend)->id;
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
	__u16 id = command_member(&c, "three")->id;

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
		before = command_saved(&c);
		status = command(&c, "%s", line);
		after = command_saved(&c);
		if (status)
			cr_assert_str_eq(after, before);
		free(after);
		free(before);
	}
	cr_assert_eq(status, 1, "16 services and web are one too many");
	cr_assert_eq(c.cli.error.code, POISE_E_FULL, "%s", c.err);
	cr_assert(strstr(c.err, "16"), "%s", c.err);
}
