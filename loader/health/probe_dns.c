// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Type dns: a query over UDP (RFC 1035, section 4) is answered without an error and with a record.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "probe_priv.h"

#define HEADER	   12
#define LABEL_MAX  63
#define QUERY_MAX  (HEADER + POISE_CHECK_WORDS + 2 + 4)
#define ANSWER_MAX 512 /* without EDNS nobody sends more */
#define RECURSE	   0x0100
#define RESPONSE   0x8000
#define RCODE	   0x000f
#define CLASS_IN   1

static size_t put16(unsigned char *at, unsigned int v)
{
	at[0] = v >> 8;
	at[1] = v;
	return 2;
}

static unsigned int get16(const unsigned char *at)
{
	return at[0] << 8 | at[1];
}

/* A name as labels; 0 if it is none. Its length with the final 0 is at most strlen + 2. */
static size_t put_name(unsigned char *at, const char *name)
{
	size_t used = 0;

	while (*name) {
		size_t label = strcspn(name, ".");

		if (!label || label > LABEL_MAX)
			return !strcmp(name, ".") ? at[0] = 0, 1 : 0;
		at[used++] = label;
		memcpy(at + used, name, label);
		used += label;
		name += label + (name[label] == '.');
	}
	at[used++] = 0;
	return used;
}

static size_t make_query(const struct probe *p, unsigned char *out)
{
	size_t used = 0, name;

	used += put16(out, p->id);
	used += put16(out + used, RECURSE);
	used += put16(out + used, 1); /* questions */
	memset(out + used, 0, 6);
	used += 6;
	name = put_name(out + used, p->want.conf->query);
	if (!name)
		return 0;
	used += name;
	used += put16(out + used, p->want.conf->query_type);
	return used + put16(out + used, CLASS_IN);
}

static void dns_open(struct probe *p)
{
	unsigned char out[QUERY_MAX];
	size_t length;

	p->doing = "answer";
	p->id = uv_hrtime() >> 10; /* tells our answer from one to an earlier probe */
	length = make_query(p, out);
	if (!length) {
		probe_end(p, false, "query: \"%s\" is no name", p->want.conf->query);
		return;
	}
	if (probe_socket(p, SOCK_DGRAM, IPPROTO_UDP, UV_READABLE))
		return;
	if (send(p->fd, out, length, 0) < 0)
		probe_end(p, false, "send: %s", probe_errno(errno));
}

static const char *rcode(unsigned int code, char *other, size_t size)
{
	static const char *const names[] = {"NOERROR",	"FORMERR", "SERVFAIL",
					    "NXDOMAIN", "NOTIMP",  "REFUSED"};

	if (code < sizeof(names) / sizeof(names[0]))
		return names[code];
	snprintf(other, size, "rcode %u", code);
	return other;
}

enum probe_said probe_dns_said(const void *answer, size_t length, __u16 id, char words[PROBE_WORDS])
{
	const unsigned char *in = answer;
	unsigned int code;
	char other[16];

	if (length < HEADER || get16(in) != id || !(get16(in + 2) & RESPONSE))
		return PROBE_NOT_OURS;
	code = get16(in + 2) & RCODE;
	if (code)
		snprintf(words, PROBE_WORDS, "dns %s", rcode(code, other, sizeof(other)));
	else
		snprintf(words, PROBE_WORDS, "dns %s",
			 get16(in + 6) ? "NOERROR" : "no record of this type");
	return !code && get16(in + 6) ? PROBE_GOOD : PROBE_BAD;
}

static void dns_ready(struct probe *p, int events)
{
	unsigned char in[ANSWER_MAX];
	ssize_t got = recv(p->fd, in, sizeof(in), 0);
	char words[PROBE_WORDS];
	enum probe_said said;

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got < 0) {
		probe_end(p, false, "answer: %s", probe_errno(errno));
		return;
	}
	said = probe_dns_said(in, (size_t)got, p->id, words);
	/* Not ours: go on waiting, whoever sent it may be late or lying. */
	if (said != PROBE_NOT_OURS)
		probe_end(p, said == PROBE_GOOD, "%s", words);
}

const struct probe_kind probe_dns = {.open = dns_open, .ready = dns_ready};
