// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * 100,000 established flows, TCP and UDP, through the loaded program, while backends come, go and
 * get other weights, and the table gets another size and another policy: none moves whose backend
 * stays. What hours of silence settle is in tests/unit/moves.c, where hours take milliseconds.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/text.h"
#include "tests/support/ledger.h"
#include "tests/support/rig.h"

#define FLOWS	 100000
#define EMULATED 50 /* times fewer where the CPU is emulated */
#define SILENT	 3  /* one flow in so many says nothing between beginning and end */
#define SLOTS	 (1 << 20)

static const char setup[] = "services:\n"
			    "  - { name: web, listen: " LEDGER_LISTENERS ", forward: l2,\n"
			    "      table-size: 4099, backends: [ { address: 10.3.0.1 },\n"
			    "        { address: 10.3.0.2 }, { address: 10.3.0.3 },\n"
			    "        { address: 10.3.0.4 }, { address: 10.3.0.5 } ] }\n";

static struct rig rig;
static struct ledger l;
static size_t flows;

TestSuite(moves, .fini = place_cleanup, .timeout = TEST_LONGEST);

static struct config_service *svc(void)
{
	return config_service_named(rig.cfg, "web");
}

static union poise_addr address(int number)
{
	struct poise_error err;
	union poise_addr a;
	char text[24];

	snprintf(text, sizeof(text), "10.3.0.%d", number);
	cr_assert(!poise_parse_addr(text, &a, &err));
	return a;
}

/* Everything that an operator may tell a service, one transaction each. */
static void all_changes(int which)
{
	static const __u8 policies[] = {POISE_SOURCE_HASH, POISE_P2C, POISE_MAGLEV};
	static const __u32 sizes[] = {16381, 251, 65537};
	union poise_addr a = address(6 + which);
	struct poise_error err = {0};

	cr_assert(config_member_add(svc(), &a, 0, &err), "%s", err.message);
	rig_commit(&rig);
	a = address(2);
	config_member_at(svc(), &a, 0)->conf.weight = (__u16)(3 + which);
	rig_commit(&rig);
	ledger_talk_some(&l, flows / 20);
	svc()->conf.table_size = sizes[which];
	rig_commit(&rig);
	a = address(3);
	config_member_at(svc(), &a, 0)->conf.admin = which & 1 ? POISE_ENABLED : POISE_DRAINING;
	rig_commit(&rig);
	ledger_talk_some(&l, flows / 20);
	svc()->conf.policy = policies[which];
	rig_commit(&rig);
	if (!which)
		return;
	a = address(6 + which - 1);
	config_member_del(svc(), config_member_at(svc(), &a, 0));
	ledger_release(&l, 6 + which - 1, false);
	rig_commit(&rig);
}

/* All flows but those that are silent. */
static void most_talk(void)
{
	for (size_t f = 0; f < flows; f++)
		if (f % SILENT)
			ledger_talk(&l, f);
}

static void expect_none_moved(const char *when)
{
	cr_assert_eq(l.moved, 0, "%s: %lu flows of %lu moved; first %s", when, l.moved, l.begun,
		     l.first);
	cr_assert_eq(l.lost, 0, "%s: %lu packets of %lu went nowhere", when, l.lost, l.packets);
	rig_expect_recount(&rig, when);
}

static void work(__u8 track)
{
	struct config_limits limits = RIG_LIMITS(SLOTS);

	flows = FLOWS / (place_emulated() ? EMULATED : 1);
	rig_open_with(&rig, setup, &limits);
	svc()->conf.track = track;
	rig_commit(&rig);
	ledger_open(&l, flows, 1);
	l.send = rig_send_raw;
	l.ctx = &rig;
	l.idle = l.udp = 1000;
	for (size_t f = 0; f < flows; f++)
		ledger_begin(&l, f, f & 1);
	expect_none_moved("they began");
	all_changes(0);
	all_changes(1);
	most_talk();
	expect_none_moved("changed twice, at once");
	all_changes(2);
	most_talk();
	expect_none_moved("and once more");
	ledger_talk_all(&l);
	expect_none_moved("the silent ones too");
	ledger_close(&l);
	rig_close(&rig);
}

Test(moves, track_auto)
{
	work(POISE_TRACK_AUTO);
}

Test(moves, track_always)
{
	work(POISE_TRACK_ALWAYS);
}
