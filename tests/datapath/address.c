// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What packets get that are for no service, by their address: echo replies, refusals, or what the
 * host makes of them. Each to the byte; then every id, size and carry of an echo.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

/*
 * routed   no backend; 10.2.0.8 is led here and on no device
 * claimed  no service at all: 10.2.0.5, on a device by us
 * quiet    ping no            passing  other-ports pass       host  the host's own
 * mute     ping usable, no backend      far  the same, its backend has no next hop
 * ready    ping usable, and usable      a, b  two services of one address
 */
#define LISTEN(name, n)                                                                            \
	"  - { name: " name ", forward: l2, listen: [ '10.2.0." n ":80', '[fd02::" n "]:80' ]"
#define BACKEND(addr) ", backends: [ { address: " addr " } ] }\n"
#define KEYS(n, keys)                                                                              \
	"  - { address: 10.2.0." n ", " keys " }\n  - { address: 'fd02::" n "', " keys " }\n"

static const char setup[] = "addresses:\n" KEYS("5", "claim: lo") KEYS("6", "ping: no") KEYS(
	"7", "other-ports: pass") KEYS("20",
				       "ping: usable") KEYS("21",
							    "ping: usable") KEYS("22",
										 "ping: usable")
	KEYS("23", "ping: usable, other-ports: pass") "services:\n" LISTEN(
		"routed",
		"8") " }\n" LISTEN("quiet",
				   "6") " }\n" LISTEN("passing",
						      "7") " }\n" LISTEN("mute",
									 "20") " }\n" LISTEN("far",
											     "21")
		BACKEND("10.3.9.1") LISTEN("ready", "22") BACKEND("10.3.0.1")
			LISTEN("a", "23") " }\n"
					  "  - { name: b, forward: l2, listen: [ '10.2.0.23:81', "
					  "'[fd02::23]:81' ]" BACKEND("10.3.0.2")
						  LISTEN("host", "12") " }\n";

#define BACK0 "eth lb > gw | "
#define BACK1 "eth lb > gw | vlan 7 pcp 3 | "
#define BACK2 "eth lb > gw | vlan 8 tpid 0x88a8 | vlan 9 | "
#define A4(n) "ip4 10.1.0.9 > 10.2.0." n " "
#define A6(n) "ip6 fd01::9 > fd02::" n " "
#define B4(n) "ip4 10.2.0." n " > 10.1.0.9 "
#define B6(n) "ip6 fd02::" n " > fd01::9 "
#define ID    "mtu 0x1234abcd"
#define ASK4  "| icmp 8 " ID " | data 56"
#define ASK6  "| icmp6 128 " ID " | data 56"
#define SAY4  "| icmp 0 " ID " | data 56"
#define SAY6  "| icmp6 129 " ID " | data 56"

#define ECHO(n, i, s, o) CASE_ANSWER(n, i, s " echo-answered", o)
#define MUTE(n, i, s)	 CASE_DROP(n, i, s " no-echo")

/* clang-format off */
static const struct packet_case echoes[] = {
	ECHO("v4", IN0 A4("8") ASK4, "routed", BACK0 B4("8") SAY4),
	ECHO("v6", IN0 A6("8") ASK6, "routed", BACK0 B6("8") SAY6),
	ECHO("v4 in one tag", IN1 A4("8") ASK4, "routed", BACK1 B4("8") SAY4),
	ECHO("v6 in one tag", IN1 A6("8") ASK6, "routed", BACK1 B6("8") SAY6),
	ECHO("v4 in two tags", IN2 A4("8") ASK4, "routed", BACK2 B4("8") SAY4),
	ECHO("v6 in two tags", IN2 A6("8") ASK6, "routed", BACK2 B6("8") SAY6),
	ECHO("DF and number are taken over", IN0 A4("8") "df id 77 ttl 3 " ASK4, "routed",
	     BACK0 B4("8") "df id 77 " SAY4),
	ECHO("DSCP too, congestion not", IN0 A4("8") "tos 0xbb id 9 " ASK4, "routed",
	     BACK0 B4("8") "tos 0xb8 id 9 " SAY4),
	ECHO("v6 DSCP", IN0 A6("8") "tos 0xbb flow 0x12345 " ASK6, "routed",
	     BACK0 B6("8") "tos 0xb8 " SAY6),
	ECHO("the last hop", IN0 A4("8") "ttl 1 " ASK4, "routed", BACK0 B4("8") SAY4),
	ECHO("v6 at the last hop", IN0 A6("8") "ttl 1 " ASK6, "routed", BACK0 B6("8") SAY6),
	ECHO("IP options", IN0 A4("8") "opt 40 " ASK4, "routed", BACK0 B4("8") SAY4),
	ECHO("extension headers", IN0 A6("8") "| hop 16 | dst 32 " ASK6, "routed",
	     BACK0 B6("8") SAY6),
	ECHO("extension headers in a tag", IN1 A6("8") "| hop 8 " ASK6, "routed",
	     BACK1 B6("8") SAY6),
	ECHO("no data", IN0 A4("8") "| icmp 8 " ID, "routed", BACK0 B4("8") "| icmp 0 " ID),
	ECHO("padding is left out", IN0 A4("8") "| icmp 8 " ID " | pad 18", "routed",
	     BACK0 B4("8") "| icmp 0 " ID),
	ECHO("a tail too", IN0 A6("8") ASK6 " | pad 99", "routed", BACK0 B6("8") SAY6),
	ECHO("claimed, of no service", IN0 A4("5") ASK4, "none", BACK0 B4("5") SAY4),
	ECHO("v6, claimed", IN0 A6("5") ASK6, "none", BACK0 B6("5") SAY6),
	ECHO("usable", IN0 A4("22") ASK4, "ready", BACK0 B4("22") SAY4),
	ECHO("v6, usable", IN0 A6("22") ASK6, "ready", BACK0 B6("22") SAY6),
	ECHO("one of two is usable", IN0 A4("23") ASK4, "none", BACK0 B4("23") SAY4),
	MUTE("ping no", IN0 A4("6") ASK4, "quiet"),
	MUTE("v6, ping no", IN0 A6("6") ASK6, "quiet"),
	MUTE("no backend", IN0 A4("20") ASK4, "mute"),
	MUTE("v6, no backend", IN0 A6("20") ASK6, "mute"),
	MUTE("no next hop", IN0 A4("21") ASK4, "far"),
	MUTE("v6, no next hop", IN0 A6("21") ASK6, "far"),
	MUTE("from a group", IN0 "ip4 224.0.0.1 > 10.2.0.8 " ASK4, "routed"),
	MUTE("from itself", IN0 "ip4 10.2.0.8 > 10.2.0.8 " ASK4, "routed"),
	MUTE("v6 from nobody", IN0 "ip6 :: > fd02::8 " ASK6, "routed"),
	MUTE("a first fragment", IN0 A4("8") "mf " ASK4, "routed"),
	MUTE("a later one", IN0 A4("8") "off 9 proto 1 | data 64", "routed"),
	MUTE("v6 fragments", IN0 A6("8") "| frag6 id 5 mf " ASK6, "routed"),
	MUTE("v6 later", IN0 A6("8") "| frag6 id 5 off 9 proto 58 | data 64", "routed"),
	MUTE("a fragment where ping is no", IN0 A4("6") "mf " ASK4, "quiet"),
	CASE_PASS("the kernel puts together what it has", IN0 A4("5") "mf " ASK4),
	CASE_PASS("v6 likewise", IN0 A6("5") "| frag6 id 5 off 9 proto 58 | data 64"),
	CASE_PASS("other codes", IN0 A4("8") "| icmp 8 code 1 " ID),
	CASE_PASS("other types", IN0 A4("8") "| icmp 13 " ID),
	CASE_PASS("replies", IN0 A4("8") SAY4),
	CASE_PASS("errors", IN0 A4("8") "| icmp 3 code 3 | ip4 10.2.0.8 > 10.1.0.9 " SAY4),
	CASE_PASS("neighbours", IN0 A6("8") "| icmp6 135 | data 16"),
	CASE_PASS("header cut off by its length", IN0 A4("8") "len 24 " ASK4),
	CASE_PASS("the host's own", IN0 A4("12") ASK4),
	CASE_PASS("v6, the host's own", IN0 A6("12") ASK6),
	CASE_PASS("nobody's", IN0 A4("99") ASK4),
	CASE_PASS("to all", "eth gw > all | " A4("8") ASK4),
	CASE_PASS("only a station", IN0 A6("8") "| route 8 left 1 " ASK6),
};

#define RST4(n)	       BACK0 B4(n) "df | tcp 22 > 1234 win 0 "
#define RST6(n)	       BACK0 B6(n) "| tcp 22 > 1234 win 0 "
#define ICMP4(n, m)    BACK0 B4(n) "tos 0xc0 df | icmp " m " | "
#define ICMP6(n, m)    BACK0 B6(n) "| icmp6 " m " | "
#define RESET(n, i, o) CASE_ANSWER(n, i, "routed no-listener answered-rst", o)
#define ERROR(n, i, o) CASE_ANSWER(n, i, "routed no-listener answered-icmp", o)
#define SILENT(n, i)   CASE_DROP(n, i, "routed no-listener")
#define GRE4	       A4("8") "proto 47 | data 20"
#define GRE6	       A6("8") "proto 47 | data 20"

static const struct packet_case refused[] = {
	RESET("v4 SYN", IN0 A4("8") "| tcp 1234 > 22 S", RST4("8") "RA seq 0 ack 1001"),
	RESET("v6 SYN", IN0 A6("8") "| tcp 1234 > 22 S", RST6("8") "RA seq 0 ack 1001"),
	RESET("v4 in one tag", IN1 A4("8") "| tcp 1234 > 22 S",
	      BACK1 B4("8") "df | tcp 22 > 1234 win 0 RA seq 0 ack 1001"),
	RESET("v6 in two tags", IN2 A6("8") "| tcp 1234 > 22 S",
	      BACK2 B6("8") "| tcp 22 > 1234 win 0 RA seq 0 ack 1001"),
	RESET("mid-flow", IN0 A4("8") "| tcp 1234 > 22 A seq 5 ack 9000 | data 7",
	      RST4("8") "R seq 9000"),
	RESET("v6 mid-flow", IN0 A6("8") "| tcp 1234 > 22 AP seq 5 ack 9000 | data 7",
	      RST6("8") "R seq 9000"),
	RESET("FIN", IN0 A4("8") "| tcp 1234 > 22 F seq 5 | data 7", RST4("8") "RA seq 0 ack 13"),
	RESET("the last hop", IN0 A4("8") "ttl 1 | tcp 1234 > 22 S",
	      RST4("8") "RA seq 0 ack 1001"),
	SILENT("a reset", IN0 A4("8") "| tcp 1234 > 22 R"),
	SILENT("v6 reset", IN0 A6("8") "| tcp 1234 > 22 RA"),
	SILENT("from loopback", IN0 "ip4 127.0.0.1 > 10.2.0.8 | tcp 1234 > 22 S"),
	ERROR("v4 UDP", IN0 A4("8") "| udp 1234 > 80 | data 9",
	      ICMP4("8", "3 code 3") A4("8") "| udp 1234 > 80 | data 9"),
	ERROR("v6 UDP", IN0 A6("8") "| udp 1234 > 80 | data 9",
	      ICMP6("8", "1 code 4") A6("8") "| udp 1234 > 80 | data 9"),
	ERROR("another protocol", IN0 GRE4, ICMP4("8", "3 code 2") GRE4),
	ERROR("v6, another next header", IN0 GRE6, ICMP6("8", "4 code 1 mtu 6") GRE6),
	ERROR("SCTP", IN0 A4("8") "proto 132 | data 32",
	      ICMP4("8", "3 code 2") A4("8") "proto 132 | data 32"),
	SILENT("v6, behind extension headers", IN0 A6("8") "| dst 8 | frag6 id 3 proto 47 | data 9"),
	SILENT("a fragment of TCP", IN0 A4("8") "mf | tcp 1234 > 22 S | data 4"),
	SILENT("a later one", IN0 A4("8") "off 9 proto 47 | data 16"),
	SILENT("v6 fragment of UDP", IN0 A6("8") "| frag6 id 7 mf | udp 1234 > 99 | data 16"),
	CASE_ANSWER("claimed, of no service", IN0 A4("5") "| tcp 1234 > 22 S",
		    "none no-listener answered-rst", RST4("5") "RA seq 0 ack 1001"),
	CASE_ANSWER("v6, claimed", IN0 A6("5") "| udp 1234 > 22",
		    "none no-listener answered-icmp",
		    ICMP6("5", "1 code 4") A6("5") "| udp 1234 > 22"),
	CASE_PASS("other-ports pass", IN0 A4("7") "| tcp 1234 > 22 S"),
	CASE_PASS("v6, other-ports pass", IN0 A6("7") "| udp 1234 > 22"),
	CASE_PASS("other protocols pass with them", IN0 A4("7") "proto 47 | data 20"),
	CASE_PASS("fragments too", IN0 A4("7") "mf | udp 1234 > 22 | data 16"),
	CASE_PASS("of two services", IN0 A4("23") "| tcp 1234 > 22 S"),
	CASE_PASS("the host's own", IN0 A4("12") "| tcp 1234 > 22 S"),
	CASE_PASS("v6, the host's own", IN0 A6("12") "| udp 1234 > 22"),
	CASE_PASS("the host's own protocols", IN0 A4("12") "proto 47 | data 20"),
	CASE_PASS("nobody's", IN0 A4("99") "| tcp 1234 > 22 S"),
	CASE_PASS("v6, nobody's", IN0 A6("99") "proto 47 | data 20"),
	CASE_PASS("nothing behind the header", IN0 A6("8") "proto 59 | data 8"),
};
/* clang-format on */

static struct rig rig;

TestSuite(address, .fini = place_cleanup, .timeout = TEST_LONGEST);

Test(address, tables)
{
	rig_open(&rig, setup);
	rig_answer(&rig, "10.2.0.12");
	for (int l = 0; l < 2; l++)
		config_service_named(rig.cfg, "host")->conf.listener[l].own = POISE_OWN_HOST;
	rig_commit(&rig);
	CASES_RUN(&rig, echoes);
	CASES_RUN(&rig, refused);
	rig_close(&rig);
}

/* Before anything is known of the addresses all of it is the kernel's. */
static void nothing_is_known(void)
{
	struct frame out;

	cr_expect_eq(rig_send(&rig, A4("8") ASK4, &out), XDP_PASS);
	cr_expect_eq(rig_send(&rig, A6("8") "| tcp 1234 > 22 S", &out), XDP_PASS);
	cr_expect_eq(rig_send(&rig, A4("8") "proto 47 | data 20", &out), XDP_PASS);
}

/* ---- every echo -------------------------------------------------------------------------------*/

#define ICMP4_AT 34 /* of an answer in a plain frame */
#define ICMP6_AT 54

/* The reply has every byte of the request but type and checksum, and both are right. */
static void expect_reply(const struct frame *in, size_t icmp)
{
	static struct frame out;
	const __u8 *asked = in->byte + icmp, *said = out.byte + icmp;

	cr_assert_eq(rig_run(&rig, in, &out), XDP_TX);
	cr_assert_eq(out.length, in->length);
	cr_assert_eq(said[0], icmp == ICMP6_AT ? 129 : 0);
	cr_assert_eq(said[1], 0);
	cr_assert(!memcmp(asked + 4, said + 4, in->length - icmp - 4), "%zu bytes", in->length);
	cr_assert(frame_sound(&out), "%zu bytes, id %02x%02x, number %02x%02x", in->length, said[4],
		  said[5], said[6], said[7]);
}

/* Id `id` and number `number`, by the words' checksum. */
static void echo(const char *words, size_t icmp, unsigned int id, unsigned int number,
		 const char *data)
{
	static struct frame in;
	char text[192];

	snprintf(text, sizeof(text), "%s %#x%s", words, id << 16 | number, data);
	frame_build(&in, text);
	expect_reply(&in, icmp);
}

static void every_id(void)
{
	unsigned int step = place_emulated() ? 97 : 1;

	for (unsigned int id = 0; id <= 0xffff; id += step) {
		echo(A4("8") "| icmp 8 mtu", ICMP4_AT, id, 0, "");
		echo(A6("8") "| icmp6 128 mtu", ICMP6_AT, id, 0, "");
		echo(A4("8") "| icmp 8 mtu", ICMP4_AT, 0x0102, id, " | data 5");
		echo(A6("8") "| icmp6 128 mtu", ICMP6_AT, 0x0102, id, " | data 5");
	}
}

/* Up to a full frame of either family. */
static void every_size(void)
{
	unsigned int step = place_emulated() ? 97 : 1;
	char data[32];

	for (unsigned int bytes = 0; bytes <= 1472; bytes += step) {
		snprintf(data, sizeof(data), " | data %u", bytes);
		echo(A4("8") "| icmp 8 mtu", ICMP4_AT, bytes, 7, data);
		if (bytes <= 1452)
			echo(A6("8") "| icmp6 128 mtu", ICMP6_AT, bytes, 7, data);
	}
}

/* ---- what a request is worth ------------------------------------------------------------------*/

/* Echo is not limited, and what is limited, refusals, do not take from it. */
static void echo_has_no_limit(void)
{
	struct frame in, out;

	frame_build(&in, A4("8") "| udp 1234 > 22");
	for (int k = 0; k < 200; k++)
		rig_run(&rig, &in, &out);
	cr_expect_eq(rig_run(&rig, &in, &out), XDP_DROP, "the limit of refusals was not reached");
	frame_build(&in, A4("8") ASK4);
	for (int k = 0; k < 2000; k++)
		cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX, "echo %d", k);
}

/* A request that came broken is not made whole. */
static void a_broken_checksum_stays_broken(void)
{
	struct frame in, out;

	frame_build(&in, A4("8") ASK4);
	in.byte[in.length - 1] ^= 0x10;
	cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX);
	cr_expect_not(frame_sound(&out));
	frame_build(&in, A6("8") ASK6);
	in.byte[in.length - 1] ^= 0x10;
	cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX);
	cr_expect_not(frame_sound(&out));
}

Test(address, sweeps)
{
	rig_open(&rig, setup);
	nothing_is_known();
	rig_answer(&rig, NULL);
	echo_has_no_limit();
	a_broken_checksum_stays_broken();
	every_id();
	every_size();
	rig_close(&rig);
}
