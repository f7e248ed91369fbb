// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Clients of mode nat, by number; see natted.h. */
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "natted.h"

#define ICMP_BYTES 8
#define WORDS	   320 /* room for a packet in words */

/* ---- words ------------------------------------------------------------------------------------*/

static const char *letters(enum natted_kind k)
{
	static const char *const flags[] = {"S", "A", "FA", "R", "", "SA"};

	return flags[k];
}

static const char *version(bool six)
{
	return six ? "ip6" : "ip4";
}

/* The last number of the service's address. */
static int vip_of(int c)
{
	if (natted_local(c))
		return c & NATTED_OTHER ? 4 : 3;
	return natted_server_six(c) ? 2 : 1;
}

static void client_words(int c, char addr[40], char vip[40])
{
	snprintf(addr, 40, natted_client_six(c) ? "fd01::%x" : "10.1.0.%d",
		 natted_end(c) % 200 + 1);
	snprintf(vip, 40, natted_client_six(c) ? "fd02::%d" : "10.2.0.%d", vip_of(c));
}

static void server_words(const struct native *n, int c, __u16 member, char addr[40])
{
	snprintf(addr, 40, natted_server_six(c) ? "fd03::%x" : "10.3.0.%d",
		 n->i->members[member].addr.b[15]);
}

static const char *source_words(int c, __u32 port)
{
	if (port & NATTED_SECOND)
		return natted_server_six(c) ? "fd03::fd" : "10.3.0.253";
	return natted_server_six(c) ? "fd03::fe" : "10.3.0.254";
}

/* "ip4 A > B | tcp 1 > 2 S seq 3": from and to are of the family. */
static void packet_words(char words[WORDS], bool six, const char *from, const char *to, int sport,
			 int dport, bool udp, enum natted_kind k, __u32 seq)
{
	int used = snprintf(words, WORDS, "%s %s > %s | %s %d > %d", version(six), from, to,
			    udp ? "udp" : "tcp", sport, dport);

	if (!udp)
		snprintf(words + used, WORDS - (size_t)used, " %s seq %u", letters(k), seq);
}

/* No port, of the other end's host: unreachable. */
static int send_error(struct native *n, bool six, const char *to, const char *about, bool leaves,
		      struct frame *f)
{
	char words[2 * WORDS];

	snprintf(words, sizeof(words), "%s %s > %s | %s | %s", version(six),
		 six ? "fd09::1" : "10.9.0.1", to, six ? "icmp6 1 code 4" : "icmp 3 code 3", about);
	return leaves ? native_leave(n, f, words) : native_send(n, f, words);
}

/* ---- packets ----------------------------------------------------------------------------------*/

int natted_client_sends(struct native *n, int c, enum natted_kind k, __u32 seq, struct frame *f)
{
	char words[WORDS], addr[40], vip[40];

	client_words(c, addr, vip);
	packet_words(words, natted_client_six(c), addr, vip, NATTED_PORT(c), NATTED_LISTEN(c),
		     natted_udp(c), k, seq);
	return native_send(n, f, words);
}

int natted_server_sends(struct native *n, int c, __u16 member, __u32 port, enum natted_kind k,
			struct frame *f)
{
	char words[WORDS], addr[40], client[40], vip[40];

	server_words(n, c, member, addr);
	client_words(c, client, vip);
	packet_words(words, natted_server_six(c), addr,
		     natted_local(c) ? client : source_words(c, port), NATTED_SERVER,
		     (int)(port & 0xffff), natted_udp(c), k, 0);
	return natted_local(c) ? native_leave(n, f, words) : native_send(n, f, words);
}

int natted_client_error(struct native *n, int c, struct frame *f)
{
	char words[WORDS], addr[40], vip[40];

	client_words(c, addr, vip);
	packet_words(words, natted_client_six(c), vip, addr, NATTED_LISTEN(c), NATTED_PORT(c),
		     natted_udp(c), DATA, 0);
	return send_error(n, natted_client_six(c), vip, words, false, f);
}

int natted_server_error(struct native *n, int c, __u16 member, __u32 port, struct frame *f)
{
	char words[WORDS], addr[40], client[40], vip[40];
	const char *from = natted_local(c) ? client : source_words(c, port);

	server_words(n, c, member, addr);
	client_words(c, client, vip);
	packet_words(words, natted_server_six(c), from, addr, (int)(port & 0xffff), NATTED_SERVER,
		     natted_udp(c), DATA, 0);
	return send_error(n, natted_server_six(c), from, words, natted_local(c), f);
}

/* ---- what came out ----------------------------------------------------------------------------*/

static size_t ip_bytes(const struct frame *f)
{
	return f->byte[12] == 0x08 ? 20 : 40;
}

static __u32 half(const struct frame *f, size_t at)
{
	return (__u32)(f->byte[at] << 8 | f->byte[at + 1]);
}

__u32 natted_source(const struct frame *f)
{
	return half(f, ETH_HLEN + ip_bytes(f));
}

__u32 natted_from(const struct frame *f)
{
	__u8 last = f->byte[ETH_HLEN + (ip_bytes(f) == 20 ? 15 : 23)];

	return last == 253 ? NATTED_SECOND : 0;
}

bool natted_by_service(int c, const struct frame *f)
{
	const __u8 *from = &f->byte[ETH_HLEN + (ip_bytes(f) == 20 ? 12 : 8)];

	return from[1] == 2 && from[ip_bytes(f) == 20 ? 3 : 15] == vip_of(c);
}

__u32 natted_slot(const struct native *n, int c)
{
	const __u32 ports = htons((__u16)NATTED_PORT(c)) | (__u32)htons(NATTED_LISTEN(c)) << 16;

	for (__u32 port = NATIVE_PORT_LOW; port <= NATIVE_PORT_HIGH; port++) {
		const struct poise_slot *s = &n->i->slots[port];
		__u32 state = POISE_WORD_STATE(s->head);

		if (s->ports == ports && s->address.b[15] == vip_of(c) && state >= POISE_FLOW_NEW &&
		    state <= POISE_FLOW_RST)
			return port;
	}
	return 0;
}

__u32 natted_destination(const struct frame *f)
{
	return half(f, ETH_HLEN + ip_bytes(f) + 2);
}

__u32 natted_quoted(const struct frame *f)
{
	size_t at = ETH_HLEN + 2 * ip_bytes(f) + ICMP_BYTES;

	return half(f, at) << 16 | half(f, at + 2);
}

__u16 natted_member(struct native *n, int c, const struct frame *f)
{
	char addr[40];

	snprintf(addr, sizeof(addr), natted_server_six(c) ? "fd03::%x" : "10.3.0.%d",
		 f->byte[ETH_HLEN + (natted_server_six(c) ? 39 : 19)]);
	return native_member(n, addr);
}

bool natted_refused(const struct frame *f)
{
	__u8 gw[6];

	frame_mac("gw", gw);
	return !memcmp(f->byte, gw, sizeof(gw));
}
