// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tracking: which flows are recorded, and where a packet goes that no record is found for, while
 * backends come, fail and return.
 *
 * A flow is a client port here. Its place in the table is where packets of it went before anything
 * changed; where the table has it go now is what a fresh SYN shows.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/rig.h"

#define FLOWS 256

#define SETUP(more, backends)                                                                      \
	"services:\n"                                                                              \
	"  - name: flows\n"                                                                        \
	"    listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ]\n"                                       \
	"    forward: l2\n"                                                                        \
	"    policy: maglev\n" more "    backends: [ " backends " ]\n"
#define ONE   "{ address: 10.3.0.1 }"
#define TWO   ONE ", { address: 10.3.0.2 }"
#define THREE TWO ", { address: 10.3.0.3 }"

static struct rig rig;

TestSuite(track, .fini = place_cleanup, .timeout = TEST_LONGEST);

enum kind { SYN, DATA, UDP };

/* The backend (1, 2, 3) that a packet of the flow goes to; 0: dropped or refused. */
static int goes_to(int flow, enum kind kind)
{
	static const char *const l4[] = {
		[SYN] = "tcp 0 > 80 S", [DATA] = "tcp 0 > 80 A", [UDP] = "udp 0 > 53 csum 0"};
	static struct frame in, out;
	char words[64];

	snprintf(words, sizeof(words), "ip4 10.1.0.9 > 10.2.0.1 | %s", l4[kind]);
	frame_build(&in, words);
	in.byte[34] = (__u8)(flow >> 4); /* source port; nobody looks at the checksum */
	in.byte[35] = (__u8)(flow << 4 | 5);
	if (rig_run(&rig, &in, &out) != XDP_TX)
		return 0;
	if (out.byte[4] == FRAME_MAC_OURS)
		return 0;
	cr_assert(out.byte[4] == FRAME_MAC_BACKEND, "to no backend");
	return out.byte[5];
}

static int words_used(void)
{
	int n = 0;

	for (__u32 b = 0; b < rig.i->meta->flow_buckets; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++)
			n += instance_bucket(rig.i, b)->word[w] != 0;
	return n;
}

/* Where each flow goes by packets of a kind. */
static void where(int to[FLOWS], enum kind kind)
{
	for (int f = 0; f < FLOWS; f++)
		to[f] = goes_to(f, kind);
}

static int count(const int to[FLOWS], int backend)
{
	int n = 0;

	for (int f = 0; f < FLOWS; f++)
		n += to[f] == backend;
	return n;
}

static int differ(const int a[FLOWS], const int b[FLOWS])
{
	int n = 0;

	for (int f = 0; f < FLOWS; f++)
		n += a[f] != b[f];
	return n;
}

/* ---- stories ----------------------------------------------------------------------------------*/

/* Nothing has changed: the table answers every packet, and nothing is recorded. */
static void auto_records_nothing_at_rest(void)
{
	int syn[FLOWS], data[FLOWS], udp[FLOWS], again[FLOWS];

	rig_open(&rig, SETUP("    track: auto\n", TWO));
	where(syn, SYN);
	where(data, DATA);
	where(udp, UDP);
	where(again, UDP);
	cr_expect(!differ(syn, data), "%d flows moved", differ(syn, data));
	cr_expect(!differ(udp, again), "%d UDP flows moved", differ(udp, again));
	cr_expect(count(syn, 1) > FLOWS / 4 && count(syn, 2) > FLOWS / 4, "%d and %d",
		  count(syn, 1), count(syn, 2));
	cr_expect(words_used() == 0, "%d words", words_used());
}

/* A backend joins: flows that were going on stay where they are, new ones go to it too. */
static void auto_keeps_flows_when_a_backend_joins(void)
{
	int tcp[FLOWS], udp[FLOWS], now[FLOWS], fresh[FLOWS], then[FLOWS];

	rig_open(&rig, SETUP("    track: auto\n", TWO));
	where(tcp, DATA);
	where(udp, UDP);
	rig_apply(&rig, SETUP("    track: auto\n", THREE));
	where(now, DATA);
	cr_expect(!differ(tcp, now), "%d TCP flows moved", differ(tcp, now));
	where(now, UDP);
	cr_expect(!differ(udp, now), "%d UDP flows moved", differ(udp, now));
	cr_expect(words_used() > 0, "flows beside the table were not recorded");
	cr_expect(words_used() < 2 * FLOWS, "all flows were recorded");

	rig_forget(&rig);
	where(fresh, SYN);
	cr_expect(count(fresh, 3) > FLOWS / 6, "%d of %d new flows to the newcomer",
		  count(fresh, 3), FLOWS);
	where(then, DATA); /* of the flows that the SYNs opened */
	cr_expect(!differ(fresh, then), "%d new flows moved", differ(fresh, then));
	/* Maglev's price (about 1 % of the others' slots), no more. */
	cr_expect(differ(fresh, tcp) - count(fresh, 3) <= FLOWS / 50,
		  "%d new flows went elsewhere without need", differ(fresh, tcp) - count(fresh, 3));
}

static void set_health(const char *address, __u8 health)
{
	__u16 id = rig_member(&rig, address);
	struct config_service *s = config_service_named(rig.cfg, "flows");

	for (size_t m = 0; m < s->members; m++)
		if (s->member[m].id == id)
			s->member[m].conf.health = health;
	rig_commit(&rig);
}

/* A backend fails and returns: TCP waits for it, new flows and UDP go elsewhere meanwhile, and what
 * they found there they keep when it is back. */
static void auto_survives_a_failure(void)
{
	int before[FLOWS], udp[FLOWS], down[FLOWS], back[FLOWS];

	rig_open(&rig, SETUP("    track: auto\n", THREE));
	where(before, DATA);
	where(udp, UDP);
	set_health("10.3.0.2", POISE_HEALTH_DOWN);
	where(down, DATA);
	cr_expect(!differ(before, down), "%d TCP flows moved", differ(before, down));
	where(down, UDP);
	cr_expect(count(down, 2) == 0, "%d UDP flows stayed", count(down, 2));
	for (int f = 0; f < FLOWS; f++)
		cr_expect(udp[f] == 2 || udp[f] == down[f], "UDP flow %d moved without need", f);
	rig_forget(&rig); /* a SYN on a flow of late would be no news */
	where(down, SYN);
	cr_expect(count(down, 2) == 0 && count(down, 0) == 0, "%d new flows, %d dropped",
		  count(down, 2), count(down, 0));
	set_health("10.3.0.2", POISE_HEALTH_UP);
	where(back, DATA);
	cr_expect(!differ(down, back), "%d of the flows opened meanwhile moved",
		  differ(down, back));
	rig_forget(&rig);
	where(back, SYN);
	cr_expect(!differ(before, back), "%d new flows go elsewhere than ever",
		  differ(before, back));
}

/* A flow beside the table is recorded for as long as it must be: once table and flow agree again
 * its word is freed. */
static void auto_frees_what_the_table_says(void)
{
	int before[FLOWS], after[FLOWS];

	rig_open(&rig, SETUP("    track: auto\n", TWO));
	where(before, DATA);
	rig_apply(&rig, SETUP("    track: auto\n", THREE));
	where(after, DATA);
	cr_expect(words_used() > 0);
	rig_apply(&rig, SETUP("    track: auto\n", TWO));
	where(after, DATA);
	cr_expect(!differ(before, after), "%d flows moved", differ(before, after));
	cr_expect(words_used() == 0, "%d words that say what the table says", words_used());
}

static void off_records_nothing(void)
{
	int before[FLOWS], syn[FLOWS], data[FLOWS];

	rig_open(&rig, SETUP("    track: off\n", TWO));
	where(before, SYN);
	rig_apply(&rig, SETUP("    track: off\n", THREE));
	where(syn, SYN);
	where(data, DATA);
	cr_expect(!differ(syn, data), "%d packets went elsewhere than their SYN",
		  differ(syn, data));
	cr_expect(count(syn, 3) > FLOWS / 6 && differ(before, syn) >= count(syn, 3));
	cr_expect(words_used() == 0, "%d words", words_used());
}

static void always_records_all(void)
{
	int before[FLOWS], after[FLOWS];

	rig_open(&rig, SETUP("    track: always\n", TWO));
	where(before, SYN);
	cr_expect(words_used() == FLOWS, "%d words", words_used());
	where(after, UDP);
	cr_expect(words_used() == 2 * FLOWS, "%d words", words_used());
	where(after, DATA);
	cr_expect(!differ(before, after));
	rig_apply(&rig, SETUP("    track: always\n", THREE));
	where(after, DATA);
	cr_expect(!differ(before, after), "%d flows moved", differ(before, after));
}

/* The last backend goes: flows have nowhere to go, and are told so rather than kept. */
static void nobody_is_left(void)
{
	int to[FLOWS];

	rig_open(&rig, SETUP("    track: always\n", ONE));
	where(to, UDP);
	cr_expect(count(to, 1) == FLOWS);
	set_health("10.3.0.1", POISE_HEALTH_DOWN);
	where(to, UDP); /* the ladder: its only fault is a failed check */
	cr_expect(count(to, 1) == FLOWS, "%d", count(to, 1));
	config_service_named(rig.cfg, "flows")->member[0].conf.admin = POISE_DISABLED;
	rig_commit(&rig);
	where(to, UDP);
	cr_expect(count(to, 0) == FLOWS, "%d of %d dropped", count(to, 0), FLOWS);
}

/* One after another over one loaded program. */
Test(track, stories)
{
	auto_records_nothing_at_rest();
	auto_keeps_flows_when_a_backend_joins();
	auto_survives_a_failure();
	auto_frees_what_the_table_says();
	off_records_nothing();
	always_records_all();
	nobody_is_left();
	rig_close(&rig);
}
