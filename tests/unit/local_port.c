// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode local: which port a flow has for its backend. The client's own; or, if a flow of the
 * client's through another service has that, its slot's; but not if that, too, is a port from which
 * the client itself talks to the backend. And what becomes of it when its backend is given another
 * mode.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>

#include "maps/config.h"
#include "tests/support/natted.h"

#define ONE "ip4 10.1.0.9 > 10.2.0.1 "
#define TWO "ip4 10.1.0.9 > 10.2.0.2 "

#define SERVICE_ONE                                                                                \
	"services:\n"                                                                              \
	"  - { name: one, listen: '10.2.0.1:80', forward: local,\n"                                \
	"      backends: [ { address: 10.3.0.1, port: 8080 } ] }\n"

static const char only_one[] = SERVICE_ONE;
static const char yaml[] = SERVICE_ONE "  - { name: two, listen: '10.2.0.2:80', forward: local,\n"
				       "      backends: [ { address: 10.3.0.1, port: 8080 } ] }\n";

static struct native n;

static void setup(void)
{
	native_open(&n, yaml, 1024);
}

static void teardown(void)
{
	native_close(&n);
}

TestSuite(local_port, .init = setup, .fini = teardown);

/* The port that a packet goes on from. */
static __u32 sent(const char *words)
{
	struct frame f;

	cr_assert_eq(native_send(&n, &f, words), XDP_PASS, "%s", words);
	return natted_source(&f);
}

Test(local_port, the_clients_own_unless_it_is_taken)
{
	cr_expect_eq(sent(ONE "| tcp 1234 > 80 S"), 1234);
	cr_expect_eq(sent(TWO "| tcp 1234 > 80 S"), NATIVE_PORT_LOW + 1);
	cr_expect_eq(sent(ONE "| tcp 1234 > 80 A"), 1234);
	cr_expect_eq(sent(TWO "| tcp 1234 > 80 A"), NATIVE_PORT_LOW + 1);
	/* the client comes to have the other's, too */
	cr_expect_eq(sent(ONE "| tcp 20001 > 80 S"), NATIVE_PORT_LOW + 2);
}

/* Links are looked through from the lowest place on, and the lower of two stays: a link that is
 * higher is what shows whom a clash would cost its flow. */
static void move_links_up(void)
{
	for (__u32 b = 0; b < POISE_LINK_BUCKETS(1); b++) {
		__u64 *word = n.i->links[b].word;

		for (int k = 0; k < POISE_BUCKET_WORDS / 2; k++) {
			word[POISE_BUCKET_WORDS - 1 - k] = word[k];
			word[k] = 0;
		}
	}
}

Test(local_port, no_slots_that_is_the_clients_own)
{
	__u64 own;

	cr_expect_eq(sent(ONE "| tcp 20002 > 80 S"), NATIVE_PORT_LOW + 2);
	cr_expect_eq(sent(ONE "| tcp 1234 > 80 S"), 1234);
	move_links_up();
	own = n.i->slots[NATIVE_PORT_LOW].head;
	cr_expect_eq(sent(TWO "| tcp 1234 > 80 S"), NATIVE_PORT_LOW + 3);
	cr_expect_eq(n.i->slots[NATIVE_PORT_LOW].head, own, "the flow from that port is over");
	cr_expect_eq(sent(ONE "| tcp 20002 > 80 S"), NATIVE_PORT_LOW + 2);
	cr_expect_eq(POISE_WORD_STATE(n.i->slots[NATIVE_PORT_LOW + 2].head), POISE_SLOT_REST,
		     "the port that will not do is free again in a while");
}

static void backend_is(enum poise_mode mode)
{
	struct config_member *m = &config_service_named(n.cfg, "one")->member[0];

	m->conf.forward = mode;
	m->conf.forward_set = 1;
	native_commit(&n);
}

/* With the last backend of mode local answers are looked at no more: the next packet ends the flow,
 * and the one after it begins another, which the backend resets. */
Test(local_port, flows_end_with_the_mode)
{
	struct frame f;

	native_close(&n);
	native_open(&n, only_one, 1024);
	cr_assert_eq(native_send(&n, &f, ONE "| tcp 1234 > 80 S"), XDP_PASS);
	backend_is(POISE_NAT);
	cr_assert_eq(native_send(&n, &f, ONE "| tcp 1234 > 80 A"), XDP_DROP);
	cr_assert_eq(native_send(&n, &f, ONE "| tcp 1234 > 80 A"), XDP_TX);
	backend_is(POISE_LOCAL);
	cr_assert_eq(native_send(&n, &f, ONE "| tcp 1234 > 80 A"), XDP_DROP);
	cr_assert_eq(native_send(&n, &f, ONE "| tcp 1234 > 80 A"), XDP_PASS);
	cr_assert_eq(natted_source(&f), 1234);
}

Test(local_port, flows_stay_while_others_are_local)
{
	cr_assert_eq(sent(ONE "| tcp 1234 > 80 S"), 1234);
	backend_is(POISE_NAT);
	cr_assert_eq(sent(ONE "| tcp 1234 > 80 A"), 1234);
}
