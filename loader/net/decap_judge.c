/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The judgement: what in these facts keeps a client from an answer, one sentence each. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../maps/text.h"
#include "decap_check.h"

#define CLIENT_MTU   1500 /* of a full-sized packet on the way to us */
#define OUTER4	     20	  /* bytes an IPv4 header in front takes */
#define OUTER6	     40
#define OUTER_UDP    8
#define TCP_HEADERS4 40 /* IPv4 and TCP without options: MTU minus these is an MSS */
#define TCP_HEADERS6 60
#define REMEDY_BYTES 256
#define ROOMY_MTU    1600 /* what we recommend: room for either header and some */

struct judging {
	decap_say say;
	void *ctx;
	int found;
};

static void fault(struct judging *j, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void fault(struct judging *j, const char *remedy, const char *fmt, ...)
{
	char sentence[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	j->say(j->ctx, sentence, remedy);
	j->found++;
}

static void judge_address(struct judging *j, const struct decap_address *a)
{
	char text[POISE_ADDR_TEXT], remedy[REMEDY_BYTES];
	bool v4 = poise_addr_is4(&a->addr);
	unsigned int bits = v4 ? 32 : 128;

	poise_format_addr(&a->addr, text, sizeof(text));
	snprintf(remedy, sizeof(remedy), "ip address add %s/%u dev lo", text, bits);
	if (!a->on[0]) {
		fault(j, remedy, "%s is on no device here: the host does not take packets for it",
		      text);
		return;
	}
	if (!a->loopback) {
		snprintf(remedy, sizeof(remedy),
			 "ip address del %s/%u dev %s; ip address add %s/%u dev lo", text,
			 a->prefix, a->on, text, bits);
		fault(j, remedy,
		      "%s is on %s, which answers %s for it: packets come here past the balancer",
		      text, a->on, v4 ? "ARP" : "neighbour solicitations");
	} else if (a->prefix != bits) {
		snprintf(remedy, sizeof(remedy),
			 "ip address del %s/%u dev %s; ip address add %s/%u dev %s", text,
			 a->prefix, a->on, text, bits, a->on);
		fault(j, remedy, "%s/%u on %s makes the host take its whole network for itself",
		      text, a->prefix, a->on);
	}
}

/* An address on lo must not be told to the neighbours: the balancer is who has it there. */
static void judge_arp(struct judging *j, const struct decap_facts *f)
{
	char text[POISE_ADDR_TEXT] = "", remedy[REMEDY_BYTES];

	for (size_t k = 0; k < f->addresses && !text[0]; k++)
		if (poise_addr_is4(&f->address[k].addr) && f->address[k].loopback)
			poise_format_addr(&f->address[k].addr, text, sizeof(text));
	if (!text[0])
		return;
	if (f->arp_ignore < 1) {
		snprintf(remedy, sizeof(remedy), "sysctl -w net/ipv4/conf/%s/arp_ignore=1",
			 f->device);
		fault(j, remedy,
		      "arp_ignore is 0: %s answers ARP for %s, and packets come here past the "
		      "balancer",
		      f->device, text);
	}
	if (f->arp_announce < 2) {
		snprintf(remedy, sizeof(remedy), "sysctl -w net/ipv4/conf/%s/arp_announce=2",
			 f->device);
		fault(j, remedy,
		      "arp_announce is %d: the host's own ARP requests may say that %s is here",
		      f->arp_announce, text);
	}
}

/* Strict reverse-path filtering drops what would be answered by another device. */
static void judge_return(struct judging *j, const struct decap_facts *f, bool v6)
{
	const struct decap_way *way = &f->way[v6];
	char remedy[REMEDY_BYTES];

	if (!way->exists) {
		fault(j,
		      v6 ? "ip -6 route add default via GATEWAY"
			 : "ip route add default via GATEWAY",
		      "there is no IPv%c default route: answers to clients have no way",
		      v6 ? '6' : '4');
		return;
	}
	if (v6 || f->rp_filter != 1 || !strcmp(way->device, f->device))
		return;
	snprintf(remedy, sizeof(remedy), "sysctl -w net/ipv4/conf/%s/rp_filter=2", f->device);
	fault(j, remedy,
	      "rp_filter is 1 on %s, but answers leave by %s: the kernel drops what comes in",
	      f->device, way->device);
}

/* A full-sized packet must fit once wrapped, or clients must be told to send less. */
static void judge_room(struct judging *j, const struct decap_facts *f, bool v6)
{
	unsigned int outer = (f->outer6 ? OUTER6 : OUTER4) + (f->gue ? OUTER_UDP : 0);
	unsigned int headers = v6 ? TCP_HEADERS6 : TCP_HEADERS4;
	const struct decap_way *way = &f->way[v6];
	char remedy[REMEDY_BYTES];
	unsigned int mss;

	if (!f->encapsulated || !way->exists || f->mtu >= CLIENT_MTU + outer ||
	    f->mtu < outer + headers)
		return;
	mss = f->mtu - outer - headers;
	if (way->advmss && way->advmss <= mss)
		return;
	snprintf(
		remedy, sizeof(remedy),
		"ip link set %s mtu %d (the balancer's too), or ip %sroute change default %sdev %s "
		"advmss %u",
		f->device, ROOMY_MTU, v6 ? "-6 " : "", way->gateway, way->device, mss);
	fault(j, remedy,
	      "IPv%c packets of %u bytes do not fit %s once wrapped: its MTU of %u leaves %u",
	      v6 ? '6' : '4', CLIENT_MTU, f->device, f->mtu, f->mtu - outer);
}

int decap_judge(const struct decap_facts *f, decap_say say, void *ctx)
{
	struct judging j = {.say = say, .ctx = ctx};
	bool family[2] = {false, false};

	for (size_t k = 0; k < f->addresses; k++) {
		judge_address(&j, &f->address[k]);
		family[!poise_addr_is4(&f->address[k].addr)] = true;
	}
	judge_arp(&j, f);
	for (int v6 = 0; v6 < 2; v6++)
		if (family[v6]) {
			judge_return(&j, f, v6);
			judge_room(&j, f, v6);
		}
	return j.found;
}
