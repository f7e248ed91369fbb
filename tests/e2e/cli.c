// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The command `poise` as a user runs it, on an instance in the kernel: that it does what it says,
 * that its output reads back, that a terminal gets what a terminal needs.
 */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../maps/instance.h"
#include "../support/host.h"

static struct host h;

static void up(void)
{
	host_up(&h);
}

static void down(void)
{
	host_down(&h);
}

TestSuite(cli, .init = up, .fini = down, .timeout = TEST_LONGEST);

static void site(void)
{
	host_must(&h, "attach e0");
	host_must(&h, "service add web 192.0.2.10:80 '[2001:db8::10]:80' forward l2 track always");
	host_must(&h, "backend add web 10.0.0.1 10.0.0.2 10.0.0.3");
}

Test(cli, a_service_from_nothing)
{
	host_must(&h, "attach e0");
	cr_assert(!strncmp(h.out, "attached to e0 in native mode (a new instance)", 46), "%s",
		  h.out);
	host_must(&h, "service add web 192.0.2.10:80 forward l2");
	host_must(&h, "backend add web 10.0.0.1 10.0.0.2 weight 3");
	cr_assert(strstr(h.out, "poised is not running"), "%s", h.out);
	cr_assert_not(strstr(h.out, "cannot be reached"), "%s", h.out);
	host_must(&h, "show web --columns service,up,backend,state,weight,share");
	cr_assert_str_eq(h.out, " SERVICE   UP\n"
				" web      2/2\n"
				"   BACKEND   STATE         WEIGHT  SHARE\n"
				"   10.0.0.1  up unchecked       3   50 %\n"
				"   10.0.0.2  up unchecked       3   50 %\n");
	host_must(&h, "backend set web 10.0.0.1 weight default");
	host_must(&h, "show web --no-header --columns backend,share");
	cr_assert_str_eq(h.out, "   10.0.0.1  25 %\n   10.0.0.2  75 %\n");
	host_must(&h, "map check");
	host_must(&h, "reset");
	cr_assert_eq(host_poise(&h, "show"), 1);
	cr_assert(strstr(h.err, "there is no instance"), "%s", h.err);
}

/* A neighbour that does not answer: said at once, with its reason, and the change is done. */
Test(cli, a_backend_that_cannot_be_reached_is_added_and_named)
{
	site();
	host_must(&h, "backend add web 10.0.0.77");
	cr_assert(strstr(h.out, "backend 10.0.0.77 of web cannot be reached: "), "%s", h.out);
	host_must(&h, "show web --no-header --columns backend,state,share");
	cr_assert(strstr(h.out, "   10.0.0.3   up unchecked          33 %\n"), "%s", h.out);
	cr_assert(strstr(h.out, "   10.0.0.77  unresolved unchecked   0 %\n"), "%s", h.out);
	host_run(&h, "ip neigh replace 10.0.0.77 lladdr 02:00:00:00:00:77 dev e0 nud permanent");
	host_must(&h, "service set web idle 1h");
	host_must(&h, "show web --no-header --columns backend,state");
	cr_assert(strstr(h.out, "   10.0.0.77  up unchecked\n"), "%s", h.out);
}

Test(cli, every_look_has_text_and_one_json_object)
{
	static const char *const looks[] = {
		"status",
		"show",
		"show web",
		"stats",
		"stats web",
		"stats web 10.0.0.1",
		"flows",
		"flows web",
		"flows --count",
		"flows client 198.51.100.1",
		"service list",
		"map list",
		"map show members 1",
		"map show services",
		"map show meta --raw",
		"map check",
		"decap show",
		"version",
	};

	site();
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		enum json_tokener_error err;
		struct json_object *o;
		int expected = strcmp(looks[i], "status") ? 0 : 3; /* poised does not run */

		cr_assert_eq(host_poise(&h, "%s", looks[i]), expected, "%s: %s", looks[i], h.err);
		cr_assert_str_empty(h.err, "%s: %s", looks[i], h.err);
		cr_assert(*h.out, "%s", looks[i]);
		cr_assert_eq(host_poise(&h, "%s --json", looks[i]), expected, "%s: %s", looks[i],
			     h.err);
		o = json_tokener_parse_verbose(h.out, &err);
		cr_assert_eq(err, json_tokener_success, "%s: %s", looks[i], h.out);
		cr_assert_eq(json_object_get_type(o), json_type_object, "%s", looks[i]);
		cr_assert(json_object_object_get_ex(o, "poise", NULL), "%s: %s", looks[i], h.out);
		cr_assert_eq(strchr(h.out, '\n'), h.out + strlen(h.out) - 1, "%s: one line",
			     looks[i]);
		json_object_put(o);
	}
}

/* Every field of o, and of what is in it, in the document as `field`. Names that are data (reasons
 * of drops) are in the manual. */
static void documented(struct json_object *o, const char *text)
{
	char quoted[80];

	if (json_object_is_type(o, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(o); i++)
			documented(json_object_array_get_idx(o, i), text);
		return;
	}
	if (!json_object_is_type(o, json_type_object))
		return;
	json_object_object_foreach(o, key, value)
	{
		snprintf(quoted, sizeof(quoted), "`%s`", key);
		cr_assert(strstr(text, quoted), "docs/json.md has no %s", quoted);
		if (strcmp(key, "drops") && strcmp(key, "events"))
			documented(value, text);
	}
}

Test(cli, every_field_of_json_is_documented)
{
	static const char *const commands[] = {
		"status",
		"show",
		"stats",
		"flows",
		"flows --count",
		"flows client 198.51.100.1",
		"flows drop web",
		"service list",
		"map list",
		"map show members",
		"map show members 1 --raw",
		"map show table web",
		"map check",
		"save",
		"decap show",
		"decap check",
		"version",
		"service set web idle 1h",
		"diff $D/empty.yaml",
		"backend add web 10.0.0.300 2>&1",
	};
	static char text[65536];
	FILE *f = fopen("docs/json.md", "r");

	cr_assert_not_null(f, "run from the top of the source tree");
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	site();
	host_must(&h, "decap attach p0 192.0.2.10");
	host_file(&h, "empty.yaml", "services: []\n");
	setenv("D", h.dir, 1);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct json_object *o;

		host_poise(&h, "--json %s", commands[i]);
		o = json_tokener_parse(h.out);
		cr_assert_not_null(o, "%s: %s%s", commands[i], h.out, h.err);
		documented(o, text);
		json_object_put(o);
	}
}

Test(cli, save_in_a_fresh_instance_saves_the_same)
{
	char *first;

	site();
	host_must(&h, "service add dns 192.0.2.53:53/udp '192.0.2.53:*' policy source-hash "
		      "forward ipip source 10.0.0.254 udp 30s table-size 65537");
	host_must(&h, "backend add dns 10.0.0.4 weight 0 name four");
	host_must(&h, "backend add dns 10.0.0.6 forward l2 admin disabled");
	host_must(&h, "backend drain web 10.0.0.2");
	for (int all = 0; all < 2; all++) {
		host_must(&h, "save%s", all ? " --all" : "");
		first = strdup(h.out);
		host_file(&h, "saved.yaml", first);
		host_must(&h, "reset");
		host_must(&h, "apply %s/saved.yaml", h.dir);
		host_must(&h, "save%s", all ? " --all" : "");
		cr_assert_str_eq(h.out, first);
		host_must(&h, "apply %s/saved.yaml", h.dir);
		cr_assert(strstr(h.out, "it is what was in force"), "%s", h.out);
		host_must(&h, "diff %s/saved.yaml", h.dir);
		host_must(&h, "map check");
		free(first);
	}
}

Test(cli, apply_and_diff_agree)
{
	site();
	host_must(&h, "save > %s/a.yaml", h.dir);
	host_must(&h, "apply %s/a.yaml", h.dir); /* the file owns web now */
	host_must(&h, "service add handy 192.0.2.77:80 forward l2");
	host_run(&h,
		 "sed -e 's/10.0.0.3/10.0.0.4/' -e 's/policy: maglev/policy: source-hash/' "
		 "%s/a.yaml > %s/b.yaml",
		 h.dir, h.dir);
	cr_assert_eq(host_poise(&h, "diff %s/b.yaml", h.dir), 3, "%s", h.err);
	cr_assert(strstr(h.out, "+ backend web 10.0.0.4\n"), "%s", h.out);
	cr_assert(strstr(h.out, "- backend web 10.0.0.3\n"), "%s", h.out);
	cr_assert(strstr(h.out, "~ service web policy maglev -> source-hash\n"), "%s", h.out);
	cr_assert(strstr(h.out, "service handy was made by hand"), "%s", h.out);
	host_must(&h, "apply --dry-run %s/b.yaml", h.dir);
	cr_assert(strstr(h.out, "~ service web policy maglev -> source-hash\n"), "%s", h.out);
	cr_assert(strstr(h.out, "nothing was changed (--dry-run)."), "%s", h.out);
	host_must(&h, "apply --merge %s/b.yaml", h.dir);
	host_must(&h, "show web --no-header --columns backend");
	cr_assert(strstr(h.out, "10.0.0.3") && strstr(h.out, "10.0.0.4"), "%s", h.out);
	host_must(&h, "apply %s/b.yaml", h.dir);
	host_must(&h, "save");
	cr_assert(!strstr(h.out, "10.0.0.3") && strstr(h.out, "handy"), "%s", h.out);
	cr_assert_eq(host_poise(&h, "diff %s/b.yaml --json", h.dir), 3);
	cr_assert(strstr(h.out, "\"differences\":[]"), "only handy: %s", h.out);
	host_must(&h, "service del handy");
	host_must(&h, "diff %s/b.yaml", h.dir);
}

Test(cli, apply_attaches_the_file_s_interfaces)
{
	host_file(&h, "f.yaml", "interfaces: [ { device: e0, mode: generic } ]\nservices: []\n");
	host_must(&h, "apply %s/f.yaml", h.dir);
	cr_assert_eq(host_poise(&h, "status"), 3);
	cr_assert(strstr(h.out, "e0, generic mode"), "%s", h.out);
	host_run(&h, "ip link show dev e0");
	cr_assert(strstr(h.out, "xdpgeneric"), "%s", h.out);
	host_must(&h, "detach e0");
	host_run(&h, "ip link show dev e0");
	cr_assert_not(strstr(h.out, "xdp"), "%s", h.out);
}

Test(cli, the_boot_file_is_saved_compared_and_taken_by_a_new_instance)
{
	char path[64];

	snprintf(path, sizeof(path), "/etc/poise/%s.yaml", h.instance);
	site();
	host_must(&h, "save --boot");
	cr_assert(strstr(h.out, path), "%s", h.out);
	host_run(&h, "stat -c %%a %s", path);
	cr_assert_str_eq(h.out, "600\n", "the hash-key is a secret");
	host_must(&h, "diff -q");
	cr_assert_eq(host_poise(&h, "status"), 3);
	cr_assert_not(strstr(h.out, "differs from the boot file"), "%s", h.out);
	host_must(&h, "backend del web 10.0.0.1 --now");
	cr_assert_eq(host_poise(&h, "status"), 3);
	cr_assert(strstr(h.out, "differs from the boot file"), "%s", h.out);
	host_must(&h, "reset");
	host_must(&h, "attach e0");
	host_must(&h, "show web --no-header --columns backend,state");
	cr_assert_str_eq(h.out, "   10.0.0.1  up unchecked\n   10.0.0.2  up unchecked\n"
				"   10.0.0.3  up unchecked\n");
	host_must(&h, "diff");
	host_run(&h, "rm -f %s; rmdir /etc/poise 2>/dev/null", path);
}

Test(cli, wait_returns_when_drained_or_says_that_it_is_not)
{
	site();
	host_must(&h, "backend drain web 10.0.0.1 --wait=10s");
	cr_assert(strstr(h.out, "drained after "), "%s", h.out);
	host_must(&h, "backend enable web 10.0.0.1 --wait=10s");
	host_must(&h, "backend del web 10.0.0.1 --wait=10s");
	cr_assert(strstr(h.out, "gone after "), "%s", h.out);
	/* track auto counts no flows: nobody can say that it is drained before its deadline */
	host_must(&h, "service set web track auto");
	cr_assert_eq(host_poise(&h, "backend drain web 10.0.0.2 --wait=300ms --json"), 3, "%s",
		     h.err);
	cr_assert(strstr(h.out, "1 of 1 not drained after"), "%s", h.out);
	host_must(&h, "backend drain web 10.0.0.2 deadline 1s --wait=20s");
}

/* Flow words as packets would leave them: the k-th is of the first service's member[k], and in
 * state[k]. */
static void put_flows(const size_t *member, const __u64 *state, size_t n)
{
	struct instance_where where = {.name = h.instance};
	struct poise_error err = {0};
	struct instance *i;
	struct config *cfg;

	cr_assert_eq(instance_open(&i, &where, &err), 0, "%s", err.message);
	cr_assert_eq(instance_load(i, &cfg, &err), 0);
	for (size_t k = 0; k < n; k++)
		i->flows[k].word[0] = 0x12345678ull << POISE_WORD_TAG_SHIFT |
				      (__u64)cfg->service[0]->member[member[k]].id
					      << POISE_WORD_MEMBER_SHIFT |
				      state[k] << POISE_WORD_STATE_SHIFT |
				      (instance_stamp_now(i) & POISE_WORD_STAMP);
	config_free(cfg);
	instance_close(i);
}

Test(cli, flows_are_listed_and_filtered)
{
	site();
	put_flows((const size_t[]){0, 0, 2},
		  (const __u64[]){POISE_FLOW_EST, POISE_FLOW_NEW, POISE_FLOW_FIN}, 3);
	host_must(&h, "flows --count");
	cr_assert_str_eq(h.out, "3\n");
	host_must(&h, "flows web 10.0.0.1 --count");
	cr_assert_str_eq(h.out, "2\n");
	host_must(&h, "flows web state closing --no-header");
	cr_assert(!strncmp(h.out, "web      10.0.0.3  tcp       closing  ", 38), "%s", h.out);
	host_must(&h, "flows idle 1h --count");
	cr_assert_str_eq(h.out, "0\n");
	host_must(&h, "flows web --json");
	cr_assert(strstr(h.out, "\"state\":\"established\""), "%s", h.out);
	cr_assert(json_tokener_parse(h.out), "%s", h.out);
	cr_assert_eq(host_poise(&h, "flows state dead"), 2);
}

/* Words as packets would leave them are freed by the kernel's own program. */
Test(cli, flows_are_dropped_by_the_same_filters)
{
	size_t member[12];
	__u64 state[12];

	site();
	for (size_t k = 0; k < 12; k++) {
		member[k] = k % 3;
		state[k] = k < 6 ? POISE_FLOW_FIN : POISE_FLOW_RST;
	}
	put_flows(member, state, 12);
	cr_assert_eq(host_poise(&h, "flows drop"), 2);
	cr_assert(strstr(h.err, "flows drop: which flows? SERVICE, state STATE"), "%s", h.err);
	cr_assert_eq(host_poise(&h, "flows drop state rset"), 2);
	cr_assert(strstr(h.err, "did you mean \"reset\"?"), "%s", h.err);
	cr_assert_eq(host_poise(&h, "flows drop all web"), 2, "%s", h.err);
	cr_assert_eq(host_poise(&h, "flows drop nobody"), 1);
	host_must(&h, "flows --count");
	cr_assert_str_eq(h.out, "12\n", "a refused drop drops nothing");
	host_must(&h, "flows drop idle 1h");
	cr_assert_str_eq(h.out, "no such flow is recorded; nothing dropped.\n");
	host_must(&h, "flows drop web 10.0.0.1 state reset --json");
	cr_assert(strstr(h.out, "\"flows_dropped\":2"), "%s", h.out);
	host_must(&h, "flows web 10.0.0.1 --count");
	cr_assert_str_eq(h.out, "2\n");
	host_must(&h, "flows drop state closing");
	cr_assert(!strncmp(h.out, "6 flows dropped.\n", 17), "%s", h.out);
	host_must(&h, "flows drop web 10.0.0.2");
	cr_assert(!strncmp(h.out, "2 flows of backend 10.0.0.2 of web dropped.\n", 44), "%s",
		  h.out);
	host_must(&h, "flows drop all -q");
	cr_assert_str_empty(h.out);
	host_must(&h, "flows --count");
	cr_assert_str_eq(h.out, "0\n");
}

/* What a command that goes on has printed once there are so many lines with these words. */
static void watch(const char *command, const char *words, int lines)
{
	host_run(&h,
		 "%s > %s/seen & pid=$!; until test $(grep -c '%s' %s/seen) -ge %d; "
		 "do sleep 0.05; done; kill $pid; wait $pid; cat %s/seen",
		 command, h.dir, words, h.dir, lines, h.dir);
}

Test(cli, watch_paints_in_place_on_a_terminal_and_lines_elsewhere)
{
	site();
	watch("poise --instance $I show --watch=200ms", " SERVICE ", 2);
	cr_assert_not(strchr(h.out, '\033'), "%s", h.out);
	watch("poise --instance $I show --watch 200ms --json", "^{.*}$", 2);
	strchr(h.out, '\n')[1] = '\0';
	cr_assert(json_tokener_parse(h.out), "%s", h.out);
	watch("TERM=xterm script -qefc 'stty rows 4 cols 30; "
	      "poise --instance $I show --watch=200ms' /dev/null",
	      "SERVICE", 2);
	cr_assert(strstr(h.out, "\033[H"), "%s", h.out);
	cr_assert(strstr(h.out, "\033[2m"), "headings are faint on a terminal: %s", h.out);
	cr_assert_not(strstr(h.out, "POLICY"), "cut at the window's edge: %s", h.out);
	cr_assert_not(strstr(h.out, "10.0.0.1"), "cut at the window's end: %s", h.out);
}

Test(cli, colour_only_on_a_terminal_and_without_no_color)
{
	site();
	host_must(&h, "show");
	cr_assert_not(strchr(h.out, '\033'));
	host_run(&h, "script -qec 'poise --instance $I show' /dev/null");
	cr_assert(strstr(h.out, "\033[32mup unchecked\033[0m"), "%s", h.out);
	host_run(&h, "NO_COLOR=1 script -qec 'poise --instance $I show' /dev/null");
	cr_assert_not(strchr(h.out, '\033'), "%s", h.out);
	/* and so are short words */
	host_run(&h, "script -qec 'poise --instance $I back s web 10.0.0.1 wei 4' /dev/null");
	cr_assert_eq(h.status, 0, "%s", h.out);
	cr_assert_eq(host_poise(&h, "back s web 10.0.0.1 wei 4"), 2);
}

Test(cli, writers_wait_for_each_other)
{
	site();
	host_run(&h, "for n in 1 2 3 4 5 6 7 8; do poise --instance $I -q service add s$n "
		     "192.0.2.20:800$n forward l2 & done; wait");
	cr_assert_eq(h.status, 0);
	cr_assert_str_empty(h.err);
	host_must(&h, "service list --no-header | grep -c ' 192.0.2.20:800'");
	cr_assert_str_eq(h.out, "8\n");
	host_must(&h, "map check");
}

Test(cli, output_that_cannot_be_written_is_a_failure)
{
	site();
	cr_assert_eq(host_poise(&h, "show > /dev/full"), 1);
	cr_assert(strstr(h.err, "standard output"), "%s", h.err);
	cr_assert_eq(host_poise(&h, "show --json > /dev/full"), 1, "flushed before the end");
	cr_assert_eq(host_poise(&h, "service set web idle 1h > /dev/full"), 3,
		     "1: nothing changed");
	cr_assert(strstr(h.err, "the change is done"), "%s", h.err);
}

Test(cli, bash_completes_from_the_instance)
{
	site();
	host_run(&h, "source <(poise completion bash); COMP_LINE='poise --instance '$I' show '; "
		     "COMP_POINT=${#COMP_LINE}; _poise; echo ${COMPREPLY[*]}; "
		     "COMP_LINE='poise --instance '$I' backend drain web 10.0.0'; "
		     "COMP_POINT=${#COMP_LINE}; _poise; echo ${COMPREPLY[*]}; "
		     "COMP_LINE='poise service add x 1.2.3.4:80 forward '; "
		     "COMP_POINT=${#COMP_LINE}; _poise; echo ${COMPREPLY[*]}");
	cr_assert_str_eq(h.out, "web\n10.0.0.1 10.0.0.2 10.0.0.3\nnat l2 ipip gue local default\n",
			 "%s", h.err);
	for (int i = 0; i < 2; i++) {
		const char *shell = i ? "fish" : "zsh";

		host_must(&h, "completion %s > %s/c", shell, h.dir);
		if (host_run(&h, "command -v %s", shell) == 0)
			cr_assert_eq(host_run(&h, "%s -n %s/c", shell, h.dir), 0, "%s: %s", shell,
				     h.err);
		if (!h.status && !i) {
			host_run(&h,
				 "zsh -fc 'compdef() {}; _describe() { print -r -- ${(P)2} }; "
				 "source %s/c; words=(poise service add x 1.2.3.4:80 forward ip); "
				 "CURRENT=$#words; _poise'",
				 h.dir);
			cr_assert_str_eq(h.out, "ipip:\n", "%s", h.err);
		} else if (!h.status) {
			host_run(&h,
				 "fish -c 'source %s/c; complete -C \"poise service add x "
				 "1.2.3.4:80 forward ip\"'",
				 h.dir);
			cr_assert_str_eq(h.out, "ipip\n", "%s", h.err);
		}
	}
}

Test(cli, manual_pages_are_well_formed)
{
	if (host_run(&h, "command -v mandoc"))
		cr_skip_test("mandoc is not installed");
	host_run(&h, "mandoc -Tlint -Wwarning ${B:-build}/man/*.[58]");
	cr_assert_eq(h.status, 0, "%s%s", h.out, h.err);
	cr_assert_str_empty(h.out);
}

/* Three capabilities are enough for all of it, from nothing to nothing. */
Test(cli, works_with_three_capabilities)
{
	host_run(&h,
		 "setpriv --bounding-set=-all,+bpf,+net_admin,+perfmon bash -ec '"
		 "grep CapEff /proc/self/status; p=\"poise --instance $I -q\"; "
		 "$p attach e0; $p service add web 192.0.2.10:80 forward l2; "
		 "$p backend add web 10.0.0.1 10.0.0.2; $p backend drain web 10.0.0.1; "
		 "$p show --columns up --no-header; $p stats >/dev/null; $p flows --count; "
		 "$p map check; $p save >%s/s; $p detach e0; $p apply %s/s; "
		 "$p decap attach e0 192.0.2.10 || $p decap attach p0 192.0.2.10; $p reset'",
		 h.dir, h.dir);
	cr_assert_eq(h.status, 0, "%s%s", h.out, h.err);
	cr_assert_str_eq(h.out, "CapEff:\t000000c000001000\n 1/2\n0\n", "%s", h.err);
}

Test(cli, decap_on_the_backend_side)
{
	host_must(&h, "decap attach e0 192.0.2.10 2001:db8::10");
	cr_assert(strstr(h.out, "e0 unwraps packets for 2 addresses"), "%s", h.out);
	host_must(&h, "decap show");
	cr_assert(strstr(h.out, "e0 ") && strstr(h.out, "192.0.2.10") &&
			  strstr(h.out, "2001:db8::10"),
		  "%s", h.out);
	cr_assert_eq(host_poise(&h, "decap check"), 3, "%s", h.err);
	cr_assert(strstr(h.out, "192.0.2.10"), "the host has not got it: %s", h.out);
	cr_assert_eq(host_poise(&h, "decap check --json"), 3);
	cr_assert(json_tokener_parse(h.out), "%s", h.out);
	cr_assert_eq(host_poise(&h, "decap check e0 192.0.2.10"), 3, "%s", h.err);
	host_must(&h, "reset"); /* also where there is only a backend side */
	cr_assert_eq(host_poise(&h, "reset"), 1, "%s", h.out);
	host_must(&h, "decap attach e0 192.0.2.10");
	host_must(&h, "decap detach e0");
	cr_assert_eq(host_poise(&h, "decap check"), 3, "%s", h.err);
	cr_assert(strstr(h.out, "poise decap attach DEV"), "%s", h.out);
	host_must(&h, "decap show");
	cr_assert_not(strstr(h.out, "192.0.2.10"), "%s", h.out);
	cr_assert_eq(host_poise(&h, "decap detach e0"), 1);
	cr_assert_eq(host_poise(&h, "decap attach e0"), 2);
}

/* A file that cannot be committed leaves also the devices as they were. */
Test(cli, a_refused_file_changes_no_device)
{
	site();
	host_run(&h,
		 "{ echo 'interfaces: [ { device: e0, mode: generic } ]'; echo services:; "
		 "for i in $(seq 4096); do echo \"- { name: s$i, forward: l2, "
		 "listen: '10.9.$((i / 256)).$((i %% 256)):80' }\"; done; } > %s/many.yaml",
		 h.dir);
	cr_assert_eq(host_poise(&h, "apply %s/many.yaml", h.dir), 1);
	cr_assert(strstr(h.err, "4097 services, and this instance has room for 4096"), "%s", h.err);
	host_must(&h, "save");
	cr_assert(strstr(h.out, "{ device: e0 }"), "%s", h.out);
	host_run(&h, "echo 'interfaces: [ { device: e0, mode: generic } ]' > %s/mode.yaml", h.dir);
	host_must(&h, "apply %s/mode.yaml --allow-empty", h.dir);
	cr_assert(strstr(h.out, "1 device attached or changed"), "%s", h.out);
	host_must(&h, "save");
	cr_assert(strstr(h.out, "{ device: e0, mode: generic }"), "%s", h.out);
}

Test(cli, a_device_that_is_gone_is_a_problem_until_it_is_forgotten)
{
	site();
	host_run(&h, "ip link add x0 type veth peer name x1");
	host_must(&h, "attach x0");
	host_run(&h, "ip link del x0");
	cr_assert_eq(host_poise(&h, "status"), 3);
	cr_assert(strstr(h.out, "x0: poise was attached to it, and it is gone"), "%s", h.out);
	host_must(&h, "detach x0");
	host_poise(&h, "status");
	cr_assert_not(strstr(h.out, "x0"), "%s", h.out);
}

Test(cli, a_device_with_a_new_name_is_told)
{
	site();
	host_run(&h, "ip link add x0 type veth peer name x1");
	host_must(&h, "attach x0");
	host_run(&h, "ip link set x0 name y0");
	host_poise(&h, "status");
	cr_assert(strstr(h.out, "x0: is named y0 now (poise detach x0, "), "%s", h.out);
	host_must(&h, "detach x0");
	host_must(&h, "attach y0");
	host_poise(&h, "status");
	cr_assert_not(strstr(h.out, "x0"), "%s", h.out);
	cr_assert(strstr(h.out, "y0, native mode"), "%s", h.out);
	host_must(&h, "detach y0");
}
