// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Every forward mode and pair of families, TCP and UDP, over frames with 0, 1 and 2 VLAN tags in
 * and out, back out of the same device or out of another.
 */
#include <criterion/criterion.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

static const char setup[] =
	"services:\n" SETUP_MODES(0) SETUP_MODES(1) SETUP_MODES(2) SETUP_MODES(3);

#define TCP	 "tcp 1234 > 80 S | data 10"
#define UDP	 "udp 1234 > 53 | data 11"
#define V4(p, n) "ip4 10.1.0.9 > 10.2." #p "." #n " "
#define V6(p, n) "ip6 fd01::9 > fd02:" #p "::" #n " "

/* clang-format off */

/* A packet by the modes of path p: in a frame `in` it leaves in a frame `out`. */
#define MODES(send, p, in, out, what, ip, l4, df)                                          \
	send("l2 " what, in ip(p, 1) "| " l4, "10.3." #p ".1",                             \
	     out("b1") ip(p, 1) "ttl 63 | " l4),                                           \
	send("ipip to IPv4 " what, in ip(p, 2) "| " l4, "10.3." #p ".2",                   \
	     out("b2") OUTER4("10.3." #p ".2") df "| " ip(p, 2) "| " l4),                  \
	send("ipip to IPv6 " what, in ip(p, 3) "| " l4, "fd03:" #p "::3",                  \
	     out("b3") OUTER6("fd03:" #p "::3") "| " ip(p, 3) "| " l4),                    \
	send("gue to IPv4 " what, in ip(p, 6) "| " l4, "10.3." #p ".6",                    \
	     out("b6") OUTER4("10.3." #p ".6") df GUE "| " ip(p, 6) "| " l4),              \
	send("gue to IPv6 " what, in ip(p, 7) "| " l4, "fd03:" #p "::7",                   \
	     out("b7") OUTER6("fd03:" #p "::7") GUE "| " ip(p, 7) "| " l4)

/* IPv4 without DF leaves DF unset outside; IPv6 sets it. */
#define PACKETS(send, p, in, out, what)                                                    \
	MODES(send, p, in, out, "v4 tcp " what, V4, TCP, ""),                              \
	MODES(send, p, in, out, "v4 udp " what, V4, UDP, ""),                              \
	MODES(send, p, in, out, "v6 tcp " what, V6, TCP, "df "),                           \
	MODES(send, p, in, out, "v6 udp " what, V6, UDP, "df ")

/* clang-format on */

static const struct packet_case plain[] = {
	PACKETS(CASE_TX, 0, IN0, OUT0, "no tag"),
	PACKETS(CASE_TX, 0, IN1, OUT0, "one tag to none"),
	PACKETS(CASE_TX, 0, IN2, OUT0, "two tags to none"),
};

static const struct packet_case one_tag[] = {
	PACKETS(CASE_TX, 1, IN0, OUT1, "no tag to one"),
	PACKETS(CASE_TX, 1, IN1, OUT1, "one tag to another"),
	PACKETS(CASE_TX, 1, IN2, OUT1, "two tags to one"),
};

static const struct packet_case two_tags[] = {
	PACKETS(CASE_TX, 2, IN0, OUT2, "no tag to two"),
	PACKETS(CASE_TX, 2, IN1, OUT2, "one tag to two"),
	PACKETS(CASE_TX, 2, IN2, OUT2, "two tags to two others"),
};

static const struct packet_case another_device[] = {
	PACKETS(CASE_REDIRECT, 3, IN0, OUT3, "redirected"),
};

static struct rig rig;

TestSuite(forward, .fini = place_cleanup);

Test(forward, tables)
{
	rig_open(&rig, setup);
	CASES_RUN(&rig, plain);
	CASES_RUN(&rig, one_tag);
	CASES_RUN(&rig, two_tags);
	CASES_RUN(&rig, another_device);
	rig_close(&rig);
}
