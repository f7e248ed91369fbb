// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode nat: fragments, both ways. Only the first of a datagram has ports; those that follow go
 * where it went, and nowhere else.
 */
#include <criterion/criterion.h>

#include "tests/support/flight.h"

static struct rig rig;

TestSuite(nat_fragment, .fini = place_cleanup);

/* Of what a datagram of that number carries: its beginning, and what has no ports. */
#define BEGIN4	"id 7 mf "
#define LATER4	"id 7 off 4 mf proto 17 "
#define LAST4	"id 7 off 8 proto 17 "
#define REST	"| data 24"
#define BEGIN6	"| frag6 id 7 mf "
#define LATER6	"| frag6 id 7 off 4 mf proto 17 | data 24"
#define FIRST4	IN0 C4(0, 1) BEGIN4 UDP_OUT
#define FIRST6	IN0 C6(0, 2) BEGIN6 UDP_OUT
#define ANSWER4 UDP4 ";" S4BACK(0) BEGIN4 UDP_BACK
#define ANSWER6 UDP6 ";" S6BACK(0) BEGIN6 UDP_BACK

static const struct flight fragments[] = {
	{"the first, 4", NULL, C4(0, 1) BEGIN4 UDP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 " BEGIN4 UDP_OUT_, "s01 fragment-forwarded"},
	{"the first, 6", NULL, C6(0, 2) BEGIN6 UDP_OUT, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 " BEGIN6 UDP_OUT_, "s02 fragment-forwarded"},
	{"the first, of TCP", NULL, C4(0, 1) BEGIN4 TCP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 " BEGIN4 TCP_OUT_, "s01 fragment-forwarded"},
	{"the first, options", NULL, C4(0, 1) "opt 8 " BEGIN4 UDP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 opt 8 " BEGIN4 UDP_OUT_, NULL},
	{"the first, headers before and behind", NULL,
	 C6(0, 2) "| hop 8 " BEGIN6 "| dst 8 " UDP_OUT, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 | hop 8 " BEGIN6 "| dst 8 " UDP_OUT_, NULL},
	{"the first, without a checksum", NULL, C4(0, 1) BEGIN4 "| udp 1234 > 53 csum 0 | data 8",
	 XDP_TX, OUT0("b1") S4(0) "ttl 63 " BEGIN4 "| udp " PORT " > 8080 csum 0 | data 8", NULL},
	{"the first, of a flow that goes on", UDP4, C4(0, 1) BEGIN4 UDP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 " BEGIN4 UDP_OUT_, NULL},
	{"a later one, 4", FIRST4, C4(0, 1) LATER4 REST, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 " LATER4 REST, "s01 fragment-forwarded"},
	{"a later one, 6", FIRST6, C6(0, 2) LATER6, XDP_TX, OUT0("b2") S6(0) "ttl 63 " LATER6,
	 "s02 fragment-forwarded"},
	{"the last", FIRST4 ";" IN0 C4(0, 1) LATER4 REST, C4(0, 1) LAST4 REST, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 " LAST4 REST, NULL},
	{"one that the last overtook", FIRST4 ";" IN0 C4(0, 1) LAST4 REST, C4(0, 1) LATER4 REST,
	 XDP_TX, OUT0("b1") S4(0) "ttl 63 " LATER4 REST, NULL},
	{"one of another number", FIRST4, C4(0, 1) "id 8 off 4 mf proto 17 " REST, XDP_DROP, NULL,
	 "s01 fragment-unknown"},
	{"one of another client", FIRST4, "ip4 10.1.0.10 > 10.2.0.1 " LATER4 REST, XDP_DROP, NULL,
	 "s01 fragment-unknown"},
	{"one before the first", UDP4, C4(0, 1) LATER4 REST, XDP_DROP, NULL,
	 "s01 fragment-unknown"},
	{"no hop left", FIRST4, C4(0, 1) "ttl 1 " LATER4 REST, XDP_DROP, NULL, "s01 ttl-expired"},
	{"another device", IN0 C4(3, 1) BEGIN4 UDP_OUT, C4(3, 1) LATER4 REST, XDP_REDIRECT,
	 OUT3("b1") S4(3) "ttl 63 " LATER4 REST, NULL},
	{"tags on the way out", IN0 C4(1, 1) BEGIN4 UDP_OUT, C4(1, 1) LATER4 REST, XDP_TX,
	 OUT1("b1") S4(1) "ttl 63 " LATER4 REST, NULL},
	{"too big, 6", NULL, C6(4, 2) BEGIN6 "| udp 1234 > 53 | data 200", XDP_TX,
	 "eth lb > gw | ip6 fd02:4::2 > fd01::9 ttl 64 | icmp6 2 mtu 1280 | " C6(4, 2) BEGIN6
	 "| udp 1234 > 53 | data 200",
	 "s42 too-big"},
	{"back, the first, 4", UDP4, S4BACK(0) BEGIN4 UDP_BACK, XDP_TX,
	 BACK0 C4BACK(0, 1) "ttl 63 " BEGIN4 UDP_BACK_, "s01 reply-forwarded"},
	{"back, the first, 6", UDP6, S6BACK(0) BEGIN6 UDP_BACK, XDP_TX,
	 BACK0 C6BACK(0, 2) "ttl 63 " BEGIN6 UDP_BACK_, "s02 fragment-forwarded"},
	{"back, the first, of TCP", SYN4, S4BACK(0) BEGIN4 TCP_BACK, XDP_TX,
	 BACK0 C4BACK(0, 1) "ttl 63 " BEGIN4 TCP_BACK_, NULL},
	{"back, a later one, 4", ANSWER4, S4BACK(0) LATER4 REST, XDP_TX,
	 BACK0 C4BACK(0, 1) "ttl 63 " LATER4 REST, "s01 fragment-forwarded"},
	{"back, a later one, 6", ANSWER6, S6BACK(0) LATER6, XDP_TX,
	 BACK0 C6BACK(0, 2) "ttl 63 " LATER6, "s02 reply-forwarded"},
	{"back, the last", ANSWER4 ";" S4BACK(0) LATER4 REST, S4BACK(0) LAST4 REST, XDP_TX,
	 BACK0 C4BACK(0, 1) "ttl 63 " LAST4 REST, NULL},
	{"back, one after the last", ANSWER4 ";" S4BACK(0) LAST4 REST, S4BACK(0) LATER4 REST,
	 XDP_PASS, NULL, NULL},
	{"back, one before the first", UDP4, S4BACK(0) LATER4 REST, XDP_PASS, NULL, NULL},
	{"back, one of another backend", ANSWER4, "ip4 10.3.0.2 > 10.3.0.254 " LATER4 REST,
	 XDP_PASS, NULL, NULL},
	{"back, of no flow", NULL, S4BACK(0) BEGIN4 UDP_BACK, XDP_PASS, NULL, NULL},
	{"back, no hop left", UDP4, S4BACK(0) "ttl 1 " BEGIN4 UDP_BACK, XDP_DROP, NULL,
	 "s01 ttl-expired"},
};

/* As an IPv6 fragment has it; of an IPv4 one's options nothing is left. */
#define LAST6	 "| frag6 id 7 off 8 proto 17 | data 24"
#define FIRST46	 IN0 C4(0, 2) BEGIN4 UDP_OUT
#define FIRST64	 IN0 C6(0, 1) BEGIN6 UDP_OUT
#define ANSWER64 IN0 C4(0, 2) UDP_OUT ";" S6BACK(0) BEGIN6 UDP_BACK
#define ANSWER46 IN0 C6(0, 1) UDP_OUT ";" S4BACK(0) BEGIN4 UDP_BACK

static const struct flight between_families[] = {
	{"the first, 4 to 6", NULL, C4(0, 2) BEGIN4 UDP_OUT, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 " BEGIN6 UDP_OUT_, "s02 fragment-forwarded"},
	{"the first, 6 to 4", NULL, C6(0, 1) BEGIN6 UDP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 " BEGIN4 UDP_OUT_, "s01 fragment-forwarded"},
	{"the first, 4 to 6, of TCP", NULL, C4(0, 2) "tos 8 " BEGIN4 TCP_OUT, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 tos 8 " BEGIN6 TCP_OUT_, NULL},
	{"the first, 6 to 4, of TCP", NULL, C6(0, 1) "tos 8 " BEGIN6 TCP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 tos 8 " BEGIN4 TCP_OUT_, NULL},
	{"the first, 4 to 6, options", NULL, C4(0, 2) "opt 8 " BEGIN4 UDP_OUT, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 " BEGIN6 UDP_OUT_, NULL},
	{"the first, 6 to 4, headers before", NULL, C6(0, 1) "| hop 8 " BEGIN6 UDP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 " BEGIN4 UDP_OUT_, NULL},
	{"the first, 6 to 4, headers behind", NULL, C6(0, 1) BEGIN6 "| dst 8 " UDP_OUT, XDP_DROP,
	 NULL, "s01 unsupported-mode"},
	{"the first, 4 to 6, without a checksum", NULL,
	 C4(0, 2) BEGIN4 "| udp 1234 > 53 csum 0 | data 8", XDP_DROP, NULL, "s02 unsupported-mode"},
	{"all of it, 6 to 4", NULL, C6(0, 1) "| frag6 id 7 " UDP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 id 7 " UDP_OUT_, NULL},
	{"a number of 32 bits", NULL, C6(0, 1) "| frag6 id 0x98765432 mf " UDP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 id 0x5432 mf " UDP_OUT_, NULL},
	{"a later one, 4 to 6", FIRST46, C4(0, 2) LATER4 REST, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 " LATER6, "s02 fragment-forwarded"},
	{"a later one, 6 to 4", FIRST64, C6(0, 1) LATER6, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 " LATER4 REST, "s01 fragment-forwarded"},
	{"the last, 4 to 6", FIRST46, C4(0, 2) LAST4 REST, XDP_TX, OUT0("b2") S6(0) "ttl 63 " LAST6,
	 NULL},
	{"the last, 6 to 4", FIRST64, C6(0, 1) LAST6, XDP_TX, OUT0("b1") S4(0) "ttl 63 " LAST4 REST,
	 NULL},
	{"no hop left", FIRST46, C4(0, 2) "ttl 1 " LATER4 REST, XDP_DROP, NULL, "s02 ttl-expired"},
	{"tags on the way out", IN0 C4(1, 2) BEGIN4 UDP_OUT, C4(1, 2) LATER4 REST, XDP_TX,
	 OUT1("b2") S6(1) "ttl 63 " LATER6, NULL},
	{"too big, 4 to 6", NULL, C4(4, 2) BEGIN4 "| udp 1234 > 53 | data 65", XDP_TX,
	 "eth lb > gw | ip4 10.2.4.2 > 10.1.0.9 ttl 64 tos 0xc0 df | icmp 3 code 4 mtu 92 | " C4(
		 4, 2) BEGIN4 "| udp 1234 > 53 | data 65",
	 "s42 too-big"},
	{"the largest that goes, 4 to 6", NULL, C4(4, 2) BEGIN4 "| udp 1234 > 53 | data 64", XDP_TX,
	 OUT0("b2") S6(4) "ttl 63 " BEGIN6 "| udp " PORT " > 8080 | data 64", NULL},
	{"back, the first, 6 to 4", IN0 C4(0, 2) UDP_OUT, S6BACK(0) BEGIN6 UDP_BACK, XDP_TX,
	 BACK0 C4BACK(0, 2) "ttl 63 " BEGIN4 UDP_BACK_, "s02 reply-forwarded"},
	{"back, the first, 4 to 6", IN0 C6(0, 1) UDP_OUT, S4BACK(0) BEGIN4 UDP_BACK, XDP_TX,
	 BACK0 C6BACK(0, 1) "ttl 63 " BEGIN6 UDP_BACK_, "s01 fragment-forwarded"},
	{"back, a later one, 6 to 4", ANSWER64, S6BACK(0) LATER6, XDP_TX,
	 BACK0 C4BACK(0, 2) "ttl 63 " LATER4 REST, "s02 fragment-forwarded"},
	{"back, a later one, 4 to 6", ANSWER46, S4BACK(0) LATER4 REST, XDP_TX,
	 BACK0 C6BACK(0, 1) "ttl 63 " LATER6, NULL},
	{"back, one before the first", IN0 C4(0, 2) UDP_OUT, S6BACK(0) LATER6, XDP_PASS, NULL,
	 NULL},
};

Test(nat_fragment, tables)
{
	flight_open(&rig);
	FLY(fragments);
	FLY(between_families);
	rig_close(&rig);
}
