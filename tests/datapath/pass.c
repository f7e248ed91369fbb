// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is not for a service passes byte-identical and counts nothing: other kinds of traffic, other
 * addresses, other ports of a service's address, the wrong protocol on the right port.
 */
#include <criterion/criterion.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

static const char setup[] =
	"services:\n" SETUP_MODES(0) "  - { name: tcp, listen: [ '10.2.9.1:443' ], forward: l2, "
				     "backends: [ { address: 10.3.0.11 } ] }\n"
				     "  - { name: udp, listen: [ '10.2.9.1:443/udp' ], forward: "
				     "l2, backends: [ { address: 10.3.0.12 } ] }\n"
				     "  - { name: any, listen: [ '10.2.9.2:0', '[fd02:9::2]:*' ], "
				     "forward: l2, backends: [ { address: 10.3.0.13 } ] }\n"
				     "  - { name: smtp, listen: [ '10.2.9.2:25' ], forward: l2, "
				     "backends: [ { address: 10.3.0.14 } ] }\n"
				     "  - { name: anyudp, listen: [ '10.2.9.3:0/udp' ], forward: "
				     "l2, backends: [ { address: 10.3.0.15 } ] }\n";

#define C4 "ip4 10.1.0.9 > "
#define C6 "ip6 fd01::9 > "

static const struct packet_case others[] = {
	CASE_PASS("ARP", "eth gw > all | arp 10.1.0.1 > 10.2.0.1"),
	CASE_PASS("ARP in a tag", "eth gw > all | vlan 7 | arp 10.1.0.1 > 10.2.0.1"),
	CASE_PASS("LLDP", "eth gw > lb type 0x88cc | data 46"),
	CASE_PASS("an unknown Ethernet type", "eth gw > lb type 0x9999 | data 46"),
	CASE_PASS("802.3 with a length for a type", "eth gw > lb type 46 | data 46"),
	CASE_PASS("a frame without a payload", "eth gw > lb"),
	CASE_PASS("three tags", "eth gw > lb | vlan 1 tpid 0x88a8 | vlan 2 | vlan 3 | " C4
				"10.2.0.1 | tcp 1 > 80 S"),
	CASE_PASS("a tag that ends early", "eth gw > lb type 0x8100 | hex 0007"),
	CASE_PASS("broadcast frame with unicast IP",
		  "eth gw > all | " C4 "10.2.0.1 | tcp 1 > 80 S"),
	CASE_PASS("IGMP", IN0 C4 "224.0.0.22 ttl 1 | igmp"),
	CASE_PASS("IGMP to a service's address", IN0 C4 "10.2.0.1 | igmp"),
	CASE_PASS("ping of a service's address", IN0 C4 "10.2.0.1 | icmp 8 | data 56"),
	CASE_PASS("ping of another address", IN0 C4 "10.9.0.1 | icmp 8 | data 56"),
	CASE_PASS("an ICMP error about what another sent",
		  IN0 C4 "10.2.0.1 | icmp 3 code 4 | " C4 "10.2.0.1 | tcp 80 > 1"),
	CASE_PASS("IPv6 ping", IN0 C6 "fd02:0::1 | icmp6 128 | data 56"),
	CASE_PASS("neighbour solicitation", IN0 C6 "fd02:0::1 ttl 255 | icmp6 135 | data 20"),
	CASE_PASS("OSPF", IN0 C4 "10.2.0.1 proto 89 ttl 1 | data 44"),
	CASE_PASS("GRE", IN0 C4 "10.2.0.1 proto 47 | data 44"),
	CASE_PASS("ESP", IN0 C4 "10.2.0.1 proto 50 | data 44"),
	CASE_PASS("IP in IP to a service's address",
		  IN0 C4 "10.2.0.1 | " C4 "10.2.0.2 | tcp 1 > 80 S"),
	CASE_PASS("SCTP", IN0 C4 "10.2.0.1 proto 132 | data 44"),
	CASE_PASS("IPv4 by IPv6's Ethernet type",
		  "eth gw > lb type 0x86dd | " C4 "10.2.0.1 | tcp 1 > 80 S | data 40"),
	CASE_PASS("IPv6 by IPv4's Ethernet type",
		  "eth gw > lb type 0x0800 | " C6 "fd02:0::1 | tcp 1 > 80 S"),
};

static const struct packet_case fragments[] = {
	CASE_PASS("first fragment, of the host", IN0 C4 "10.9.0.1 mf | udp 1 > 53 | data 96"),
	CASE_PASS("later fragment, of the host", IN0 C4 "10.9.0.1 off 13 proto 17 | data 96"),
	CASE_PASS("last fragment, of the host", IN0 C4 "10.9.0.1 off 185 proto 6 | data 96"),
	CASE_PASS("the largest offset", IN0 C4 "10.9.0.1 off 0x1fff proto 17 | data 8"),
	CASE_PASS("first fragment of a ping of a service's address",
		  IN0 C4 "10.2.0.1 mf | icmp 8 | data 96"),
	CASE_PASS("later fragment of a ping of a service's address",
		  IN0 C4 "10.2.0.1 off 13 proto 1 | data 96"),
	CASE_PASS("first fragment to a service's address, another port",
		  IN0 C4 "10.2.0.1 mf | udp 1 > 54 | data 96"),
	CASE_PASS("fragment of TCP where only UDP is a service's",
		  IN0 C4 "10.2.9.3 off 13 proto 6 | data 96"),
	CASE_PASS("fragment of UDP where only TCP is a service's",
		  IN0 C4 "10.2.9.2 off 13 proto 17 | data 96"),
	CASE_PASS("first IPv6 fragment, of the host",
		  IN0 C6 "fd02:9::9 | frag6 mf | tcp 1 > 80 S | data 64"),
	CASE_PASS("later IPv6 fragment, of the host",
		  IN0 C6 "fd02:9::9 | frag6 off 9 proto 17 | data 64"),
	CASE_PASS("later IPv6 fragment of a ping of a service's address",
		  IN0 C6 "fd02:0::1 | frag6 off 9 proto 58 | data 64"),
	CASE_PASS("later IPv6 fragment of nothing",
		  IN0 C6 "fd02:0::1 | frag6 off 9 proto 59 | data 64"),
};

static const struct packet_case elsewhere[] = {
	CASE_PASS("ssh to a service's address", IN0 C4 "10.2.0.1 | tcp 4000 > 22 S"),
	CASE_PASS("ssh that goes on", IN0 C4 "10.2.0.1 | tcp 4000 > 22 A | data 36"),
	CASE_PASS("ssh by IPv6", IN0 C6 "fd02:0::1 | tcp 4000 > 22 S"),
	CASE_PASS("a neighbouring port", IN0 C4 "10.2.0.1 | tcp 4000 > 81 S"),
	CASE_PASS("port 0", IN0 C4 "10.2.0.1 | tcp 4000 > 0 S"),
	CASE_PASS("port 65535", IN0 C4 "10.2.0.1 | udp 4000 > 65535"),
	CASE_PASS("from the service's port", IN0 C4 "10.2.0.1 | tcp 80 > 4000 A"),
	CASE_PASS("TCP on a UDP port", IN0 C4 "10.2.0.1 | tcp 4000 > 53 S"),
	CASE_PASS("UDP on a TCP port", IN0 C4 "10.2.0.1 | udp 4000 > 80 | data 8"),
	CASE_PASS("UDP on a TCP port, IPv6", IN0 C6 "fd02:0::1 | udp 4000 > 80 | data 8"),
	CASE_PASS("another address", IN0 C4 "10.9.0.1 | tcp 4000 > 80 S"),
	CASE_PASS("a neighbouring address", IN0 C4 "10.2.0.4 | tcp 4000 > 80 S"),
	CASE_PASS("another IPv6 address", IN0 C6 "fd02:0::4 | tcp 4000 > 80 S"),
	CASE_PASS("a service's IPv4 address mapped into IPv6 as compatible",
		  IN0 C6 "::10.2.0.1 | tcp 4000 > 80 S"),
	CASE_PASS("a service's address as the source",
		  IN0 "ip4 10.2.0.1 > 10.1.0.9 | tcp 80 > 4000 A"),
	CASE_PASS("a backend's address", IN0 C4 "10.3.0.1 | tcp 4000 > 80 S"),
	CASE_PASS("TTL 1 and not ours", IN0 C4 "10.9.0.1 ttl 1 | udp 4000 > 33434 | data 8"),
	CASE_PASS("TCP, where every UDP port is a service's", IN0 C4 "10.2.9.3 | tcp 4000 > 53 S"),
	CASE_PASS("UDP, where every TCP port is a service's", IN0 C4 "10.2.9.2 | udp 4000 > 53"),
};

#define L2(name, n, ip, rest)                                                                      \
	CASE_TX(name, IN0 ip rest, "10.3.0." #n, OUT0("b" #n) ip "ttl 63 " rest)

static const struct packet_case listeners[] = {
	L2("TCP of a port that both protocols have", 11, C4 "10.2.9.1 ", "| tcp 1 > 443 S"),
	L2("UDP of a port that both protocols have", 12, C4 "10.2.9.1 ", "| udp 1 > 443 | data 8"),
	L2("every port: 1", 13, C4 "10.2.9.2 ", "| tcp 1 > 1 S"),
	L2("every port: 65535", 13, C4 "10.2.9.2 ", "| tcp 1 > 65535 S"),
	L2("every port: 0", 13, C4 "10.2.9.2 ", "| tcp 1 > 0 S"),
	L2("every port, IPv6", 13, C6 "fd02:9::2 ", "| tcp 1 > 25 S"),
	L2("a port's own listener goes before every port", 14, C4 "10.2.9.2 ", "| tcp 1 > 25 S"),
	L2("every UDP port", 15, C4 "10.2.9.3 ", "| udp 1 > 5353 | data 8"),
};

static struct rig rig;

TestSuite(pass, .fini = place_cleanup);

Test(pass, tables)
{
	rig_open(&rig, setup);
	CASES_RUN(&rig, others);
	CASES_RUN(&rig, fragments);
	CASES_RUN(&rig, elsewhere);
	CASES_RUN(&rig, listeners);
	rig_close(&rig);
}
