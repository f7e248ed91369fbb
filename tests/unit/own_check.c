// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A backend's own keys of its check: each stands for its service's, is saved, read back and told
 * apart, and is refused, with its line, where it does not go with the others.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/config.h"
#include "maps/pairs.h"

#define WEB                                                                                        \
	"services:\n"                                                                              \
	"  - name: web\n"                                                                          \
	"    listen: 192.0.2.10:80\n"                                                              \
	"    forward: l2\n"                                                                        \
	"    health: { type: %s }\n"                                                               \
	"    backends:\n"                                                                          \
	"      - 10.0.0.1\n"                                                                       \
	"      - { address: 10.0.0.2, %s }\n"
#define LONG                                                                                       \
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567" \
	"8901234567890123456789012345678901234567890123456789012345678901234567890123456789012345" \
	"67890123"
#define LABEL  "012345678901234567890123456789012345678901234567890123456789012" /* the longest */
#define FIRST  0
#define SECOND 1

static struct poise_error err;

static struct config *parse(const char *type, const char *keys)
{
	char text[1024];

	snprintf(text, sizeof(text), WEB, type, keys);
	err = (struct poise_error){0};
	return config_parse("f.yaml", text, strlen(text), &err);
}

static struct config *must(const char *type, const char *keys)
{
	struct config *cfg = parse(type, keys);
	char text[1024];

	cr_assert(cfg && !config_validate(cfg, &err), "%s",
		  poise_error_text(&err, text, sizeof(text)));
	return cfg;
}

static struct poise_health_conf check_of(const struct config *cfg, int member)
{
	struct poise_health_conf h;

	config_check_of(cfg->service[0], &cfg->service[0]->member[member], &h);
	return h;
}

#define ALL                                                                                        \
	"health-port: 81, health-path: /own, health-interval: 7s, health-fast-interval: 300ms, "   \
	"health-timeout: 250ms, health-rise: 5, health-fall: 9"

Test(own_check, each_key_stands_for_the_services)
{
	struct config *cfg = must("http, path: /all, interval: 3s, host: example.org", ALL);
	struct poise_health_conf all = check_of(cfg, FIRST), own = check_of(cfg, SECOND);

	cr_expect_eq(memcmp(&all, &cfg->service[0]->conf.health, sizeof(all)), 0);
	cr_expect_eq(own.port, 81);
	cr_expect_str_eq(own.path, "/own");
	cr_expect_eq(own.interval, 7000);
	cr_expect_eq(own.fast_interval, 300);
	cr_expect_eq(own.timeout, 250);
	cr_expect_eq(own.rise, 5);
	cr_expect_eq(own.fall, 9);
	cr_expect_str_eq(own.host, "example.org", "what it does not say is the service's");
	cr_expect_eq(own.type, POISE_CHECK_HTTP);
	cr_expect_eq(config_check_port(cfg->service[0], &cfg->service[0]->member[FIRST]), 80);
	cr_expect_eq(config_check_port(cfg->service[0], &cfg->service[0]->member[SECOND]), 81);
	config_free(cfg);
}

Test(own_check, one_that_is_not_checked)
{
	struct config *cfg = must("tcp", "checked: no");
	struct config_service *svc = cfg->service[0];

	cr_expect(config_is_checked(svc, &svc->member[FIRST]));
	cr_expect(!config_is_checked(svc, &svc->member[SECOND]));
	cr_expect_eq(check_of(cfg, SECOND).type, POISE_CHECK_NONE);
	svc->member[FIRST].conf.health = svc->member[SECOND].conf.health = POISE_HEALTH_DOWN;
	config_health_forget(svc);
	cr_expect_eq(svc->member[FIRST].conf.health, POISE_HEALTH_DOWN);
	cr_expect_eq(svc->member[SECOND].conf.health, POISE_HEALTH_NONE, "it counts as up");
	config_free(cfg);
}

static void count(void *ctx, char sign, const char *line)
{
	(void)sign;
	(void)line;
	++*(unsigned int *)ctx;
}

Test(own_check, saved_and_read_back_and_told_apart)
{
	struct config *cfg = must("http", ALL ", checked: no"), *back, *other;
	char *text = config_save(cfg, 0), *again;
	unsigned int differences = 0;

	back = config_parse("f.yaml", text, strlen(text), &err);
	cr_assert_not_null(back, "%s\n%s", err.message, text);
	again = config_save(back, 0);
	cr_expect_str_eq(text, again);
	cr_expect(strstr(text, "health-port: 81") && strstr(text, "health-fall: 9") &&
			  strstr(text, "checked: no"),
		  "%s", text);
	config_diff(cfg, back, count, &differences);
	cr_expect_eq(differences, 0);
	other = must("http", "health-port: 81");
	config_diff(cfg, other, count, &differences);
	cr_expect_geq(differences, 1);
	cr_expect_eq(config_apply(back, other, 0, NULL, &err), 0);
	cr_expect_eq(check_of(back, SECOND).fall, back->service[0]->conf.health.fall);
	cr_expect_eq(check_of(back, SECOND).port, 81);
	free(text);
	free(again);
	config_free(cfg);
	config_free(back);
	config_free(other);
}

/* Nothing of it matters where nobody is checked: health off and on again loses none. */
Test(own_check, without_a_check_it_waits)
{
	config_free(must("none", ALL));
}

/* A service that was not told of a type yet: what its backend says to one waits. */
Test(own_check, before_its_service_has_a_type_it_waits)
{
	config_free(must("auto", "health-path: /x, health-send: y"));
}

/* What its service says, and what it leaves idle of that, is not its fault. */
Test(own_check, what_it_leaves_idle_of_its_services_keys)
{
	config_free(must("https, ca: /x", "health-verify: no"));
	config_free(must("grpc, tls: yes, ca: /x", "health-tls: no"));
	config_free(must("https, ca: /x", "checked: no, health-path: /y"));
	config_free(must("auto", "health-cert: /x, health-key: /y"));
}

/* The longest label, the root, the end said or not; of gRPC anything is a name. */
Test(own_check, names_to_query)
{
	config_free(must("dns, query: a." LABEL ".c", "health-query: ."));
	config_free(must("dns, query: a.", "health-type: grpc, health-query: a..b"));
}

/* What the service says to another type is not for it; times and counts are. */
Test(own_check, a_type_of_its_own)
{
	struct config *cfg = must("http, path: /all, status: 204, interval: 3s, port: 8080",
				  "health-type: udp, health-send: \"a: \\\"b\\\"\", "
				  "health-expect: \"\", health-via: direct");
	struct config_service *svc = cfg->service[0];
	struct poise_health_conf own = check_of(cfg, SECOND);
	union poise_addr address;
	const char *why;

	cr_expect_eq(check_of(cfg, FIRST).type, POISE_CHECK_HTTP);
	cr_expect_eq(own.type, POISE_CHECK_UDP);
	cr_expect_str_eq(own.path, "");
	cr_expect_str_eq(own.status, "200-399");
	cr_expect_str_eq(own.send, "a: \"b\"");
	cr_expect_eq(own.interval, 3000);
	cr_expect_eq(own.port, 8080);
	cr_expect(config_check_path(svc, &svc->member[FIRST], &address, &why));
	cr_expect(!config_check_path(svc, &svc->member[SECOND], &address, &why), "via direct");
	config_free(cfg);
}

Test(own_check, one_that_is_checked_where_nobody_is)
{
	struct config *cfg = must("none", "health-type: auto");
	struct config_service *svc = cfg->service[0];

	cr_expect(!config_is_checked(svc, &svc->member[FIRST]));
	cr_expect(config_is_checked(svc, &svc->member[SECOND]));
	cr_expect_eq(check_of(cfg, SECOND).type, POISE_CHECK_TCP, "auto, of a listener of TCP");
	cr_expect_eq(config_check_port(svc, &svc->member[SECOND]), 80);
	config_free(cfg);
	cfg = must("http, port: 81", "health-type: none");
	svc = cfg->service[0];
	cr_expect(config_is_checked(svc, &svc->member[FIRST]));
	cr_expect(!config_is_checked(svc, &svc->member[SECOND]));
	config_free(cfg);
	cfg = must("http, port: 81", "health-port: auto");
	cr_expect_eq(config_check_port(cfg->service[0], &cfg->service[0]->member[SECOND]), 80,
		     "auto is a value, not the absence of one");
	config_free(cfg);
}

/* An empty text is none of the service's. */
Test(own_check, empty_is_a_value)
{
	struct config *cfg = must("http, body: fine", "health-body: \"\""), *back;
	char *text = config_save(cfg, 0);

	cr_expect_str_eq(check_of(cfg, SECOND).body, "");
	back = config_parse("f.yaml", text, strlen(text), &err);
	cr_assert_not_null(back, "%s\n%s", err.message, text);
	cr_expect_str_eq(check_of(back, SECOND).body, "", "%s", text);
	free(text);
	config_free(cfg);
	config_free(back);
}

/* Pairs come and go in any order, and leave nothing behind. */
Test(own_check, pairs)
{
	char field[24] = {0}, nothing[24] = {0};

	cr_expect_null(pairs_find(field, sizeof(field), "b"));
	cr_expect(pairs_put(field, sizeof(field), "b", "two"));
	cr_expect(pairs_put(field, sizeof(field), "c", ""));
	cr_expect(pairs_put(field, sizeof(field), "a", "first"));
	cr_expect_str_eq(pairs_find(field, sizeof(field), "a"), "first");
	cr_expect_str_eq(pairs_find(field, sizeof(field), "b"), "two");
	cr_expect_str_eq(pairs_find(field, sizeof(field), "c"), "");
	cr_expect(!pairs_put(field, sizeof(field), "d", "1234"), "a byte too many");
	cr_expect(pairs_put(field, sizeof(field), "d", "123"));
	cr_expect(pairs_put(field, sizeof(field), "b", "2"));
	cr_expect_str_eq(pairs_find(field, sizeof(field), "d"), "123");
	for (const char *key = "dabc"; *key; key++)
		cr_expect(pairs_put(field, sizeof(field), (char[]){*key, '\0'}, NULL));
	cr_expect_eq(memcmp(field, nothing, sizeof(field)), 0);
}

Test(own_check, what_is_refused)
{
	static const struct {
		const char *type, *keys, *error;
	} cases[] = {
		{"tcp", "health-path: /x", "path says nothing to a check of type tcp (f.yaml:8)"},
		{"icmp", "health-port: 7", "port says nothing to a check of type icmp (f.yaml:8)"},
		{"http", "health-path: x", "a path begins with / (f.yaml:8)"},
		{"tcp", "health-timeout: 5s", "timeout 5s is longer than interval 2s (f.yaml:8)"},
		{"tcp", "health-interval: 200ms", "is longer than interval 200ms (f.yaml:8)"},
		{"tcp", "health-port: 65536", "(f.yaml:8)"},
		{"tcp", "health-rise: 0", "(f.yaml:8)"},
		{"tcp", "health-prot: 1", "(f.yaml:8)"},
		{"http", "health-type: udp", "a check of type udp needs send (f.yaml:8)"},
		{"http", "health-type: tcp, health-path: /x",
		 "path says nothing to a check of type tcp (f.yaml:8)"},
		{"http", "health-type: htp", "health-type htp: not one of"},
		{"http", "health-status: 2xx", "no list of statuses"},
		{"http", "health-body-regex: \"(\"", "health: body-regex"},
		/* of types that look at it later, if ever */
		{"none", "health-path: x", "a path begins with / (f.yaml:8)"},
		{"auto", "health-status: 2xx", "no list of statuses, like 200-399,404 (f.yaml:8)"},
		{"auto", "health-body-regex: \"(\"", "missing closing parenthesis (f.yaml:8)"},
		{"http", "checked: no, health-host: a b", "no name of a host"},
		{"http", "health-type: none, health-command: \"'\"", "is not closed"},
		{"http", "health-type: none, health-path: /x",
		 "path says nothing to a check of type none (f.yaml:8)"},
		{"grpc", "health-ca: /x",
		 "ca says nothing to a check of type grpc without tls (f.yaml:8)"},
		{"https, verify: no", "health-ca: /x", "ca says nothing where verify no"},
		{"http, body: x", "health-method: HEAD",
		 "body: an answer to HEAD has no body (f.yaml:8)"},
		{"http", "health-type: auto, health-path: /x",
		 "path says nothing to a check of type tcp (f.yaml:8)"},
		{"auto", "health-type: auto, health-send: x",
		 "send says nothing to a check of type tcp (f.yaml:8)"},
		{"http", "health-type: dns, health-query: a..b",
		 "1 to 63 bytes between dots (f.yaml:8)"},
		{"http", "health-type: dns, health-query: .a",
		 "1 to 63 bytes between dots (f.yaml:8)"},
		{"http", "health-type: dns, health-query: a." LABEL "b.c", "no name that DNS has"},
		{"none", "health-type: exec", "a check of type exec needs command (f.yaml:8)"},
		{"none", "health-path: \"/is-" LONG "\"", "no room"},
		{"none", "health-path: \"/" LONG LONG "\"", "at most 255"},
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct config *cfg = parse(cases[n].type, cases[n].keys);
		char text[1024];

		cr_expect(!cfg || config_validate(cfg, &err), "%s", cases[n].keys);
		poise_error_text(&err, text, sizeof(text));
		cr_expect(strstr(text, cases[n].error), "%s: %s", cases[n].keys, text);
		cr_expect(strstr(text, "10.0.0.2"), "%s: %s", cases[n].keys, text);
		config_free(cfg);
	}
}
