// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Keys of a check: which types take each, that the others refuse it by its name, by command and in
 * files; and files that cannot be read, which are told of and taken.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maps/option.h"
#include "tests/support/command.h"
#include "tests/support/parsed.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct command c;

static void start(void)
{
	command_start_web(&c);
}

static void stop(void)
{
	command_stop(&c);
}

TestSuite(health_keys, .init = start, .fini = stop);

/* What a check of the type cannot do without. */
static const struct {
	const char *word, *key, *value;
} types[] = {
	{"auto", NULL, NULL},	   {"none", NULL, NULL},  {"tcp", NULL, NULL},
	{"http", NULL, NULL},	   {"https", NULL, NULL}, {"udp", "send", "x"},
	{"dns", "query", "x.y"},   {"icmp", NULL, NULL},  {"grpc", "tls", "yes"},
	{"exec", "command", "/x"},
};

#define ANYBODY " auto tcp http https udp dns icmp grpc exec "
#define PORTS	" auto tcp http https udp dns grpc exec "
#define WEB	" http https "
#define TLS	" https grpc "

static const struct key {
	const char *word, *value, *takers;
	const char *with, *with_value; /* what it says nothing without; NULL: nothing */
} keys[] = {
	{"port", "81", PORTS, NULL, NULL},
	{"via", "direct", ANYBODY, NULL, NULL},
	{"interval", "3s", ANYBODY, NULL, NULL},
	{"fast-interval", "400ms", ANYBODY, NULL, NULL},
	{"timeout", "900ms", ANYBODY, NULL, NULL},
	{"rise", "5", ANYBODY, NULL, NULL},
	{"fall", "5", ANYBODY, NULL, NULL},
	{"jitter", "20", ANYBODY, NULL, NULL},
	{"hold-down", "6s", ANYBODY, NULL, NULL},
	{"hold-down-max", "6m", ANYBODY, NULL, NULL},
	{"method", "OPTIONS", WEB, NULL, NULL},
	{"path", "/x", WEB, NULL, NULL},
	{"host", "x.y", " http https grpc ", NULL, NULL},
	{"status", "204", WEB, NULL, NULL},
	{"body", "x", WEB, NULL, NULL},
	{"body-regex", "x", WEB, NULL, NULL},
	{"http2", "yes", WEB, NULL, NULL},
	{"tls", "yes", " grpc ", NULL, NULL},
	{"verify", "no", TLS, NULL, NULL},
	{"ca", "/x", TLS, NULL, NULL},
	{"cert", "/x", TLS, NULL, NULL},
	{"key", "/x", TLS, "cert", "/x"},
	{"send", "x", " udp ", NULL, NULL},
	{"expect", "x", " udp ", NULL, NULL},
	{"query", "x.y", " dns grpc ", NULL, NULL},
	{"query-type", "AAAA", " dns ", NULL, NULL},
	{"command", "/x", " exec ", NULL, NULL},
};

/* " KEY VALUE" for a command line, or ", KEY: 'VALUE'" for a file; nothing if it is `but`. */
static const char *pair(bool file, const char *key, const char *value, const char *but)
{
	static char text[3][64];
	static int turn;
	char *at = text[turn++ % 3];

	at[0] = '\0';
	if (key && (!but || strcmp(key, but) != 0))
		snprintf(at, sizeof(text[0]), file ? ", %s: '%s'" : " %s %s", key, value);
	return at;
}

/* Taken, or refused in the words. */
static void check_command(const char *type, const char *needs, const struct key *k, bool taken,
			  const char *words)
{
	cr_assert_eq(command(&c, "health off web"), 0, "%s", c.err);
	command(&c, "health set web %s%s%s%s", type, needs, pair(false, k->word, k->value, NULL),
		taken ? pair(false, k->with, k->with_value, NULL) : "");
	cr_expect_eq(c.status, taken ? 0 : 1, "%s %s: %s%s", type, k->word, c.out, c.err);
	cr_expect(taken || strstr(c.err, words), "%s %s: %s", type, k->word, c.err);
}

static void check_file(const char *type, const char *needs, const struct key *k, bool taken,
		       const char *words)
{
	struct poise_error err = {0};
	struct config *cfg;
	char text[512];

	snprintf(text, sizeof(text),
		 "services:\n  - name: web\n    forward: l2\n    listen: 192.0.2.1:80\n"
		 "    health: { type: %s%s%s%s }\n",
		 type, needs, pair(true, k->word, k->value, NULL),
		 taken ? pair(true, k->with, k->with_value, NULL) : "");
	cfg = config_parse("f.yaml", text, strlen(text), &err);
	cr_expect_eq(!!cfg, taken, "%s%s", text, said(&err));
	cr_expect(taken || (strstr(said(&err), words) && strstr(said(&err), "(f.yaml:5)")), "%s%s",
		  text, said(&err));
	config_free(cfg);
}

Test(health_keys, each_is_taken_by_its_types_and_refused_by_all_others)
{
	char type[16], words[96];

	for (size_t t = 0; t < COUNT(types); t++)
		for (size_t k = 0; k < COUNT(keys); k++) {
			const char *word = types[t].word, *but = keys[k].word;
			bool taken;

			snprintf(type, sizeof(type), " %s ", word);
			taken = strstr(keys[k].takers, type);
			snprintf(words, sizeof(words), "%s says nothing to a check of type %s",
				 keys[k].word, word);
			check_command(word, pair(false, types[t].key, types[t].value, but),
				      &keys[k], taken, words);
			check_file(word, pair(true, types[t].key, types[t].value, but), &keys[k],
				   taken, words);
		}
}

Test(health_keys, the_table_above_has_all_of_them)
{
	for (const struct option *o = option_first(OPTION_HEALTH); o; o = option_next(o)) {
		bool found = !strcmp(o->key, "type");

		for (size_t k = 0; k < COUNT(keys) && !found; k++)
			found = !strcmp(keys[k].word, o->key);
		cr_expect(found, "%s", o->key);
	}
}

/* Where another key makes it idle. */
Test(health_keys, what_another_key_makes_idle_is_refused)
{
	static const struct {
		const char *keys, *error;
	} cases[] = {
		{"grpc ca /x", "health: ca says nothing to a check of type grpc without tls\n"
			       "       say tls yes\n"},
		{"grpc verify no",
		 "health: verify says nothing to a check of type grpc without tls"},
		{"https ca /x verify no", "health: ca says nothing where verify no believes any"},
		{"https key /x", "health: key says nothing without cert"},
		{"http method HEAD body x", "health: body: an answer to HEAD has no body"},
		{"https method HEAD body-regex x",
		 "health: body-regex: an answer to HEAD has no body"},
	};

	for (size_t k = 0; k < COUNT(cases); k++) {
		cr_expect_eq(command(&c, "health set web %s", cases[k].keys), 1, "%s",
			     cases[k].keys);
		cr_expect(strstr(c.err, cases[k].error), "%s: %s", cases[k].keys, c.err);
	}
}

/* ---- files ------------------------------------------------------------------------------------*/

Test(health_keys, a_file_that_cannot_be_read_is_told_of_and_taken)
{
	cr_assert_eq(command(&c, "health set web https ca /no/ca.pem cert /tmp"), 0, "%s", c.err);
	cr_expect(strstr(c.out, "  service web: health ca /no/ca.pem: No such file or directory; "
				"until poised can read it, checks by it fail\n"),
		  "%s", c.out);
	cr_expect(strstr(c.out, "health cert /tmp: Is a directory;"), "%s", c.out);
	cr_assert_eq(command(&c, "backend set web three health-ca ca.pem"), 0, "%s", c.err);
	cr_expect(strstr(c.out, "  service web: backend three: health-ca ca.pem: not a path from "
				"/ on: poised looks where it was started; "),
		  "%s", c.out);
	cr_assert_eq(command(&c, "backend set web three health-ca default"), 0, "%s", c.err);
	cr_assert_eq(command(&c, "health set web exec command '/no/check now'"), 0, "%s", c.err);
	cr_expect(strstr(c.out, "health command /no/check: No such file or directory; until "
				"poised can run it, checks by it fail\n"),
		  "%s", c.out);
	cr_assert_eq(command(&c, "service set web notify '/no/notify all'"), 0, "%s", c.err);
	cr_expect(strstr(c.out, "service web: notify /no/notify: No such file or directory; until "
				"poised can run it, nobody is told\n"),
		  "%s", c.out);
}

Test(health_keys, one_that_can_be_is_not)
{
	cr_assert_eq(command(&c, "health set web https ca /proc/self/exe"), 0, "%s", c.err);
	cr_expect_not(strstr(c.out, "until poised can"), "%s", c.out);
	cr_assert_eq(command(&c, "health set web exec command 'true /no/file'"), 0, "%s", c.err);
	cr_expect_not(strstr(c.out, "until poised can"), "%s", c.out);
}

Test(health_keys, a_batch_tells_the_line)
{
	char path[] = "/tmp/poise-keys-XXXXXX", place[64];
	FILE *f = fdopen(mkstemp(path), "w");

	cr_assert(f && fputs("\nhealth set web https ca /no/ca.pem\n", f) >= 0 && !fclose(f));
	cr_assert_eq(command(&c, "batch %s", path), 0, "%s", c.err);
	snprintf(place, sizeof(place), "checks by it fail (%s:2)\n", path);
	cr_expect(strstr(c.out, place), "%s: %s", place, c.out);
	unlink(path);
}

struct told {
	char text[512];
};

static void tell(void *ctx, const struct config_service *svc, const struct config_member *m,
		 const char *key, const char *path, const char *why)
{
	struct told *t = ctx;
	size_t used = strlen(t->text);

	snprintf(t->text + used, sizeof(t->text) - used, "%s:%d %s %s: %s\n", svc->conf.name,
		 m ? m->line : svc->health_line, key, path, why);
}

Test(health_keys, a_file_has_the_lines_of_its_own_check_and_of_backends)
{
	struct config *cfg = parsed("services:\n"
				    "  - name: web\n"
				    "    listen: 192.0.2.1:80\n"
				    "    forward: l2\n"
				    "    health: { type: https, ca: /no/1 }\n"
				    "    backends:\n"
				    "      - 10.0.0.1\n"
				    "      - { address: 10.0.0.2, health-ca: /no/2 }\n");
	struct told t = {""};

	config_files(cfg->service[0], tell, &t);
	cr_expect_str_eq(t.text, "web:5 ca /no/1: No such file or directory\n"
				 "web:8 ca /no/2: No such file or directory\n");
	config_free(cfg);
}
