/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Services of the packet tests, by a convention that makes tables readable: a service is reached at
 * 10.2.P.N and fd02:P::N, port 80 by TCP and 53 by UDP; its one backend is 10.3.P.N or fd03:P::N
 * and takes path P (rig.h). N tells the mode:
 *
 *   1 l2     2 ipip to an IPv4 backend     3 ipip to an IPv6 backend
 *            6 gue to an IPv4 backend      7 gue to an IPv6 backend
 *
 * 4 and 5 are free for what a test has besides.
 */
#ifndef POISE_TEST_SETUP_H
#define POISE_TEST_SETUP_H

#define SETUP_LISTEN(p, n)                                                                         \
	"listen: [ '10.2." #p "." #n ":80', '10.2." #p "." #n ":53/udp', '[fd02:" #p "::" #n       \
	"]:80', '[fd02:" #p "::" #n "]:53/udp' ]"

#define SETUP_SERVICE(p, n, forward, backend)                                                      \
	"  - { name: s" #p #n ", " SETUP_LISTEN(p, n) ", forward: " forward                        \
						      ", backends: [ { address: '" backend         \
						      "' } ] }\n"

/* The modes over path p. */
#define SETUP_MODES(p)                                                                             \
	SETUP_SERVICE(p, 1, "l2", "10.3." #p ".1")                                                 \
	SETUP_SERVICE(p, 2, "ipip", "10.3." #p ".2")                                               \
	SETUP_SERVICE(p, 3, "ipip", "fd03:" #p "::3")                                              \
	SETUP_SERVICE(p, 6, "gue", "10.3." #p ".6")                                                \
	SETUP_SERVICE(p, 7, "gue", "fd03:" #p "::7")

/* Frames around packets: as they come, and as they leave towards backend b. */
#define IN0	"eth gw > lb | "
#define IN1	"eth gw > lb | vlan 7 pcp 3 | "
#define IN2	"eth gw > lb | vlan 8 tpid 0x88a8 | vlan 9 | "
#define OUT0(b) "eth lb > " b " | "
#define OUT1(b) "eth lb > " b " | vlan 101 | "
#define OUT2(b) "eth lb > " b " | vlan 202 tpid 0x88a8 | vlan 203 | "
#define OUT3(b) "eth out > " b " | "

/* Outer headers; what they do not say is as it is for a packet with TOS 0. */
#define OUTER4(to) "ip4 10.3.0.254 > " to " ttl 64 "
#define OUTER6(to) "ip6 fd03::fe > " to " ttl 64 anyflow "
/* Behind them in mode gue. */
#define GUE "| udp any > 6080 csum 0 "

#endif
