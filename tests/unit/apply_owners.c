// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whose it is: what a file, a hand and Kubernetes have made, and what the next file does to it. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "maps/text.h"
#include "tests/support/applying.h"

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
	applying_ids(live);
}

Test(apply_owners, what_others_own_stays)
{
	struct config *live = applying_live(WEB);

	add_by(POISE_OWNER_HAND, live, "tmp", "192.0.2.5:80", "10.0.5.1");
	add_by(POISE_OWNER_KUBERNETES, live, "k8s", "192.0.2.6:80", "10.0.6.1");
	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.7:80", "10.0.0.7");
	applying_counts(applying(live, WEB, 0), 0, 0, 0, 0, 0, 0);
	applying_counts(applying(live, "services:\n" MAIL, 0), 1, 0, 1, 1, 0, 3);
	cr_expect_not_null(config_service_named(live, "tmp"));
	cr_expect_not_null(config_service_named(live, "k8s"));
	config_free(live);
}

Test(apply_owners, what_a_hand_put_into_a_service_of_the_file_stays)
{
	struct config *live = applying_live(WEB);

	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.7:80", "10.0.0.7");
	applying_counts(
		applying(live,
			 "services:\n  - { name: web, forward: l2, listen: \"192.0.2.8:80\" }\n",
			 0),
		0, 1, 0, 0, 0, 2);
	cr_expect_not(config_member_leaving(applying_member(live, "web", "10.0.0.7")));
	cr_expect_eq(config_service_named(live, "web")->conf.listeners, 2);
	cr_expect_not_null(config_service_find(live, "192.0.2.7:80", NULL));
	config_free(live);
}

/* ... until the file names it: then it is the file's, and goes when the file drops it. */
Test(apply_owners, the_file_takes_over_what_a_hand_put_there)
{
	struct config *live = applying_live(WEB);

	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.7:80", "10.0.0.7");
	applying(live,
		 "services:\n  - { name: web, forward: l2, listen: [ \"192.0.2.7:80\", "
		 "\"192.0.2.8:80\" ], backends: [ 10.0.0.7 ] }\n",
		 0);
	applying(live, "services:\n  - { name: web, forward: l2, listen: \"192.0.2.8:80\" }\n", 0);
	cr_expect(config_member_leaving(applying_member(live, "web", "10.0.0.7")));
	cr_expect_eq(config_service_named(live, "web")->conf.listeners, 1);
	cr_expect_null(config_service_find(live, "192.0.2.7:80", NULL));
	config_free(live);
}

/* save, an edit, apply: the file takes over what was made by hand, in one step. */
Test(apply_owners, the_file_adopts_what_it_names)
{
	struct config *live = config_new();
	struct config_summary sum;
	char *saved;

	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.1:80", "10.0.0.1");
	add_by(POISE_OWNER_HAND, live, "web", NULL, "10.0.0.2");
	saved = config_save(live, 0);
	sum = applying(live, saved, 0);
	applying_counts(sum, 0, 0, 0, 0, 0, 0);
	cr_expect_eq(sum.adopted, 1);
	cr_expect_eq(applying_member(live, "web", "10.0.0.2")->conf.r.owner, POISE_OWNER_FILE);
	applying_counts(
		applying(live,
			 "services:\n  - { name: web, forward: l2, listen: \"192.0.2.1:80\", "
			 "backends: [ 10.0.0.1 ] }\n",
			 0),
		0, 0, 0, 0, 0, 1);
	cr_expect(config_member_leaving(applying_member(live, "web", "10.0.0.2")));
	free(saved);
	config_free(live);
}

Test(apply_owners, conflicts_with_other_owners)
{
	struct config *live = config_new();

	add_by(POISE_OWNER_KUBERNETES, live, "web", "192.0.2.9:80", "10.0.9.1");
	applying_refused(live, WEB, "service \"web\": is kept by Kubernetes (f.yaml:2)");
	config_free(live);

	live = config_new();
	add_by(POISE_OWNER_HAND, live, "tmp", "192.0.2.1:80", "10.0.5.1");
	applying_refused(live, WEB,
			 "service \"web\": listener 192.0.2.1:80: belongs to service \"tmp\" "
			 "(f.yaml:2)");
	config_free(live);

	/* valid by itself, but not with what a hand put in */
	live = applying_live(WEB);
	add_by(POISE_OWNER_HAND, live, "web", "192.0.2.1:443", NULL);
	applying_refused(live,
			 "services:\n  - name: web\n    forward: l2\n    listen: 192.0.2.1:80\n"
			 "    backends:\n      - { address: 10.0.0.1, port: 80 }\n",
			 "service \"web\": backend 10.0.0.1:80: port 80 is not that of listener "
			 "192.0.2.1:443, and forward l2 changes no ports (f.yaml:6)");
	config_free(live);
}
