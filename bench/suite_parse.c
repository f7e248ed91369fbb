// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Suite parse: what it takes to find out what a frame is, and that it is for nobody here: a case
 * for each kind of header that is read in a way of its own.
 */
#include <linux/bpf.h>

#include "put.h"

#define OF_NOBODY(name, words)                                                                     \
	{                                                                                          \
		name, "10.2.0.1:80", "10.3.0.1", "l2", {0}, words, XDP_PASS, false                 \
	}

static const struct put frames[] = {
	OF_NOBODY("tcp4", "ip4 10.1.0.1 > 10.2.0.9 | tcp 1000 > 80 A"),
	OF_NOBODY("udp4", "ip4 10.1.0.1 > 10.2.0.9 | udp 1000 > 80"),
	OF_NOBODY("tcp6", "ip6 fd01::1 > fd02::9 | tcp 1000 > 80 A"),
	OF_NOBODY("udp6", "ip6 fd01::1 > fd02::9 | udp 1000 > 80"),
	OF_NOBODY("options4", "ip4 10.1.0.1 > 10.2.0.9 opt 8 | tcp 1000 > 80 A"),
	OF_NOBODY("extension6", "ip6 fd01::1 > fd02::9 | hop 8 | tcp 1000 > 80 A"),
	OF_NOBODY("extensions6", "ip6 fd01::1 > fd02::9 | hop 8 | dst 16 | tcp 1000 > 80 A"),
	OF_NOBODY("vlan", "eth gw > lb | vlan 7 | ip4 10.1.0.1 > 10.2.0.9 | tcp 1000 > 80 A"),
	OF_NOBODY("vlans", "eth gw > lb | vlan 7 tpid 34984 | vlan 8 | ip4 10.1.0.1 > 10.2.0.9 | "
			   "tcp 1000 > 80 A"),
	OF_NOBODY("fragment4", "ip4 10.1.0.1 > 10.2.0.9 off 10 proto 17 | data 64"),
	OF_NOBODY("fragment6", "ip6 fd01::1 > fd02::9 | frag6 off 10 proto 17 | data 64"),
	OF_NOBODY("icmp4", "ip4 10.1.0.1 > 10.2.0.9 | icmp 8 | data 32"),
	OF_NOBODY("icmp6", "ip6 fd01::1 > fd02::9 | icmp6 128 | data 32"),
	OF_NOBODY("arp", "arp 10.1.0.1 > 10.2.0.9"),
};

void suite_parse(struct cases *cases)
{
	put_suite(cases, "parse", frames, sizeof(frames) / sizeof(frames[0]));
}
