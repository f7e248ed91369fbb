// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who may be chosen and whose flows go on: by what is said of a member, of two, and of all of a
 * service's (panic, on-none-up, on-down).
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "maps/derive.h"
#include "tests/support/store.h"

#define TCP   POISE_L_HIT_TCP
#define UDP   POISE_L_HIT_UDP
#define RESET POISE_L_RESET
#define TABLE 61

/* The published record of the only service. */
static const struct poise_service_rec *rec(const struct instance *i)
{
	return &i->services[1].rec[i->services[1].active & 1];
}

static unsigned int slots_of(const struct instance *i, __u32 ordinal)
{
	const struct poise_service_rec *r = rec(i);
	unsigned int slots = 0;

	for (__u32 s = 0; s < r->table_size; s++)
		slots += POISE_ENTRY_CURRENT(i->table[r->table_at + s]) == ordinal;
	return slots;
}

/* ---- one member, and two ----------------------------------------------------------------------*/

static const struct {
	const char *what;
	__u8 state, admin, health;
	__u16 weight;
	__u8 sorry;
	__u64 deadline;
	__u32 live;
} rungs[] = {
	{"up", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_UP, 1, 0, 0, POISE_RANK_UP | TCP | UDP},
	{"unchecked", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_NONE, 1, 0, 0,
	 POISE_RANK_UP | TCP | UDP},
	{"not yet checked", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_CHECKING, 1, 0, 0,
	 POISE_RANK_CHECKING | TCP | UDP},
	{"weight 0", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_UP, 0, 0, 0,
	 POISE_RANK_DRAINING | TCP | UDP},
	{"draining", POISE_REC_USED, POISE_DRAINING, POISE_HEALTH_UP, 1, 0, 0,
	 POISE_RANK_DRAINING | TCP | UDP},
	{"draining until later", POISE_REC_USED, POISE_DRAINING, POISE_HEALTH_UP, 1, 0, 99,
	 POISE_RANK_DRAINING | TCP | UDP},
	{"draining, not yet checked", POISE_REC_USED, POISE_DRAINING, POISE_HEALTH_CHECKING, 1, 0,
	 0, POISE_RANK_DRAINING | TCP | UDP},
	{"sorry", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_UP, 1, 1, 0,
	 POISE_RANK_SORRY | TCP | UDP},
	{"sorry, not yet checked", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_CHECKING, 1, 1, 0,
	 POISE_RANK_SORRY | TCP | UDP},
	{"sorry and draining", POISE_REC_USED, POISE_DRAINING, POISE_HEALTH_UP, 1, 1, 0,
	 POISE_RANK_SORRY_DRAINING | TCP | UDP},
	{"sorry of weight 0", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_UP, 0, 1, 0,
	 POISE_RANK_SORRY_DRAINING | TCP | UDP},
	/* down but chosen for want of others: its flows stay with it, of UDP too */
	{"down", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_DOWN, 1, 0, 0,
	 POISE_RANK_FAILED | TCP | UDP},
	{"sorry and down", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_DOWN, 1, 1, 0,
	 POISE_RANK_FAILED | TCP | UDP},
	{"down and draining", POISE_REC_USED, POISE_DRAINING, POISE_HEALTH_DOWN, 1, 0, 0,
	 POISE_RANK_NEVER | TCP},
	{"down of weight 0", POISE_REC_USED, POISE_ENABLED, POISE_HEALTH_DOWN, 0, 0, 0,
	 POISE_RANK_NEVER | TCP},
	{"drained", POISE_REC_USED, POISE_DRAINING, POISE_HEALTH_UP, 1, 0, DERIVE_ENDED,
	 POISE_RANK_NEVER},
	{"drained and down", POISE_REC_USED, POISE_DRAINING, POISE_HEALTH_DOWN, 1, 0, DERIVE_ENDED,
	 POISE_RANK_NEVER},
	{"disabled", POISE_REC_USED, POISE_DISABLED, POISE_HEALTH_UP, 1, 0, 0,
	 POISE_RANK_NEVER | TCP},
	{"leaving", POISE_REC_LEAVING, POISE_ENABLED, POISE_HEALTH_UP, 1, 0, 0,
	 POISE_RANK_NEVER | TCP},
};

static void put_on(struct poise_member_conf *conf, unsigned long rung)
{
	conf->r.state = rungs[rung].state;
	conf->admin = rungs[rung].admin;
	conf->health = rungs[rung].health;
	conf->weight = rungs[rung].weight;
	conf->sorry = rungs[rung].sorry;
	conf->deadline = rungs[rung].deadline;
}

static void stand_on(struct config *cfg, unsigned long rung)
{
	store_add_service(cfg, "web", 1, 0, 1)->conf.table_size = TABLE;
	put_on(&config_service_named(cfg, "web")->member[0].conf, rung);
}

#define RUNGS (sizeof(rungs) / sizeof(rungs[0]))

Test(ladder, the_ladder)
{
	for (unsigned long r = 0; r < RUNGS; r++) {
		struct instance *i = store_tiny();
		__u32 live, rank = rungs[r].live & POISE_L_RANK;
		bool keeps = rungs[r].live & (TCP | UDP);

		store_change(i, stand_on, r);
		store_check(i, rungs[r].what);
		live = i->members[rec(i)->extent[0].first].live;
		cr_assert_eq(live, rungs[r].live, "%s: live is 0x%x, not 0x%x", rungs[r].what, live,
			     rungs[r].live);
		cr_assert_eq(rec(i)->rung, rank == POISE_RANK_NEVER ? POISE_RANK_NOBODY : rank,
			     "%s", rungs[r].what);
		cr_assert_eq(rec(i)->table_size, keeps ? TABLE : 0, "%s", rungs[r].what);
		cr_assert_eq(slots_of(i, 0), rank == POISE_RANK_NEVER ? 0 : TABLE, "%s",
			     rungs[r].what);
		instance_close(i);
	}
}

/* Of any two, the one of better rank gets all slots; of equals both some. */
static void stand_on_two(struct config *cfg, unsigned long pair)
{
	store_add_service(cfg, "web", 1, 0, 2)->conf.table_size = TABLE;
	put_on(&config_service_named(cfg, "web")->member[0].conf, pair / RUNGS);
	put_on(&config_service_named(cfg, "web")->member[1].conf, pair % RUNGS);
}

Test(ladder, the_better_of_two_serves)
{
	for (unsigned long pair = 0; pair < RUNGS * RUNGS; pair++) {
		__u32 a = rungs[pair / RUNGS].live & POISE_L_RANK;
		__u32 b = rungs[pair % RUNGS].live & POISE_L_RANK;
		struct instance *i = store_tiny();
		unsigned int slots;

		store_change(i, stand_on_two, pair);
		store_check(i, "two");
		slots = slots_of(i, 0);
		if (a < b)
			cr_assert_eq(slots, TABLE, "%lu", pair);
		else if (a > b || a == POISE_RANK_NEVER)
			cr_assert_eq(slots, 0, "%lu", pair);
		else
			cr_assert(slots > 0 && slots < TABLE, "%lu", pair);
		instance_close(i);
	}
}

/* ---- pools ------------------------------------------------------------------------------------*/

/* A member a letter: Up, Checking, Failed (down), Draining, Weight 0, diSabled, soRry, down And
 * sorry, Leaving, leaving and down (X); Ejected, and sO though not yet checked. */
static void member(struct poise_member_conf *m, char letter)
{
	m->r.state = strchr("LX", letter) ? POISE_REC_LEAVING : POISE_REC_USED;
	m->weight = letter != 'W';
	m->sorry = letter == 'R' || letter == 'A';
	m->admin = letter == 'D' ? POISE_DRAINING : letter == 'S' ? POISE_DISABLED : POISE_ENABLED;
	m->health = strchr("FAX", letter)  ? POISE_HEALTH_DOWN
		    : strchr("CO", letter) ? POISE_HEALTH_CHECKING
					   : POISE_HEALTH_UP;
	m->ejected = strchr("EO", letter) ? POISE_FAULT_UNANSWERED : POISE_FAULT_NONE;
}

struct made {
	__u8 stood; /* POISE_STANDS_* before */
	struct poise_service_conf conf;
	struct poise_member_conf member[16];
	struct ladder ladder;
};

static void make(struct made *made, const char *letters)
{
	ladder_begin(&made->ladder, &made->conf, made->stood);
	for (size_t m = 0; letters[m]; m++) {
		member(&made->member[m], letters[m]);
		ladder_count(&made->ladder, &made->member[m]);
	}
}

/* ---- panic and on-none-up ---------------------------------------------------------------------*/

/* Members, and who of them serves (*). */
static const struct {
	const char *members, *serve;
	__u8 panic, refuse;
	enum poise_rank rung;
	bool panics;
} pools[] = {
	{"UUFF", "**  ", 0, 0, POISE_RANK_UP, false},
	{"UUFF", "**  ", 50, 0, POISE_RANK_UP, false}, /* as many as it says: not fewer */
	{"UUFF", "****", 51, 0, POISE_RANK_UP, true},
	{"UFFF", "****", 50, 0, POISE_RANK_UP, true},
	{"UFFF", "****", 26, 0, POISE_RANK_UP, true},
	{"UFFF", "*   ", 25, 0, POISE_RANK_UP, false},
	{"UFFF", "*   ", 0, 0, POISE_RANK_UP, false},
	{"UUUF", "****", 100, 0, POISE_RANK_UP, true},
	{"UUUU", "****", 100, 0, POISE_RANK_UP, false},
	/* those not yet checked are no more believed to be down than those that failed */
	{"UCCC", "****", 50, 0, POISE_RANK_UP, true},
	{"UCCC", "*   ", 25, 0, POISE_RANK_UP, false},
	/* what people said counts: these neither serve nor are they missed */
	{"UDWS", "*   ", 100, 0, POISE_RANK_UP, false},
	{"URLX", "*   ", 100, 0, POISE_RANK_UP, false},
	{"UFDWSRALX", "**       ", 100, 0, POISE_RANK_UP, true},
	/* panic is for some; with nobody up it is on-none-up that says */
	{"FFFF", "****", 100, 0, POISE_RANK_FAILED, false},
	{"FFFF", "    ", 100, 1, POISE_RANK_NOBODY, false},
	{"UFFF", "****", 100, 1, POISE_RANK_UP, true},
	{"FFFF", "    ", 0, 1, POISE_RANK_NOBODY, false},
	{"FFAA", "    ", 0, 1, POISE_RANK_NOBODY, false},
	{"FFAA", "****", 0, 0, POISE_RANK_FAILED, false},
	{"CFFF", "*   ", 0, 1, POISE_RANK_CHECKING, false},
	{"DFFF", "*   ", 0, 1, POISE_RANK_DRAINING, false},
	{"WFFF", "*   ", 0, 0, POISE_RANK_DRAINING, false},
	{"RFFF", "*   ", 0, 1, POISE_RANK_SORRY, false},
	{"RFFF", "*   ", 100, 0, POISE_RANK_SORRY, false},
	{"RDFF", " *  ", 0, 0, POISE_RANK_DRAINING, false},
	{"RCFF", " *  ", 0, 0, POISE_RANK_CHECKING, false},
	{"RRAF", "**  ", 0, 0, POISE_RANK_SORRY, false},
	{"SSLX", "    ", 100, 0, POISE_RANK_NOBODY, false},
	/* ejected: not while somebody is up, but before whoever is no better than a guess */
	{"UUUE", "*** ", 0, 0, POISE_RANK_UP, false},
	{"UEEE", "*   ", 0, 1, POISE_RANK_UP, false},
	{"UUUE", "*** ", 100, 0, POISE_RANK_UP, false}, /* whose check is good */
	{"UUEF", "****", 100, 0, POISE_RANK_UP, true},
	{"FFFE", "   *", 0, 0, POISE_RANK_UP, false},
	{"FFFE", "   *", 0, 1, POISE_RANK_UP, false},
	{"FFFE", "****", 100, 1, POISE_RANK_UP, true},
	{"CDRE", "   *", 0, 0, POISE_RANK_UP, false},
	{"EEEE", "****", 0, 1, POISE_RANK_UP, false},
	{"UO", "* ", 0, 0, POISE_RANK_UP, false},
	{"FO", " *", 0, 0, POISE_RANK_CHECKING, false},
	{"", "", 100, 0, POISE_RANK_NOBODY, false},
};

Test(ladder, who_serves)
{
	for (size_t p = 0; p < sizeof(pools) / sizeof(pools[0]); p++) {
		struct made made = {
			.conf = {.panic = pools[p].panic, .on_none_up = pools[p].refuse}};
		char serve[sizeof(made.member) / sizeof(made.member[0])] = "";

		make(&made, pools[p].members);
		for (size_t m = 0; pools[p].members[m]; m++)
			serve[m] = ladder_rank(&made.ladder, &made.member[m]) <=
						   ladder_rung(&made.ladder)
					   ? '*'
					   : ' ';
		cr_expect_str_eq(serve, pools[p].serve, "%s, panic %u, refuse %u: \"%s\"",
				 pools[p].members, pools[p].panic, pools[p].refuse, serve);
		cr_expect_eq(ladder_rung(&made.ladder), pools[p].rung, "%s, panic %u, refuse %u",
			     pools[p].members, pools[p].panic, pools[p].refuse);
		cr_expect_eq(ladder_panics(&made.ladder), pools[p].panics, "%s, panic %u",
			     pools[p].members, pools[p].panic);
	}
}

Test(ladder, how_nobody_fares)
{
	for (__u8 on = POISE_NOBODY_REFUSE; on <= POISE_NOBODY_DROP; on++)
		for (int failed = 0; failed < 2; failed++) {
			struct made made = {
				.conf = {.on_none_up = POISE_NONE_UP_REFUSE, .on_nobody = on}};
			const char *words;
			char buf[128];

			make(&made, failed ? "FS" : "S");
			words = ladder_says(&made.ladder, buf, sizeof(buf));
			cr_expect_eq(!!strstr(words, "refused"), on == POISE_NOBODY_REFUSE, "%s",
				     words);
			cr_expect_eq(!!strstr(words, "on-nobody drop"), on == POISE_NOBODY_DROP,
				     "%s", words);
			cr_expect_eq(!!strstr(words, "on-none-up"), failed, "%s", words);
		}
}

/* ---- on-down ----------------------------------------------------------------------------------*/

/* What becomes of the flows of the first member. */
static const struct {
	const char *members;
	__u8 tcp, udp, panic, refuse;
	__u32 flows;
} flows[] = {
	{"FU", POISE_ON_DOWN_KEEP, POISE_UDP_MOVE, 0, 0, TCP},
	{"FU", POISE_ON_DOWN_KEEP, POISE_UDP_KEEP, 0, 0, TCP | UDP},
	{"FU", POISE_ON_DOWN_MOVE, POISE_UDP_MOVE, 0, 0, 0},
	{"FU", POISE_ON_DOWN_MOVE, POISE_UDP_KEEP, 0, 0, UDP},
	{"FU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, RESET},
	{"FU", POISE_ON_DOWN_RESET, POISE_UDP_KEEP, 0, 0, RESET | UDP},
	{"SU", POISE_ON_DOWN_KEEP, POISE_UDP_KEEP, 0, 0, TCP | UDP},
	{"SU", POISE_ON_DOWN_MOVE, POISE_UDP_MOVE, 0, 0, 0},
	{"SU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, RESET},
	{"AU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, RESET},
	/* a leaver is gone, for UDP; it is down if its check says so */
	{"LU", POISE_ON_DOWN_RESET, POISE_UDP_KEEP, 0, 0, TCP},
	{"XU", POISE_ON_DOWN_RESET, POISE_UDP_KEEP, 0, 0, RESET},
	{"XU", POISE_ON_DOWN_KEEP, POISE_UDP_KEEP, 0, 0, TCP},
	/* who is not down keeps all */
	{"UU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, TCP | UDP},
	{"CU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, TCP | UDP},
	{"DU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, TCP | UDP},
	{"WU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, TCP | UDP},
	{"RU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, TCP | UDP},
	/* nor do those lose any that are used though they are down */
	{"FF", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, TCP | UDP},
	{"FF", POISE_ON_DOWN_MOVE, POISE_UDP_MOVE, 0, 0, TCP | UDP},
	{"FU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 51, 0, TCP | UDP},
	{"FF", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 1, RESET},
	{"FF", POISE_ON_DOWN_KEEP, POISE_UDP_MOVE, 0, 1, TCP},
	{"FR", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, RESET},
	/* ejected is not down */
	{"EU", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 0, TCP | UDP},
	{"EF", POISE_ON_DOWN_RESET, POISE_UDP_MOVE, 0, 1, TCP | UDP},
};

Test(ladder, whose_flows_go_on)
{
	for (size_t f = 0; f < sizeof(flows) / sizeof(flows[0]); f++) {
		struct made made = {.conf = {.on_down = flows[f].tcp,
					     .on_down_udp = flows[f].udp,
					     .panic = flows[f].panic,
					     .on_none_up = flows[f].refuse}};
		__u32 live;

		make(&made, flows[f].members);
		live = ladder_live(&made.ladder, &made.member[0]) & ~POISE_L_RANK;
		cr_expect_eq(live, flows[f].flows, "%s, line %zu: 0x%x, not 0x%x", flows[f].members,
			     f, live, flows[f].flows);
	}
}

Test(ladder, the_end_of_a_drain_cuts_whatever_on_down_says)
{
	struct made made = {.conf = {.on_down = POISE_ON_DOWN_RESET}};

	make(&made, "DU");
	made.member[0].deadline = DERIVE_ENDED;
	cr_assert_eq(ladder_live(&made.ladder, &made.member[0]), POISE_RANK_NEVER);
}

/* ---- what packets see, of each pool and policy ------------------------------------------------*/

static unsigned int policy;

static void stand(struct config *cfg, unsigned long pool)
{
	const char *letters = pools[pool].members;
	struct config_service *svc = store_add_service(cfg, "web", 1, 0, strlen(letters));

	svc->conf.table_size = TABLE;
	svc->conf.policy = (__u8)policy;
	svc->conf.panic = pools[pool].panic;
	svc->conf.on_none_up = pools[pool].refuse;
	for (size_t m = 0; letters[m]; m++)
		member(&svc->member[m].conf, letters[m]);
}

/* Whether the table or the cycle names this ordinal. */
static bool is_named(const struct instance *i, __u32 ordinal)
{
	const struct poise_service_rec *r = rec(i);

	for (__u32 s = 0; s < r->cycle_size; s++)
		if (i->table[r->cycle_at + s * POISE_CYCLE_WIDTH(r->policy)] ==
		    r->extent[0].first + ordinal)
			return true;
	return !r->cycle_size && slots_of(i, ordinal);
}

static void check_pool(size_t pool)
{
	struct instance *i = store_tiny();

	store_change(i, stand, pool);
	store_check(i, pools[pool].members);
	cr_assert_eq(rec(i)->rung, pools[pool].rung, "%s", pools[pool].members);
	for (__u32 m = 0; pools[pool].members[m]; m++)
		cr_assert_eq(is_named(i, m), pools[pool].serve[m] == '*', "policy %u, %s: %u",
			     policy, pools[pool].members, m);
	instance_close(i);
}

Test(ladder, table_and_cycle_name_those_who_serve)
{
	for (policy = 0; policy < POISE_POLICIES; policy++)
		for (size_t p = 0; p < sizeof(pools) / sizeof(pools[0]); p++)
			if (*pools[p].members)
				check_pool(p);
}

/* ---- who comes to a service with a check ------------------------------------------------------*/

static void checked(struct config *cfg, unsigned long argument)
{
	struct config_service *svc = store_add_service(cfg, "web", 1, 0, 2);

	(void)argument;
	svc->conf.table_size = TABLE;
	svc->conf.policy = (__u8)policy;
	svc->conf.health.type = POISE_CHECK_ICMP;
	svc->member[0].conf.health = svc->member[1].conf.health = POISE_HEALTH_UP;
}

static void one_more(struct config *cfg, unsigned long argument)
{
	const union poise_addr addr = {.b = {0xfd, [15] = 99}};

	(void)argument;
	cr_assert(config_member_add(config_service_named(cfg, "web"), &addr, 0, NULL));
}

/* Its slots are planned as it will stand: not yet checked, and so not chosen. */
Test(ladder, who_comes_is_not_chosen_before_its_check)
{
	for (policy = 0; policy < POISE_POLICIES; policy++) {
		struct instance *i = store_tiny();
		struct timespec now;

		store_change(i, checked, 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
		i->meta->daemon_pid = (__u32)getpid();
		i->meta->heartbeat = ((__u64)now.tv_sec + 5) * 1000000000; /* poised runs */
		store_change(i, one_more, 0);
		store_check(i, "one more");
		cr_assert_eq(i->members[rec(i)->extent[0].first + 2].live & POISE_L_RANK,
			     POISE_RANK_CHECKING);
		for (__u32 m = 0; m < 3; m++)
			cr_assert_eq(is_named(i, m), m < 2, "policy %u: %u", policy, m);
		cr_assert(!rec(i)->cycle_size || rec(i)->cycle_size == 2, "policy %u: %u", policy,
			  rec(i)->cycle_size);
		instance_close(i);
	}
}
