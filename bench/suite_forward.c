// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Suite forward: a packet of a flow that goes on, from frame to frame, by each mode and family, and
 * the answers that we give ourselves: too big, out of hops.
 */
#include <linux/bpf.h>

#include "put.h"

#define LISTEN4	 "10.2.0.1:80"
#define LISTEN6	 "[fd02::1]:80"
#define BACKEND4 "10.3.0.1"
#define BACKEND6 "fd03::1"
#define SYN4	 "ip4 10.1.0.1 > 10.2.0.1 | tcp 1000 > 80 S"
#define SYN6	 "ip6 fd01::1 > fd02::1 | tcp 1000 > 80 S"
#define ACK4	 "ip4 10.1.0.1 > 10.2.0.1 | tcp 1000 > 80 A | data 10"
#define ACK6	 "ip6 fd01::1 > fd02::1 | tcp 1000 > 80 A | data 10"
/* What balancer_resolve() says is ours. */
#define OURS4 "198.51.100.1"
#define OURS6 "2001:db8:3::1"
#define FROM(family, rest)                                                                         \
	"ip" #family " " BACKEND##family " > " OURS##family " | tcp 80 > %u " rest
/* The backend's answer in a flow that is established: client and backend of these families. */
#define BACK(client, backend)                                                                      \
	"nat", {SYN##client, FROM(backend, "SA"), ACK##client}, FROM(backend, "A | data 10"),      \
		XDP_TX, false

/* A recorded flow goes on, under each policy: one of eight backends. */
#define EIGHT                                                                                      \
	BACKEND4 "' }, { address: '10.3.0.2' }, { address: '10.3.0.3' }, { address: '10.3.0.4' }," \
		 " { address: '10.3.0.5' }, { address: '10.3.0.6' }, { address: '10.3.0.7' },"     \
		 " { address: '10.3.0.8"
#define TRACKED(policy)                                                                            \
	{                                                                                          \
		"tracked-" policy, LISTEN4, EIGHT, "ipip, track: always, policy: " policy,         \
			{SYN4, ACK4}, ACK4, XDP_TX, false                                          \
	}

static const struct put frames[] = {
	{"l2-4", LISTEN4, BACKEND4, "l2", {0}, ACK4, XDP_TX, false},
	{"l2-6", LISTEN6, BACKEND6, "l2", {0}, ACK6, XDP_TX, false},
	{"ipip-44", LISTEN4, BACKEND4, "ipip", {0}, ACK4, XDP_TX, false},
	{"ipip-46", LISTEN4, BACKEND6, "ipip", {0}, ACK4, XDP_TX, false},
	{"ipip-64", LISTEN6, BACKEND4, "ipip", {0}, ACK6, XDP_TX, false},
	{"ipip-66", LISTEN6, BACKEND6, "ipip", {0}, ACK6, XDP_TX, false},
	{"gue-44", LISTEN4, BACKEND4, "gue", {0}, ACK4, XDP_TX, false},
	{"gue-46", LISTEN4, BACKEND6, "gue", {0}, ACK4, XDP_TX, false},
	{"gue-64", LISTEN6, BACKEND4, "gue", {0}, ACK6, XDP_TX, false},
	{"gue-66", LISTEN6, BACKEND6, "gue", {0}, ACK6, XDP_TX, false},
	{"nat-44", LISTEN4, BACKEND4, "nat", {SYN4}, ACK4, XDP_TX, false},
	{"nat-66", LISTEN6, BACKEND6, "nat", {SYN6}, ACK6, XDP_TX, false},
	{"nat-46", LISTEN4, BACKEND6, "nat", {SYN4}, ACK4, XDP_TX, false},
	{"nat-64", LISTEN6, BACKEND4, "nat", {SYN6}, ACK6, XDP_TX, false},
	{"nat-back-44", LISTEN4, BACKEND4, BACK(4, 4)},
	{"nat-back-66", LISTEN6, BACKEND6, BACK(6, 6)},
	{"nat-back-46", LISTEN4, BACKEND6, BACK(4, 6)},
	{"nat-back-64", LISTEN6, BACKEND4, BACK(6, 4)},
	TRACKED("maglev"),
	TRACKED("source-hash"),
	TRACKED("round-robin"),
	TRACKED("random"),
	TRACKED("p2c"),
	TRACKED("least-conn"),
	TRACKED("latency-aware"),
	{"too-big-4",
	 LISTEN4,
	 BACKEND4,
	 "ipip",
	 {0},
	 "ip4 10.1.0.1 > 10.2.0.1 df | tcp 1000 > 80 A | data 1460",
	 XDP_TX,
	 true},
	{"too-big-6",
	 LISTEN6,
	 BACKEND6,
	 "ipip",
	 {0},
	 "ip6 fd01::1 > fd02::1 | tcp 1000 > 80 A | data 1440",
	 XDP_TX,
	 true},
	{"no-hops-4",
	 LISTEN4,
	 BACKEND4,
	 "l2",
	 {0},
	 "ip4 10.1.0.1 > 10.2.0.1 ttl 1 | tcp 1000 > 80 A",
	 XDP_TX,
	 true},
	{"no-hops-6",
	 LISTEN6,
	 BACKEND6,
	 "l2",
	 {0},
	 "ip6 fd01::1 > fd02::1 ttl 1 | tcp 1000 > 80 A",
	 XDP_TX,
	 true},
};

void suite_forward(struct cases *cases)
{
	put_suite(cases, "forward", frames, sizeof(frames) / sizeof(frames[0]));
}
