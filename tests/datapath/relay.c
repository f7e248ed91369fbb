// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ICMP errors about our own outer packets: what routers on the way to a backend say becomes what
 * the client is told of its own packet, to the byte, in every mode and pair of families; what is
 * not to be told, or not about a packet of ours, goes to the host as it came.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

#define TIMES 100

static const char setup[] =
	"services:\n" SETUP_MODES(0) SETUP_SERVICE(0, 4, "ipip, entropy: yes", "10.3.0.4")
		SETUP_SERVICE(0, 5, "gue, entropy: yes", "fd03:0::5");

/* The error of a router on the way, and the outer header it quotes. */
#define E4	   IN0 "ip4 10.3.0.77 > 10.3.0.254 ttl 63 | icmp "
#define E6	   IN0 "ip6 fd03::77 > fd03::fe ttl 63 | icmp6 "
#define O4(n, len) " | ip4 10.3.0.254 > 10.3.0." #n " ttl 62 df len " len " "
#define O6(n, len) " | ip6 fd03::fe > fd03:0::" #n " ttl 62 len " len " "
#define UDP(len)   "| udp 50000 > 6080 csum 0 len " len " "

/* The client's packet inside, as it was and as much of it as there is. */
#define C4(n, len)  "| ip4 10.1.0.9 > 10.2.0." #n " df len " len " | tcp 1234 > 80 A | data 33"
#define C6(n, len)  "| ip6 fd01::9 > fd02:0::" #n " len " len " | tcp 1234 > 80 A | data 33"
#define C4_UDP(n)   "| ip4 10.1.0.9 > 10.2.0." #n " | udp 1234 > 53 | data 9"
#define C6_UDP(n)   "| ip6 fd01::9 > fd02:0::" #n " | udp 1234 > 53 | data 9"
#define BACK4(n, m) "eth lb > gw | ip4 10.2.0." #n " > 10.1.0.9 tos 0xc0 df | icmp " m " "
#define BACK6(n, m) "eth lb > gw | ip6 fd02:0::" #n " > fd01::9 | icmp6 " m " "
#define RELAYED(s)  #s " outer-error-relayed"

/* clang-format off */
/* Too big and the two kinds of unreachable, about a service's packets of one family. */
#define FOUR(n, name, by, outer, mtu)                                                              \
	CASE_ANSWER(name ", 4 inside, too big", BIG_##by outer C4(n, "1480"), RELAYED(s0##n),       \
		    BACK4(n, "3 code 4 mtu " mtu) C4(n, "1480")),                                  \
	CASE_ANSWER(name ", 4 inside, unreachable", UNREACHABLE_##by outer C4_UDP(n), RELAYED(s0##n),   \
		    BACK4(n, "3 code 1") C4_UDP(n)),                                               \
	CASE_ANSWER(name ", 4 inside, time exceeded", EXPIRED_##by outer C4(n, "73"), RELAYED(s0##n),   \
		    BACK4(n, "3 code 1") C4(n, "73"))
#define SIX(n, name, by, outer, mtu)                                                               \
	CASE_ANSWER(name ", 6 inside, too big", BIG_##by outer C6(n, "1440"), RELAYED(s0##n),       \
		    BACK6(n, "2 mtu " mtu) C6(n, "1440")),                                         \
	CASE_ANSWER(name ", 6 inside, unreachable", UNREACHABLE_##by outer C6_UDP(n), RELAYED(s0##n),   \
		    BACK6(n, "1 code 3") C6_UDP(n)),                                               \
	CASE_ANSWER(name ", 6 inside, time exceeded", EXPIRED_##by outer C6(n, "53"), RELAYED(s0##n),   \
		    BACK6(n, "1 code 3") C6(n, "53"))
#define BIG_BY4		E4 "3 code 4 mtu 1400"
#define UNREACHABLE_BY4 E4 "3 code 1"
#define EXPIRED_BY4	E4 "11"
#define BIG_BY6		E6 "2 mtu 1400"
#define UNREACHABLE_BY6 E6 "1"
#define EXPIRED_BY6	E6 "3"

static const struct packet_case told[] = {
	FOUR(2, "ipip to IPv4", BY4, O4(2, "1500"), "1380"),
	SIX(2, "ipip to IPv4", BY4, O4(2, "1500"), "1380"),
	FOUR(3, "ipip to IPv6", BY6, O6(3, "1480"), "1360"),
	SIX(3, "ipip to IPv6", BY6, O6(3, "1480"), "1360"),
	FOUR(6, "gue to IPv4", BY4, O4(6, "1508") UDP("1488"), "1372"),
	SIX(6, "gue to IPv4", BY4, O4(6, "1508") UDP("1488"), "1372"),
	FOUR(7, "gue to IPv6", BY6, O6(7, "1488") UDP("1488"), "1352"),
	SIX(7, "gue to IPv6", BY6, O6(7, "1488") UDP("1488"), "1352"),
};
/* clang-format on */

#define BIG4(mtu) E4 "3 code 4 mtu " mtu O4(2, "1500")
#define BIG6(mtu) E6 "2 mtu " mtu O6(3, "1480")
#define TOLD4(name, in, mtu)                                                                       \
	CASE_ANSWER(name, in C4(2, "1480"), RELAYED(s02),                                          \
		    BACK4(2, "3 code 4 mtu " mtu) C4(2, "1480"))
#define CODE4(n)                                                                                   \
	CASE_ANSWER("unreachable, code " #n, E4 "3 code " #n O4(2, "61") C4_UDP(2), RELAYED(s02),  \
		    BACK4(2, "3 code 1") C4_UDP(2))
#define CODE6(n)                                                                                   \
	CASE_ANSWER("IPv6: unreachable, code " #n, E6 "1 code " #n O6(3, "57") C6_UDP(3),          \
		    RELAYED(s03), BACK6(3, "1 code 3") C6_UDP(3))

static const struct packet_case more[] = {
	CODE4(0),
	CODE4(2),
	CODE4(3),
	CODE4(6),
	CODE4(13),
	CODE4(15),
	CODE6(0),
	CODE6(1),
	CODE6(6),
	TOLD4("no size named: 576", BIG4("0"), "556"),
	TOLD4("no less than 68", BIG4("80"), "68"),
	TOLD4("nor than nothing", BIG4("1"), "68"),
	TOLD4("a byte less than it was", BIG4("1499"), "1479"),
	CASE_ANSWER("no less than 1280", BIG6("1280") C6(3, "1440"), RELAYED(s03),
		    BACK6(3, "2 mtu 1280") C6(3, "1440")),
	CASE_ANSWER("in one tag",
		    IN1 "ip4 10.3.0.77 > 10.3.0.254 opt 8 | icmp 3 code 4 mtu 1400" O4(2, "1500")
			    C6(2, "1440"),
		    RELAYED(s02),
		    "eth lb > gw | vlan 7 pcp 3 | ip6 fd02:0::2 > fd01::9 | icmp6 2 mtu 1380 " C6(
			    2, "1440")),
	CASE_ANSWER("in two tags",
		    IN2 "ip6 fd03::77 > fd03::fe | hop 8 | icmp6 2 mtu 1400" O6(3, "1480")
			    C4(3, "1480"),
		    RELAYED(s03),
		    "eth lb > gw | vlan 8 tpid 0x88a8 | vlan 9 | ip4 10.2.0.3 > 10.1.0.9 tos 0xc0 "
		    "df | icmp 3 code 4 mtu 1360 " C4(3, "1480")),
	CASE_ANSWER("8 bytes of the client's transport header",
		    BIG4("1400") "| ip4 10.1.0.9 > 10.2.0.2 df len 1480 proto 6 opt 8 | hex "
				 "04d20050000003e8",
		    RELAYED(s02),
		    BACK4(2, "3 code 4 mtu 1380") "| ip4 10.1.0.9 > 10.2.0.2 df len 1480 proto 6 "
						  "opt 8 | hex 04d20050000003e8"),
	CASE_ANSWER("behind extension headers",
		    BIG6("1400") "| ip6 fd01::9 > fd02:0::3 len 1440 | dst 16 | tcp 1234 > 80 A",
		    RELAYED(s03),
		    BACK6(3, "2 mtu 1360") "| ip6 fd01::9 > fd02:0::3 len 1440 | dst 16 | tcp 1234 "
					   "> 80 A"),
	CASE_ANSWER("padding is not quoted", E4 "3" O4(2, "57") C4_UDP(2) "| pad 9", RELAYED(s02),
		    BACK4(2, "3 code 1") C4_UDP(2)),
	CASE_ANSWER("all that fits",
		    BIG4("1400") "| ip4 10.1.0.9 > 10.2.0.2 df len 1480 | tcp 1234 > 80 A csum 7 | "
				 "data 509",
		    RELAYED(s02),
		    BACK4(2, "3 code 4 mtu 1380") "| ip4 10.1.0.9 > 10.2.0.2 df len 1480 | tcp "
						  "1234 > 80 A csum 7 | data 508"),
	CASE_ANSWER("from a source of many",
		    IN0 "ip4 10.3.0.77 > 10.3.12.34 | icmp 3 code 1 | ip4 10.3.12.34 > 10.3.0.4 "
			"len 73 " C4(4, "53"),
		    RELAYED(s04), BACK4(4, "3 code 1") C4(4, "53")),
	CASE_ANSWER("IPv6: from a source of many",
		    IN0 "ip6 fd03::77 > fd03::abcd | icmp6 1 | ip6 fd03::abcd > fd03:0::5 "
			"len 61 " UDP("61") C4(5, "53"),
		    RELAYED(s05), BACK4(5, "3 code 1") C4(5, "53")),
};

/* ---- ours, but for the host -------------------------------------------------------------------*/

#define LEFT(name, in, counts)                                                                     \
	{                                                                                          \
		name, in, XDP_PASS, NULL, NULL, counts " outer-error-passed"                       \
	}
#define SELF4 IN0 "ip4 10.3.0.2 > 10.3.0.254 | icmp "
#define SELF6 IN0 "ip6 fd03:0::7 > fd03::fe | icmp6 "

static const struct packet_case left[] = {
	LEFT("parameter problem", E4 "12" O4(2, "1500") C4(2, "1480"), "s02"),
	LEFT("IPv6: parameter problem", E6 "4 code 1" O6(3, "1480") C4(3, "1480"), "s03"),
	LEFT("source route failed", E4 "3 code 5" O4(2, "1500") C4(2, "1480"), "s02"),
	LEFT("time exceeded in reassembly", E4 "11 code 1" O4(2, "1500") C4(2, "1480"), "s02"),
	LEFT("the same of IPv6", E6 "3 code 1" O6(3, "1480") C6(3, "1440"), "s03"),
	LEFT("a backend without decapsulation", SELF4 "3 code 2" O4(2, "1500") C4(2, "1480"),
	     "s02"),
	LEFT("a backend without mode gue", SELF6 "1 code 4" O6(7, "1488") UDP("1488") C6(7, "1440"),
	     "s07"),
	LEFT("too big without DF",
	     BIG6("1400") "| ip4 10.1.0.9 > 10.2.0.3 len 1480 | tcp 1234 > 80 A", "s03"),
	LEFT("too big for what is larger", BIG4("1500") C4(2, "1480"), "s02"),
	LEFT("too big for 2^32 - 1", BIG6("0xffffffff") C6(3, "1440"), "s03"),
	LEFT("a client that is none",
	     BIG4("1400") "| ip4 224.0.0.9 > 10.2.0.2 df len 1480 | tcp 1234 > 80 A", "s02"),
	LEFT("IPv6: a client that is none",
	     BIG6("1400") "| ip6 ff02::9 > fd02:0::3 len 1440 | tcp 1234 > 80 A", "s03"),
	LEFT("a quote of 8 bytes",
	     E4 "3 code 4 mtu 1400" O4(2, "1500") "proto 4 | hex 4500057812344000", "none"),
	LEFT("a quote of 8 bytes, IPv6",
	     E6 "2 mtu 1400" O6(3, "1480") "proto 41 | hex 6000000004d20640", "none"),
	LEFT("a quote that ends before the ports",
	     BIG4("1400") "| ip4 10.1.0.9 > 10.2.0.2 df len 1480 proto 6 | hex 04d20050000003",
	     "none"),
};

/* ---- nothing of ours --------------------------------------------------------------------------*/

static const struct packet_case foreign[] = {
	CASE_PASS("a tunnel of the host",
		  BIG4("1400") "| ip4 10.8.0.9 > 10.8.0.2 df len 1480 | tcp 1234 > 80 A"),
	CASE_PASS("to a port that nobody listens on",
		  BIG4("1400") "| ip4 10.1.0.9 > 10.2.0.2 df len 1480 | tcp 1234 > 81 A"),
	CASE_PASS("to another backend", E4 "3 code 4 mtu 1400" O4(9, "1500") C4(2, "1480")),
	CASE_PASS("from another source",
		  IN0 "ip4 10.3.0.77 > 10.3.0.253 | icmp 3 code 4 mtu 1400 | ip4 10.3.0.253 > "
		      "10.3.0.2 df len 1500 " C4(2, "1480")),
	CASE_PASS("from a source of many, without entropy",
		  IN0 "ip4 10.3.0.77 > 10.3.12.34 | icmp 3 code 1 | ip4 10.3.12.34 > 10.3.0.2 "
		      "len 73 " C4(2, "53")),
	CASE_PASS("about somebody else's packet",
		  IN0 "ip4 10.3.0.77 > 10.3.0.253 | icmp 3 code 4 mtu 1400" O4(2, "1500")
			  C4(2, "1480")),
	CASE_PASS("IPv6: from another source",
		  IN0 "ip6 fd03::77 > fd03::fd | icmp6 2 mtu 1400 | ip6 fd03::fd > fd03:0::3 len "
		      "1480 " C6(3, "1440")),
	CASE_PASS("another mode's", E4 "3" O4(2, "1508") UDP("1488") C4(2, "1480")),
	CASE_PASS("another mode's, the other way", E4 "3" O4(6, "1500") C4(6, "1480")),
	CASE_PASS("another port",
		  E4 "3" O4(6, "1508") "| udp 50000 > 6081 csum 0 len 1488 " C4(6, "1480")),
	CASE_PASS("the wrong number for IPv6",
		  E4 "3 code 4 mtu 1400" O4(2, "1500") "proto 4 " C6(2, "1440")),
	CASE_PASS("the wrong number for IPv4",
		  E6 "2 mtu 1400" O6(3, "1480") "proto 41 " C4(3, "1480")),
	CASE_PASS("of mode l2", E4 "3 code 4 mtu 1400" O4(1, "1500") C4(1, "1480")),
	CASE_PASS("a later fragment of the client's",
		  BIG4("1400") "| ip4 10.1.0.9 > 10.2.0.2 off 1 len 1480 proto 6 | data 40"),
	CASE_PASS("a later fragment of ours",
		  E4 "3 code 4 mtu 1400" O4(2, "1500") "off 1 " C4(2, "1480")),
	CASE_PASS("a ping inside",
		  BIG4("1400") "| ip4 10.1.0.9 > 10.2.0.2 len 1480 | icmp 8 | data 30"),
	CASE_PASS("no error", E4 "8" O4(2, "1500") C4(2, "1480")),
	CASE_PASS("a redirect", E4 "5" O4(2, "1500") C4(2, "1480")),
	CASE_PASS("a fragment of the error",
		  IN0 "ip4 10.3.0.77 > 10.3.0.254 mf | icmp 3" O4(2, "1500") C4(2, "1480")),
	CASE_PASS("a name server's 8 bytes",
		  E4 "3 code 3 | ip4 10.3.0.254 > 10.3.0.53 len 60 | udp 50000 > 53 len 40 csum 7"),
	CASE_PASS("no quote", E4 "3 code 4 mtu 1400"),
	CASE_PASS(
		"longer than an error may be",
		BIG4("1400") "| ip4 10.1.0.9 > 10.2.0.2 df len 1480 | tcp 1234 > 80 A | data 1200"),
};

static struct rig rig;

TestSuite(relay, .fini = place_cleanup, .timeout = TEST_LONGEST);

Test(relay, tables)
{
	rig_open(&rig, setup);
	CASES_RUN(&rig, told);
	CASES_RUN(&rig, more);
	CASES_RUN(&rig, left);
	CASES_RUN(&rig, foreign);
	rig_close(&rig);
}

/* An error with a bit turned over anywhere is not what a router sent: the host may see to it. */
static void every_bit(const char *words)
{
	static struct frame in, out;
	size_t error;

	frame_build(&in, words);
	rig_refill(&rig);
	cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX, "%s", words);
	error = frame_ip_at(&in) + (in.byte[frame_ip_at(&in)] >> 4 == 4 ? 20 : 40);
	for (size_t at = error; at < in.length; at++)
		for (int bit = 0; bit < 8; bit++) {
			in.byte[at] ^= (__u8)(1 << bit);
			cr_expect(rig_run(&rig, &in, &out) == XDP_PASS && frame_equal(&in, &out),
				  "%s: byte %zu, bit %d", words, at, bit);
			in.byte[at] ^= (__u8)(1 << bit);
		}
}

/* The 16 bits of a quoted number through all their values: all checksums stay right. */
static void every_carry(const char *before, const char *after)
{
	static struct frame in, out;
	unsigned int step = place_emulated() ? 97 : 1;
	char words[512];

	for (unsigned int value = 0; value <= 0xffff; value += step) {
		snprintf(words, sizeof(words), "%s | tcp 1234 > 80 A csum 7 seq %u %s", before,
			 value, after);
		frame_build(&in, words);
		rig_refill(&rig);
		cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX, "%s", words);
		cr_assert(frame_sound(&out), "%s: a checksum is wrong", words);
	}
}

Test(relay, checksums)
{
	rig_open(&rig, setup);
	every_bit(BIG4("1400") C4(2, "1480"));
	every_bit(BIG6("1400") C4(3, "1480"));
	every_carry(BIG4("1400") "| ip4 10.1.0.9 > 10.2.0.2 df len 1480", "");
	every_carry(BIG4("1400") "| ip6 fd01::9 > fd02:0::2 len 1440", "| data 1");
	every_carry(BIG6("1400") "| ip4 10.1.0.9 > 10.2.0.3 df len 1480", "| data 2");
	every_carry(BIG6("1400") "| ip6 fd01::9 > fd02:0::3 len 1440", "| data 3");
	rig_close(&rig);
}

static unsigned long counted(const char *service, unsigned int event)
{
	static struct rig_counts c;

	rig_count(&rig, &c);
	return c.service[rig_service(&rig, service)].count[event];
}

/* Each client within its limit. */
Test(relay, is_limited)
{
	static struct frame in, out, other;
	int told_of = 0;

	rig_open(&rig, setup);
	frame_build(&in, BIG4("1400") C4(2, "1480"));
	frame_build(&other, BIG4("1400") "| ip4 10.1.0.8 > 10.2.0.2 df len 1480 | tcp 1234 > 80 A");
	rig_refill(&rig);
	for (int k = 0; k < TIMES; k++)
		told_of += rig_run(&rig, &in, &out) == XDP_TX;
	cr_expect_geq(told_of, 1);
	cr_expect_leq(told_of, TIMES / 2);
	cr_expect_eq(rig_run(&rig, &other, &out), XDP_TX);
	cr_expect_eq(counted("s02", POISE_R_OUTER_RELAYED), (unsigned long)told_of + 1);
	cr_expect_eq(counted("s02", POISE_R_ANSWER_LIMITED), (unsigned long)(TIMES - told_of));
	rig_close(&rig);
}

/* Of two backends, the error is about the one that the flow is on, by its word. */
Test(relay, goes_by_the_word)
{
	static struct frame data, error, out;
	__u16 members[2];
	__u64 *word;

	rig_open(&rig, "services:\n  - { name: two, listen: '10.2.0.2:80', forward: ipip, track: "
		       "always, backends: [ { address: 10.3.0.2 }, { address: 10.3.0.3 } ] }\n");
	rig_forget(&rig);
	members[0] = rig_member(&rig, "10.3.0.2");
	members[1] = rig_member(&rig, "10.3.0.3");
	frame_build(&data, "ip4 10.1.0.9 > 10.2.0.2 | tcp 1234 > 80 A");
	frame_build(&error, BIG4("1400") C4(2, "1480"));
	cr_assert_eq(rig_run(&rig, &data, &out), XDP_TX);
	word = rig_word(&rig);
	cr_assert_not_null(word);
	for (int k = 0; k < 2; k++) {
		*word = (*word & ~0xffff0000ull) | (__u64)members[k] << POISE_WORD_MEMBER_SHIFT;
		cr_expect_eq(rig_run(&rig, &error, &out), k ? XDP_PASS : XDP_TX, "%d", k);
		cr_expect_eq(POISE_WORD_MEMBER(*word), members[k]);
	}
	rig_close(&rig);
}
