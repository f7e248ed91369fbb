// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode nat, packet by packet: what a client's packet becomes, and what comes back of the answer, in
 * all pairs of families, with every header that may stand in front; errors about either; and what
 * is nobody's answer passes. There is one port, so that the packets can be written down.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/flight.h"

static struct rig rig;

TestSuite(nat, .fini = place_cleanup);

/* ---- there and back ---------------------------------------------------------------------------*/

/* A client's packet ip/l4 in a frame `in` leaves as ip_/l4_ in `out`; the answer, in whatever
 * frame, goes back as the client's frames came. same: what an IPv4 header of the same family keeps.
 */
#define BOTH(what, p, in, out, back, verdict, c, c_back, c_df, s, s_back, s_df, l4, l4_, b4, b4_)  \
	{what ", forth", NULL, in c l4, verdict, out s "ttl 63 " s_df l4_, NULL},                  \
	{                                                                                          \
		what ", back", in c l4, s_back b4, XDP_TX, back c_back "ttl 63 " c_df b4_, NULL    \
	}

#define PAIRS(p, in, out, out6, back, verdict, what)                                               \
	BOTH(what " 4 to 4 tcp", p, in, out, back, verdict, C4(p, 1), C4BACK(p, 1), "", S4(p),     \
	     S4BACK(p), "", TCP_OUT, TCP_OUT_, TCP_BACK, TCP_BACK_),                               \
		BOTH(what " 4 to 4 udp", p, in, out, back, verdict, C4(p, 1), C4BACK(p, 1), "",    \
		     S4(p), S4BACK(p), "", UDP_OUT, UDP_OUT_, UDP_BACK, UDP_BACK_),                \
		BOTH(what " 6 to 6 tcp", p, in, out6, back, verdict, C6(p, 2), C6BACK(p, 2), "",   \
		     S6(p), S6BACK(p), "", TCP_OUT, TCP_OUT_, TCP_BACK, TCP_BACK_),                \
		BOTH(what " 6 to 6 udp", p, in, out6, back, verdict, C6(p, 2), C6BACK(p, 2), "",   \
		     S6(p), S6BACK(p), "", UDP_OUT, UDP_OUT_, UDP_BACK, UDP_BACK_),                \
		BOTH(what " 4 to 6 tcp", p, in, out6, back, verdict, C4(p, 2), C4BACK(p, 2),       \
		     "df ", S6(p), S6BACK(p), "", TCP_OUT, TCP_OUT_, TCP_BACK, TCP_BACK_),         \
		BOTH(what " 4 to 6 udp", p, in, out6, back, verdict, C4(p, 2), C4BACK(p, 2),       \
		     "df ", S6(p), S6BACK(p), "", UDP_OUT, UDP_OUT_, UDP_BACK, UDP_BACK_),         \
		BOTH(what " 6 to 4 tcp", p, in, out, back, verdict, C6(p, 1), C6BACK(p, 1), "",    \
		     S4(p), S4BACK(p), "df ", TCP_OUT, TCP_OUT_, TCP_BACK, TCP_BACK_),             \
		BOTH(what " 6 to 4 udp", p, in, out, back, verdict, C6(p, 1), C6BACK(p, 1), "",    \
		     S4(p), S4BACK(p), "df ", UDP_OUT, UDP_OUT_, UDP_BACK, UDP_BACK_)

static const struct flight pairs[] = {
	PAIRS(0, IN0, OUT0("b1"), OUT0("b2"), BACK0, XDP_TX, "no tag"),
	PAIRS(0, IN1, OUT0("b1"), OUT0("b2"), BACK1, XDP_TX, "one tag to none"),
	PAIRS(1, IN2, OUT1("b1"), OUT1("b2"), BACK2, XDP_TX, "two tags to one"),
	PAIRS(2, IN0, OUT2("b1"), OUT2("b2"), BACK0, XDP_TX, "no tag to two"),
	PAIRS(3, IN0, OUT3("b1"), OUT3("b2"), BACK0, XDP_REDIRECT, "another device"),
};

static const struct flight headers[] = {
	{"options stay", NULL, C4(0, 1) "opt 8 tos 0x28 df id 7 " TCP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 opt 8 tos 0x28 df id 7 " TCP_OUT_, NULL},
	{"options do not become anything", NULL, C4(0, 2) "opt 8 tos 0x28 df " TCP_OUT, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 tos 0x28 " TCP_OUT_, NULL},
	{"extension headers stay", NULL, C6(0, 2) "tos 0x28 | hop 8 | dst 16 " TCP_OUT, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 tos 0x28 | hop 8 | dst 16 " TCP_OUT_, NULL},
	{"extension headers do not become anything", NULL,
	 C6(0, 1) "tos 0x28 | hop 8 | dst 16 " TCP_OUT, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 tos 0x28 df " TCP_OUT_, NULL},
	{"a port of the listener's", NULL, C4(0, 4) TCP_OUT, XDP_TX,
	 OUT0("b4") "ip4 10.3.0.254 > 10.3.0.4 ttl 63 | tcp " PORT " > 80 S seq 77 | data 11",
	 NULL},
	{"TCP options", NULL, C4(0, 1) "| tcp 1234 > 80 S opt 20 ", XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 | tcp " PORT " > 8080 S opt 20", NULL},
	{"UDP without a checksum", NULL, C4(0, 1) "| udp 1234 > 53 csum 0 | data 12", XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 | udp " PORT " > 8080 csum 0 | data 12", NULL},
	{"UDP without a checksum gets one, even size", NULL,
	 C4(0, 2) "| udp 1234 > 53 csum 0 | data 12", XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 | udp " PORT " > 8080 | data 12", NULL},
	{"UDP without a checksum gets one, odd size", NULL,
	 C4(0, 2) "| udp 1234 > 53 csum 0 | data 333", XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 | udp " PORT " > 8080 | data 333", NULL},
	{"UDP without a checksum gets one, no data", NULL, C4(0, 2) "| udp 1234 > 53 csum 0",
	 XDP_TX, OUT0("b2") S6(0) "ttl 63 | udp " PORT " > 8080", NULL},
	{"padding goes", NULL, C4(0, 1) "| udp 1234 > 53 | pad 60", XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 | udp " PORT " > 8080", NULL},
};

/* What a backend is told that goes on with a connection from before. */
#define OLD_RESET4                                                                                 \
	"eth lb > gw | ip4 10.3.0.254 > 10.3.0.1 ttl 64 df | tcp " PORT " > 8080 R seq 77 win 0"

/* A flow begins, and ends but for the last acknowledgement. */
#define CLOSED4                                                                                    \
	SYN4 ";" S4BACK(0) "| tcp 8080 > " PORT                                                    \
			   " SA;" C4(0, 1) "| tcp 1234 > 80 FA;" S4BACK(0) "| tcp 8080 > " PORT    \
									   " FA"

static const struct flight flows[] = {
	{"the flow goes on", SYN4, C4(0, 1) "| tcp 1234 > 80 A | data 5", XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 | tcp " PORT " > 8080 A | data 5", NULL},
	{"its answers too", SYN4 ";" S4BACK(0) "| tcp 8080 > " PORT " SA",
	 S4BACK(0) "| tcp 8080 > " PORT " A | data 5", XDP_TX,
	 BACK0 C4BACK(0, 1) "ttl 63 | tcp 80 > 1234 A | data 5", "s01 reply-forwarded"},
	{"an answer of another backend's address", SYN4,
	 "ip4 10.3.0.2 > 10.3.0.254 | tcp 8080 > " PORT " SA", XDP_PASS, NULL, NULL},
	{"an answer from another port", SYN4, S4BACK(0) "| tcp 8081 > " PORT " SA", XDP_PASS, NULL,
	 NULL},
	{"an answer to another address", SYN4, "ip4 10.3.0.1 > 10.3.0.253 | tcp 8080 > " PORT " SA",
	 XDP_PASS, NULL, NULL},
	{"an answer of another protocol", SYN4, S4BACK(0) "| udp 8080 > " PORT, XDP_PASS, NULL,
	 NULL},
	{"an answer to another port", SYN4, S4BACK(0) "| tcp 8080 > 20001 SA", XDP_PASS, NULL,
	 NULL},
	{"an answer without a flow", NULL, S4BACK(0) "| tcp 8080 > " PORT " SA", XDP_PASS, NULL,
	 NULL},
	{"all ports are in use", SYN4, "ip4 10.1.0.10 > 10.2.0.1 | tcp 1234 > 80 S seq 7", XDP_TX,
	 "eth lb > gw | ip4 10.2.0.1 > 10.1.0.10 ttl 64 df | tcp 80 > 1234 RA seq 0 ack 8 win 0",
	 "s01 no-port"},
	{"a reset of no flow", NULL, C4(0, 1) "| tcp 1234 > 80 R", XDP_DROP, NULL, "s01 no-flow"},
	{"the SYN again", SYN4, SYN4, XDP_TX, OUT0("b1") S4(0) "ttl 63 | tcp " PORT " > 8080 S",
	 NULL},
	{"a SYN answered by a bare ACK", SYN4, S4BACK(0) "| tcp 8080 > " PORT " A seq 5 ack 77",
	 XDP_TX, OLD_RESET4, "s01 port-busy"},
	{"a SYN answered by a FIN", SYN4, S4BACK(0) "| tcp 8080 > " PORT " FA seq 5 ack 77", XDP_TX,
	 OLD_RESET4, "s01 port-busy"},
	{"the port of a flow that both ends have ended", CLOSED4 ";" C4(0, 1) "| tcp 1234 > 80 A",
	 "ip4 10.1.0.10 > 10.2.0.1 | tcp 1234 > 80 S seq 7000", XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 | tcp " PORT " > 8080 S seq 7000", NULL},
	{"not before the last acknowledgement", CLOSED4,
	 "ip4 10.1.0.10 > 10.2.0.1 | tcp 1234 > 80 S seq 7000", XDP_TX,
	 "eth lb > gw | ip4 10.2.0.1 > 10.1.0.10 ttl 64 df | tcp 80 > 1234 RA seq 0 ack 7001 win 0",
	 "s01 no-port"},
	{"no hop left", NULL, C4(0, 1) "ttl 1 " UDP_OUT, XDP_TX,
	 "eth lb > gw | ip4 10.2.0.1 > 10.1.0.9 ttl 64 tos 0xc0 df | icmp 11 | " C4(
		 0, 1) "ttl 1 " UDP_OUT,
	 "s01 ttl-expired"},
	{"no source address", NULL, C4(5, 1) TCP_OUT, XDP_DROP, NULL, "s51 no-source"},
	{"no next hop", NULL, C4(9, 1) "| udp 1234 > 53 | data 4", XDP_TX,
	 "eth lb > gw | ip4 10.2.9.1 > 10.1.0.9 ttl 64 tos 0xc0 df | icmp 3 code 3 | " C4(
		 9, 1) "| udp 1234 > 53 | data 4",
	 "s91 no-backend"},
	{"too big", NULL, C4(4, 1) "df | udp 1234 > 53 | data 100", XDP_TX,
	 "eth lb > gw | ip4 10.2.4.1 > 10.1.0.9 ttl 64 tos 0xc0 df | icmp 3 code 4 mtu 120 | " C4(
		 4, 1) "df | udp 1234 > 53 | data 100",
	 "s41 too-big"},
	{"too big once it is IPv6", NULL, C4(4, 2) "df | udp 1234 > 53 | data 73", XDP_TX,
	 "eth lb > gw | ip4 10.2.4.2 > 10.1.0.9 ttl 64 tos 0xc0 df | icmp 3 code 4 mtu 100 | " C4(
		 4, 2) "df | udp 1234 > 53 | data 73",
	 "s42 too-big"},
	{"too big once it is IPv6, not asked for", NULL, C4(4, 2) "| udp 1234 > 53 | data 73",
	 XDP_TX,
	 "eth lb > gw | ip4 10.2.4.2 > 10.1.0.9 ttl 64 tos 0xc0 df | icmp 3 code 4 mtu 100 | " C4(
		 4, 2) "| udp 1234 > 53 | data 73",
	 "s42 answered-icmp"},
	{"the largest that goes", NULL, C4(4, 2) "df | udp 1234 > 53 | data 72", XDP_TX,
	 OUT0("b2") S6(4) "ttl 63 | udp " PORT " > 8080 | data 72", NULL},
	{"too big, not asked for", NULL, C4(4, 1) "| udp 1234 > 53 | data 100", XDP_TX,
	 "eth lb > gw | ip4 10.2.4.1 > 10.1.0.9 ttl 64 tos 0xc0 df | icmp 3 code 4 mtu 120 | " C4(
		 4, 1) "| udp 1234 > 53 | data 100",
	 "s41 too-big"},
};

/* What comes in the same second as the packet that established its flow changes nothing of it, and
 * the pipeline sends it on itself, if it is as most are. */
#define EST4(p, n) IN0 C4(p, n) "| tcp 1234 > 80 S;" IN0 C4(p, n) "| tcp 1234 > 80 A"
#define EST6(p, n) IN0 C6(p, n) "| tcp 1234 > 80 S;" IN0 C6(p, n) "| tcp 1234 > 80 A"
#define DATA	   "| tcp 1234 > 80 AP seq 5 | data 33"
#define DATA_	   "| tcp " PORT " > 8080 AP seq 5 | data 33"

static const struct flight established[] = {
	{"established, 4", EST4(0, 1), C4(0, 1) "tos 0x28 id 7 " DATA, XDP_TX,
	 OUT0("b1") S4(0) "tos 0x28 id 7 ttl 63 " DATA_, NULL},
	{"established, 4, another hop count", EST4(0, 1), C4(0, 1) "ttl 2 df " DATA, XDP_TX,
	 OUT0("b1") S4(0) "ttl 1 df " DATA_, NULL},
	{"established, 6", EST6(0, 2), C6(0, 2) "tos 0x28 " DATA, XDP_TX,
	 OUT0("b2") S6(0) "tos 0x28 ttl 63 " DATA_, NULL},
	{"established, 4 to 6", EST4(0, 2), C4(0, 2) DATA, XDP_TX, OUT0("b2") S6(0) "ttl 63 " DATA_,
	 NULL},
	{"established, 6 to 4", EST6(0, 1), C6(0, 1) DATA, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 df " DATA_, NULL},
	{"established, IPv4 options", EST4(0, 1), C4(0, 1) "opt 8 " DATA, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 opt 8 " DATA_, NULL},
	{"established, extension headers", EST6(0, 2), C6(0, 2) "| hop 8 | dst 16 " DATA, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 | hop 8 | dst 16 " DATA_, NULL},
	{"established, padding", EST4(0, 1), C4(0, 1) "| tcp 1234 > 80 A | pad 6", XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 | tcp " PORT " > 8080 A | pad 6", NULL},
	{"established, more than padding", EST4(0, 1), C4(0, 1) "| tcp 1234 > 80 A | pad 200",
	 XDP_TX, OUT0("b1") S4(0) "ttl 63 | tcp " PORT " > 8080 A", NULL},
	{"established, tags", EST4(0, 1), IN1 C4(0, 1) DATA, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 " DATA_, NULL},
	{"established, tags on the way out", EST4(1, 1), C4(1, 1) DATA, XDP_TX,
	 OUT1("b1") S4(1) "ttl 63 " DATA_, NULL},
	{"established, another device", EST4(3, 1), C4(3, 1) DATA, XDP_REDIRECT,
	 OUT3("b1") S4(3) "ttl 63 " DATA_, NULL},
	{"established, too big", EST4(4, 1), C4(4, 1) "df | tcp 1234 > 80 A | data 100", XDP_TX,
	 "eth lb > gw | ip4 10.2.4.1 > 10.1.0.9 ttl 64 tos 0xc0 df | icmp 3 code 4 mtu 120 | " C4(
		 4, 1) "df | tcp 1234 > 80 A | data 100",
	 "s41 too-big"},
	{"established, no hop left", EST4(0, 1), C4(0, 1) "ttl 1 | tcp 1234 > 80 A", XDP_TX,
	 "eth lb > gw | ip4 10.2.0.1 > 10.1.0.9 ttl 64 tos 0xc0 df | icmp 11 | " C4(
		 0, 1) "ttl 1 | tcp 1234 > 80 A",
	 "s01 ttl-expired"},
	{"established, reset", EST4(0, 1), C4(0, 1) "| tcp 1234 > 80 R", XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 | tcp " PORT " > 8080 R", NULL},
};

/* ---- errors -----------------------------------------------------------------------------------*/

#define TCP_QUOTE_THERE	 "| tcp " PORT " > 8080 A"
#define TCP_QUOTE_HERE	 "| tcp 1234 > 80 A"
#define TCP_QUOTE_THERE_ "| tcp 8080 > " PORT " A"
#define TCP_QUOTE_HERE_	 "| tcp 80 > 1234 A"
#define R4_LB		 "ip4 10.9.9.9 > 10.3.0.254 "
#define R6_LB		 "ip6 fd09::9 > fd03::fe "

static const struct flight errors[] = {
	{"from the backend's side, TCP", SYN4,
	 R4_LB "| icmp 3 code 4 mtu 1400 | " S4(0) "ttl 60 " TCP_QUOTE_THERE " | data 20", XDP_TX,
	 BACK0 C4BACK(0, 1) "ttl 63 | icmp 3 code 4 mtu 1400 | " C4(0, 1) "ttl 60 " TCP_QUOTE_HERE
									  " | data 20",
	 "s01 icmp-error-routed"},
	{"from the backend itself, UDP", UDP4,
	 S4BACK(0) "| icmp 3 code 3 | " S4(0) "ttl 63 " UDP_OUT_, XDP_TX,
	 BACK0 C4BACK(0, 1) "ttl 63 | icmp 3 code 3 | " C4(0, 1) "ttl 63 " UDP_OUT,
	 "s01 icmp-error-routed"},
	{"quoting 8 bytes of TCP", SYN4,
	 R4_LB "| icmp 3 code 4 mtu 1400 | " S4(0) "ttl 60 len 1500 proto 6 | hex 4e201f90000003e8",
	 XDP_TX,
	 BACK0 C4BACK(0, 1) "ttl 63 | icmp 3 code 4 mtu 1400 | " C4(
		 0, 1) "ttl 60 len 1500 proto 6 | hex 04d20050000003e8",
	 "s01 icmp-error-routed"},
	{"quoting UDP without a checksum", UDP4,
	 R4_LB "| icmp 11 | " S4(0) "ttl 63 | udp " PORT " > 8080 csum 0 | data 12", XDP_TX,
	 BACK0 C4BACK(0, 1) "ttl 63 | icmp 11 | " C4(0,
						     1) "ttl 63 | udp 1234 > 53 csum 0 | data 12",
	 "s01 icmp-error-routed"},
	{"options outside and in the quote", SYN4,
	 "ip4 10.9.9.9 > 10.3.0.254 opt 8 | icmp 3 code 4 mtu 1400 | " S4(
		 0) "opt 40 ttl 60 " TCP_QUOTE_THERE,
	 XDP_TX,
	 BACK0 C4BACK(0, 1) "opt 8 ttl 63 | icmp 3 code 4 mtu 1400 | " C4(
		 0, 1) "opt 40 ttl 60 " TCP_QUOTE_HERE,
	 "s01 icmp-error-routed"},
	{"from the client's side, TCP", SYN4,
	 "ip4 10.1.0.254 > 10.2.0.1 | icmp 3 code 4 mtu 1300 | " C4BACK(
		 0, 1) "ttl 60 " TCP_QUOTE_HERE_ " | data 20",
	 XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 | icmp 3 code 4 mtu 1300 | " S4BACK(0) "ttl 60 " TCP_QUOTE_THERE_
									 " | data 20",
	 "s01 icmp-error-routed"},
	{"from the client itself, UDP", UDP4,
	 C4(0, 1) "| icmp 3 code 3 | " C4BACK(0, 1) "ttl 63 " UDP_BACK_, XDP_TX,
	 OUT0("b1") S4(0) "ttl 63 | icmp 3 code 3 | " S4BACK(0) "ttl 63 " UDP_BACK,
	 "s01 icmp-error-routed"},
	{"IPv6, from the backend's side", SYN6,
	 R6_LB "| icmp6 2 mtu 1300 | " S6(0) "ttl 60 " TCP_QUOTE_THERE " | data 20", XDP_TX,
	 BACK0 C6BACK(0, 2) "ttl 63 | icmp6 2 mtu 1300 | " C6(0, 2) "ttl 60 " TCP_QUOTE_HERE
								    " | data 20",
	 "s02 icmp-error-routed"},
	{"IPv6, from the backend itself, UDP", UDP6,
	 S6BACK(0) "| icmp6 1 code 4 | " S6(0) "ttl 63 " UDP_OUT_, XDP_TX,
	 BACK0 C6BACK(0, 2) "ttl 63 | icmp6 1 code 4 | " C6(0, 2) "ttl 63 " UDP_OUT,
	 "s02 icmp-error-routed"},
	{"IPv6, from the client itself, UDP", UDP6,
	 C6(0, 2) "| icmp6 1 code 4 | " C6BACK(0, 2) "ttl 63 " UDP_BACK_, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 | icmp6 1 code 4 | " S6BACK(0) "ttl 63 " UDP_BACK,
	 "s02 icmp-error-routed"},
	{"IPv6 to IPv4, too big", IN0 C4(0, 2) "| tcp 1234 > 80 S",
	 R6_LB "tos 0x20 | icmp6 2 mtu 1300 | " S6(0) "tos 0x28 ttl 60 " TCP_QUOTE_THERE
						      " | data 20",
	 XDP_TX,
	 BACK0 C4BACK(0, 2) "tos 0x20 ttl 63 df | icmp 3 code 4 mtu 1280 | " C4(
		 0, 2) "tos 0x28 ttl 60 df " TCP_QUOTE_HERE " | data 20",
	 "s02 icmp-error-routed"},
	{"IPv6 to IPv4, no port", IN0 C4(0, 2) UDP_OUT,
	 S6BACK(0) "| icmp6 1 code 4 | " S6(0) "ttl 63 " UDP_OUT_, XDP_TX,
	 BACK0 C4BACK(0, 2) "ttl 63 df | icmp 3 code 3 | " C4(0, 2) "ttl 63 df " UDP_OUT,
	 "s02 icmp-error-routed"},
	{"IPv6 to IPv4, odd bytes quoted", IN0 C4(0, 2) UDP_OUT,
	 R6_LB "| icmp6 3 | " S6(0) "ttl 60 | udp " PORT " > 8080 | data 33", XDP_TX,
	 BACK0 C4BACK(0, 2) "ttl 63 df | icmp 11 | " C4(0, 2) "ttl 60 df | udp 1234 > 53 | data 33",
	 "s02 icmp-error-routed"},
	{"IPv6 to IPv4, prohibited", IN0 C4(0, 2) UDP_OUT,
	 R6_LB "| icmp6 1 code 1 | " S6(0) "ttl 60 " UDP_OUT_, XDP_TX,
	 BACK0 C4BACK(0, 2) "ttl 63 df | icmp 3 code 10 | " C4(0, 2) "ttl 60 df " UDP_OUT,
	 "s02 icmp-error-routed"},
	{"IPv4 to IPv6, too big, from the client's side", IN0 C4(0, 2) "| tcp 1234 > 80 S",
	 "ip4 10.1.0.254 > 10.2.0.2 | icmp 3 code 4 mtu 1400 | " C4BACK(
		 0, 2) "ttl 60 df " TCP_QUOTE_HERE_ " | data 20",
	 XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 | icmp6 2 mtu 1420 | " S6BACK(0) "ttl 60 " TCP_QUOTE_THERE_
								   " | data 20",
	 "s02 icmp-error-routed"},
	{"IPv4 to IPv6, no port, from the client itself", IN0 C4(0, 2) UDP_OUT,
	 C4(0, 2) "| icmp 3 code 3 | " C4BACK(0, 2) "ttl 63 " UDP_BACK_, XDP_TX,
	 OUT0("b2") S6(0) "ttl 63 | icmp6 1 code 4 | " S6BACK(0) "ttl 63 " UDP_BACK,
	 "s02 icmp-error-routed"},
	{"IPv4 to IPv6, from the backend's side", IN0 C6(0, 1) UDP_OUT,
	 S4BACK(0) "| icmp 3 code 3 | " S4(0) "ttl 63 df " UDP_OUT_, XDP_TX,
	 BACK0 C6BACK(0, 1) "ttl 63 | icmp6 1 code 4 | " C6(0, 1) "ttl 63 " UDP_OUT,
	 "s01 icmp-error-routed"},
	{"IPv4 to IPv6, quoting 8 bytes", IN0 C6(0, 1) "| tcp 1234 > 80 S",
	 R4_LB "| icmp 3 code 4 mtu 1000 | " S4(0) "ttl 60 len 1500 proto 6 | hex 4e201f90000003e8",
	 XDP_TX,
	 BACK0 C6BACK(0, 1) "ttl 63 | icmp6 2 mtu 1280 | " C6(
		 0, 1) "ttl 60 len 1480 proto 6 | hex 04d20050000003e8",
	 "s01 icmp-error-routed"},
	{"IPv4 to IPv6, options in the quote", IN0 C6(0, 1) "| tcp 1234 > 80 S",
	 R4_LB "| icmp 3 code 4 mtu 1400 | " S4(0) "opt 8 ttl 60 " TCP_QUOTE_THERE, XDP_DROP, NULL,
	 "s01 unsupported-mode"},
	{"about a flow that is not known", NULL,
	 "ip4 10.1.0.254 > 10.2.0.1 | icmp 3 code 4 mtu 1300 | " C4BACK(
		 0, 1) "ttl 60 " TCP_QUOTE_HERE_,
	 XDP_DROP, NULL, "s01 no-flow"},
	{"about a packet of the host's own", NULL,
	 R4_LB "| icmp 3 code 4 mtu 1400 | " S4(0) "ttl 60 " TCP_QUOTE_THERE, XDP_PASS, NULL, NULL},
	{"about another protocol's flow", SYN4, R4_LB "| icmp 3 code 3 | " S4(0) "ttl 60 " UDP_OUT_,
	 XDP_PASS, NULL, NULL},
};

Test(nat, tables)
{
	flight_open(&rig);
	FLY(pairs);
	FLY(headers);
	FLY(flows);
	FLY(established);
	FLY(errors);
	rig_close(&rig);
}

/* ---- every size -------------------------------------------------------------------------------*/

static void sizes(const char *what, const char *in, const char *out, const char *first,
		  const char *l4, const char *l4_, __u32 most)
{
	__u32 step = place_emulated() ? 97 : 1;

	for (__u32 size = 0; size <= most; size += step) {
		char words[2][256];
		struct flight f = {what, first, words[0], XDP_TX, words[1], NULL};

		snprintf(words[0], sizeof(words[0]), "%s %s | data %u", in, l4, size);
		snprintf(words[1], sizeof(words[1]), "%s ttl 63 %s | data %u", out, l4_, size);
		cr_assert(flight_one(&rig, &f), "%s: %u bytes", what, size);
	}
}

Test(nat, sizes)
{
	const __u32 four = RIG_MTU - 20 - 20, six = RIG_MTU - 40 - 20;

	flight_open(&rig);
	sizes("4 to 4", C4(0, 1), OUT0("b1") S4(0), NULL, "| tcp 1234 > 80 S",
	      "| tcp " PORT " > 8080 S", four);
	sizes("4 to 6", C4(0, 2), OUT0("b2") S6(0), NULL, "| tcp 1234 > 80 S",
	      "| tcp " PORT " > 8080 S", six);
	sizes("6 to 4", C6(0, 1), OUT0("b1") S4(0) "df", NULL, "| udp 1234 > 53",
	      "| udp " PORT " > 8080", six + 12);
	sizes("4 to 6 without a checksum", C4(0, 2), OUT0("b2") S6(0), NULL,
	      "| udp 1234 > 53 csum 0", "| udp " PORT " > 8080", six + 12);
	sizes("6 to 6, back", S6BACK(0), BACK0 C6BACK(0, 2), SYN6, "| tcp 8080 > " PORT " SA",
	      "| tcp 80 > 1234 SA", six);
	rig_close(&rig);
}
