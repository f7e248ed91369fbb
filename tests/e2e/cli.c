// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The command `poise` as a user runs it, on an instance in the kernel: that it does what it says.
 * What it prints: cli_output.c; files: cli_file.c.
 */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/instance.h"
#include "tests/support/host.h"

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
	host_web(&h);
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

Test(cli, wait_returns_when_drained_or_says_that_it_is_not)
{
	host_web(&h);
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
		instance_bucket(i, (__u32)k)->word[0] = 0x12345678ull << POISE_WORD_TAG_SHIFT |
							(__u64)cfg->service[0]->member[member[k]].id
								<< POISE_WORD_MEMBER_SHIFT |
							state[k] << POISE_WORD_STATE_SHIFT |
							(instance_stamp_now(i) & POISE_WORD_STAMP);
	config_free(cfg);
	instance_close(i);
}

Test(cli, flows_are_listed_and_filtered)
{
	host_web(&h);
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

	host_web(&h);
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
Test(cli, writers_wait_for_each_other)
{
	host_web(&h);
	host_run(&h, "for n in 1 2 3 4 5 6 7 8; do poise --instance $I -q service add s$n "
		     "192.0.2.20:800$n forward l2 & done; wait");
	cr_assert_eq(h.status, 0);
	cr_assert_str_empty(h.err);
	host_must(&h, "service list --no-header | grep -c ' 192.0.2.20:800'");
	cr_assert_str_eq(h.out, "8\n");
	host_must(&h, "map check");
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

Test(cli, a_device_that_is_gone_is_a_problem_until_it_is_forgotten)
{
	host_web(&h);
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
	host_web(&h);
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
