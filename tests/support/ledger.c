// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A ledger of flows (ledger.h).
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "ledger.h"

/* Where things stand in a frame of IPv4 without options. */
#define SOURCE_AT 26
#define SPORT_AT  34
#define FLAGS_AT  47
#define SYN	  0x02
#define ACK	  0x10

#define PORTS 60000 /* of a client's address; the first is 1 */

static void template(struct ledger *l, int udp, const char *service)
{
	char words[96];
	struct frame f;

	snprintf(words, sizeof(words), "ip4 10.1.0.0 > %s | %s | data 4", service,
		 udp ? "udp 1 > 53" : "tcp 1 > 80 A");
	frame_build(&f, words);
	cr_assert(f.length <= LEDGER_FRAME);
	memcpy(l->frame[udp], f.byte, f.length);
	l->length[udp] = f.length;
}

void ledger_open_to(struct ledger *l, size_t flows, __u64 seed, const char *service)
{
	memset(l, 0, sizeof(*l));
	l->flow = calloc(flows, sizeof(*l->flow));
	cr_assert(l->flow);
	l->flows = flows;
	l->random = seed;
	template(l, 0, service);
	template(l, 1, service);
}

void ledger_open(struct ledger *l, size_t flows, __u64 seed)
{
	ledger_open_to(l, flows, seed, LEDGER_SERVICE);
}

void ledger_close(struct ledger *l)
{
	free(l->flow);
}

/* splitmix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
__u32 ledger_random(struct ledger *l, __u32 n)
{
	__u64 x = l->random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (__u32)((x ^ x >> 31) % n);
}

static int put_through(struct ledger *l, const struct ledger_flow *f, __u8 flags)
{
	__u8 *frame = l->frame[f->udp];
	__u32 host = f->client / PORTS, port = f->client % PORTS + 1;

	frame[SOURCE_AT + 2] = (__u8)(host >> 8);
	frame[SOURCE_AT + 3] = (__u8)host;
	frame[SPORT_AT] = (__u8)(port >> 8);
	frame[SPORT_AT + 1] = (__u8)port;
	if (!f->udp)
		frame[FLAGS_AT] = flags;
	l->packets++;
	return l->send(l->ctx, frame, l->length[f->udp]);
}

static void went(struct ledger *l, struct ledger_flow *f, int to, const char *what)
{
	if (!to) {
		l->lost++;
	} else if (to != f->backend && f->backend && f->backend != LEDGER_ANY) {
		if (!l->moved++)
			snprintf(l->first, sizeof(l->first),
				 "%s %u, silent for %u s at %u s, %s: from backend %u to %d",
				 f->udp ? "UDP" : "TCP", f->client, l->now - f->last, l->now, what,
				 f->backend, to);
	}
	if (to)
		f->backend = (__u8)to;
	f->last = l->now;
}

void ledger_begin(struct ledger *l, size_t at, bool udp)
{
	struct ledger_flow *f = &l->flow[at];

	*f = (struct ledger_flow){.client = l->clients++, .udp = udp, .last = l->now};
	went(l, f, put_through(l, f, SYN), "its first packet");
	went(l, f, put_through(l, f, ACK), "its second packet");
	l->begun++;
}

void ledger_talk(struct ledger *l, size_t at)
{
	struct ledger_flow *f = &l->flow[at];

	if (f->backend && l->now - f->last <= (f->udp ? l->udp : l->idle)) {
		went(l, f, put_through(l, f, ACK), "in its middle");
		return;
	}
	l->over += f->backend != 0;
	ledger_begin(l, at, ledger_random(l, 2));
}

void ledger_release(struct ledger *l, int backend, bool udp_only)
{
	for (size_t f = 0; f < l->flows; f++)
		if (l->flow[f].backend == backend && (l->flow[f].udp || !udp_only))
			l->flow[f].backend = l->flow[f].udp ? LEDGER_ANY : 0;
}

void ledger_talk_some(struct ledger *l, size_t n)
{
	while (n--)
		ledger_talk(l, ledger_random(l, (__u32)l->flows));
}

void ledger_talk_all(struct ledger *l)
{
	for (size_t f = 0; f < l->flows; f++)
		ledger_talk(l, f);
}
