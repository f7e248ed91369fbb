/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why packets were not forwarded, and what happened in passing: the ABI's counters with names. */
#ifndef POISE_REASONS_H
#define POISE_REASONS_H

/* Why a packet for a service was not forwarded: R(SYMBOL, "name", "sentence for the manual") */
#define POISE_REASONS(R)                                                                           \
	R(NO_BACKEND, "no-backend", "no backend of the service may be chosen")                     \
	R(NO_NEXT_HOP, "no-next-hop", "the flow's backend has no resolved next hop")               \
	R(TTL, "ttl-expired", "TTL or hop limit of 1 or less: not forwarded further")              \
	R(TOO_BIG, "too-big", "larger than the path's MTU once encapsulated")                      \
	R(NO_SOURCE, "no-source", "no outer source address of the backend's family on the path")   \
	R(NO_HEADROOM, "no-headroom", "the driver left no room in front of the packet")            \
	R(UNSUPPORTED, "unsupported-mode", "more than the backend's forward mode can do with it")  \
	R(BROKEN, "broken-record", "a record contradicts itself; run poise map check")             \
	R(FRAGMENT, "fragment-unknown", "a later fragment before the first, and nobody to guess")  \
	R(FULL, "full", "every backend has as many flows as its max-conns allows")                 \
	R(RATE, "rate", "more new flows than the service's rate allows")                           \
	R(NO_LISTENER, "no-listener",                                                              \
	  "no service listens on that port or protocol of the address")                            \
	R(NO_ECHO, "no-echo",                                                                      \
	  "an echo request that is not answered (ping no, usable; or it came in fragments)")       \
	R(SOURCE, "source-denied", "the client's address is not allowed or is denied")             \
	R(DOWN, "backend-down", "the flow's backend is down, and on-down says reset")              \
	R(NO_PORT, "no-port", "mode nat: every port towards the backend is in use")                \
	R(PORT_BUSY, "port-busy",                                                                  \
	  "mode nat: the backend knows an older connection by this port; that is reset, and the "  \
	  "client's SYN comes again")                                                              \
	R(NO_FLOW, "no-flow", "mode nat: a reset, or an ICMP error, of a flow that is not known")

/* What happened in passing, counted per service beside the drops: same table, same manual. */
#define POISE_EVENTS(R)                                                                            \
	R(UNRECORDED, "flow-not-recorded", "the flow's bucket was full of established flows")      \
	R(EVICTED, "flow-evicted", "an unfinished flow's record had to make room for another")     \
	R(DUPLICATE, "flow-duplicate", "two CPUs recorded one flow; one record was withdrawn")     \
	R(ALTERNATE, "alternate", "the table's first choice could not be used")                    \
	R(ICMP_ERROR, "icmp-error-routed",                                                         \
	  "an ICMP error went where the packet it quotes belongs")                                 \
	R(ANSWERED_RST, "answered-rst", "not forwarded, but refused with a TCP reset")             \
	R(ANSWERED_ICMP, "answered-icmp", "not forwarded, but answered with an ICMP error")        \
	R(ANSWER_LIMITED, "answer-limited", "not answered: the limit of answers was reached")      \
	R(QUIC, "quic-routed", "a QUIC packet went to the backend that its connection id names")   \
	R(FRAGMENTS, "fragment-forwarded", "a fragment went where its datagram belongs")           \
	R(FRAGMENT_GUESS, "fragment-guessed",                                                      \
	  "a later fragment before the first chose the backend")                                   \
	R(OUTER_RELAYED, "outer-error-relayed",                                                    \
	  "a router's ICMP error about an encapsulated packet was passed on to the client")        \
	R(OUTER_PASSED, "outer-error-passed",                                                      \
	  "an ICMP error about an encapsulated packet was left to the host")                       \
	R(ECHO, "echo-answered", "an echo request was answered")                                   \
	R(PRESSURE, "flow-under-pressure",                                                         \
	  "a flow began by the table, since young ones were being evicted")                        \
	R(CUT, "cut-in-two",                                                                       \
	  "an IPv4 packet too big for the path, without DF, became two fragments")                 \
	R(REPLY, "reply-forwarded", "mode nat: an answer of a backend went back to its client")

enum poise_reason {
#define POISE_REASON_ENUM(sym, name, text) POISE_R_##sym,
	POISE_REASONS(POISE_REASON_ENUM) POISE_DROP_REASONS,
	POISE_R_LAST_DROP = POISE_DROP_REASONS - 1,
	POISE_EVENTS(POISE_REASON_ENUM) POISE_R_COUNT,
};

#define POISE_REASON_SLOTS 64 /* room for more without a new ABI */

/* Map `drops`: PERCPU_ARRAY [service id], id 0 for what belongs to none. */
struct poise_drops {
	__u64 count[POISE_REASON_SLOTS];
};

POISE_ASSERT_SIZE(struct poise_drops, 512);

#endif
