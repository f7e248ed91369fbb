// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a header may hold: options, extension headers, DF, TOS and ECN, TTL, padding, lengths that
 * lie. What is well formed is forwarded with exactly its bytes; what is not is nobody's and passes.
 */
#include <criterion/criterion.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

static const char setup[] = "services:\n" SETUP_MODES(0);

#define S1 "ip4 10.1.0.9 > 10.2.0.1 " /* by l2 */
#define S2 "ip4 10.1.0.9 > 10.2.0.2 " /* by ipip over IPv4 */
#define S3 "ip4 10.1.0.9 > 10.2.0.3 " /* by ipip over IPv6 */
#define S6 "ip4 10.1.0.9 > 10.2.0.6 " /* by gue over IPv4 */
#define S7 "ip4 10.1.0.9 > 10.2.0.7 " /* by gue over IPv6 */
#define T1 "ip6 fd01::9 > fd02:0::1 "
#define T2 "ip6 fd01::9 > fd02:0::2 "
#define T3 "ip6 fd01::9 > fd02:0::3 "
#define T6 "ip6 fd01::9 > fd02:0::6 "
#define T7 "ip6 fd01::9 > fd02:0::7 "

/* By l2, to the service at T1. */
#define FRAGMENT(name, ip, rest)                                                                   \
	{                                                                                          \
		name, IN0 ip rest, XDP_TX, OUT0("b1") ip "ttl 63 " rest, B1,                       \
			"s01 fragment-forwarded"                                                   \
	}

#define TCP "| tcp 1234 > 80 A | data 4"
#define UDP "| udp 1234 > 53 | data 4"
#define B1  "10.3.0.1"
#define B2  "10.3.0.2"
#define B3  "fd03:0::3"
#define B6  "10.3.0.6"
#define B7  "fd03:0::7"

#define L2(name, ip, rest) CASE_TX(name, IN0 ip rest, B1, OUT0("b1") ip "ttl 63 " rest)
#define IN_V4(name, outer, ip, rest)                                                               \
	CASE_TX(name, IN0 ip rest, B2, OUT0("b2") OUTER4(B2) outer "| " ip rest)
#define IN_V6(name, outer, ip, rest)                                                               \
	CASE_TX(name, IN0 ip rest, B3, OUT0("b3") OUTER6(B3) outer "| " ip rest)

#define GUE_V4(name, outer, ip, rest)                                                              \
	CASE_TX(name, IN0 ip rest, B6, OUT0("b6") OUTER4(B6) outer GUE "| " ip rest)
#define GUE_V6(name, outer, ip, rest)                                                              \
	CASE_TX(name, IN0 ip rest, B7, OUT0("b7") OUTER6(B7) outer GUE "| " ip rest)

static const struct packet_case options[] = {
	L2("l2: 4 bytes of IP options", S1 "opt 4 ", TCP),
	L2("l2: 40 bytes of IP options", S1 "opt 40 ", TCP),
	L2("l2: IP options before UDP", S1 "opt 8 ", UDP),
	IN_V4("4in4: 4 bytes of IP options", "", S2 "opt 4 ", TCP),
	IN_V4("4in4: 40 bytes of IP options", "", S2 "opt 40 ", UDP),
	IN_V6("4in6: 12 bytes of IP options", "", S3 "opt 12 ", TCP),
	L2("l2: TCP options", S1, "| tcp 1234 > 80 S opt 40"),
	IN_V4("4in4: TCP options", "", S2, "| tcp 1234 > 80 S opt 20 | data 100"),
	IN_V6("6in6: TCP options", "", T3, "| tcp 1234 > 80 S opt 12"),
	L2("l2: UDP without checksum", S1, "| udp 1234 > 53 csum 0 | data 9"),
	IN_V4("4in4: UDP without checksum", "", S2, "| udp 1234 > 53 csum 0 | data 9"),
	L2("l2: empty UDP", S1, "| udp 1234 > 53"),
	L2("l2: a wrong transport checksum is the receiver's to find", S1,
	   "| tcp 1234 > 80 A csum 0xdead | data 4"),
	IN_V4("4in4: a large packet", "", S2, "| tcp 1234 > 80 A | data 1400"),
	IN_V6("6in6: a large packet", "", T3, "| udp 1234 > 53 | data 1300"),
	GUE_V4("gue 4in4: 40 bytes of IP options", "", S6 "opt 40 ", UDP),
	GUE_V6("gue 4in6: 12 bytes of IP options", "", S7 "opt 12 ", TCP),
	GUE_V4("gue 4in4: a large packet", "", S6, "| tcp 1234 > 80 A | data 1400"),
};

static const struct packet_case extensions[] = {
	L2("l2: hop-by-hop options", T1, "| hop 8 " TCP),
	L2("l2: destination options", T1, "| dst 16 " UDP),
	L2("l2: a routing header that has arrived", T1, "| route 24 left 0 " TCP),
	L2("l2: three kinds", T1, "| hop 8 | dst 8 | route 8 left 0 | dst 32 " TCP),
	IN_V4("6in4: hop-by-hop options", "df ", T2, "| hop 16 " UDP),
	IN_V6("6in6: destination options", "", T3, "| dst 64 " TCP),
	GUE_V4("gue 6in4: hop-by-hop options", "df ", T6, "| hop 16 " UDP),
	GUE_V6("gue 6in6: destination options", "", T7, "| dst 64 " TCP),
	CASE_PASS("a routing header still on its way", IN0 T1 "| route 24 left 1 " TCP),
	FRAGMENT("an atomic fragment header", T1, "| frag6 " TCP),
	FRAGMENT("a first IPv6 fragment", T1, "| frag6 mf " UDP),
	FRAGMENT("a first IPv6 fragment between options", T1, "| hop 8 | frag6 mf | dst 8 " UDP),
	CASE_PASS("a later IPv6 fragment of nothing", IN0 T1 "| frag6 off 100 | data 40"),
	CASE_PASS("no next header", IN0 T1),
	CASE_PASS("ESP", IN0 T1 "proto 50 | data 40"),
	CASE_PASS("an extension header that ends nowhere", IN0 T1 "proto 0 | hex 06ff0104"),
};

static const struct packet_case dont_fragment[] = {
	L2("l2 keeps DF", S1 "df id 7 ", TCP),
	L2("l2 keeps no DF", S1 "id 0xffff ", TCP),
	IN_V4("4in4: DF is copied out, the number is not", "df ", S2 "df id 7 ", TCP),
	IN_V4("4in4: without DF the number is copied out", "id 7 ", S2 "id 7 ", TCP),
	IN_V4("4in4: without DF, number 0xffff", "id 0xffff ", S2 "id 0xffff ", UDP),
	IN_V4("6in4: DF is set", "df ", T2, TCP),
	IN_V6("4in6: DF inside", "", S3 "df id 9 ", TCP),
	GUE_V4("gue 4in4: DF is copied out", "df ", S6 "df id 7 ", TCP),
	GUE_V4("gue 4in4: without DF the number is copied out", "id 7 ", S6 "id 7 ", UDP),
	GUE_V4("gue 6in4: DF is set", "df ", T6, TCP),
	GUE_V6("gue 4in6: DF inside", "", S7 "df id 9 ", TCP),
};

static const struct packet_case tos[] = {
	L2("l2: TOS stays", S1 "tos 0xb9 ", TCP),
	L2("l2: traffic class stays", T1 "tos 0xb9 ", TCP),
	L2("l2: flow label stays", T1 "tos 0xff flow 0xabcde ", UDP),
	IN_V4("4in4: ECT(1)", "tos 1 ", S2 "tos 1 ", TCP),
	IN_V4("4in4: ECT(0)", "tos 2 ", S2 "tos 2 ", TCP),
	IN_V4("4in4: CE", "tos 3 ", S2 "tos 3 ", TCP),
	IN_V4("4in4: EF", "tos 0xb8 ", S2 "tos 0xb8 ", UDP),
	IN_V4("4in4: all ones", "tos 0xff ", S2 "tos 0xff ", TCP),
	IN_V6("4in6: EF and CE", "tos 0xbb ", S3 "tos 0xbb ", TCP),
	IN_V6("4in6: all ones", "tos 0xff ", S3 "tos 0xff ", UDP),
	IN_V4("6in4: ECT(0)", "df tos 2 ", T2 "tos 2 ", TCP),
	IN_V4("6in4: all ones, and a flow label", "df tos 0xff ", T2 "tos 0xff flow 0xfffff ", TCP),
	IN_V6("6in6: CS6 and CE", "tos 0xc3 ", T3 "tos 0xc3 ", TCP),
	GUE_V4("gue 4in4: all ones", "tos 0xff ", S6 "tos 0xff ", TCP),
	GUE_V4("gue 6in4: ECT(0)", "df tos 2 ", T6 "tos 2 ", TCP),
	GUE_V6("gue 4in6: CE", "tos 3 ", S7 "tos 3 ", UDP),
	GUE_V6("gue 6in6: EF", "tos 0xb8 ", T7 "tos 0xb8 flow 0x12345 ", TCP),
};

static const struct packet_case ttl[] = {
	CASE_TX("l2 v4: TTL 2", IN0 S1 "ttl 2 " TCP, B1, OUT0("b1") S1 "ttl 1 " TCP),
	CASE_TX("l2 v4: TTL 255", IN0 S1 "ttl 255 " TCP, B1, OUT0("b1") S1 "ttl 254 " TCP),
	CASE_TX("l2 v6: hop limit 2", IN0 T1 "ttl 2 " UDP, B1, OUT0("b1") T1 "ttl 1 " UDP),
	CASE_TX("l2 v6: hop limit 255", IN0 T1 "ttl 255 " UDP, B1, OUT0("b1") T1 "ttl 254 " UDP),
	IN_V4("4in4: TTL 2 stays", "", S2 "ttl 2 ", TCP),
	IN_V4("4in4: TTL 255 stays", "", S2 "ttl 255 ", UDP),
	IN_V6("6in6: hop limit 2 stays", "", T3 "ttl 2 ", TCP),
	GUE_V4("gue 4in4: TTL 2 stays", "", S6 "ttl 2 ", TCP),
	GUE_V6("gue 6in6: hop limit 255 stays", "", T7 "ttl 255 ", UDP),
	IN_V6("4in6: TTL 255 stays", "", S3 "ttl 255 ", TCP),
};

#define SYN "| tcp 1234 > 80 S"

static const struct packet_case padding[] = {
	L2("l2: a short frame is padded", S1, SYN " | pad 6"),
	IN_V4("4in4: padding does not count", "", S2, SYN " | pad 6"),
	IN_V6("4in6: padding does not count", "", S3, SYN " | pad 6"),
	GUE_V4("gue 4in4: padding does not count", "", S6, SYN " | pad 6"),
	GUE_V6("gue 4in6: padding does not count", "", S7, SYN " | pad 6"),
	L2("l2: a short UDP frame", S1, "| udp 1234 > 53 | data 1 | pad 17"),
	IN_V4("4in4: one byte of padding", "", S2, SYN " | pad 1"),
	CASE_TX("l2: a long tail goes", IN0 S1 SYN " | pad 200", B1, OUT0("b1") S1 "ttl 63 " SYN),
	CASE_TX("4in4: a long tail goes", IN0 S2 SYN " | pad 47", B2,
		OUT0("b2") OUTER4(B2) "| " S2 SYN),
	CASE_TX("6in6: a long tail goes", IN0 T3 SYN " | pad 100", B3,
		OUT0("b3") OUTER6(B3) "| " T3 SYN),
};

static const struct packet_case lengths[] = {
	CASE_PASS("v4: total length beyond the frame", IN0 S1 "len 45 " TCP " | cut 0"),
	CASE_PASS("v4: total length 65535", IN0 S1 "len 65535 " TCP),
	CASE_PASS("v4: total length 0", IN0 S1 "len 0 " TCP),
	CASE_PASS("v4: total length without the TCP header", IN0 S1 "len 39 " TCP),
	CASE_PASS("v4: total length without the UDP header", IN0 S1 "len 27 " UDP),
	CASE_PASS("v4: total length without its own header", IN0 S1 "len 19 " TCP),
	CASE_PASS("v4: header length of 4 words", IN0 S1 "ihl 4 " TCP),
	CASE_PASS("v4: header length of 0 words", IN0 S1 "ihl 0 " TCP),
	CASE_PASS("v4: header length beyond the packet", IN0 S1 "ihl 15 " TCP),
	CASE_PASS("v4: version 6 inside", IN0 S1 "ver 6 " TCP),
	CASE_PASS("v4: version 0", IN0 S1 "ver 0 " TCP),
	CASE_PASS("v6: version 4 inside", IN0 T1 "ver 4 " TCP),
	CASE_PASS("v6: payload beyond the frame", IN0 T1 "len 25 " TCP),
	CASE_PASS("v6: payload length 65535", IN0 T1 "len 65535 " TCP),
	CASE_PASS("v6: payload length 0", IN0 T1 "len 0 " TCP),
	CASE_PASS("v6: payload without the TCP header", IN0 T1 "len 19 " TCP),
	CASE_PASS("v6: payload without the UDP header", IN0 T1 "len 7 " UDP),
	CASE_PASS("v6: extension headers fill the payload", IN0 T1 "len 8 | hop 8 " TCP),
	CASE_PASS("a tag and nothing in it", "eth gw > lb | vlan 7"),
	CASE_PASS("v4 without transport", IN0 S1 "proto 6"),
	CASE_PASS("v6 without transport", IN0 T1 "proto 17"),
	L2("l2: a UDP length beyond the packet is the receiver's to find", S1,
	   "| udp 1234 > 53 len 99 | data 4"),
	CASE_TX("l2: what the total length leaves out stays behind it", IN0 S1 "len 40 " TCP, B1,
		OUT0("b1") S1 "len 40 ttl 63 " TCP),
};

static struct rig rig;

TestSuite(header, .fini = place_cleanup);

Test(header, tables)
{
	rig_open(&rig, setup);
	CASES_RUN(&rig, options);
	CASES_RUN(&rig, extensions);
	CASES_RUN(&rig, dont_fragment);
	CASES_RUN(&rig, tos);
	CASES_RUN(&rig, ttl);
	CASES_RUN(&rig, padding);
	CASES_RUN(&rig, lengths);
	rig_close(&rig);
}
