// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Clients' way for a probe: an entry of map `probes`, whose port its socket is bound to. The
 * programs at TC do the rest (bpf/probe.bpf.c). Entries are shared by whoever checks, poised and
 * `poise health test`, and each lapses by itself: nobody has to clear up after the dead.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>

#include "maps/clock.h"
#include "maps/text.h"
#include "probe_priv.h"

#define LAPSE_MS   5000 /* longer than its time-out no probe is late by */
#define PORT_TRIES 64	/* ports that somebody else may have, of the range */
#define VLANS_MAX  1	/* a frame with more has tags that TC would have to look for */

/* The way out of a member; NULL: none. */
static const struct poise_path *path_of(const struct instance *i, __u16 member)
{
	__u64 nexthop = __atomic_load_n(&i->members[member].nexthop, __ATOMIC_RELAXED);

	return nexthop && nexthop >> 48 < i->meta->paths ? &i->paths[nexthop >> 48] : NULL;
}

bool prober_has_hop(const struct prober *r, __u16 member)
{
	return !r->instance || path_of(r->instance, member);
}

/* Bytes that the mode puts in front of an IP packet. */
static int overhead(const struct poise_member *m)
{
	int outer = m->flags & POISE_F_V6 ? sizeof(struct ip6_hdr) : sizeof(struct iphdr);

	if (m->mode == POISE_L2)
		return 0;
	return outer + (m->mode == POISE_GUE ? (int)sizeof(struct udphdr) : 0);
}

/* Whether an entry of which this was read can be had. */
static bool claim(struct poise_probe *e, __u64 now, __u64 until)
{
	__u64 was = __atomic_load_n(&e->until, __ATOMIC_RELAXED);

	return was <= now && __atomic_compare_exchange_n(&e->until, &was, until, false,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void give_back(struct poise_probe *e)
{
	__atomic_store_n(&e->proto, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&e->until, 0, __ATOMIC_RELEASE);
}

/* An entry nobody has, whose port the socket is bound to; NULL: there is none. */
static struct poise_probe *take(struct probe *p, int fd)
{
	struct poise_probe *probes = p->prober->instance->probes;
	__u64 now = uv_hrtime(), until;
	struct sockaddr_storage from;
	union poise_addr source;
	socklen_t length;
	int tries = 0;

	probe_source(&p->want, &source);
	until = now + (p->want.conf->timeout + LAPSE_MS) * NS_PER_MS;
	for (__u32 n = 0; n < POISE_PROBE_PORTS && tries < PORT_TRIES; n++) {
		__u32 at = p->prober->turn++ % POISE_PROBE_PORTS;

		if (!claim(&probes[at], now, until))
			continue;
		__atomic_store_n(&probes[at].proto, 0, __ATOMIC_RELAXED);
		length = probe_sockaddr(&source, POISE_PROBE_PORT + at, &from);
		if (!bind(fd, (struct sockaddr *)&from, length))
			return &probes[at];
		give_back(&probes[at]);
		tries++;
	}
	return NULL;
}

static void fill(const struct probe *p, struct poise_probe *e, int protocol)
{
	e->backend = p->want.addr;
	e->address = p->want.address;
	e->member = p->want.member;
	e->port = htons(p->want.port);
	e->flags = p->want.small ? 0 : POISE_PROBE_FULL;
	__atomic_store_n(&e->proto, (__u8)protocol, __ATOMIC_RELEASE);
}

/* Segments are no larger than the path takes, and the port is free again at once: with thousands of
 * checks it comes back before TIME_WAIT would be over. */
static void set_tcp(const struct probe *p, int fd, const struct poise_path *path)
{
	const struct linger reset = {.l_onoff = 1};
	int most = path ? path->mtu - overhead(&p->prober->instance->members[p->want.member]) : 0;

	most -= poise_addr_is4(&p->want.addr) ? sizeof(struct iphdr) : sizeof(struct ip6_hdr);
	most -= sizeof(struct tcphdr);
	if (most > 0)
		setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &most, sizeof(most));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

void probe_way(struct probe *p, int fd, int protocol)
{
	const struct poise_path *path;

	if (!p->want.by_path || p->entry)
		return;
	path = path_of(p->prober->instance, p->want.member);
	if (path && path->vlans > VLANS_MAX)
		return;
	p->entry = take(p, fd);
	p->portless = !p->entry;
	if (!p->entry)
		return;
	fill(p, p->entry, protocol);
	if (protocol == IPPROTO_TCP)
		set_tcp(p, fd, path);
	p->result.by_path = true;
}

void probe_way_end(struct probe *p)
{
	if (p->entry)
		give_back(p->entry);
	p->entry = NULL;
}
