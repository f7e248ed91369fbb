// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What becomes of translated flows when their backend is down, drains or is removed: as in every
 * other mode, and with their port; whatever the policy. map check agrees after each step.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/natted.h"

#define YAML(more)                                                                                 \
	"services:\n"                                                                              \
	"  - { name: web, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ], forward: nat,\n"           \
	"      backends: [ { address: 10.3.0.1, port: 8080 }, { address: 10.3.0.2, port: 8080 } "  \
	"],\n      " more " }\n"

/* Clients of native's kinds: IPv4 to IPv4, by TCP and by UDP. */
#define BY_TCP 8
#define BY_UDP 9

static struct native n;
static struct frame out;

/* Where a flow goes: its backend, and the port it leaves by. */
struct where {
	__u16 member;
	__u32 port;
};

static void begin(const char *yaml)
{
	native_open(&n, yaml, 1024);
	run_set_seconds(NATIVE_T0);
}

static void end(void)
{
	cr_assert_eq(instance_check(n.i, NULL, NULL, NULL), 0, "map check differs");
	native_close(&n);
}

static struct where sends(int c, enum natted_kind k)
{
	cr_assert_eq(natted_client_sends(&n, c, k, NATIVE_T0 + k, &out), XDP_TX);
	cr_assert(!natted_refused(&out), "client %d is refused", c);
	return (struct where){natted_member(&n, c, &out), natted_source(&out)};
}

static struct where establish(int c)
{
	struct where w = sends(c, natted_udp(c) ? UDP : SYN);

	if (natted_udp(c))
		return w;
	cr_assert_eq(natted_server_sends(&n, c, w.member, w.port, SYN_ACK, &out), XDP_TX);
	return sends(c, DATA);
}

static struct config_member *member(__u16 id)
{
	struct config_service *svc = n.cfg->service[0];

	for (size_t k = 0; k < svc->members; k++)
		if (svc->member[k].id == id)
			return &svc->member[k];
	cr_assert_fail("no backend has id %u", id);
	return NULL;
}

static void down(__u16 id)
{
	member(id)->conf.health = POISE_HEALTH_DOWN;
	native_commit(&n);
}

static void expect_same(struct where is, struct where was)
{
	cr_expect(is.member == was.member && is.port == was.port,
		  "backend %u by port %u, not %u by %u", is.member, is.port, was.member, was.port);
}

static void expect_other(struct where is, struct where was)
{
	cr_expect_neq(is.member, was.member, "still backend %u", is.member);
	/* The old one is nobody's: what still comes from there is the host's. */
	cr_expect_eq(natted_server_sends(&n, BY_UDP, was.member, was.port, UDP, &out), XDP_PASS);
}

/* Of a constant sender, too. */
Test(nat_members, datagrams_move_when_their_backend_is_down)
{
	static const char *const policies[] = {YAML("policy: maglev"), YAML("policy: least-conn"),
					       YAML("policy: round-robin")};

	for (size_t k = 0; k < sizeof(policies) / sizeof(policies[0]); k++) {
		struct where was, is;

		begin(policies[k]);
		was = establish(BY_UDP);
		expect_same(sends(BY_UDP, UDP), was);
		down(was.member);
		is = sends(BY_UDP, UDP);
		expect_other(is, was);
		expect_same(sends(BY_UDP, UDP), is);
		end();
	}
}

Test(nat_members, connections_stay_when_their_backend_is_down_unless_told_otherwise)
{
	struct where was;

	begin(YAML("on-down: keep"));
	was = establish(BY_TCP);
	down(was.member);
	expect_same(sends(BY_TCP, DATA), was);
	cr_expect_eq(natted_server_sends(&n, BY_TCP, was.member, was.port, DATA, &out), XDP_TX);
	end();

	begin(YAML("on-down: reset"));
	was = establish(BY_TCP);
	down(was.member);
	cr_expect_eq(natted_client_sends(&n, BY_TCP, DATA, NATIVE_T0, &out), XDP_TX);
	cr_expect(natted_refused(&out), "its client is not told");
	end();
}

Test(nat_members, a_port_that_is_used_again_is_chosen_for_afresh)
{
	struct where was;

	begin(YAML("policy: maglev"));
	was = establish(BY_TCP);
	sends(BY_TCP, FIN);
	cr_expect_eq(natted_server_sends(&n, BY_TCP, was.member, was.port, FIN, &out), XDP_TX);
	member(was.member)->conf.admin = POISE_DRAINING;
	native_commit(&n);
	cr_expect_neq(sends(BY_TCP, SYN).member, was.member, "a backend that drains");
	end();
}

Test(nat_members, connections_stay_while_their_backend_drains)
{
	struct where was;

	begin(YAML("policy: maglev"));
	was = establish(BY_TCP);
	member(was.member)->conf.admin = POISE_DRAINING;
	native_commit(&n);
	expect_same(sends(BY_TCP, DATA), was);
	cr_expect_neq(sends(BY_TCP + 8, SYN).member, was.member);
	end();
}

/* Nothing that was its may be another's: neither packets nor, for a while, ports. */
Test(nat_members, nothing_is_left_of_one_that_is_removed)
{
	struct poise_sweep io = {.kind = POISE_SWEEP_EXPIRED};
	struct where was, is;

	begin(YAML("policy: maglev"));
	was = establish(BY_UDP);
	config_member_del(n.cfg->service[0], member(was.member));
	native_commit(&n);
	is = sends(BY_UDP, UDP);
	cr_expect_neq(is.member, was.member);
	native_sweep(&n, &io);
	cr_expect_eq(io.live, 1);
	end();
}
