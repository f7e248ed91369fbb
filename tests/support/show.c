// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Frames back into words, and two of them side by side: what a failing test prints.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

#define SHOWN_BYTES 24 /* of payload */
#define COLUMN	    74

struct show {
	char text[4096];
	size_t used;
	const __u8 *p;
	const __u8 *end;
};

__attribute__((format(printf, 2, 3))) static void say(struct show *s, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->text + s->used, sizeof(s->text) - s->used, format, args);
	va_end(args);
	if (n > 0 && s->used + (size_t)n < sizeof(s->text))
		s->used += (size_t)n;
}

static unsigned int get16(const __u8 *p)
{
	return (unsigned int)p[0] << 8 | p[1];
}

static size_t left(const struct show *s)
{
	return (size_t)(s->end - s->p);
}

static const char *mac_name(const __u8 *mac, char buf[24])
{
	static const char *const names[] = {FRAME_MAC_NAMES};
	static const __u8 base[] = {FRAME_MAC_BASE};
	bool known = !memcmp(mac, base, sizeof(base));

	if (known && mac[4] == FRAME_MAC_OURS && mac[5] &&
	    mac[5] <= sizeof(names) / sizeof(names[0]))
		return names[mac[5] - 1];
	if (known && mac[4] == FRAME_MAC_BACKEND)
		snprintf(buf, 24, "b%u", mac[5]);
	else
		snprintf(buf, 24, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
			 mac[4], mac[5]);
	return buf;
}

static void show_rest(struct show *s)
{
	size_t n = left(s);

	if (!n)
		return;
	say(s, "rest %zu:", n);
	for (size_t k = 0; k < n && k < SHOWN_BYTES; k++)
		say(s, " %02x", s->p[k]);
	say(s, "%s\n", n > SHOWN_BYTES ? " ..." : "");
	s->p = s->end;
}

static void show_l4(struct show *s, unsigned int proto)
{
	const __u8 *p = s->p;

	if (proto == IPPROTO_TCP && left(s) >= 20) {
		say(s, "tcp %u > %u flags %02x seq %u csum 0x%04x off %u\n", get16(p), get16(p + 2),
		    p[13], get16(p + 4) << 16 | get16(p + 6), get16(p + 16), p[12] >> 4);
		s->p += 20;
	} else if (proto == IPPROTO_UDP && left(s) >= 8) {
		say(s, "udp %u > %u len %u csum 0x%04x\n", get16(p), get16(p + 2), get16(p + 4),
		    get16(p + 6));
		s->p += 8;
	} else if ((proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6) && left(s) >= 8) {
		say(s, "icmp %u code %u\n", p[0], p[1]);
		s->p += 8;
	}
	show_rest(s);
}

static void show_ip(struct show *s, unsigned int proto);

static void show_next(struct show *s, unsigned int proto)
{
	if (proto == IPPROTO_IPIP || proto == IPPROTO_IPV6)
		show_ip(s, proto);
	else
		show_l4(s, proto);
}

static void show_ip4(struct show *s)
{
	const __u8 *p = s->p;
	char from[INET_ADDRSTRLEN], to[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, p + 12, from, sizeof(from));
	inet_ntop(AF_INET, p + 16, to, sizeof(to));
	say(s, "ip4 %s > %s ttl %u tos 0x%02x\n", from, to, p[8], p[1]);
	say(s, "    first 0x%02x len %u id %u frag 0x%04x proto %u csum 0x%04x\n", p[0],
	    get16(p + 2), get16(p + 4), get16(p + 6), p[9], get16(p + 10));
	s->p += 20;
	for (unsigned int k = 5; k < (p[0] & 15u) && left(s) >= 4; k++, s->p += 4)
		say(s, "    option %02x%02x%02x%02x\n", s->p[0], s->p[1], s->p[2], s->p[3]);
	show_next(s, p[9]);
}

static void show_ip6(struct show *s)
{
	const __u8 *p = s->p;
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, p + 8, from, sizeof(from));
	inet_ntop(AF_INET6, p + 24, to, sizeof(to));
	say(s, "ip6 %s > %s ttl %u\n", from, to, p[7]);
	say(s, "    first 0x%04x flow 0x%04x len %u next %u\n", get16(p), get16(p + 2),
	    get16(p + 4), p[6]);
	s->p += 40;
	show_next(s, p[6]);
}

static void show_ip(struct show *s, unsigned int proto)
{
	if (proto == IPPROTO_IPIP && left(s) >= 20)
		show_ip4(s);
	else if (proto == IPPROTO_IPV6 && left(s) >= 40)
		show_ip6(s);
	else
		show_rest(s);
}

char *frame_show(const struct frame *f)
{
	struct show s = {.p = f->byte, .end = f->byte + f->length};
	char from[24], to[24];
	unsigned int type;

	say(&s, "%zu bytes\n", f->length);
	if (f->length < 14) {
		show_rest(&s);
		return strdup(s.text);
	}
	type = get16(s.p + 12);
	say(&s, "eth %s > %s type 0x%04x\n", mac_name(s.p + 6, from), mac_name(s.p, to), type);
	s.p += 14;
	while ((type == 0x8100 || type == 0x88a8) && left(&s) >= 4) {
		type = get16(s.p + 2);
		say(&s, "vlan tci 0x%04x type 0x%04x\n", get16(s.p), type);
		s.p += 4;
	}
	if (type == 0x0800)
		show_ip(&s, IPPROTO_IPIP);
	else if (type == 0x86dd)
		show_ip(&s, IPPROTO_IPV6);
	else
		show_rest(&s);
	return strdup(s.text);
}

void frame_print_difference(const struct frame *expected, const struct frame *actual)
{
	char *a = frame_show(expected), *b = frame_show(actual);
	char *x = a, *y = b;
	size_t k = 0;

	fprintf(stderr, "  %-*s  %s\n", COLUMN, "expected", "actual");
	while (*x || *y) {
		int n = (int)strcspn(x, "\n"), m = (int)strcspn(y, "\n");
		bool same = n == m && !strncmp(x, y, (size_t)n);

		fprintf(stderr, "%c %-*.*s  %.*s\n", same ? ' ' : '!', COLUMN, n, x, m, y);
		x += n + (x[n] == '\n');
		y += m + (y[m] == '\n');
	}
	while (k < expected->length && k < actual->length && expected->byte[k] == actual->byte[k])
		k++;
	if (k < expected->length || k < actual->length)
		fprintf(stderr, "  first difference at byte %zu\n", k);
	free(a);
	free(b);
}

size_t frame_ip_at(const struct frame *f)
{
	size_t at = 12;

	while (at + 2 <= f->length &&
	       (get16(f->byte + at) == 0x8100 || get16(f->byte + at) == 0x88a8))
		at += 4;
	if (at + 2 > f->length || at > 20)
		return 0;
	if (get16(f->byte + at) != 0x0800 && get16(f->byte + at) != 0x86dd)
		return 0;
	return at + 2;
}

size_t frame_ip_end(const struct frame *f)
{
	size_t at = frame_ip_at(f);

	if (!at || at + 20 > f->length)
		return 0;
	if (get16(f->byte + at - 2) == 0x0800)
		return at + get16(f->byte + at + 2);
	return at + 40 + get16(f->byte + at + 4);
}
