/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames as tests write and read them: one line of words, layers divided by |.
 *
 *   eth gw > lb | vlan 7 | ip4 10.1.0.9 > 10.2.0.1 ttl 64 df | tcp 1234 > 80 S | data 20
 *
 * Whatever is not said is worked out: lengths, checksums, protocol numbers. Whatever is said stands
 * as said, right or wrong. An eth layer that is left out is `eth gw > lb`.
 *
 *   eth SRC > DST [type N]             gw, lb, out (our second device) or bN for a MAC address
 *   vlan ID [pcp N] [tpid N]
 *   ip4 SRC > DST [ttl tos id df mf off opt len ihl ver
 *      proto csum N]                   off in 8 bytes, opt in bytes
 *   ip6 SRC > DST [ttl tos flow len ver proto N]
 *   hop N | dst N | route N [left N]   extension headers of N bytes
 *   frag6 [id N] [off N] [mf] [proto N]
 *   tcp SPORT > DPORT [SAFRP] [seq ack opt win csum N]
 *   udp SPORT > DPORT [len csum N]       SPORT any: of the dynamic range
 *   icmp TYPE [code N] [mtu N], icmp6 TYPE [code N] [mtu N], igmp
 *   arp SRC > DST                      a request
 *   data N                             N bytes of a pattern
 *   hex DIGITS
 *   pad N                              zeros behind the packet, which no length counts
 *   cut N                              the last N bytes are missing
 */
#ifndef POISE_TEST_FRAME_H
#define POISE_TEST_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "maps/abi.h"

#define FRAME_MAX 4096

struct frame {
	size_t length;
	size_t anyflow; /* offset of an IPv6 header whose flow label may be any; 0: none */
	size_t anyport; /* offset of a UDP header whose source port may be any dynamic one */
	__u8 byte[FRAME_MAX];
};

/* Builds; aborts with a message if the text is not understood: a test's own mistake. */
void frame_build(struct frame *f, const char *text);

/* The words of a frame, a layer a line; malloc'ed. */
char *frame_show(const struct frame *f);

/* Puts the label and the source port that actual has where expected allows any. */
void frame_take_any(struct frame *expected, const struct frame *actual);
bool frame_equal(const struct frame *a, const struct frame *b);

/* Both side by side, layers that differ marked, and the first byte that does, to stderr. */
void frame_print_difference(const struct frame *expected, const struct frame *actual);

/* Are all checksums right of an answer without tags: IP, TCP without options, ICMP? */
bool frame_sound(const struct frame *f);

/* Where the IP packet ends by its own account, from the frame's start; 0: it is not IP. */
size_t frame_ip_end(const struct frame *f);
/* Offset of the (outer) IP header; 0: none. */
size_t frame_ip_at(const struct frame *f);

/* MAC addresses: a base, then whose, then which. */
#define FRAME_MAC_BASE	  0xa2, 0xa5, 0xa5, 0xa5 /* locally administered, of one station */
#define FRAME_MAC_OURS	  0x5a
#define FRAME_MAC_BACKEND 0x03
#define FRAME_MAC_NAMES	  "gw", "lb", "out"

/* MAC of a name (gw, lb, out, bN), as used in texts. */
void frame_mac(const char *name, __u8 mac[6]);

#endif
