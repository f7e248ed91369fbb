// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The file: what it may say, where it is read from, and that saving loses nothing. What is said of
 * it when it is wrong: yaml_faults.c; how large it may be: yaml_size.c.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maps/option.h"
#include "maps/text.h"
#include "tests/support/parsed.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void expect_saved(const struct config *cfg, unsigned int flags, const char *want)
{
	char *saved = config_save(cfg, flags);

	cr_expect_str_eq(saved, want);
	free(saved);
}

/* The file of the manual, each part once. */
static const char whole[] = "hash-key: 0f1e2d3c4b5a69788796a5b4c3d2e1f0 # drawn once\n"
			    "limits: { services: 4096, flow-slots: 8M }\n"
			    "interfaces: [ { device: eth0, mode: native }, eth1 ]\n"
			    "defaults: { drain-timeout: 10m, policy: sh }\n"
			    "services:\n"
			    "  - name: web\n"
			    "    listen: [ \"192.0.2.10:80\", \"[2001:db8::10]:80\" ]\n"
			    "    policy: maglev\n"
			    "    forward: ipip\n"
			    "    health: none\n"
			    "    backends:\n"
			    "      - { address: 10.0.0.2, port: 80, name: \"off\" }\n"
			    "      - { address: 10.0.0.1, weight: 2, forward: l2 }\n"
			    "      - { address: \"2001:db8::7\", admin: draining }\n"
			    "      - 10.0.0.9\n"
			    "  - { name: dns, listen: 192.0.2.53:53/udp, forward: dr }\n";

static const char whole_saved[] = "hash-key: \"0f1e2d3c4b5a69788796a5b4c3d2e1f0\"\n"
				  "limits:\n"
				  "  flow-slots: 8M\n"
				  "interfaces:\n"
				  "  - { device: eth0, mode: native }\n"
				  "  - { device: eth1 }\n"
				  "services:\n"
				  "  - name: dns\n"
				  "    listen:\n"
				  "      - \"192.0.2.53:53/udp\"\n"
				  "    policy: source-hash\n"
				  "    forward: l2\n"
				  "    table-size: auto\n"
				  "    drain-timeout: 10m\n"
				  "  - name: web\n"
				  "    listen:\n"
				  "      - \"192.0.2.10:80\"\n"
				  "      - \"[2001:db8::10]:80\"\n"
				  "    policy: maglev\n"
				  "    forward: ipip\n"
				  "    table-size: auto\n"
				  "    drain-timeout: 10m\n"
				  "    health: { type: none }\n"
				  "    backends:\n"
				  "      - { address: 10.0.0.1, weight: 2, forward: l2 }\n"
				  "      - { address: 10.0.0.2, port: 80, name: \"off\" }\n"
				  "      - { address: 10.0.0.9 }\n"
				  "      - { address: \"2001:db8::7\", admin: draining }\n";

Test(yaml, a_whole_file)
{
	struct config *cfg = parsed(whole);
	const struct config_service *web = config_service_named(cfg, "web");
	const struct config_member *m = &web->member[3];

	cr_expect_eq(cfg->hash_key[0], 0x0f1e2d3c4b5a6978);
	cr_expect_eq(cfg->hash_key[1], 0x8796a5b4c3d2e1f0);
	cr_expect_eq(cfg->limits.flow_slots, 8 << 20);
	cr_expect_eq(cfg->limits.paths, 1024, "what limits do not say is the default");
	cr_expect_eq(cfg->interface[0].mode, ATTACH_NATIVE);
	cr_expect_eq(web->line, 6);
	cr_expect_eq(web->conf.r.owner, POISE_OWNER_FILE);
	cr_expect_eq(web->conf.listener[1].owner, POISE_OWNER_FILE);
	cr_expect_eq(m->line, 14);
	cr_expect_eq(m->conf.r.owner, POISE_OWNER_FILE);
	cr_expect(m->admin_said);
	cr_expect_not(web->member[0].admin_said);
	expect_saved(cfg, 0, whole_saved);
	config_free(cfg);
}

Test(yaml, what_was_saved_is_read_and_saved_the_same)
{
	struct config *cfg = parsed(whole_saved);

	expect_saved(cfg, 0, whole_saved);
	expect_saved(cfg, CONFIG_SAVE_NO_SECRETS, strchr(whole_saved, '\n') + 1);
	config_free(cfg);
}

Test(yaml, saving_all_names_every_option)
{
	struct config *cfg = parsed(whole);
	char *all, key[64];
	union poise_addr addr;
	struct config *again;

	cr_assert(!poise_parse_host("192.0.2.10", &addr, NULL) &&
		  config_address_add(cfg, &addr, NULL));
	all = config_save(cfg, CONFIG_SAVE_ALL);
	again = parsed(all);
	for (size_t i = 0; i < poise_options_count; i++) {
		snprintf(key, sizeof(key), " %s: ", poise_options[i].key);
		cr_expect_not_null(strstr(all, key), "%s", poise_options[i].key);
	}
	cr_expect_eq(config_diff(cfg, again, NULL, NULL), 0);
	config_free(again);
	config_free(cfg);
	free(all);
}

Test(yaml, nothing_at_all)
{
	static const char *const empty[] = {"",		  "\n\n",	 "# nothing\n",	   "---\n",
					    "---\n...\n", "services:\n", "services: []\n", "{}",
					    "~",	  "\xef\xbb\xbf"};

	for (size_t i = 0; i < COUNT(empty); i++) {
		struct config *cfg = parsed(empty[i]);

		cr_expect_eq(cfg->services, 0, "%s", empty[i]);
		expect_saved(cfg, 0, "");
		config_free(cfg);
	}
}

Test(yaml, anchors_aliases_and_merges)
{
	struct config *cfg =
		parsed("services:\n"
		       "  - &one\n"
		       "    name: one\n"
		       "    forward: l2\n"
		       "    listen: 192.0.2.1:80\n"
		       "    idle: 1h\n"
		       "    backends: &pool\n"
		       "      - &b { address: 10.0.0.1, weight: 3 }\n"
		       "      - { <<: *b, address: 10.0.0.2 }\n"
		       "  - { <<: [*one], name: two, listen: 192.0.2.2:80, idle: 2h }\n");

	expect_saved(cfg, 0,
		     "services:\n"
		     "  - name: one\n"
		     "    listen:\n"
		     "      - \"192.0.2.1:80\"\n"
		     "    policy: maglev\n"
		     "    forward: l2\n"
		     "    table-size: auto\n"
		     "    idle: 1h\n"
		     "    backends:\n"
		     "      - { address: 10.0.0.1, weight: 3 }\n"
		     "      - { address: 10.0.0.2, weight: 3 }\n"
		     "  - name: two\n"
		     "    listen:\n"
		     "      - \"192.0.2.2:80\"\n"
		     "    policy: maglev\n"
		     "    forward: l2\n"
		     "    table-size: auto\n"
		     "    idle: 2h\n"
		     "    backends:\n"
		     "      - { address: 10.0.0.1, weight: 3 }\n"
		     "      - { address: 10.0.0.2, weight: 3 }\n");
	config_free(cfg);
}

/* A name that some reader of YAML would take for something else is quoted, others are not. */
Test(yaml, names_stay_texts)
{
	static const struct {
		const char *name, *saved;
	} names[] = {{"web-1.a_b", "- name: web-1.a_b\n"},
		     {"no", "- name: \"no\"\n"},
		     {"Yes", "- name: \"Yes\"\n"},
		     {"null", "- name: \"null\"\n"},
		     {"7", "- name: \"7\"\n"},
		     {"1e3", "- name: \"1e3\"\n"},
		     {"0x10", "- name: \"0x10\"\n"},
		     {"y", "- name: \"y\"\n"}};

	for (size_t i = 0; i < COUNT(names); i++) {
		struct config *cfg = config_new();
		char *saved;

		cr_assert_not_null(config_service_add(cfg, names[i].name, POISE_OWNER_HAND, NULL));
		saved = config_save(cfg, 0);
		cr_expect_not_null(strstr(saved, names[i].saved), "%s", saved);
		free(saved);
		config_free(cfg);
	}
}

/* ---- reading ----------------------------------------------------------------------------------*/

#define WEB "services:\n  - name: web\n    forward: l2\n    listen: 192.0.2.1:80\n"

Test(yaml, files_that_cannot_be_read)
{
	struct poise_error err = {0};

	cr_expect_null(config_read("/no/such.yaml", &err));
	cr_expect_str_eq(said(&err), "cannot read /no/such.yaml: No such file or directory");
	cr_expect_eq(err.code, POISE_E_SYSTEM);
	cr_expect_null(config_read("/tmp", &err));
	cr_expect_str_eq(said(&err), "cannot read /tmp: Is a directory");
}

Test(yaml, a_file_and_standard_input)
{
	char path[] = "/tmp/poise-yaml-XXXXXX";
	struct config *cfg;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, WEB, strlen(WEB)), (ssize_t)strlen(WEB));
	cfg = config_read(path, NULL);
	cr_assert_not_null(cfg);
	cr_expect_eq(cfg->services, 1);
	cr_expect_str_eq(cfg->file, path);
	config_free(cfg);
	lseek(fd, 0, SEEK_SET);
	dup2(fd, STDIN_FILENO);
	cfg = config_read("-", NULL);
	cr_assert_not_null(cfg);
	cr_expect_eq(cfg->services, 1);
	cr_expect_str_eq(cfg->file, "standard input");
	config_free(cfg);
	close(fd);
	unlink(path);
}
