// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which check a service has where nothing is said, at which port, and which way it takes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/config.h"
#include "maps/text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct config *load(const char *listen, const char *health, const char *forward,
			   const char *backend)
{
	struct poise_error err = {0};
	char yaml[512], said[1024];
	struct config *cfg;

	snprintf(yaml, sizeof(yaml),
		 "services: [ { name: web, listen: [ %s ], forward: %s, %s backends: [ %s ] } ]\n",
		 listen, forward, health, backend);
	cfg = config_parse("check.yaml", yaml, strlen(yaml), &err);
	cr_assert_not_null(cfg, "%s: %s", yaml, poise_error_text(&err, said, sizeof(said)));
	return cfg;
}

static const struct {
	const char *listen, *health;
	enum poise_check type;
	__u16 port; /* of what is checked */
} types[] = {
	{"'192.0.2.1:80'", "", POISE_CHECK_TCP, 80},
	{"'192.0.2.1:53/udp'", "", POISE_CHECK_NONE, 0},
	{"'192.0.2.1:53/udp', '192.0.2.1:80'", "", POISE_CHECK_TCP, 80},
	{"'192.0.2.1:0'", "", POISE_CHECK_NONE, 0},
	{"'192.0.2.1:0'", "health: { type: auto, port: 81 },", POISE_CHECK_TCP, 81},
	{"'192.0.2.1:53/udp'", "health: { type: auto, port: 81 },", POISE_CHECK_NONE, 0},
	{"'192.0.2.1:80'", "health: none,", POISE_CHECK_NONE, 0},
	{"'192.0.2.1:53/udp', '192.0.2.1:80'", "health: tcp,", POISE_CHECK_TCP, 53},
	{"'192.0.2.1:80'", "health: http,", POISE_CHECK_HTTP, 80},
};

Test(check_way, type)
{
	for (size_t k = 0; k < COUNT(types); k++) {
		struct config *cfg = load(types[k].listen, types[k].health, "l2", "10.0.0.1");
		const struct config_service *svc = cfg->service[0];
		struct poise_health_conf h;

		config_check_of(svc, &svc->member[0], &h);
		cr_expect_eq(config_check_type(svc), types[k].type, "%zu", k);
		cr_expect_eq(h.type, types[k].type, "%zu", k);
		cr_expect_eq(config_is_checked(svc, &svc->member[0]),
			     types[k].type != POISE_CHECK_NONE, "%zu", k);
		if (types[k].port)
			cr_expect_eq(config_check_port(svc, &svc->member[0]), types[k].port, "%zu",
				     k);
		config_free(cfg);
	}
}

#define BOTH "'192.0.2.1:80', '[2001:db8::1]:80', '192.0.2.2:81'"

static const struct {
	const char *listen, *health, *forward, *backend;
	const char *address; /* NULL: directly */
	bool surprising;
} ways[] = {
	{BOTH, "", "l2", "10.0.0.1", "192.0.2.1", false},
	{BOTH, "", "ipip", "10.0.0.1", "192.0.2.1", false},
	{BOTH, "", "gue", "10.0.0.1", "192.0.2.1", false},
	{BOTH, "", "ipip", "'2001:db8::7'", "2001:db8::1", false},
	{BOTH, "health: { type: tcp, port: 81 },", "ipip", "10.0.0.1", "192.0.2.2", false},
	{BOTH, "health: { type: tcp, port: 99 },", "ipip", "10.0.0.1", "192.0.2.1", false},
	{BOTH, "health: { type: icmp },", "ipip", "10.0.0.1", "192.0.2.1", false},
	{BOTH, "health: { type: tcp, via: direct },", "ipip", "10.0.0.1", NULL, false},
	{BOTH, "health: { type: exec, command: 'true' },", "ipip", "10.0.0.1", NULL, false},
	{BOTH, "health: none,", "ipip", "10.0.0.1", NULL, false},
	{"'192.0.2.1:80'", "", "ipip", "'2001:db8::7'", NULL, true},
	{"'[2001:db8::1]:80'", "", "gue", "10.0.0.1", NULL, true},
};

Test(check_way, way)
{
	for (size_t k = 0; k < COUNT(ways); k++) {
		struct config *cfg =
			load(ways[k].listen, ways[k].health, ways[k].forward, ways[k].backend);
		const struct config_service *svc = cfg->service[0];
		union poise_addr address;
		char text[POISE_ADDR_TEXT];
		const char *why;
		bool by_path = config_check_path(svc, &svc->member[0], &address, &why);

		cr_expect_eq(by_path, ways[k].address != NULL, "%zu", k);
		if (by_path)
			cr_expect_str_eq(poise_format_addr(&address, text, sizeof(text)),
					 ways[k].address, "%zu", k);
		cr_expect_eq(why != NULL, ways[k].surprising, "%zu", k);
		config_free(cfg);
	}
}
