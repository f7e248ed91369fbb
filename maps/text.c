// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Addresses, endpoints, listeners and names as typed. Parsing is strict: a text has one meaning or
 * none, and nothing is ever looked up in DNS. An address that can only be a mistake where traffic
 * goes to or comes from (0.0.0.0, multicast) is refused here, so that no caller forgets it.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define PORT_DIGITS 5 /* 65535 */

bool poise_addr_is4(const union poise_addr *a)
{
	return a->q[0] == 0 && a->w[2] == htonl(0xffff);
}

bool poise_addr_is_zero(const union poise_addr *a)
{
	return a->q[0] == 0 && a->q[1] == 0;
}

bool poise_addr_is_loopback(const union poise_addr *a)
{
	static const union poise_addr one = {.b = {[15] = 1}};

	return poise_addr_is4(a) ? a->b[12] == 127 : !poise_addr_cmp(a, &one);
}

int poise_addr_cmp(const union poise_addr *a, const union poise_addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}

int poise_parse_addr(const char *text, union poise_addr *a, struct poise_error *err)
{
	union poise_addr got = {0};
	char four[POISE_ADDR_TEXT];

	if (inet_pton(AF_INET, text, &got.w[3]) == 1) {
		got.w[2] = htonl(0xffff);
		*a = got;
		return 0;
	}
	if (strchr(text, '%'))
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "an address with a zone (%%DEVICE) is not supported");
	if (inet_pton(AF_INET6, text, got.b) != 1)
		return poise_fail_text(err, POISE_E_BAD_VALUE, text, "not an IPv4 or IPv6 address");
	if (poise_addr_is4(&got))
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "an IPv4 address in IPv6 form: write %s",
				       poise_format_addr(&got, four, sizeof(four)));
	*a = got;
	return 0;
}

char *poise_format_addr(const union poise_addr *a, char *buf, size_t size)
{
	bool four = poise_addr_is4(a);

	if (!inet_ntop(four ? AF_INET : AF_INET6, four ? (const void *)&a->w[3] : a->b, buf,
		       (socklen_t)size) &&
	    size)
		buf[0] = '\0';
	return buf;
}

/* Why no flow can go to or come from an address; NULL if one can. */
static const char *unusable(const union poise_addr *a)
{
	if (poise_addr_is4(a)) {
		if (a->b[12] == 0)
			return "not the address of a host";
		if (a->b[12] >= 224 && a->b[12] <= 239)
			return "a multicast address";
		if (a->w[3] == 0xffffffff)
			return "the broadcast address";
		return NULL;
	}
	if (poise_addr_is_zero(a))
		return "not the address of a host";
	return a->b[0] == 0xff ? "a multicast address" : NULL;
}

int poise_parse_host(const char *text, union poise_addr *a, struct poise_error *err)
{
	union poise_addr got = {0};
	const char *why;

	if (poise_parse_addr(text, &got, err))
		return -1;
	why = unusable(&got);
	if (why)
		return poise_fail_text(err, POISE_E_BAD_VALUE, text, "%s", why);
	*a = got;
	return 0;
}

/* Port as digits, or * for 0; NULL if it is none. */
static const char *parse_port(const char *text, size_t length, __u16 *port)
{
	unsigned long value = 0;

	if (length == 1 && text[0] == '*') {
		*port = 0;
		return text;
	}
	if (!length || length > PORT_DIGITS || (length > 1 && text[0] == '0'))
		return NULL;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return NULL;
		value = value * 10 + (unsigned long)(text[i] - '0');
	}
	if (value > 65535)
		return NULL;
	*port = htons((__u16)value);
	return text;
}

int poise_parse_port(const char *text, __u16 *port, struct poise_error *err)
{
	if (parse_port(text, strlen(text), port))
		return 0;
	return poise_fail_text(err, POISE_E_BAD_VALUE, text, "not a port (0..65535)");
}

/*
 * Splits "ADDR", "[ADDR]", "ADDR:PORT" or "[ADDR]:PORT" of length bytes into the address and where
 * the port begins (NULL: none). More than one colon without brackets is a bare IPv6 address.
 * Returns false if brackets or lengths are wrong.
 */
static bool split_endpoint(const char *text, size_t length, char addr[POISE_ADDR_TEXT],
			   const char **port)
{
	const char *end = text + length;
	const char *colon = memchr(text, ':', length);
	const char *stop = end;

	*port = NULL;
	if (length && text[0] == '[') {
		stop = memchr(text, ']', length);
		if (!stop || (stop + 1 != end && stop[1] != ':'))
			return false;
		text++;
		if (!memchr(text, ':', (size_t)(stop - text)))
			return false;
		if (stop + 1 != end)
			*port = stop + 2;
	} else if (colon && !memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
		stop = colon;
		*port = colon + 1;
	}
	if (stop == text || stop - text >= POISE_ADDR_TEXT)
		return false;
	memcpy(addr, text, (size_t)(stop - text));
	addr[stop - text] = '\0';
	return true;
}

int poise_parse_endpoint(const char *text, union poise_addr *a, __u16 *port,
			 struct poise_error *err)
{
	char addr[POISE_ADDR_TEXT];
	union poise_addr got;
	const char *digits;
	__u16 number = 0;

	if (!split_endpoint(text, strlen(text), addr, &digits))
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "not an IPv4 or IPv6 address, or ADDR:PORT, or [IPv6]:PORT");
	if (poise_parse_host(addr, &got, err))
		return -1;
	if (digits && !parse_port(digits, strlen(digits), &number))
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "what follows the colon is not a port (0..65535)");
	*a = got;
	*port = number;
	return 0;
}

char *poise_format_endpoint(const union poise_addr *a, __u16 port, char *buf, size_t size)
{
	char addr[POISE_ADDR_TEXT];

	poise_format_addr(a, addr, sizeof(addr));
	if (!port)
		snprintf(buf, size, "%s", addr);
	else
		snprintf(buf, size, poise_addr_is4(a) ? "%s:%u" : "[%s]:%u", addr, ntohs(port));
	return buf;
}

/* Takes "/tcp" or "/udp" off the end. Returns the length before it, or -1 for another protocol. */
static ssize_t split_protocol(const char *text, __u8 *proto)
{
	const char *slash = strchr(text, '/');

	*proto = IPPROTO_TCP;
	if (!slash)
		return (ssize_t)strlen(text);
	if (!strcmp(slash, "/udp"))
		*proto = IPPROTO_UDP;
	else if (strcmp(slash, "/tcp"))
		return -1;
	return slash - text;
}

int poise_parse_listener(const char *text, struct poise_listener_conf *l, struct poise_error *err)
{
	struct poise_listener_conf got = {0};
	char addr[POISE_ADDR_TEXT];
	const char *digits;
	ssize_t length = split_protocol(text, &got.proto);

	if (length < 0)
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "a listener's protocol is /tcp or /udp");
	if (!split_endpoint(text, (size_t)length, addr, &digits))
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "not a listener: ADDR:PORT[/tcp|/udp], IPv6 in [ ]");
	if (poise_parse_host(addr, &got.addr, err))
		return -1;
	if (!digits) {
		poise_fail_text(err, POISE_E_BAD_VALUE, text, "a listener needs a port");
		return poise_error_remedy(err,
					  poise_addr_is4(&got.addr)
						  ? "write %s:80, or %s:0 for every port"
						  : "write [%s]:80, or [%s]:0 for every port",
					  addr, addr);
	}
	if (!parse_port(digits, (size_t)(text + length - digits), &got.port))
		return poise_fail_text(
			err, POISE_E_BAD_VALUE, text,
			"what follows the colon is not a port (1..65535, 0 or * for every port)");
	*l = got;
	return 0;
}

char *poise_format_listener(const struct poise_listener_conf *l, char *buf, size_t size)
{
	char addr[POISE_ADDR_TEXT];

	poise_format_addr(&l->addr, addr, sizeof(addr));
	snprintf(buf, size, poise_addr_is4(&l->addr) ? "%s:%u%s" : "[%s]:%u%s", addr,
		 ntohs(l->port), l->proto == IPPROTO_UDP ? "/udp" : "");
	return buf;
}

static bool letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

int poise_check_name(const char *text, struct poise_error *err)
{
	static const char *const reserved[] = {"all", "default"};
	size_t length = strlen(text);

	if (!length || length >= POISE_NAME_MAX)
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "a name has 1 to %d characters", POISE_NAME_MAX - 1);
	for (size_t i = 0; i < length; i++)
		if (!letter_or_digit(text[i]) && (!i || !strchr("._-", text[i])))
			return poise_fail_text(
				err, POISE_E_BAD_VALUE, text,
				"a name is letters, digits, '.', '_' and '-', and begins with a "
				"letter or digit");
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcmp(text, reserved[i]))
			return poise_fail_text(err, POISE_E_BAD_VALUE, text,
					       "a word commands use: no name");
	/* Also what was meant as an address: 10.0.0.300 */
	if (strchr(text, '.') && text[strspn(text, "0123456789.")] == '\0')
		return poise_fail_text(err, POISE_E_BAD_VALUE, text,
				       "reads like an address: no name");
	return 0;
}
