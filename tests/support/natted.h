/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clients of mode nat, by number, and what they and their backends send: by TCP and UDP, in all
 * four pairs of families, to the services of NATTED_YAML. Client c sends from port NATTED_PORT(c).
 */
#ifndef POISE_TEST_NATTED_H
#define POISE_TEST_NATTED_H

#include "native.h"

/* 4 to 4, 6 to 4, 4 to 6, 6 to 6. */
#define NATTED_YAML_BY(forward)                                                                    \
	"services:\n"                                                                              \
	"  - { name: a, listen: [ '10.2.0.1:80', '10.2.0.1:53/udp', '[fd02::1]:80',\n"             \
	"      '[fd02::1]:53/udp' ],  " forward ", idle: 5m, udp: 20s, policy: round-robin,\n"     \
	"      backends: [ { address: 10.3.0.1, port: 8080 }, { address: 10.3.0.2, port: 8080 } ]" \
	" }\n"                                                                                     \
	"  - { name: b, listen: [ '10.2.0.2:80', '10.2.0.2:53/udp', '[fd02::2]:80',\n"             \
	"      '[fd02::2]:53/udp' ],  " forward ", idle: 5m, udp: 20s, policy: least-conn,\n"      \
	"      backends: [ { address: 'fd03::3', port: 8080 }, { address: 'fd03::4', port: 8080 }" \
	" ] }\n"
#define NATTED_YAML NATTED_YAML_BY("forward: nat")

/* In place of `forward: nat` the same from two addresses of each family. */
#define NATTED_TWO                                                                                 \
	"forward: nat, source: [ 10.3.0.254, 10.3.0.253 ], source6: [ 'fd03::fe', 'fd03::fd' ]"
#define NATTED_SECOND 0x10000 /* beside a port */

/*
 * Beside these, two services of mode local, to each of which two addresses lead: from
 * NATTED_FIRST_LOCAL on clients are theirs. Two of them, c and natted_twin(c), are one, which sends
 * from one port to both addresses.
 */
#define NATTED_LOCAL                                                                               \
	"  - { name: c, listen: [ '10.2.0.3:80', '10.2.0.3:53/udp', '10.2.0.4:80',\n"              \
	"      '10.2.0.4:53/udp' ], forward: local, idle: 5m, udp: 20s, policy: round-robin,\n"    \
	"      backends: [ { address: 10.3.0.5, port: 8080 }, { address: 10.3.0.6, port: 8080 } ]" \
	" }\n"                                                                                     \
	"  - { name: d, listen: [ '[fd02::3]:80', '[fd02::3]:53/udp', '[fd02::4]:80',\n"           \
	"      '[fd02::4]:53/udp' ], forward: local, idle: 5m, udp: 20s, policy: least-conn,\n"    \
	"      backends: [ { address: 'fd03::5', port: 8080 }, { address: 'fd03::6', port: 8080 }" \
	" ] }\n"
#define NATTED_FIRST_LOCAL 63488
#define NATTED_OTHER	   16 /* bit of a number that tells twins apart */

#define NATTED_PORT(c)	 (1000 + natted_end(c))
#define NATTED_SERVER	 8080
#define NATTED_LISTEN(c) (natted_udp(c) ? 53 : 80)

enum natted_kind { SYN, DATA, FIN, RST, UDP, SYN_ACK };

/* Which of the kinds of clients it is. */
static inline bool natted_udp(int c)
{
	return c & 1;
}

static inline bool natted_client_six(int c)
{
	return c & 2;
}

static inline bool natted_local(int c)
{
	return c >= NATTED_FIRST_LOCAL;
}

static inline bool natted_server_six(int c)
{
	return natted_local(c) ? natted_client_six(c) : c & 4;
}

static inline int natted_twin(int c)
{
	return c ^ NATTED_OTHER;
}

/* The number of the one that both are. */
static inline int natted_end(int c)
{
	return natted_local(c) ? c & ~NATTED_OTHER : c;
}

/* Puts such a packet of the client's through, and leaves what came out in f; XDP_*, or TC_ACT_* of
 * what leaves, of mode local. */
int natted_client_sends(struct native *n, int c, enum natted_kind k, __u32 seq, struct frame *f);
/* One of this backend to that port of the balancer; with NATTED_SECOND, of its second source; of
 * mode local, to that port of the client's. */
int natted_server_sends(struct native *n, int c, __u16 member, __u32 port, enum natted_kind k,
			struct frame *f);
/* ICMP errors about either: of a router's on the client's way, and on the backend's. */
int natted_client_error(struct native *n, int c, struct frame *f);
int natted_server_error(struct native *n, int c, __u16 member, __u32 port, struct frame *f);

/* Of a frame that came out, without tags or options. */
__u32 natted_source(const struct frame *f);
/* NATTED_SECOND if it comes from the second source, else 0. */
__u32 natted_from(const struct frame *f);
__u32 natted_destination(const struct frame *f);
/* Is its source the address that the client sends to? */
bool natted_by_service(int c, const struct frame *f);
/* The port whose slot has the flow of a client of mode local; 0: none. */
__u32 natted_slot(const struct native *n, int c);
/* Whom it goes to of the client's backends. */
__u16 natted_member(struct native *n, int c, const struct frame *f);
/* The ports of what an error quotes: source << 16 | destination. */
__u32 natted_quoted(const struct frame *f);
/* Has the balancer itself answered the client? */
bool natted_refused(const struct frame *f);

#endif
