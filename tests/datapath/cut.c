// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * IPv4 packets without DF that are too big for the path: XDP writes a note in front of them and
 * passes them, the program at TC makes two fragments of each and forwards both as XDP would. Put
 * together again they are what came, whatever is inside and however it is encapsulated.
 */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/cut_note.h"
#include "loader/attach/attach.h"
#include "tests/support/cases.h"
#include "tests/support/setup.h"

static const char setup[] = "services:\n" SETUP_MODES(0) SETUP_MODES(1) SETUP_MODES(4);

static struct rig rig;

TestSuite(cut, .fini = place_cleanup, .timeout = TEST_LONGEST);

/* What comes, and what its pieces become but for the last bytes: those are the packet's. */
struct cut_case {
	const char *name, *in, *member;
	const char *first, *second;
	size_t bytes; /* of payload in the second */
};

#define S(p, n)	   "ip4 10.1.0.9 > 10.2." #p "." #n " id 7 "
#define UDP(len)   "| udp 1234 > 53 csum 7 len " len " | data "
#define REST(data) "| data " data

/* off counts 8 bytes: the outer number is the inner one and, of fragments, their place. */
static const struct cut_case cuts[] = {
	{"4in4, full size", IN0 S(0, 2) UDP("1480") "1472", "10.3.0.2",
	 OUT0("b2") OUTER4("10.3.0.2") "id 7 | " S(0, 2) "mf " UDP("1480") "1448",
	 OUT0("b2") OUTER4("10.3.0.2") "id 177 | " S(0, 2) "off 182 proto 17 " REST("24"), 24},
	{"4in4, a byte too much", IN0 S(0, 2) "tos 5 " UDP("1461") "1453", "10.3.0.2",
	 OUT0("b2") OUTER4("10.3.0.2") "id 7 tos 5 | " S(0, 2) "tos 5 mf " UDP("1461") "1448",
	 OUT0("b2")
		 OUTER4("10.3.0.2") "id 177 tos 5 | " S(0, 2) "tos 5 off 182 proto 17 " REST("5"),
	 5},
	{"TCP, in two tags, padded", IN2 S(0, 2) "| tcp 1234 > 80 A csum 7 | data 1460 | pad 9",
	 "10.3.0.2",
	 OUT0("b2") OUTER4("10.3.0.2") "id 7 | " S(0, 2) "mf | tcp 1234 > 80 A csum 7 | data 1436",
	 OUT0("b2") OUTER4("10.3.0.2") "id 177 | " S(0, 2) "off 182 proto 6 " REST("24"), 24},
	{"into a tag", IN0 S(1, 2) UDP("1480") "1472", "10.3.1.2",
	 OUT1("b2") OUTER4("10.3.1.2") "id 7 | " S(1, 2) "mf " UDP("1480") "1448",
	 OUT1("b2") OUTER4("10.3.1.2") "id 177 | " S(1, 2) "off 182 proto 17 " REST("24"), 24},
	{"4in6", IN1 S(0, 3) UDP("1480") "1472", "fd03:0::3",
	 OUT0("b3") OUTER6("fd03:0::3") "| " S(0, 3) "mf " UDP("1480") "1432",
	 OUT0("b3") OUTER6("fd03:0::3") "| " S(0, 3) "off 180 proto 17 " REST("40"), 40},
	{"gue to IPv4", IN0 S(0, 6) UDP("1480") "1472", "10.3.0.6",
	 OUT0("b6") OUTER4("10.3.0.6") "id 7 " GUE "| " S(0, 6) "mf " UDP("1480") "1440",
	 OUT0("b6") OUTER4("10.3.0.6") "id 178 " GUE "| " S(0, 6) "off 181 proto 17 " REST("32"),
	 32},
	{"gue to IPv6", IN0 S(0, 7) UDP("1480") "1472", "fd03:0::7",
	 OUT0("b7") OUTER6("fd03:0::7") GUE "| " S(0, 7) "mf " UDP("1480") "1424",
	 OUT0("b7") OUTER6("fd03:0::7") GUE "| " S(0, 7) "off 179 proto 17 " REST("48"), 48},
	{"l2, narrow", IN0 S(4, 1) UDP("120") "112", "10.3.4.1",
	 OUT0("b1") S(4, 1) "ttl 63 mf " UDP("120") "88",
	 OUT0("b1") S(4, 1) "ttl 63 off 12 proto 17 " REST("24"), 24},
	{"narrow, both pieces full", IN0 S(4, 2) UDP("160") "152", "10.3.4.2",
	 OUT0("b2") OUTER4("10.3.4.2") "id 7 | " S(4, 2) "mf " UDP("160") "72",
	 OUT0("b2") OUTER4("10.3.4.2") "id 13 | " S(4, 2) "off 10 proto 17 " REST("80"), 80},
	{"a first fragment", IN0 S(0, 2) "mf " UDP("3000") "1472", "10.3.0.2",
	 OUT0("b2") OUTER4("10.3.0.2") "id 7 | " S(0, 2) "mf " UDP("3000") "1448",
	 OUT0("b2") OUTER4("10.3.0.2") "id 177 | " S(0, 2) "mf off 182 proto 17 " REST("24"), 24},
	{"the last fragment", IN0 S(0, 2) "off 185 proto 17 | data 1480", "10.3.0.2",
	 OUT0("b2") OUTER4("10.3.0.2") "id 190 | " S(0, 2) "mf off 185 proto 17 | data 1456",
	 OUT0("b2") OUTER4("10.3.0.2") "id 360 | " S(0, 2) "off 367 proto 17 " REST("24"), 24},
};

static const struct packet_case kept[] = {
	CASE_DROP("three pieces", IN0 S(4, 2) UDP("161") "153", "s42 too-big"),
	CASE_DROP("options", IN0 S(0, 2) "opt 8 " UDP("1472") "1464", "s02 too-big"),
	CASE_ANSWER(
		"with DF", IN0 S(4, 2) "df " UDP("81") "73", "s42 too-big answered-icmp",
		"eth lb > gw | ip4 10.2.4.2 > 10.1.0.9 tos 0xc0 df | icmp 3 code 4 mtu 100 | " S(
			4, 2) "df " UDP("81") "73"),
};

static int open_program(void)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/prog_cut", rig.i->dir);
	fd = bpf_obj_get(path);
	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

/* Through the program at TC; its verdict. */
static int run_tc(int program, struct frame *in, struct frame *out)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in->byte, .data_size_in = (__u32)in->length,
		    .data_out = out->byte, .data_size_out = sizeof(out->byte));

	cr_assert_eq(bpf_prog_test_run_opts(program, &run), 0, "%s", strerror(errno));
	out->length = run.data_size_out;
	return (int)run.retval;
}

static void expect_piece(const struct cut_case *c, const struct frame *in, const char *words,
			 size_t rest, const struct frame *out)
{
	const size_t end = frame_ip_end(in);
	static struct frame expected;

	frame_build(&expected, words);
	memcpy(expected.byte + expected.length - rest, in->byte + end - rest, rest);
	frame_take_any(&expected, out);
	if (frame_equal(&expected, out))
		return;
	frame_print_difference(&expected, out);
	cr_expect_fail("%s: %s", c->name, words);
}

static void cut_up(int program, const struct cut_case *c)
{
	static struct rig_counts was, is;
	static struct frame in, noted, out;
	__u16 member = rig_member(&rig, c->member);
	struct cut_note *note = (void *)noted.byte;
	__u16 service = rig.i->members[member].service;

	frame_build(&in, c->in);
	rig_forget(&rig);
	rig_count(&rig, &was);
	cr_assert_eq(rig_run(&rig, &in, &noted), XDP_PASS, "%s", c->name);
	rig_count(&rig, &is);
	cr_expect_eq(is.member[member].packets - was.member[member].packets, 1, "%s", c->name);
	cr_expect_eq(is.service[service].count[POISE_R_FRAGMENTS] -
			     was.service[service].count[POISE_R_FRAGMENTS],
		     strstr(c->name, "fragment") != NULL, "%s", c->name);
	cr_expect_eq(noted.length, ETH_HLEN + frame_ip_end(&in) - frame_ip_at(&in), "%s", c->name);
	cr_expect(note->member == member && !note->second, "%s", c->name);
	cr_expect_eq(run_tc(program, &noted, &out), TC_ACT_REDIRECT, "%s", c->name);
	expect_piece(c, &in, c->first, 0, &out);
	note->second = 1;
	cr_expect_eq(run_tc(program, &noted, &out), TC_ACT_REDIRECT, "%s", c->name);
	expect_piece(c, &in, c->second, c->bytes, &out);
}

Test(cut, tables)
{
	int program;

	rig_open(&rig, setup);
	program = open_program();
	cr_assert(rig.i->meta->cuts);
	for (size_t k = 0; k < sizeof(cuts) / sizeof(cuts[0]); k++)
		cut_up(program, &cuts[k]);
	CASES_RUN(&rig, kept);
	close(program);
	rig_close(&rig);
}

/* Without the program at TC, and by it of what is not for it. */
Test(cut, only_where_both_halves_are)
{
	static struct frame in, out;
	int program;

	rig_open(&rig, setup);
	program = open_program();
	frame_build(&in, cuts[0].in);
	cr_expect_eq(run_tc(program, &in, &out), TC_ACT_UNSPEC);
	cr_expect(frame_equal(&in, &out));
	rig.i->meta->cuts = 0;
	cr_expect_eq(rig_run(&rig, &in, &out), XDP_DROP);
	close(program);
	rig_close(&rig);
}

static void expect_untouched(int program, struct frame *in, const char *what)
{
	static struct frame out;

	cr_expect_eq(run_tc(program, in, &out), TC_ACT_UNSPEC, "%s", what);
	cr_expect(frame_equal(in, &out), "%s", what);
}

/* Anybody on the link can send frames of this type, and is not to forward by them. */
Test(cut, forged_notes)
{
	static struct frame in, forged;
	struct cut_note *note = (void *)forged.byte;
	int program;

	rig_open(&rig, setup);
	program = open_program();
	frame_build(&in, cuts[0].in);
	cr_assert_eq(rig_run(&rig, &in, &forged), XDP_PASS);
	for (size_t bit = 0; bit < 8 * sizeof(note->seal); bit++) {
		forged.byte[offsetof(struct cut_note, seal) + bit / 8] ^= 1 << bit % 8;
		expect_untouched(program, &forged, "a bit of the seal");
		forged.byte[offsetof(struct cut_note, seal) + bit / 8] ^= 1 << bit % 8;
	}
	note->member++;
	expect_untouched(program, &forged, "to another member");
	note->member--;
	note->first += CUT_UNIT;
	expect_untouched(program, &forged, "of another length");
	note->first -= CUT_UNIT;
	memset(note->seal, 0, sizeof(note->seal));
	note->second = 1;
	expect_untouched(program, &forged, "none");
	close(program);
	rig_close(&rig);
}

/* Whatever key a file names that is read later: both halves have the instance's. */
Test(cut, loaded_anew)
{
	const struct config other = {.has_hash_key = true, .hash_key = {3, 4}};
	static struct frame in, noted, out;
	struct poise_error err = {0};
	struct instance *again;
	bool created;
	int program;

	rig_open(&rig, setup);
	frame_build(&in, cuts[0].in);
	cr_assert_eq(rig_run(&rig, &in, &noted), XDP_PASS);
	place_must(attach_load(&again, &rig.place.where, &other, &created, &err), "attach_load",
		   &err);
	cr_assert(!created && again->meta->cuts);
	program = open_program();
	cr_expect_eq(run_tc(program, &noted, &out), TC_ACT_REDIRECT);
	close(program);
	instance_close(again);
	rig_close(&rig);
}
