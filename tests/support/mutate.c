// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frames that go wrong (mutate.h).
 */
#include <string.h>

#include "mutate.h"

#define HEADERS 80 /* bytes in which most changes are made */

static const char *const sound[] = {
	"ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 S | data 10",
	"vlan 7 | ip4 10.1.0.9 > 10.2.0.1 opt 8 | tcp 1234 > 80 A | data 100",
	"vlan 8 tpid 0x88a8 | vlan 9 | ip4 10.1.0.9 > 10.2.0.1 | udp 1234 > 53 | data 3 | pad 9",
	"ip4 10.1.0.9 > 10.2.0.2 df | tcp 1234 > 80 A | data 1400",
	"ip4 10.1.0.9 > 10.2.0.2 | udp 1234 > 53 | pad 100",
	"ip4 10.1.0.9 > 10.2.0.3 tos 3 | tcp 1234 > 80 F",
	"ip4 10.1.0.9 > 10.2.0.4 opt 40 | tcp 1234 > 4444 R",
	"ip4 10.1.0.9 > 10.2.0.1 mf | tcp 1234 > 80 S",
	"ip4 10.1.0.9 > 10.2.0.1 ttl 1 | tcp 1234 > 80 S",
	"ip6 fd01::9 > fd02::1 | tcp 1234 > 80 S | data 10",
	"ip6 fd01::9 > fd02::1 | hop 8 | dst 16 | route 24 | udp 1234 > 53 | data 10",
	"vlan 7 | ip6 fd01::9 > fd02::2 tos 2 | tcp 1234 > 80 A | data 1400",
	"ip6 fd01::9 > fd02::3 | udp 1234 > 53 | data 10 | pad 3",
	"ip6 fd01::9 > fd02::3 | dst 8 | dst 8 | dst 8 | dst 8 | dst 8 | dst 8 | tcp 1 > 80 S",
	"ip6 fd01::9 > fd02::4 | udp 1234 > 9999",
	"ip6 fd01::9 > fd02::1 | frag6 | tcp 1234 > 80 S",
	"ip4 10.1.0.8 > 10.2.0.1 | icmp 3 code 4 mtu 1400 | ip4 10.2.0.1 > 10.1.0.9 | tcp 80 > 1 A",
	"ip6 fd01::8 > fd02::2 | icmp6 2 mtu 1400 | ip6 fd02::2 > fd01::9 | udp 53 > 1234",
	"ip4 10.1.0.9 > 10.2.0.1 opt 8 tos 2 | icmp 8 mtu 0x10001 | data 56",
	"vlan 7 | ip6 fd01::9 > fd02::2 | hop 8 | icmp6 128 mtu 0xffffffff | data 10",
	"ip4 10.1.0.9 > 10.2.0.1 mf | icmp 8 mtu 0x10001 | data 56",
	"ip4 10.1.0.9 > 10.2.0.2 | tcp 1234 > 22 S",
	"ip6 fd01::9 > fd02::2 | udp 1234 > 22 | data 4",
	"ip4 10.1.0.9 > 10.2.0.1 proto 47 | data 20",
	"ip6 fd01::9 > fd02::1 proto 132 | data 20",
	("ip4 10.1.0.8 > 10.3.0.254 | icmp 3 code 1 | ip4 10.3.0.254 > 10.3.0.2 | "
	 "ip4 10.1.0.9 > 10.2.0.2 | udp 1234 > 53"),
	("ip6 fd01::8 > fd03::fe | icmp6 3 | ip6 fd03::fe > fd03::3 | "
	 "ip4 10.1.0.9 > 10.2.0.3 | udp 1234 > 53"),
	/* by mode nat, there and back */
	"ip4 10.1.0.9 > 10.2.0.5 | tcp 1234 > 80 S opt 20",
	"ip4 10.1.0.9 > 10.2.0.5 opt 8 | tcp 1234 > 80 A | data 10",
	"ip4 10.1.0.9 > 10.2.0.6 | udp 1234 > 53 csum 0 | data 11",
	"ip6 fd01::9 > fd02::5 | dst 8 | tcp 1234 > 80 FA | data 10",
	"vlan 7 | ip6 fd01::9 > fd02::6 | udp 1234 > 53 | data 10",
	"ip4 10.3.0.8 > 10.3.0.254 | tcp 80 > 20000 SA",
	"ip4 10.3.0.8 > 10.3.0.254 | udp 53 > 20001 | data 9",
	"vlan 7 | ip6 fd03::8 > fd03::fe | tcp 80 > 20002 A | data 10",
	"ip6 fd03::8 > fd03::fe | hop 8 | udp 53 > 20003 | data 10",
	("ip4 10.9.9.9 > 10.3.0.254 | icmp 3 code 4 mtu 900 | ip4 10.3.0.254 > 10.3.0.8 | tcp "
	 "20000 > 80 A"),
	("ip6 fd09::9 > fd03::fe | icmp6 2 mtu 1280 | ip6 fd03::fe > fd03::8 | udp 20001 > 53 | "
	 "data 9"),
	("ip4 10.1.0.8 > 10.2.0.6 | icmp 3 code 3 | ip4 10.2.0.6 > 10.1.0.9 | udp 53 > 1234 | data "
	 "9"),
	"ip6 fd01::8 > fd02::5 | icmp6 1 code 4 | ip6 fd02::5 > fd01::9 | tcp 80 > 1234 A",
	/* the same in fragments */
	"ip4 10.1.0.9 > 10.2.0.5 id 7 mf | udp 1234 > 53 | data 24",
	"ip4 10.1.0.9 > 10.2.0.5 id 7 off 4 proto 17 | data 24",
	"ip4 10.1.0.9 > 10.2.0.6 opt 8 id 7 mf | udp 1234 > 53 | data 24",
	"ip4 10.1.0.9 > 10.2.0.6 id 7 off 4 mf proto 17 | data 1470",
	"vlan 7 | ip6 fd01::9 > fd02::5 | hop 8 | frag6 id 7 mf | udp 1234 > 53 | data 24",
	"ip6 fd01::9 > fd02::5 | frag6 id 7 off 4 proto 17 | data 24",
	"ip4 10.3.0.8 > 10.3.0.254 id 9 mf | udp 53 > 20001 | data 24",
	"ip4 10.3.0.8 > 10.3.0.254 id 9 off 4 proto 17 | data 1470",
	"ip6 fd03::8 > fd03::fe | frag6 id 9 mf | udp 53 > 20003 | data 24",
	"ip6 fd03::8 > fd03::fe | frag6 id 9 off 4 proto 17 | data 24",
};

uint32_t mutate_draw(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*random >> 33) % below;
}

void mutate_next(struct frame *f, uint64_t *random)
{
	mutate_of(f, sound[mutate_draw(random, sizeof(sound) / sizeof(sound[0]))], random);
}

void mutate_of(struct frame *f, const char *words, uint64_t *random)
{
	uint32_t reach;

	memset(f, 0, sizeof(*f));
	frame_build(f, words);
	reach = f->length < HEADERS ? (uint32_t)f->length : HEADERS;
	for (uint32_t times = mutate_draw(random, 4); times; times--) {
		uint32_t at = mutate_draw(random, reach);

		if (mutate_draw(random, 2))
			f->byte[at] = (uint8_t)mutate_draw(random, 256);
		else
			f->byte[at] ^= (uint8_t)(1u << mutate_draw(random, 8));
	}
	switch (mutate_draw(random, 6)) {
	case 0: f->length = mutate_draw(random, (uint32_t)f->length + 1); break;
	case 1: f->length += mutate_draw(random, 64); break;
	}
}
