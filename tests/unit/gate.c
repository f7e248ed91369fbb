// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The announcing gate: what can be served, and what follows from it for an address. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "loader/net/gate.h"
#include "maps/text.h"
#include "tests/support/store.h"

#define MS    1000000ull
#define VIP   "192.0.2.1" /* of store_add_service's first */
#define HOP   INSTANCE_NEXTHOP(((const __u8[]){2, 0, 0, 0, 0, 1}), 1)
#define THEN  1000 /* a moment, not 0 */
#define SLOTS 61   /* of a table, in a tiny instance */

/* ---- the judgement ----------------------------------------------------------------------------*/

#define GRACE 3000

static const struct {
	const char *when;
	const char *device;
	__u8 announce, put, announced; /* the record */
	__u8 found;
	__u64 lost_ms;
	__u8 judged;
} judged[] = {
	{"new, nothing to serve it", "lo", POISE_ANNOUNCE_AUTO, POISE_PUT_NOT, POISE_UNJUDGED,
	 POISE_WITHDRAWN_NO_SERVICE, 0, POISE_WITHDRAWN_NO_SERVICE},
	{"new, and served", "lo", POISE_ANNOUNCE_AUTO, POISE_PUT_NOT, POISE_UNJUDGED,
	 POISE_ANNOUNCED, 0, POISE_ANNOUNCED},
	{"there before anybody judged", "lo", POISE_ANNOUNCE_AUTO, POISE_PUT_MARKED, POISE_UNJUDGED,
	 POISE_WITHDRAWN_NO_BACKEND, GRACE - 1, POISE_ANNOUNCED},
	{"lost, within the grace", "lo", POISE_ANNOUNCE_AUTO, POISE_PUT_MARKED, POISE_ANNOUNCED,
	 POISE_WITHDRAWN_NO_BACKEND, GRACE - 1, POISE_ANNOUNCED},
	{"lost, past the grace", "lo", POISE_ANNOUNCE_AUTO, POISE_PUT_MARKED, POISE_ANNOUNCED,
	 POISE_WITHDRAWN_NO_BACKEND, GRACE, POISE_WITHDRAWN_NO_BACKEND},
	{"its device is away, past the grace", "lo", POISE_ANNOUNCE_AUTO, POISE_PUT_NOT,
	 POISE_ANNOUNCED, POISE_WITHDRAWN_NO_BACKEND, GRACE, POISE_WITHDRAWN_NO_BACKEND},
	{"back at once", "lo", POISE_ANNOUNCE_AUTO, POISE_PUT_NOT, POISE_WITHDRAWN_NO_BACKEND,
	 POISE_ANNOUNCED, 0, POISE_ANNOUNCED},
	{"another reason", "lo", POISE_ANNOUNCE_AUTO, POISE_PUT_NOT, POISE_WITHDRAWN_NO_BACKEND,
	 POISE_WITHDRAWN_DETACHED, 0, POISE_WITHDRAWN_DETACHED},
	{"said of another device", "e0", POISE_ANNOUNCE_USABLE, POISE_PUT_MARKED, POISE_ANNOUNCED,
	 POISE_WITHDRAWN_NO_BACKEND, GRACE, POISE_WITHDRAWN_NO_BACKEND},
	{"another device", "e0", POISE_ANNOUNCE_AUTO, POISE_PUT_MARKED, POISE_ANNOUNCED,
	 POISE_WITHDRAWN_NO_BACKEND, GRACE, POISE_ANNOUNCED},
	{"always", "lo", POISE_ANNOUNCE_ALWAYS, POISE_PUT_NOT, POISE_UNJUDGED,
	 POISE_WITHDRAWN_NO_SERVICE, GRACE, POISE_ANNOUNCED},
	{"always from now on", "lo", POISE_ANNOUNCE_ALWAYS, POISE_PUT_NOT,
	 POISE_WITHDRAWN_NO_SERVICE, POISE_WITHDRAWN_NO_SERVICE, GRACE, POISE_ANNOUNCED},
	{"somebody else's", "lo", POISE_ANNOUNCE_USABLE, POISE_PUT_FOREIGN, POISE_ANNOUNCED,
	 POISE_WITHDRAWN_NO_BACKEND, GRACE, POISE_ANNOUNCED},
};

Test(gate, judgement)
{
	for (size_t k = 0; k < sizeof(judged) / sizeof(judged[0]); k++) {
		struct config_address a = {
			.conf = {.announce = judged[k].announce,
				 .put = judged[k].put,
				 .announced = judged[k].announced,
				 .withdraw_grace = GRACE},
		};

		strcpy(a.conf.device, judged[k].device);
		cr_expect_eq(gate_judge(&a, judged[k].found, judged[k].lost_ms), judged[k].judged,
			     "%s", judged[k].when);
	}
}

/* ---- what can be served -----------------------------------------------------------------------*/

static struct instance *instance;
static struct config *cfg;
static struct gate gate;

static union poise_addr address(const char *text)
{
	union poise_addr addr;

	cr_assert_eq(poise_parse_host(text, &addr, NULL), 0);
	return addr;
}

static struct config_address *claim(struct config *in, const char *text)
{
	union poise_addr addr = address(text);
	struct config_address *a = config_address_add(in, &addr, NULL);

	cr_assert(a && !config_address_device(a, "lo", NULL));
	return a;
}

static void make(struct config *in, unsigned long argument)
{
	(void)argument;
	store_add_service(in, "web", 1, 0, 2)->conf.table_size = SLOTS;
	claim(in, VIP);
}

static void look_again(void)
{
	config_free(cfg);
	cr_assert_eq(instance_load(instance, &cfg, NULL), 0);
}

/* Both backends have a next hop. */
static void up(void)
{
	instance = store_tiny();
	store_change(instance, make, 0);
	look_again();
	for (size_t m = 0; m < cfg->service[0]->members; m++)
		instance_set_nexthop(instance, cfg->service[0]->member[m].id, HOP);
}

static void down(void)
{
	gate_free(&gate);
	config_free(cfg);
	instance_close(instance);
}

TestSuite(gate_look, .init = up, .fini = down);

static const struct gate_place *look(const char *text, bool attached, __u64 now)
{
	union poise_addr addr = address(text);

	gate_look(&gate, instance, cfg, attached, now);
	for (size_t a = 0; a < gate.places; a++)
		if (!poise_addr_cmp(&gate.place[a].addr, &addr))
			return &gate.place[a];
	cr_assert_fail("%s has no place", text);
	return NULL;
}

static void both(const char *what, __u8 found)
{
	look_again();
	cr_expect_eq(look(VIP, true, THEN)->found, found, "%s", what);
}

/* Each puts both backends into a state in which new flows go there, or do not. */
static struct poise_member_conf *of(struct config *in, int m)
{
	return &in->service[0]->member[m].conf;
}

static void enabled(struct config *in, unsigned long argument)
{
	for (int m = 0; m < 2; m++) {
		of(in, m)->admin = POISE_ENABLED;
		of(in, m)->health = (__u8)argument;
		of(in, m)->weight = 1;
	}
}

static void admin(struct config *in, unsigned long argument)
{
	for (int m = 0; m < 2; m++)
		of(in, m)->admin = (__u8)argument;
}

static void weightless(struct config *in, unsigned long argument)
{
	(void)argument;
	for (int m = 0; m < 2; m++)
		of(in, m)->weight = 0;
}

static void min_up(struct config *in, unsigned long argument)
{
	in->service[0]->conf.min_up = (__u16)argument;
}

static void leaving(struct config *in, unsigned long argument)
{
	for (int m = 0; m < 2; m++)
		config_member_leave(in->service[0], &in->service[0]->member[m], argument);
}

Test(gate_look, what_is_usable)
{
	static const struct {
		const char *what;
		store_edit edit;
		unsigned long argument;
		__u8 found;
	} steps[] = {
		{"unchecked", enabled, POISE_HEALTH_NONE, POISE_ANNOUNCED},
		{"below its minimum", min_up, 3, POISE_WITHDRAWN_BELOW},
		{"without one", min_up, 0, POISE_ANNOUNCED},
		{"disabled", admin, POISE_DISABLED, POISE_WITHDRAWN_NO_BACKEND},
		{"up", enabled, POISE_HEALTH_UP, POISE_ANNOUNCED},
		{"down, though the ladder would still try", enabled, POISE_HEALTH_DOWN,
		 POISE_WITHDRAWN_NO_BACKEND},
		{"not yet checked", enabled, POISE_HEALTH_CHECKING, POISE_ANNOUNCED},
		{"draining, with nobody better", admin, POISE_DRAINING, POISE_ANNOUNCED},
		{"enabled again", enabled, POISE_HEALTH_NONE, POISE_ANNOUNCED},
		{"of weight 0", weightless, 0, POISE_ANNOUNCED},
		{"leaving", leaving, 1, POISE_WITHDRAWN_NO_BACKEND},
	};

	for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		store_change(instance, steps[k].edit, steps[k].argument);
		both(steps[k].what, steps[k].found);
	}
}

Test(gate_look, a_backend_that_cannot_be_reached_is_none)
{
	const struct config_service *svc = cfg->service[0];

	instance_set_nexthop(instance, svc->member[0].id, 0);
	cr_expect_eq(look(VIP, true, THEN)->found, POISE_ANNOUNCED);
	instance_set_nexthop(instance, svc->member[1].id, 0);
	cr_expect_eq(look(VIP, true, THEN)->found, POISE_WITHDRAWN_NO_BACKEND);
	instance_set_nexthop(instance, svc->member[1].id, HOP);
	cr_expect_eq(look(VIP, true, THEN)->found, POISE_ANNOUNCED);
}

/* As health will: one store into the live word, no new configuration. */
Test(gate_look, what_packets_see_counts)
{
	for (size_t m = 0; m < 2; m++)
		instance->members[cfg->service[0]->member[m].id].live = POISE_RANK_FAILED;
	cr_expect_eq(look(VIP, true, THEN)->found, POISE_WITHDRAWN_NO_BACKEND);
}

Test(gate_look, without_a_program_nothing_is_served)
{
	cr_expect_eq(look(VIP, false, THEN)->found, POISE_WITHDRAWN_DETACHED);
	cr_expect_eq(look(VIP, true, THEN)->found, POISE_ANNOUNCED);
}

static void more(struct config *in, unsigned long argument)
{
	struct config_service *empty = store_add_service(in, "without", 2, 0, 0);

	(void)argument;
	claim(in, "192.0.2.99");
	empty->conf.table_size = SLOTS;
	store_listen(in, empty, VIP ":81");
	claim(in, "192.0.2.2");
	claim(in, "192.0.2.0");
}

/* Of several services on an address one suffices; time since the loss is kept when others come. */
Test(gate_look, addresses_and_their_services)
{
	store_change(instance, admin, POISE_DISABLED);
	look_again();
	cr_expect_eq(look(VIP, true, THEN)->lost, THEN);
	store_change(instance, more, 0);
	look_again();
	cr_expect_eq(look(VIP, true, THEN + 1)->lost, THEN);
	cr_expect_eq(look(VIP, true, THEN + 2)->found, POISE_WITHDRAWN_NO_BACKEND);
	cr_expect_eq(look("192.0.2.2", true, THEN)->found, POISE_WITHDRAWN_NO_BACKEND);
	cr_expect_eq(look("192.0.2.99", true, THEN)->found, POISE_WITHDRAWN_NO_SERVICE);
	cr_expect_eq(look("192.0.2.0", true, THEN)->lost, THEN + 1);
	store_change(instance, enabled, POISE_HEALTH_UP);
	look_again();
	cr_expect_eq(look(VIP, true, THEN + 3)->lost, 0);
	cr_expect_eq(look(VIP, true, THEN + 3)->found, POISE_ANNOUNCED);
	cr_expect_eq(look("192.0.2.2", true, THEN)->found, POISE_WITHDRAWN_NO_BACKEND);
}

static void announced(struct config *in, unsigned long argument)
{
	for (size_t a = 0; a < in->addresses; a++) {
		in->address[a].conf.announced = (__u8)argument;
		in->address[a].conf.put = POISE_PUT_MARKED;
	}
}

/* Not while the grace lasts, unless nobody else will be there at its end. */
Test(gate_look, due)
{
	store_change(instance, announced, POISE_ANNOUNCED);
	look_again();
	look(VIP, true, THEN);
	cr_expect_not(gate_due(&gate, cfg, THEN));
	look(VIP, false, THEN);
	cr_expect_not(gate_due(&gate, cfg, THEN + (GRACE - 1) * MS));
	cr_expect(gate_due(&gate, cfg, THEN + GRACE * MS));
	gate.alone = true;
	cr_expect(gate_due(&gate, cfg, THEN));
}
