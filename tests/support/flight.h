/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets through mode nat, written down: services over all paths, one port to send from, and what
 * becomes of each packet. Below, p is a path's number (setup.h), n a backend's: 1 IPv4, 2 IPv6.
 */
#ifndef TEST_FLIGHT_H
#define TEST_FLIGHT_H

#include "cases.h"
#include "setup.h"

#define PORT "20000"

/* Packets after `first` (separated by ;), which must leave: what becomes of `in`. */
struct flight {
	const char *name, *first, *in;
	int verdict;
	const char *out;     /* NULL: as it came */
	const char *counted; /* "SERVICE REASON" one more; NULL: none looked at */
};

/* Opens a rig with these services. */
void flight_open(struct rig *r);
/* Fails the test unless each goes as it is written, of flows that begin anew. */
void flight_all(struct rig *r, const struct flight *f, size_t n);
/* Whether this one does; else it is said how it went. */
bool flight_one(struct rig *r, const struct flight *f);

#define FLY(table) flight_all(&rig, table, sizeof(table) / sizeof((table)[0]))

/* Between client and service, balancer and backend, and back. */
#define C4(p, n)     "ip4 10.1.0.9 > 10.2." #p "." #n " "
#define C6(p, n)     "ip6 fd01::9 > fd02:" #p "::" #n " "
#define S4(p)	     "ip4 10.3.0.254 > 10.3." #p ".1 "
#define S6(p)	     "ip6 fd03::fe > fd03:" #p "::2 "
#define S4BACK(p)    "ip4 10.3." #p ".1 > 10.3.0.254 "
#define S6BACK(p)    "ip6 fd03:" #p "::2 > fd03::fe "
#define C4BACK(p, n) "ip4 10.2." #p "." #n " > 10.1.0.9 "
#define C6BACK(p, n) "ip6 fd02:" #p "::" #n " > fd01::9 "

#define TCP_OUT	  "| tcp 1234 > 80 S seq 77 | data 11"
#define TCP_OUT_  "| tcp " PORT " > 8080 S seq 77 | data 11"
#define TCP_BACK  "| tcp 8080 > " PORT " SA seq 99 ack 78"
#define TCP_BACK_ "| tcp 80 > 1234 SA seq 99 ack 78"
#define UDP_OUT	  "| udp 1234 > 53 | data 12"
#define UDP_OUT_  "| udp " PORT " > 8080 | data 12"
#define UDP_BACK  "| udp 8080 > " PORT " | data 33"
#define UDP_BACK_ "| udp 53 > 1234 | data 33"

/* In front of an answer, which goes back as the client's frames came: setup.h's IN0, IN1, IN2. */
#define BACK0 "eth lb > gw | "
#define BACK1 "eth lb > gw | vlan 7 pcp 3 | "
#define BACK2 "eth lb > gw | vlan 8 tpid 0x88a8 | vlan 9 | "

/* A flow begins. */
#define SYN4 IN0 C4(0, 1) "| tcp 1234 > 80 S"
#define SYN6 IN0 C6(0, 2) "| tcp 1234 > 80 S"
#define UDP4 IN0 C4(0, 1) UDP_OUT
#define UDP6 IN0 C6(0, 2) UDP_OUT

#endif
