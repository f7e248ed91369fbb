// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A file applied to what is live: what comes, changes, leaves and stays, whose it is, and that a
 * refusal changes nothing. Random configurations at the end, for what nobody thought of.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/config.h"
#include "maps/option.h"
#include "maps/text.h"

static const char *said(const struct poise_error *err)
{
	static char text[1024];

	return poise_error_text(err, text, sizeof(text));
}

static struct config *parse(const char *text)
{
	struct poise_error err = {0};
	struct config *cfg = config_parse("f.yaml", text, strlen(text), &err);

	cr_assert_not_null(cfg, "%s", said(&err));
	return cfg;
}

/* As if committed: every service and member has an id. */
static void give_ids(struct config *cfg)
{
	__u16 service = 1, member = 1;

	for (size_t s = 0; s < cfg->services; s++) {
		cfg->service[s]->id = service++;
		for (size_t m = 0; m < cfg->service[s]->members; m++)
			cfg->service[s]->member[m].id = member++;
	}
}

static struct config *live_from(const char *text)
{
	struct config *live = config_new(), *file = parse(text);

	cr_assert_eq(config_apply(live, file, 0, NULL, NULL), 0);
	config_free(file);
	give_ids(live);
	return live;
}

static struct config_summary apply(struct config *live, const char *text, unsigned int flags)
{
	struct config *file = parse(text);
	struct config_summary sum = {0};
	struct poise_error err = {0};

	cr_assert_eq(config_apply(live, file, flags, &sum, &err), 0, "%s", said(&err));
	config_free(file);
	return sum;
}

/* Counts of services, then of backends: added, changed, removed. */
static void expect_sum(struct config_summary got, unsigned int s_added, unsigned int s_changed,
		       unsigned int s_removed, unsigned int b_added, unsigned int b_changed,
		       unsigned int b_removed)
{
	static const char form[] = "services +%u ~%u -%u, backends +%u ~%u -%u";
	char is[128], should[128];

	snprintf(is, sizeof(is), form, got.services_added, got.services_changed,
		 got.services_removed, got.backends_added, got.backends_changed,
		 got.backends_removed);
	snprintf(should, sizeof(should), form, s_added, s_changed, s_removed, b_added, b_changed,
		 b_removed);
	cr_expect_str_eq(is, should);
}

/* Applying it must fail with this, and leave live as it was. */
static void expect_refused(struct config *live, const char *text, const char *error)
{
	char *before = config_save(live, CONFIG_SAVE_ALL), *after;
	struct config *file = parse(text);
	struct poise_error err = {0};

	cr_assert_eq(config_apply(live, file, 0, NULL, &err), -1, "should be: %s", error);
	cr_expect_str_eq(said(&err), error);
	after = config_save(live, CONFIG_SAVE_ALL);
	cr_expect_str_eq(before, after);
	config_free(file);
	free(before);
	free(after);
}

static struct config_member *member(struct config *cfg, const char *service, const char *text)
{
	struct config_member *m =
		config_member_find(config_service_named(cfg, service), text, NULL);

	cr_assert_not_null(m, "%s %s", service, text);
	return m;
}

#define WEB                                                                                        \
	"services:\n"                                                                              \
	"  - name: web\n"                                                                          \
	"    forward: l2\n"                                                                        \
	"    listen: [ \"192.0.2.1:80\" ]\n"                                                       \
	"    backends: [ 10.0.0.1, { address: 10.0.0.2, weight: 2 } ]\n"
#define MAIL                                                                                       \
	"  - name: mail\n"                                                                         \
	"    forward: ipip\n"                                                                      \
	"    listen: [ \"192.0.2.2:25\" ]\n"                                                       \
	"    backends: [ 10.0.1.1 ]\n"

Test(apply, twice_is_once)
{
	struct config *live = config_new();

	expect_sum(apply(live, WEB MAIL, 0), 2, 0, 0, 3, 0, 0);
	expect_sum(apply(live, WEB MAIL, 0), 0, 0, 0, 0, 0, 0);
	cr_expect_eq(member(live, "web", "10.0.0.2")->conf.weight, 2);
	cr_expect_eq(config_service_named(live, "web")->conf.r.owner, POISE_OWNER_FILE);
	cr_expect_gt(config_service_named(live, "web")->conf.created, 0);
	config_free(live);
}

Test(apply, a_member_missing_from_the_file_leaves)
{
	struct config *live = live_from(WEB);
	struct config_member *m;

	expect_sum(apply(live,
			 "services:\n  - name: web\n    forward: l2\n"
			 "    listen: [ \"192.0.2.1:80\" ]\n    backends: [ 10.0.0.2 ]\n",
			 0),
		   0, 0, 0, 0, 1, 1);
	m = member(live, "web", "10.0.0.1");
	cr_expect(config_member_leaving(m));
	cr_expect_eq(m->id, 1);
	cr_expect_eq(m->conf.deadline, m->conf.since + 300000000000ULL);
	cr_expect_eq(member(live, "web", "10.0.0.2")->conf.weight, 1, "a key no longer said");
	/* nothing more to do about it, and it comes back with its id */
	expect_sum(apply(live, WEB, 0), 0, 0, 0, 1, 1, 0);
	m = member(live, "web", "10.0.0.1");
	cr_expect_not(config_member_leaving(m));
	cr_expect_eq(m->id, 1);
	cr_expect_eq(m->conf.deadline, 0);
	config_free(live);
}

Test(apply, what_stays_keeps_its_id_health_and_history)
{
	struct config *live = live_from(WEB);
	struct config_member *m = member(live, "web", "10.0.0.2");

	m->conf.health = POISE_HEALTH_DOWN;
	m->conf.since = 42;
	config_service_named(live, "web")->conf.base_size = 4099;
	apply(live,
	      "services:\n  - { name: web, forward: l2, policy: sh, listen: \"192.0.2.1:80\", "
	      "backends: [ { address: 10.0.0.2, weight: 9 }, 10.0.0.0 ] }\n",
	      0);
	m = member(live, "web", "10.0.0.2");
	cr_expect_eq(m->id, 2);
	cr_expect_eq(m->conf.health, POISE_HEALTH_DOWN);
	cr_expect_eq(m->conf.since, 42);
	cr_expect_eq(m->conf.weight, 9);
	cr_expect_eq(config_service_named(live, "web")->id, 1);
	cr_expect_eq(config_service_named(live, "web")->conf.base_size, 4099);
	cr_expect_eq(config_service_named(live, "web")->conf.policy, POISE_SOURCE_HASH);
	config_free(live);
}

Test(apply, services_come_change_and_go)
{
	struct config *live = live_from(WEB MAIL);

	expect_sum(
		apply(live,
		      "services:\n"
		      "  - { name: www, forward: l2, listen: \"192.0.2.1:80\" }\n"
		      "  - { name: mail, forward: ipip, listen: [ 192.0.2.2:25, 192.0.2.2:587 ], "
		      "backends: [ 10.0.1.1 ] }\n",
		      0),
		1, 1, 1, 0, 0, 2);
	cr_expect_null(config_service_named(live, "web"));
	cr_expect_not_null(config_service_named(live, "www"), "it has the listener of web");
	cr_expect_eq(config_service_named(live, "mail")->conf.listeners, 2);
	config_free(live);
}

Test(apply, listeners_may_change_places)
{
	struct config *live = live_from(WEB MAIL);

	expect_sum(apply(live,
			 "services:\n"
			 "  - { name: web, forward: l2, listen: \"192.0.2.2:25\", "
			 "backends: [ 10.0.0.1, { address: 10.0.0.2, weight: 2 } ] }\n"
			 "  - { name: mail, forward: ipip, listen: \"192.0.2.1:80\", "
			 "backends: [ 10.0.1.1 ] }\n",
			 0),
		   0, 2, 0, 0, 0, 0);
	cr_expect_str_eq(config_service_find(live, "192.0.2.1:80", NULL)->conf.name, "mail");
	cr_expect_str_eq(config_service_find(live, "192.0.2.2:25", NULL)->conf.name, "web");
	config_free(live);
}

Test(apply, merging_removes_nothing)
{
	struct config *live = live_from(WEB);

	expect_sum(apply(live,
			 "services:\n  - name: web\n    forward: l2\n"
			 "    listen: [ \"192.0.2.9:80\" ]\n    backends: [ 10.0.0.3 ]\n" MAIL,
			 CONFIG_APPLY_MERGE),
		   1, 1, 0, 2, 0, 0);
	cr_expect_eq(config_service_named(live, "web")->conf.listeners, 2);
	cr_expect_eq(config_members_in(config_service_named(live, "web")), 3);
	expect_sum(apply(live, "", CONFIG_APPLY_MERGE), 0, 0, 0, 0, 0, 0);
	config_free(live);
}

/* ---- whose it is ------------------------------------------------------------------------------*/

static void listen_by(enum poise_owner owner, struct config *live, struct config_service *svc,
		      const char *text)
{
	struct poise_listener_conf l;

	cr_assert_eq(poise_parse_listener(text, &l, NULL), 0);
	l.owner = (__u8)owner;
	cr_assert_eq(config_listen(live, svc, &l, NULL), 0);
}

static void add_by(enum poise_owner owner, struct config *live, const char *service,
		   const char *listener, const char *backend)
{
	struct config_service *svc = config_service_named(live, service);
	union poise_addr addr;
	__u16 port;

	if (!svc) {
		svc = config_service_add(live, service, owner, NULL);
		svc->conf.forward = POISE_L2;
	}
	if (listener)
		listen_by(owner, live, svc, listener);
	if (backend) {
		cr_assert_eq(poise_parse_endpoint(backend, &addr, &port, NULL), 0);
		config_member_add(svc, &addr, port, NULL)->conf.r.owner = (__u8)owner;
	}
	give_ids(live);
}

Test(apply, what_others_own_stays)
{
	struct config *live = live_from(WEB);

	add_by(POISE_OWNER_HAND, live, "tmp", "192.0.2.5:80", "10.0.5.1");
	add_by(POISE_OWNER_KUBERNETES, live, "k8s", "192.0.2.6:80", "10.0.6.1");
	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.7:80", "10.0.0.7");
	expect_sum(apply(live, WEB, 0), 0, 0, 0, 0, 0, 0);
	expect_sum(apply(live, "services:\n" MAIL, 0), 1, 0, 1, 1, 0, 3);
	cr_expect_not_null(config_service_named(live, "tmp"));
	cr_expect_not_null(config_service_named(live, "k8s"));
	config_free(live);
}

Test(apply, what_a_hand_put_into_a_service_of_the_file_stays)
{
	struct config *live = live_from(WEB);

	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.7:80", "10.0.0.7");
	expect_sum(apply(live,
			 "services:\n  - { name: web, forward: l2, listen: \"192.0.2.8:80\" }\n",
			 0),
		   0, 1, 0, 0, 0, 2);
	cr_expect_not(config_member_leaving(member(live, "web", "10.0.0.7")));
	cr_expect_eq(config_service_named(live, "web")->conf.listeners, 2);
	cr_expect_not_null(config_service_find(live, "192.0.2.7:80", NULL));
	config_free(live);
}

/* ... until the file names it: then it is the file's, and goes when the file drops it. */
Test(apply, the_file_takes_over_what_a_hand_put_there)
{
	struct config *live = live_from(WEB);

	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.7:80", "10.0.0.7");
	apply(live,
	      "services:\n  - { name: web, forward: l2, listen: [ \"192.0.2.7:80\", "
	      "\"192.0.2.8:80\" ], backends: [ 10.0.0.7 ] }\n",
	      0);
	apply(live, "services:\n  - { name: web, forward: l2, listen: \"192.0.2.8:80\" }\n", 0);
	cr_expect(config_member_leaving(member(live, "web", "10.0.0.7")));
	cr_expect_eq(config_service_named(live, "web")->conf.listeners, 1);
	cr_expect_null(config_service_find(live, "192.0.2.7:80", NULL));
	config_free(live);
}

/* save, an edit, apply: the file takes over what was made by hand, in one step. */
Test(apply, the_file_adopts_what_it_names)
{
	struct config *live = config_new();
	struct config_summary sum;
	char *saved;

	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.1:80", "10.0.0.1");
	add_by(POISE_OWNER_HAND, live, "web", NULL, "10.0.0.2");
	saved = config_save(live, 0);
	sum = apply(live, saved, 0);
	expect_sum(sum, 0, 0, 0, 0, 0, 0);
	cr_expect_eq(sum.adopted, 1);
	cr_expect_eq(member(live, "web", "10.0.0.2")->conf.r.owner, POISE_OWNER_FILE);
	expect_sum(apply(live,
			 "services:\n  - { name: web, forward: l2, listen: \"192.0.2.1:80\", "
			 "backends: [ 10.0.0.1 ] }\n",
			 0),
		   0, 0, 0, 0, 0, 1);
	cr_expect(config_member_leaving(member(live, "web", "10.0.0.2")));
	free(saved);
	config_free(live);
}

Test(apply, conflicts_with_other_owners)
{
	struct config *live = config_new();

	add_by(POISE_OWNER_KUBERNETES, live, "web", "192.0.2.9:80", "10.0.9.1");
	expect_refused(live, WEB, "service \"web\": is kept by Kubernetes (f.yaml:2)");
	config_free(live);

	live = config_new();
	add_by(POISE_OWNER_HAND, live, "tmp", "192.0.2.1:80", "10.0.5.1");
	expect_refused(live, WEB,
		       "service \"web\": listener 192.0.2.1:80: belongs to service \"tmp\" "
		       "(f.yaml:2)");
	config_free(live);

	/* valid by itself, but not with what a hand put in */
	live = live_from(WEB);
	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.1:443", NULL);
	expect_refused(live,
		       "services:\n  - name: web\n    forward: l2\n    listen: 192.0.2.1:80\n"
		       "    backends:\n      - { address: 10.0.0.1, port: 80 }\n",
		       "service \"web\": backend 10.0.0.1:80: port 80 is not that of listener "
		       "192.0.2.1:443, and forward l2 changes no ports (f.yaml:6)");
	config_free(live);
}

Test(apply, limits_of_the_instance)
{
	struct config *live = config_new();

	live->has_limits = true;
	live->limits.backends = 2;
	expect_refused(live, WEB MAIL, "3 backends, and this instance has room for 2 (f.yaml)");
	expect_sum(apply(live, WEB, 0), 1, 0, 0, 2, 0, 0);
	/* a file's limits do not count once there are maps */
	expect_refused(live, "limits: { backends: 9 }\n" WEB MAIL,
		       "3 backends, and this instance has room for 2 (f.yaml)");
	config_free(live);
}

Test(apply, a_file_of_nothing)
{
	struct config *live = live_from(WEB);
	struct config *file = parse("");

	expect_refused(live, "", "lists no service: applying it would remove 1 (f.yaml)");
	expect_sum(apply(live, "", CONFIG_APPLY_EMPTY), 0, 0, 1, 0, 0, 2);
	/* nothing to lose: fine */
	cr_expect_eq(config_apply(live, file, 0, NULL, NULL), 0);
	config_free(file);
	config_free(live);
}

/* ---- admin, keys, interfaces ------------------------------------------------------------------*/

Test(apply, admin_is_left_alone_unless_said)
{
	struct config *live = live_from(WEB);

	member(live, "web", "10.0.0.1")->conf.admin = POISE_DISABLED;
	expect_sum(apply(live, WEB, 0), 0, 0, 0, 0, 0, 0);
	cr_expect_eq(member(live, "web", "10.0.0.1")->conf.admin, POISE_DISABLED);
	expect_sum(apply(live,
			 "services:\n  - { name: web, forward: l2, listen: \"192.0.2.1:80\", "
			 "backends: [ { address: 10.0.0.1, admin: enabled }, "
			 "{ address: 10.0.0.2, weight: 2, admin: draining } ] }\n",
			 0),
		   0, 0, 0, 0, 2, 0);
	cr_expect_eq(member(live, "web", "10.0.0.1")->conf.admin, POISE_ENABLED);
	cr_expect_eq(member(live, "web", "10.0.0.2")->conf.admin, POISE_DRAINING);
	cr_expect_gt(member(live, "web", "10.0.0.2")->conf.deadline, 0);
	config_free(live);
}

Test(apply, the_hash_key_is_the_instances)
{
	struct config *live = live_from("hash-key: 00000000000000000000000000000001\n" WEB);

	cr_expect(live->has_hash_key);
	cr_expect_eq(live->hash_key[1], 1);
	expect_sum(apply(live, WEB, 0), 0, 0, 0, 0, 0, 0);
	cr_expect_eq(live->hash_key[1], 1);
	expect_refused(live, "hash-key: 00000000000000000000000000000002\n" WEB,
		       "hash-key is not the one this instance was created with (f.yaml)");
	config_free(live);
}

Test(apply, interfaces)
{
	struct config *live = live_from("interfaces: [ eth0, eth1 ]\n" WEB);

	apply(live, WEB, 0);
	cr_expect_eq(live->interfaces, 2, "a file that says nothing about them");
	apply(live, "interfaces: [ { device: eth1, mode: native }, eth2 ]\n", CONFIG_APPLY_MERGE);
	cr_expect_eq(live->interfaces, 3);
	cr_expect_eq(live->interface[1].mode, ATTACH_NATIVE);
	apply(live, "interfaces: [ eth2 ]\n" WEB, 0);
	cr_assert_eq(live->interfaces, 1);
	cr_expect_str_eq(live->interface[0].device, "eth2");
	config_free(live);
}

/* ---- random configurations --------------------------------------------------------------------*/

static __u64 state;

static unsigned int draw(unsigned int below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state >> 16) % below;
}

/* A few prefixes of few that there are; one may be there twice, which changes nothing. */
static void draw_ranges(char *text, size_t size)
{
	size_t used = 0;

	for (unsigned int n = draw(6) + 1; n; n--)
		used += (size_t)snprintf(text + used, size - used,
					 draw(2) ? "%s10.%u.0.0/16" : "%s2001:db8:%x::/48",
					 used ? "," : "", draw(200));
}

/* Now and then one twice, which is none of them. */
static void draw_addrs(const struct option *o, char *text, size_t size)
{
	size_t used = 0;

	for (unsigned int n = draw(POISE_SOURCES) + 1; n; n--)
		used += (size_t)snprintf(text + used, size - used,
					 o->min == 4 ? "%s198.51.100.%u" : "%s2001:db8:5::%x",
					 used ? "," : "", draw(250) + 1);
}

static void draw_option(const struct option *o, void *obj)
{
	char text[256];

	if (draw(3))
		return;
	switch (o->type) {
	case OPTION_ENUM: {
		const struct option_word *w = o->words;

		for (unsigned int skip = draw(16); skip; skip--)
			w = w[1].word ? w + 1 : o->words;
		option_set(o, obj, w->word, NULL);
		return;
	}
	case OPTION_BOOL: option_set(o, obj, draw(2) ? "yes" : "no", NULL); return;
	case OPTION_DURATION: snprintf(text, sizeof(text), "%us", draw(7200) + 1); break;
	case OPTION_PERCENT: snprintf(text, sizeof(text), "%u%%", draw(120)); break;
	case OPTION_HUNDREDTHS: snprintf(text, sizeof(text), "%u.%02u", draw(12), draw(100)); break;
	case OPTION_ADDRS: draw_addrs(o, text, sizeof(text)); break;
	case OPTION_NAME: snprintf(text, sizeof(text), "n%u-%u", draw(1000000), draw(1000)); break;
	case OPTION_RANGES: draw_ranges(text, sizeof(text)); break;
	default: snprintf(text, sizeof(text), "%u", draw(200000)); break;
	}
	option_set(o, obj, text, NULL); /* out of range now and then: stays as it was */
}

static void draw_service(struct config *cfg, unsigned int n)
{
	char text[64];
	struct config_service *svc;

	snprintf(text, sizeof(text), "%s%u", draw(2) ? "s" : "7", n);
	svc = config_service_add(cfg, text, draw(2) ? POISE_OWNER_FILE : POISE_OWNER_HAND, NULL);
	for (const struct option *o = option_first(OPTION_SERVICE); o; o = option_next(o))
		draw_option(o, &svc->conf);
	for (unsigned int i = draw(4) + 1; i; i--) {
		struct poise_listener_conf l;

		snprintf(text, sizeof(text), draw(2) ? "192.0.2.%u:%u%s" : "[2001:db8::%x]:%u%s",
			 draw(250) + 1, draw(65536), draw(2) ? "/udp" : "");
		cr_assert_eq(poise_parse_listener(text, &l, NULL), 0);
		config_listen(cfg, svc, &l, NULL); /* taken now and then */
	}
	for (unsigned int i = draw(8); i; i--) {
		struct config_member *m;
		union poise_addr addr;
		__u16 port;

		snprintf(text, sizeof(text), draw(2) ? "10.0.0.%u" : "2001:db8:1::%x",
			 draw(250) + 1);
		cr_assert_eq(poise_parse_endpoint(text, &addr, &port, NULL), 0);
		m = config_member_add(svc, &addr, port, NULL);
		for (const struct option *o = option_first(OPTION_BACKEND); m && o;
		     o = option_next(o))
			draw_option(o, &m->conf);
	}
}

static struct config *draw_config(void)
{
	struct config *cfg = config_new();

	do {
		config_free(cfg);
		cfg = config_new();
		for (const struct option *o = option_first(OPTION_LIMIT); o; o = option_next(o))
			draw_option(o, &cfg->limits);
		for (unsigned int n = draw(6); n; n--)
			draw_service(cfg, n);
	} while (config_validate(cfg, NULL));
	cfg->has_limits = true;
	cfg->has_hash_key = draw(2);
	cfg->hash_key[0] = draw(1000);
	if (config_validate(cfg, NULL))
		cfg->has_limits = false; /* too small for it */
	give_ids(cfg);
	return cfg;
}

Test(apply, save_and_apply_lose_nothing)
{
	state = 0x1234567;
	for (int round = 0; round < 3000; round++) {
		struct config *live = draw_config(), *fresh = config_new(), *file;
		char *first = config_save(live, 0), *second;
		struct config_summary sum;
		struct poise_error err = {0};

		file = config_parse("f.yaml", first, strlen(first), &err);
		cr_assert_not_null(file, "%s in:\n%s", said(&err), first);
		/* into a fresh instance, which takes its limits from the file as well */
		fresh->has_limits = file->has_limits;
		fresh->limits = file->limits;
		cr_assert_eq(config_apply(fresh, file, 0, NULL, &err), 0, "%s", said(&err));
		second = config_save(fresh, 0);
		cr_assert_str_eq(first, second);
		/* onto itself: nothing */
		cr_assert_eq(config_apply(live, file, 0, &sum, &err), 0, "%s", said(&err));
		expect_sum(sum, 0, 0, 0, 0, 0, 0);
		cr_assert_eq(config_diff(live, fresh, NULL, NULL), 0);
		free(first);
		free(second);
		config_free(file);
		config_free(fresh);
		config_free(live);
	}
}

/* From anywhere to anywhere: what the file says is what there is, but for what others own. */
Test(apply, any_file_onto_any_configuration)
{
	state = 0x7654321;
	for (int round = 0; round < 3000; round++) {
		struct config *live = draw_config(), *want = draw_config(), *file;
		struct poise_error err = {0};
		char *text = config_save(want, 0);

		live->has_limits = false;
		live->has_hash_key = false;
		file = config_parse("f.yaml", text, strlen(text), &err);
		cr_assert_not_null(file, "%s", said(&err));
		for (size_t i = live->services; i-- > 0;)
			live->service[i]->conf.r.owner = POISE_OWNER_FILE;
		for (size_t i = 0; i < live->services; i++)
			for (size_t m = 0; m < live->service[i]->members; m++) {
				live->service[i]->member[m].conf.r.owner = POISE_OWNER_FILE;
				live->service[i]->member[m].conf.admin = POISE_ENABLED;
			}
		for (size_t i = 0; i < live->services; i++)
			for (size_t l = 0; l < live->service[i]->conf.listeners; l++)
				live->service[i]->conf.listener[l].owner = POISE_OWNER_FILE;
		cr_assert_eq(config_apply(live, file, CONFIG_APPLY_EMPTY, NULL, &err), 0, "%s",
			     said(&err));
		cr_assert_eq(config_diff(live, file, NULL, NULL), 0);
		free(text);
		config_free(file);
		config_free(want);
		config_free(live);
	}
}
