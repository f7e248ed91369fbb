// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ICMP errors about what a service sent: every kind, in every mode, whatever stands in front of the
 * quote and in it; those about anything else; and that they go where the flow's packets go, by a
 * word that they leave as it is, or by the table.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

static const char setup[] = "services:\n" SETUP_MODES(0) SETUP_MODES(3) SETUP_MODES(4)
	SETUP_SERVICE(9, 1, "l2", "10.3.9.1");

/* A router's error to the virtual address N of path P, and the packet from there that it quotes:
 * its IP header, to be followed by what it carries. */
#define R4(p, n) "ip4 10.1.0.254 > 10.2." #p "." #n " "
#define R6(p, n) "ip6 fd01::254 > fd02:" #p "::" #n " "
#define Q4(p, n) "| ip4 10.2." #p "." #n " > 10.1.0.9 ttl 3 "
#define Q6(p, n) "| ip6 fd02:" #p "::" #n " > fd01::9 ttl 3 "
#define TCP	 "| tcp 80 > 1234 A"
#define UDP	 "| udp 53 > 1234 | data 4"

#define ROUTED(name, in, member, service, out)                                                     \
	{                                                                                          \
		name, in, XDP_TX, out, member, service " icmp-error-routed"                        \
	}

/* One error by l2 and both families of ipip and gue. */
#define MODES(name, ip, error, quote, df)                                                          \
	ROUTED(name ", l2", IN0 ip(0, 1) error(quote(0, 1)), "10.3.0.1", "s01",                    \
	       OUT0("b1") ip(0, 1) "ttl 63 " error(quote(0, 1))),                                  \
		ROUTED(name ", ipip to IPv4", IN0 ip(0, 2) error(quote(0, 2)), "10.3.0.2", "s02",  \
		       OUT0("b2") OUTER4("10.3.0.2") df "| " ip(0, 2) error(quote(0, 2))),         \
		ROUTED(name ", ipip to IPv6", IN0 ip(0, 3) error(quote(0, 3)), "fd03:0::3", "s03", \
		       OUT0("b3") OUTER6("fd03:0::3") "| " ip(0, 3) error(quote(0, 3))),           \
		ROUTED(name ", gue to IPv4", IN0 ip(0, 6) error(quote(0, 6)), "10.3.0.6", "s06",   \
		       OUT0("b6") OUTER4("10.3.0.6") df GUE "| " ip(0, 6) error(quote(0, 6))),     \
		ROUTED(name ", gue to IPv6", IN0 ip(0, 7) error(quote(0, 7)), "fd03:0::7", "s07",  \
		       OUT0("b7") OUTER6("fd03:0::7") GUE "| " ip(0, 7) error(quote(0, 7)))

#define UNREACHABLE(code) "| icmp 3 code " #code " "

static const struct packet_case four[] = {
#define ERROR(quote) UNREACHABLE(0) quote TCP
	MODES("network unreachable", R4, ERROR, Q4, ""),
#undef ERROR
#define ERROR(quote) UNREACHABLE(4) quote TCP "| data 512"
	MODES("fragmentation needed", R4, ERROR, Q4, ""),
#undef ERROR
#define ERROR(quote) UNREACHABLE(3) quote UDP
	MODES("port unreachable", R4, ERROR, Q4, ""),
#undef ERROR
#define ERROR(quote) "| icmp 11 " quote TCP
	MODES("time exceeded", R4, ERROR, Q4, ""),
#undef ERROR
#define ERROR(quote) "| icmp 12 " quote UDP
	MODES("parameter problem", R4, ERROR, Q4, ""),
#undef ERROR
#define ERROR(quote) "opt 8 | icmp 3 code 1 " quote "opt 40 " TCP
	MODES("options outside and in the quote", R4, ERROR, Q4, ""),
#undef ERROR
#define ERROR(quote) UNREACHABLE(4) quote "len 1500 proto 6 | hex 005004d2000003e8"
	MODES("8 bytes of transport header", R4, ERROR, Q4, ""),
#undef ERROR
#define ERROR(quote) UNREACHABLE(4) quote "mf len 1500 " UDP
	MODES("about a first fragment", R4, ERROR, Q4, ""),
#undef ERROR
};

#define L2_4(name, error)                                                                          \
	ROUTED(name, IN0 R4(0, 1) error, "10.3.0.1", "s01", OUT0("b1") R4(0, 1) "ttl 63 " error)
#define CODE(n) L2_4("unreachable, code " #n, UNREACHABLE(n) Q4(0, 1) TCP)

static const struct packet_case codes[] = {
	CODE(0), CODE(1), CODE(2),  CODE(3),  CODE(4),	CODE(5),  CODE(6),  CODE(7),
	CODE(8), CODE(9), CODE(10), CODE(11), CODE(12), CODE(13), CODE(14), CODE(15),
};

static const struct packet_case six[] = {
#define ERROR(quote) "| icmp6 1 code 4 " quote UDP
	MODES("port unreachable", R6, ERROR, Q6, "df "),
#undef ERROR
#define ERROR(quote) "| icmp6 2 " quote TCP "| data 1100"
	MODES("packet too big", R6, ERROR, Q6, "df "),
#undef ERROR
#define ERROR(quote) "| icmp6 3 " quote TCP
	MODES("time exceeded", R6, ERROR, Q6, "df "),
#undef ERROR
#define ERROR(quote) "| icmp6 4 code 2 " quote TCP
	MODES("parameter problem", R6, ERROR, Q6, "df "),
#undef ERROR
#define ERROR(quote) "| hop 8 | dst 16 | icmp6 2 " quote "| hop 24 | route 24 | dst 8 " TCP
	MODES("extension headers outside and in the quote", R6, ERROR, Q6, "df "),
#undef ERROR
#define ERROR(quote) "| icmp6 2 " quote "| dst 8 | frag6 mf | dst 8 " UDP
	MODES("about a first fragment", R6, ERROR, Q6, "df "),
#undef ERROR
#define ERROR(quote) "| icmp6 2 " quote "len 1460 proto 6 | hex 005004d2000003e8"
	MODES("8 bytes of transport header", R6, ERROR, Q6, "df "),
#undef ERROR
};

#define BIG4 UNREACHABLE(4)
#define BIG6 "| icmp6 2 "

static const struct packet_case passed[] = {
	CASE_PASS("about a packet to the service",
		  IN0 R4(0, 1) BIG4 "| ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 A"),
	CASE_PASS("about a port that nobody listens on",
		  IN0 R4(0, 1) BIG4 Q4(0, 1) "| tcp 81 > 1234 A"),
	CASE_PASS("about the wrong protocol",
		  IN0 R4(0, 1) BIG4 Q4(0, 1) "| udp 80 > 1234 | data 8"),
	CASE_PASS("about another address's packet", IN0 R4(0, 1) BIG4 Q4(0, 2) TCP),
	CASE_PASS("to another address", IN0 R4(9, 9) BIG4 Q4(0, 1) TCP),
	CASE_PASS("about a ping", IN0 R4(0, 1) BIG4 Q4(0, 1) "| icmp 8 | data 8"),
	CASE_PASS("about a later fragment",
		  IN0 R4(0, 1) BIG4 Q4(0, 1) "off 1 proto 6 | hex 005004d2000003e8"),
	CASE_PASS("7 bytes of transport header",
		  IN0 R4(0, 1) BIG4 Q4(0, 1) "len 1500 proto 6 | hex 005004d2000003"),
	CASE_PASS("a quote of another version", IN0 R4(0, 1) BIG4 Q6(0, 1) TCP),
	CASE_PASS("a quoted header too short", IN0 R4(0, 1) BIG4 Q4(0, 1) "ihl 4 " TCP),
	CASE_PASS("no quote", IN0 R4(0, 1) BIG4),
	CASE_PASS("source quench", IN0 R4(0, 1) "| icmp 4 " Q4(0, 1) TCP),
	CASE_PASS("redirect", IN0 R4(0, 1) "| icmp 5 " Q4(0, 1) TCP),
	CASE_PASS("type 43, beyond all errors", IN0 R4(0, 1) "| icmp 43 " Q4(0, 1) TCP),
	CASE_PASS("a fragment of an error", IN0 R4(0, 1) "mf " BIG4 Q4(0, 1) TCP),
	CASE_PASS("IPv6, about a port that nobody listens on",
		  IN0 R6(0, 1) BIG6 Q6(0, 1) "| tcp 81 > 1234 A"),
	CASE_PASS("IPv6, about another address's packet", IN0 R6(0, 1) BIG6 Q6(0, 2) TCP),
	CASE_PASS("IPv6, about a later fragment",
		  IN0 R6(0, 1) BIG6 Q6(0, 1) "| frag6 off 1 proto 6 | data 8"),
	CASE_PASS("IPv6, with stations left", IN0 R6(0, 1) BIG6 Q6(0, 1) "| route 24 left 1 " TCP),
	CASE_PASS("IPv6, a quote of another version", IN0 R6(0, 1) BIG6 Q4(0, 1) TCP),
	CASE_PASS("neighbour advertisement", IN0 R6(0, 1) "ttl 255 | icmp6 136 " Q6(0, 1) TCP),
	CASE_PASS("IPv6's errors in IPv4", IN0 R4(0, 1) "| icmp 1 " Q4(0, 1) TCP),
	CASE_PASS("IPv4's errors in IPv6", IN0 R6(0, 1) "| icmp6 11 " Q6(0, 1) TCP),
};

static const struct packet_case refused[] = {
	CASE_DROP("TTL 1", IN0 R4(0, 1) "ttl 1 " BIG4 Q4(0, 1) TCP, "s01 ttl-expired"),
	CASE_DROP("hop limit 1", IN0 R6(0, 2) "ttl 1 " BIG6 Q6(0, 2) TCP, "s02 ttl-expired"),
	CASE_DROP("no next hop", IN0 R4(9, 1) BIG4 Q4(9, 1) TCP, "s91 no-backend"),
	CASE_DROP("larger than the path takes", IN0 R4(4, 2) BIG4 Q4(4, 2) TCP "| data 100",
		  "s42 too-big"),
	{"out of another device", IN0 R4(3, 1) BIG4 Q4(3, 1) TCP, XDP_REDIRECT,
	 OUT3("b1") R4(3, 1) "ttl 63 " BIG4 Q4(3, 1) TCP, "10.3.3.1", "s31 icmp-error-routed"},
	ROUTED("in a tag", IN1 R4(0, 1) BIG4 Q4(0, 1) TCP, "10.3.0.1", "s01",
	       OUT0("b1") R4(0, 1) "ttl 63 " BIG4 Q4(0, 1) TCP),
	ROUTED("padded", IN0 R4(0, 1) BIG4 Q4(0, 1) TCP "| pad 6", "10.3.0.1", "s01",
	       OUT0("b1") R4(0, 1) "ttl 63 " BIG4 Q4(0, 1) TCP "| pad 6"),
};

static struct rig rig;

TestSuite(icmp, .fini = place_cleanup, .timeout = TEST_LONGEST);

Test(icmp, tables)
{
	rig_open(&rig, setup);
	rig.i->meta->cuts = 0; /* nobody cuts in two: that is datapath/cut */
	CASES_RUN(&rig, four);
	CASES_RUN(&rig, codes);
	CASES_RUN(&rig, six);
	CASES_RUN(&rig, passed);
	CASES_RUN(&rig, refused);
	rig_close(&rig);
}

/* ---- where the flow's packets go --------------------------------------------------------------*/

#define FLOWS 128

#define FOLLOW(track, backends)                                                                    \
	"services:\n  - { name: flows, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp' ], forward: "    \
	"l2, track: " track ", backends: [ " backends " ] }\n"
#define TWO   "{ address: 10.3.0.1 }, { address: 10.3.0.2 }"
#define THREE TWO ", { address: 10.3.0.3 }"

/* The backend (1, 2, 3) that a packet goes to; client is the client's port, which stands at `at`
 * of the words. */
static int goes_to(const char *words, int client)
{
	static struct frame in, out;
	char text[160];

	snprintf(text, sizeof(text), words, 1000 + client);
	frame_build(&in, text);
	cr_assert_eq(rig_run(&rig, &in, &out), XDP_TX, "%s", text);
	cr_assert_eq(out.byte[4], FRAME_MAC_BACKEND);
	return out.byte[5];
}

#define DATA_TCP  "ip4 10.1.0.9 > 10.2.0.1 | tcp %d > 80 A"
#define DATA_UDP  "ip4 10.1.0.9 > 10.2.0.1 | udp %d > 53 | data 8"
#define ERROR_TCP R4(0, 1) BIG4 "| ip4 10.2.0.1 > 10.1.0.9 | tcp 80 > %d A"
#define ERROR_UDP R4(0, 1) BIG4 "| ip4 10.2.0.1 > 10.1.0.9 | udp 53 > %d | data 8"

/* Flows begin on two backends, a third comes: errors go where the flows are, and change nothing. */
static void follows(const char *before, const char *after, bool recorded)
{
	static struct poise_bucket was[1 << 16];
	size_t size;
	int tcp[FLOWS], udp[FLOWS], moved = 0, seen[4] = {0};

	rig_open(&rig, before);
	rig_forget(&rig);
	size = rig.i->meta->flow_buckets * sizeof(was[0]);
	cr_assert_leq(size, sizeof(was));
	for (int f = 0; f < FLOWS; f++) {
		tcp[f] = goes_to(DATA_TCP, f);
		udp[f] = goes_to(DATA_UDP, f);
	}
	rig_apply(&rig, after);
	memcpy(was, rig.i->flows, size);
	for (int f = 0; f < FLOWS; f++) {
		int to = goes_to(ERROR_TCP, f);

		seen[to & 3]++;
		moved += to != tcp[f];
		moved += goes_to(ERROR_UDP, f) != udp[f];
	}
	cr_expect_eq(moved, 0, "%d errors missed their flows", moved);
	cr_expect(seen[1] && seen[2] && !seen[3], "to %d, %d, %d", seen[1], seen[2], seen[3]);
	cr_expect(!memcmp(was, rig.i->flows, size), "errors changed the flow table");
	memset(was, 0, size);
	cr_expect_eq(!memcmp(was, rig.i->flows, size), !recorded);
	if (!recorded)
		return;
	/* By the word alone: of a flow that the table would have elsewhere. */
	rig_forget(&rig);
	for (int f = 0; f < FLOWS; f++)
		moved += goes_to(ERROR_TCP, f) != tcp[f];
	cr_expect_eq(moved, 0, "%d errors missed the base", moved);
}

Test(icmp, follows_the_word)
{
	follows(FOLLOW("always", TWO), FOLLOW("always", THREE), true);
	rig_close(&rig);
}

Test(icmp, follows_the_table_that_unrecorded_flows_were_born_under)
{
	follows(FOLLOW("auto", TWO), FOLLOW("auto", THREE), false);
	rig_close(&rig);
}

/* A word on a backend that the table does not name, and the table's once that backend is gone. */
Test(icmp, follows_the_word_against_the_table)
{
	__u16 members[4];
	__u64 *word, before;

	rig_open(&rig, FOLLOW("always", THREE));
	rig_forget(&rig);
	members[1] = rig_member(&rig, "10.3.0.1");
	members[2] = rig_member(&rig, "10.3.0.2");
	members[3] = rig_member(&rig, "10.3.0.3");
	goes_to(DATA_TCP, 1);
	word = rig_word(&rig);
	cr_assert_not_null(word);
	for (int k = 1; k <= 3; k++) {
		before = (*word & ~0xffff0000ull) | (__u64)members[k] << POISE_WORD_MEMBER_SHIFT;
		*word = before;
		cr_expect_eq(goes_to(ERROR_TCP, 1), k);
		cr_expect_eq(*word, before, "the word was changed");
	}
	*word = (*word & ~0xffff0000ull) | 0xfffull << POISE_WORD_MEMBER_SHIFT;
	cr_expect_neq(goes_to(ERROR_TCP, 1), 0);
	rig_close(&rig);
}
