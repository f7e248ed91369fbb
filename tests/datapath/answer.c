// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What goes back instead of on: refusals, time exceeded, too big. Each answer to the byte, with
 * every header a packet can have; then all TCP flags, all carries of the checksums, and the limits.
 */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "maps/clock.h"
#include "tests/support/cases.h"
#include "tests/support/setup.h"

static const char setup[] =
	"services:\n"
	"  - { name: nobody, forward: l2, listen: [ '10.2.0.8:80', '10.2.0.8:53/udp',\n"
	"      '[fd02::8]:80', '[fd02::8]:53/udp' ] }\n" SETUP_MODES(0) SETUP_MODES(4);

/* Answers are made of what was asked: the frame and the addresses turned round. */
#define BACK0	       "eth lb > gw | "
#define BACK1	       "eth lb > gw | vlan 7 pcp 3 | "
#define BACK2	       "eth lb > gw | vlan 8 tpid 0x88a8 | vlan 9 | "
#define A4	       "ip4 10.1.0.9 > 10.2.0.8 "
#define A6	       "ip6 fd01::9 > fd02::8 "
#define RST4	       "ip4 10.2.0.8 > 10.1.0.9 df | tcp 80 > 1234 win 0 "
#define RST6	       "ip6 fd02::8 > fd01::9 | tcp 80 > 1234 win 0 "
#define ICMP4(to, m)   "ip4 " to " > 10.1.0.9 tos 0xc0 df | icmp " m " | "
#define ICMP6(to, m)   "ip6 " to " > fd01::9 | icmp6 " m " | "
#define UNREACHABLE4   ICMP4("10.2.0.8", "3 code 3")
#define UNREACHABLE6   ICMP6("fd02::8", "1 code 4")
#define RESET(n, i, o) CASE_ANSWER(n, i, "nobody no-backend answered-rst", o)
#define ERROR(n, i, o) CASE_ANSWER(n, i, "nobody no-backend answered-icmp", o)
#define SILENT(n, i)   CASE_DROP(n, i, "nobody no-backend")

static const struct packet_case refused_tcp[] = {
	RESET("v4 SYN", IN0 A4 "| tcp 1234 > 80 S", BACK0 RST4 "RA seq 0 ack 1001"),
	RESET("v6 SYN", IN0 A6 "| tcp 1234 > 80 S", BACK0 RST6 "RA seq 0 ack 1001"),
	RESET("v4 SYN in one tag", IN1 A4 "| tcp 1234 > 80 S", BACK1 RST4 "RA seq 0 ack 1001"),
	RESET("v6 SYN in one tag", IN1 A6 "| tcp 1234 > 80 S", BACK1 RST6 "RA seq 0 ack 1001"),
	RESET("v4 SYN in two tags", IN2 A4 "| tcp 1234 > 80 S", BACK2 RST4 "RA seq 0 ack 1001"),
	RESET("v6 SYN in two tags", IN2 A6 "| tcp 1234 > 80 S", BACK2 RST6 "RA seq 0 ack 1001"),
	RESET("SYN with data and TCP options", IN0 A4 "| tcp 1234 > 80 S opt 20 | data 301",
	      BACK0 RST4 "RA seq 0 ack 1302"),
	RESET("SYN behind IP options", IN0 A4 "opt 40 | tcp 1234 > 80 S opt 40",
	      BACK0 RST4 "RA seq 0 ack 1001"),
	RESET("SYN behind extension headers", IN0 A6 "| hop 16 | dst 8 | tcp 1234 > 80 S | data 3",
	      BACK0 RST6 "RA seq 0 ack 1004"),
	RESET("number 0xffffffff", IN0 A4 "| tcp 1234 > 80 S seq 0xffffffff",
	      BACK0 RST4 "RA seq 0 ack 0"),
	RESET("number 0xffffff00 and data", IN0 A6 "| tcp 1234 > 80 S seq 0xffffff00 | data 300",
	      BACK0 RST6 "RA seq 0 ack 45"),
	RESET("a full-size SYN", IN0 A4 "| tcp 1234 > 80 S csum 1 | data 1460",
	      BACK0 RST4 "RA seq 0 ack 2461"),
	RESET("a padded SYN", IN0 A4 "| tcp 1234 > 80 S | pad 6", BACK0 RST4 "RA seq 0 ack 1001"),
	RESET("TOS is not taken over", IN0 A4 "tos 3 | tcp 1234 > 80 S",
	      BACK0 RST4 "RA seq 0 ack 1001"),
	SILENT("v4 mid-flow", IN0 A4 "| tcp 1234 > 80 A | data 9"),
	SILENT("v6 mid-flow", IN0 A6 "| tcp 1234 > 80 AP | data 9"),
	SILENT("the end of a flow", IN0 A4 "| tcp 1234 > 80 FA"),
	SILENT("a reset", IN0 A4 "| tcp 1234 > 80 R"),
	SILENT("SYN and RST", IN0 A6 "| tcp 1234 > 80 SR"),
};

static const struct packet_case refused_udp[] = {
	ERROR("v4", IN0 A4 "| udp 1234 > 53 | data 9",
	      BACK0 UNREACHABLE4 A4 "| udp 1234 > 53 | data 9"),
	ERROR("v6", IN0 A6 "| udp 1234 > 53 | data 9",
	      BACK0 UNREACHABLE6 A6 "| udp 1234 > 53 | data 9"),
	ERROR("v4, empty", IN0 A4 "| udp 1234 > 53", BACK0 UNREACHABLE4 A4 "| udp 1234 > 53"),
	ERROR("v6, empty", IN0 A6 "| udp 1234 > 53", BACK0 UNREACHABLE6 A6 "| udp 1234 > 53"),
	ERROR("v4 in one tag", IN1 A4 "| udp 1234 > 53 | data 3",
	      BACK1 UNREACHABLE4 A4 "| udp 1234 > 53 | data 3"),
	ERROR("v6 in one tag", IN1 A6 "| udp 1234 > 53 | data 2",
	      BACK1 UNREACHABLE6 A6 "| udp 1234 > 53 | data 2"),
	ERROR("v4 in two tags", IN2 A4 "| udp 1234 > 53 | data 1",
	      BACK2 UNREACHABLE4 A4 "| udp 1234 > 53 | data 1"),
	ERROR("v6 in two tags", IN2 A6 "| udp 1234 > 53 | data 4",
	      BACK2 UNREACHABLE6 A6 "| udp 1234 > 53 | data 4"),
	ERROR("padding is not quoted", IN0 A4 "| udp 1234 > 53 | data 1 | pad 17",
	      BACK0 UNREACHABLE4 A4 "| udp 1234 > 53 | data 1"),
	ERROR("IP options are quoted", IN0 A4 "opt 40 tos 5 | udp 1234 > 53 | data 9",
	      BACK0 UNREACHABLE4 A4 "opt 40 tos 5 | udp 1234 > 53 | data 9"),
	ERROR("extension headers are quoted", IN0 A6 "| hop 16 | dst 32 | udp 1234 > 53 | data 9",
	      BACK0 UNREACHABLE6 A6 "| hop 16 | dst 32 | udp 1234 > 53 | data 9"),
	ERROR("v4: all that fits", IN0 A4 "| udp 1234 > 53 | data 520",
	      BACK0 UNREACHABLE4 A4 "| udp 1234 > 53 | data 520"),
	ERROR("v4: a byte too much", IN0 A4 "| udp 1234 > 53 csum 7 | data 521",
	      BACK0 UNREACHABLE4 A4 "len 549 | udp 1234 > 53 csum 7 len 529 | data 520"),
	ERROR("v4: full size", IN2 A4 "| udp 1234 > 53 csum 7 | data 1472",
	      BACK2 UNREACHABLE4 A4 "len 1500 | udp 1234 > 53 csum 7 len 1480 | data 520"),
	ERROR("v6: all that fits", IN0 A6 "| udp 1234 > 53 | data 1184",
	      BACK0 UNREACHABLE6 A6 "| udp 1234 > 53 | data 1184"),
	ERROR("v6: a byte too much", IN0 A6 "| udp 1234 > 53 csum 7 | data 1185",
	      BACK0 UNREACHABLE6 A6 "len 1193 | udp 1234 > 53 csum 7 len 1193 | data 1184"),
	ERROR("v6: full size", IN2 A6 "| udp 1234 > 53 csum 7 | data 1452",
	      BACK2 UNREACHABLE6 A6 "len 1460 | udp 1234 > 53 csum 7 len 1460 | data 1184"),
};

#define FROM4(src) IN0 "ip4 " src " > 10.2.0.8 | udp 1234 > 53 | data 9"
#define FROM6(src) IN0 "ip6 " src " > fd02::8 | udp 1234 > 53 | data 9"

static const struct packet_case no_host[] = {
	SILENT("from nobody", FROM4("0.0.0.0")),
	SILENT("from this network", FROM4("0.1.2.3")),
	SILENT("from loopback", FROM4("127.0.0.1")),
	SILENT("from a group", FROM4("224.0.0.1")),
	SILENT("from the last group", FROM4("239.255.255.255")),
	SILENT("from broadcast", FROM4("255.255.255.255")),
	SILENT("from itself", FROM4("10.2.0.8")),
	SILENT("v6 from nobody", FROM6("::")),
	SILENT("v6 from loopback", FROM6("::1")),
	SILENT("v6 from IPv4", FROM6("::ffff:10.1.0.9")),
	SILENT("v6 from a group", FROM6("ff02::1")),
	SILENT("v6 from itself", FROM6("fd02::8")),
	SILENT("TCP from a group", IN0 "ip4 224.0.0.1 > 10.2.0.8 | tcp 1234 > 80 S"),
	ERROR("from the highest host", FROM4("223.255.255.254"),
	      BACK0 "ip4 10.2.0.8 > 223.255.255.254 tos 0xc0 df | icmp 3 code 3 | "
		    "ip4 223.255.255.254 > 10.2.0.8 | udp 1234 > 53 | data 9"),
	ERROR("from a link-local address", FROM6("fe80::1"),
	      BACK0 "ip6 fd02::8 > fe80::1 | icmp6 1 code 4 | "
		    "ip6 fe80::1 > fd02::8 | udp 1234 > 53 | data 9"),
	SILENT("a fragment", IN0 A4 "mf | udp 1234 > 53 | data 8"),
	SILENT("a TCP header longer than its packet",
	       IN0 A4 "proto 6 | hex 04d20050000003e800000000f002ffff00000000"),
	SILENT("a TCP header shorter than itself",
	       IN0 A4 "proto 6 | hex 04d20050000003e8000000004002ffff00000000"),
};

#define TTL4(to, s, ip, rest)                                                                      \
	CASE_ANSWER("v4 " s " " rest, IN0 ip rest, s " ttl-expired answered-icmp",                 \
		    BACK0 ICMP4(to, "11") ip rest)
#define TTL6(to, s, ip, rest)                                                                      \
	CASE_ANSWER("v6 " s " " rest, IN0 ip rest, s " ttl-expired answered-icmp",                 \
		    BACK0 ICMP6(to, "3") ip rest)
#define S(n, m) "ip4 10.1.0.9 > 10.2." #n "." #m " "
#define T(n, m) "ip6 fd01::9 > fd02:" #n "::" #m " "

static const struct packet_case expired[] = {
	TTL4("10.2.0.1", "s01", S(0, 1) "ttl 1 ", "| tcp 1234 > 80 S"),
	TTL4("10.2.0.1", "s01", S(0, 1) "ttl 0 ", "| udp 1234 > 53 | data 5"),
	TTL4("10.2.0.2", "s02", S(0, 2) "ttl 1 ", "| tcp 1234 > 80 A | data 77"),
	TTL4("10.2.0.6", "s06", S(0, 6) "ttl 1 ", "| tcp 1234 > 80 A | data 77"),
	TTL6("fd02:0::7", "s07", T(0, 7) "ttl 1 ", "| tcp 1234 > 80 A | data 77"),
	TTL4("10.2.0.3", "s03", S(0, 3) "ttl 1 opt 8 ", "| tcp 1234 > 80 FA"),
	TTL6("fd02:0::1", "s01", T(0, 1) "ttl 1 ", "| udp 1234 > 53 | data 5"),
	TTL6("fd02:0::2", "s02", T(0, 2) "ttl 0 ", "| tcp 1234 > 80 S"),
	TTL6("fd02:0::3", "s03", T(0, 3) "ttl 1 ", "| dst 8 | tcp 1234 > 80 A | data 77"),
	TTL4("10.2.0.8", "nobody", A4 "ttl 1 ", "| tcp 1234 > 80 S"),
	CASE_DROP("never for a reset", IN0 S(0, 1) "ttl 1 | tcp 1234 > 80 R", "s01 ttl-expired"),
	CASE_DROP("nor to a group", IN0 "ip4 224.0.0.9 > 10.2.0.1 ttl 1 | udp 1234 > 53",
		  "s01 ttl-expired"),
};

/* clang-format off */
#define BIG(icmp, s, name, frame, back, ip, data, quoted)                                          \
	CASE_ANSWER(name, frame ip "| tcp 1234 > 80 A csum 7 | data " data,                        \
		    s " too-big answered-icmp",                                                    \
		    back icmp ip quoted)
#define QUOTED(len, data) "len " len " | tcp 1234 > 80 A csum 7 | data " data
#define FRAG_NEEDED(to, mtu) ICMP4(to, "3 code 4 mtu " mtu)
#define TOO_BIG(to, mtu) ICMP6(to, "2 mtu " mtu)

static const struct packet_case big[] = {
	BIG(FRAG_NEEDED("10.2.0.1", "1500"), "s01", "l2 v4", IN0, BACK0, S(0, 1) "df ",
	    "1461", QUOTED("1501", "508")),
	BIG(FRAG_NEEDED("10.2.0.2", "1480"), "s02", "4in4", IN0, BACK0, S(0, 2) "df ",
	    "1441", QUOTED("1481", "508")),
	BIG(FRAG_NEEDED("10.2.0.2", "1480"), "s02", "4in4, full size in two tags", IN2, BACK2,
	    S(0, 2) "df ", "1460", QUOTED("1500", "508")),
	BIG(FRAG_NEEDED("10.2.0.3", "1460"), "s03", "4in6", IN1, BACK1, S(0, 3) "df ",
	    "1421", QUOTED("1461", "508")),
	BIG(TOO_BIG("fd02:0::1", "1500"), "s01", "l2 v6", IN0, BACK0, T(0, 1),
	    "1441", QUOTED("1461", "1172")),
	BIG(TOO_BIG("fd02:0::2", "1480"), "s02", "6in4", IN0, BACK0, T(0, 2),
	    "1421", QUOTED("1441", "1172")),
	BIG(TOO_BIG("fd02:0::3", "1460"), "s03", "6in6, full size in one tag", IN1, BACK1, T(0, 3),
	    "1440", QUOTED("1460", "1172")),
	BIG(FRAG_NEEDED("10.2.0.6", "1472"), "s06", "gue 4in4", IN0, BACK0, S(0, 6) "df ",
	    "1433", QUOTED("1473", "508")),
	BIG(FRAG_NEEDED("10.2.0.7", "1452"), "s07", "gue 4in6", IN0, BACK0, S(0, 7) "df ",
	    "1413", QUOTED("1453", "508")),
	BIG(TOO_BIG("fd02:0::6", "1472"), "s06", "gue 6in4", IN0, BACK0, T(0, 6),
	    "1413", QUOTED("1433", "1172")),
	BIG(TOO_BIG("fd02:0::7", "1452"), "s07", "gue 6in6", IN0, BACK0, T(0, 7),
	    "1393", QUOTED("1413", "1172")),
	BIG(FRAG_NEEDED("10.2.4.1", "120"), "s41", "l2 v4, narrow", IN0, BACK0, S(4, 1) "df ",
	    "81", QUOTED("121", "81")),
	BIG(FRAG_NEEDED("10.2.4.2", "100"), "s42", "4in4, narrow", IN0, BACK0, S(4, 2) "df ",
	    "61", QUOTED("101", "61")),
	BIG(FRAG_NEEDED("10.2.4.3", "80"), "s43", "4in6, narrow", IN0, BACK0, S(4, 3) "df ",
	    "41", QUOTED("81", "41")),
	BIG(TOO_BIG("fd02:4::2", "1280"), "s42", "6in4, narrower than IPv6 may be", IN0, BACK0,
	    T(4, 2), "41", QUOTED("61", "41")),
	CASE_DROP("never for a reset", IN0 S(0, 2) "df | tcp 1234 > 80 R csum 7 | data 1441",
		  "s02 too-big"),
};
/* clang-format on */

/* Of IPv6 every fragment, since only the sender can make them smaller; of IPv4 the first with DF.
 */
#define FIRST	 "| udp 1234 > 53 len 3000 csum 7 | data "
#define LATER6	 "| frag6 off 200 mf id 77 proto 17 | data "
#define ANSWERED " too-big answered-icmp"

static const struct packet_case big_fragments[] = {
	CASE_ANSWER("6in4, the first", IN0 T(0, 2) "| frag6 mf id 77 " FIRST "1426", "s02" ANSWERED,
		    BACK0 TOO_BIG("fd02:0::2", "1480") T(0, 2) "len 1442 | frag6 mf id 77 " FIRST
							       "1176"),
	CASE_ANSWER("6in6, a later one in a tag", IN1 T(0, 3) LATER6 "1440",
		    "s03" ANSWERED " fragment-guessed",
		    BACK1 TOO_BIG("fd02:0::3", "1460") T(0, 3) "len 1448 " LATER6 "1184"),
	CASE_ANSWER("gue 6in6, a later one", IN0 T(0, 7) LATER6 "1440",
		    "s07" ANSWERED " fragment-guessed",
		    BACK0 TOO_BIG("fd02:0::7", "1452") T(0, 7) "len 1448 " LATER6 "1184"),
	CASE_ANSWER("l2, narrow", IN0 T(4, 1) "| frag6 mf id 77 " FIRST "72", "s41" ANSWERED,
		    BACK0 TOO_BIG("fd02:4::1", "1280") T(4, 1) "| frag6 mf id 77 " FIRST "72"),
	CASE_ANSWER("4in4 with DF, the first", IN0 S(0, 2) "df mf " FIRST "1456", "s02" ANSWERED,
		    BACK0 FRAG_NEEDED("10.2.0.2", "1480") S(0, 2) "df mf len 1484 " FIRST "520"),
	CASE_DROP("4in4 with DF, a later one", IN0 S(0, 2) "df mf off 185 proto 17 | data 1464",
		  "s02 too-big fragment-guessed"),
	CASE_DROP("from a group", IN0 "ip6 ff02::9 > fd02:0::2 " LATER6 "1440",
		  "s02 too-big fragment-guessed"),
};

static struct rig rig;

TestSuite(answer, .fini = place_cleanup, .timeout = TEST_LONGEST);

Test(answer, tables)
{
	rig_open(&rig, setup);
	CASES_RUN(&rig, refused_tcp);
	CASES_RUN(&rig, refused_udp);
	CASES_RUN(&rig, no_host);
	CASES_RUN(&rig, expired);
	CASES_RUN(&rig, big);
	CASES_RUN(&rig, big_fragments);
	rig_close(&rig);
}

/* ---- every combination of flags ---------------------------------------------------------------*/

#define FIN   0x01
#define SYN   0x02
#define RST   0x04
#define ACK   0x10
#define BYTES 5 /* of data */

/* RFC 9293, 3.5.2, of a packet with number 70000, acknowledging 90000. */
static void expect_reset(const char *ip, const char *back, unsigned int flags)
{
	static struct frame in, out, expected;
	char words[256];
	int verdict;

	snprintf(words, sizeof(words), "%s | tcp 1234 > 80 seq 70000 ack 90000 | data %d", ip,
		 BYTES);
	frame_build(&in, words);
	in.byte[in.length - BYTES - 7] = (__u8)flags;
	rig_refill(&rig);
	verdict = rig_run(&rig, &in, &out);
	if (flags & RST || !(flags & SYN)) {
		cr_expect_eq(verdict, XDP_DROP, "%s, flags %02x: %d", ip, flags, verdict);
		return;
	}
	if (flags & ACK)
		snprintf(words, sizeof(words), "%s %s R seq 90000", BACK0, back);
	else
		snprintf(words, sizeof(words), "%s %s RA seq 0 ack %d", BACK0, back,
			 70000 + BYTES + 1 + !!(flags & FIN));
	frame_build(&expected, words);
	cr_expect_eq(verdict, XDP_TX, "%s, flags %02x: %d", ip, flags, verdict);
	if (frame_equal(&expected, &out))
		return;
	frame_print_difference(&expected, &out);
	cr_expect_fail("%s, flags %02x", ip, flags);
}

/* ---- every carry ------------------------------------------------------------------------------*/

/* The 16 bits at `at` from the end through all their values. */
static void every_carry(const char *words, size_t at)
{
	static struct frame in, out;
	unsigned int step = place_emulated() ? 97 : 1;

	frame_build(&in, words);
	for (unsigned int value = 0; value <= 0xffff; value += step) {
		in.byte[in.length - at] = (__u8)(value >> 8);
		in.byte[in.length - at + 1] = (__u8)value;
		rig_refill(&rig);
		cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX);
		cr_assert(frame_sound(&out), "%s, %u: a checksum is wrong", words, value);
	}
}

Test(answer, sweeps)
{
	rig_open(&rig, setup);
	for (unsigned int flags = 0; flags <= 0xff; flags++) {
		expect_reset(A4, RST4, flags);
		expect_reset(A6, RST6, flags);
	}
	/* the low half of the number that is acknowledged; what is quoted */
	every_carry(A4 "| tcp 1234 > 80 S seq 0xfffe0000", 14);
	every_carry(A6 "| tcp 1234 > 80 S seq 0xfffe0000", 14);
	every_carry(A4 "| udp 1234 > 53 | data 3", 3);
	every_carry(A6 "| udp 1234 > 53 | data 3", 3);
	every_carry(S(0, 2) "df | tcp 1234 > 80 A csum 7 | data 1441", 1440);
	every_carry(T(0, 2) "| tcp 1234 > 80 A csum 7 | data 1421", 1420);
	rig_close(&rig);
}

/* ---- limits -----------------------------------------------------------------------------------*/

#define RATE	     1000 /* of both kinds, of all CPUs */
#define BURST	     50
#define SOURCE_RATE  100 /* to one source */
#define SOURCE_BURST 20
#define SOURCES	     256
#define TICK	     0.01 /* the slowest clock's */
#define HELD	     0.01 /* s between two packets: somebody else had the CPU */
#define SECONDS	     0.5

static void stay_on_one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	cr_assert(!sched_setaffinity(0, sizeof(set), &set));
}

static unsigned long count_of(unsigned int reason)
{
	static struct rig_counts c;

	rig_count(&rig, &c);
	return c.service[rig_service(&rig, "nobody")].count[reason];
}

/* One CPU's of a burst. */
static int share_of(int burst)
{
	return (burst - 1) / (int)rig.i->meta->cpus + 1;
}

/* One CPU has its share of burst and rate, whatever comes from so many sources: the words hold %d
 * where they are told apart. */
static void flood(const char *words, int sources, int burst, int rate, unsigned int reason)
{
	unsigned long answered = count_of(reason), limited = count_of(POISE_R_ANSWER_LIMITED);
	unsigned long sent = 0, back = 0;
	static struct frame in[SOURCES], out;
	double begin, last, seconds, gap, longest = 0, held = 0, most;
	const double one = rate / (double)rig.i->meta->cpus; /* CPU's answers a second */

	for (int k = 0; k < sources; k++) {
		char text[128];

		snprintf(text, sizeof(text), words, k);
		frame_build(&in[k], text);
	}
	rig_refill(&rig);
	begin = last = clock_seconds(CLOCK_MONOTONIC);
	do {
		back += rig_run(&rig, &in[sent % (unsigned long)sources], &out) == XDP_TX;
		sent++;
		seconds = clock_seconds(CLOCK_MONOTONIC) - begin;
		gap = begin + seconds - last;
		last += gap;
		longest = gap > longest ? gap : longest;
		held += gap > HELD ? gap : 0;
	} while (seconds < SECONDS);
	/* The ticks of an emulated CPU come late, and then several at once. */
	most = share_of(burst) + (seconds + (place_emulated() ? 5 * TICK + longest : TICK)) * one +
	       1;
	cr_expect(back <= most, "%s: %lu answers in %.3f s, at most %.0f", words, back, seconds,
		  most);
	/* what was due while the CPU was not ours is missed */
	cr_expect(back >= (unsigned long)share_of(burst) - 1 &&
			  (place_emulated() || back >= (most - held * one) / 2),
		  "%s: %lu of %lu answered, %.0f were due", words, back, sent, most);
	cr_expect_eq(count_of(reason) - answered, back);
	cr_expect_eq(count_of(POISE_R_ANSWER_LIMITED) - limited, sent - back);
}

static int answered(const char *words, int times)
{
	static struct frame in, out;
	int back = 0;

	frame_build(&in, words);
	for (int k = 0; k < times; k++)
		back += rig_run(&rig, &in, &out) == XDP_TX;
	return back;
}

/* What has been sent of the one kind, or to the one source, is not taken from the others: whoever
 * sends what is too big is told so while another's datagrams are refused by the thousand. */
static void limits_are_apart(void)
{
	const int burst = share_of(SOURCE_BURST);

	rig_refill(&rig);
	cr_expect_geq(answered(A4 "| udp 1234 > 53", 2 * BURST), burst);
	cr_expect_eq(answered(A4 "| tcp 1234 > 80 S", burst), burst);
	cr_expect_eq(answered("ip4 10.1.0.8 > 10.2.0.2 df | tcp 1234 > 80 A | data 1441", 1), 1);
	rig_refill(&rig);
	cr_expect_geq(answered(A6 "| udp 1234 > 53", 2 * BURST), burst);
	cr_expect_eq(answered(A6 "| tcp 1234 > 80 S", burst), burst);
	cr_expect_eq(answered("ip6 fd01:0:0:1::9 > fd02:0::2 | tcp 1234 > 80 A | data 1421", 1), 1);
}

Test(answer, limits)
{
	rig_open(&rig, setup);
	stay_on_one_cpu();
	limits_are_apart();
	flood(A4 "| udp 1234 > 53", 1, SOURCE_BURST, SOURCE_RATE, POISE_R_ANSWERED_ICMP);
	flood(A6 "| tcp 1234 > 80 S", 1, SOURCE_BURST, SOURCE_RATE, POISE_R_ANSWERED_RST);
	flood("ip4 10.1.1.%d > 10.2.0.8 | tcp 1234 > 80 S", SOURCES, BURST, RATE,
	      POISE_R_ANSWERED_RST);
	flood("ip6 fd01:0:0:%x::9 > fd02::8 | udp 1234 > 53", SOURCES, BURST, RATE,
	      POISE_R_ANSWERED_ICMP);
	rig_close(&rig);
}
