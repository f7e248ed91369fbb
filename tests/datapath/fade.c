// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A member that fades in, on the really loaded program: it takes its part of the flows that would
 * be its, as long as somebody keeps that part up, under a table and where load decides.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/rig.h"

#define FLOWS 600   /* of a small table, which must not run full */
#define SHARE 16384 /* a quarter */

static const char setup[] =
	"services:\n"
	"  - { name: web, listen: [ '10.2.0.1:80', '[fd02::1]:80' ], forward: l2,\n"
	"      track: always, backends: [ 10.3.0.1, 10.3.0.2 ] }\n";

static struct rig rig;
static int begun; /* flows, of all stories together */

TestSuite(fade, .fini = place_cleanup);

/* The part of new flows that the second backend takes. */
static double part(void)
{
	static struct frame in, out;
	int theirs = 0;

	rig_forget(&rig);
	frame_build(&in, begun & 1 ? "ip6 fd01::9 > fd02::1 | tcp 0 > 80 S"
				   : "ip4 10.1.0.9 > 10.2.0.1 | tcp 0 > 80 S");
	for (int k = 0; k < FLOWS; k++, begun++) {
		__u8 *port = in.byte + frame_ip_at(&in) + (frame_ip_end(&in) > 60 ? 40 : 20);

		port[0] = (__u8)(begun >> 8);
		port[1] = (__u8)begun;
		cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX);
		theirs += out.byte[5] == 2;
	}
	begun++; /* the other family next */
	return (double)theirs / FLOWS;
}

static void fades(__u32 until)
{
	struct poise_member *m = &rig.i->members[rig_member(&rig, "10.3.0.2")];

	m->fade = SHARE;
	m->fade_until = until;
	m->live |= POISE_L_FADING;
}

static void policy(enum poise_policy policy)
{
	rig.cfg->service[0]->conf.policy = (__u8)policy;
	rig_commit(&rig);
}

/* Within four standard deviations. */
static void expect(double expected)
{
	double got = part();

	cr_assert_float_eq(got, expected, 0.08, "%f, not %f", got, expected);
}

Test(fade, takes_its_part_while_that_is_kept_up)
{
	__u32 now;

	rig_open(&rig, setup);
	now = instance_stamp_now(rig.i);
	for (int family = 0; family < 2; family++)
		expect(0.5);
	fades(now + 1000);
	for (int family = 0; family < 2; family++)
		expect(0.5 * SHARE / 65536);
	fades(now - 10); /* the two clocks agree within a second */
	expect(0.5);
	/* the first has most of the flows by now: all would be the second's */
	fades(now + 1000);
	policy(POISE_LEAST_CONN);
	for (int family = 0; family < 2; family++)
		expect(1.0 * SHARE / 65536);
	policy(POISE_P2C);
	expect(1.0 * SHARE / 65536);
	rig_close(&rig);
}
