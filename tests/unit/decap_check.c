/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a backend lacks: from facts to sentences. Each row is a sound host with one thing wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "../../loader/net/decap_check.h"
#include "../../maps/text.h"

struct said {
	int count;
	char sentence[4][256], remedy[4][256];
};

static void hear(void *ctx, const char *sentence, const char *remedy)
{
	struct said *s = ctx;

	cr_assert_lt(s->count, 4, "%s", sentence);
	snprintf(s->sentence[s->count], sizeof(s->sentence[0]), "%s", sentence);
	snprintf(s->remedy[s->count++], sizeof(s->remedy[0]), "%s", remedy);
}

static struct decap_facts *sound(struct decap_facts *f, const char *addr)
{
	static struct decap_address a;

	memset(&a, 0, sizeof(a));
	cr_assert_eq(poise_parse_addr(addr, &a.addr, NULL), 0);
	strcpy(a.on, "lo");
	a.prefix = poise_addr_is4(&a.addr) ? 32 : 128;
	a.loopback = true;
	*f = (struct decap_facts){
		.device = "eth0",
		.encapsulated = true,
		.mtu = 1600,
		.outer6 = true,
		.arp_ignore = 1,
		.arp_announce = 2,
		.address = &a,
		.addresses = 1,
	};
	for (int v6 = 0; v6 < 2; v6++) {
		f->way[v6].exists = true;
		strcpy(f->way[v6].device, "eth0");
		strcpy(f->way[v6].gateway, v6 ? "via fe80::1 " : "via 10.0.0.254 ");
	}
	return f;
}

static void on_nothing(struct decap_facts *f)
{
	f->address->on[0] = '\0';
	f->address->loopback = false;
}

static void on_ethernet(struct decap_facts *f)
{
	strcpy(f->address->on, "eth0");
	f->address->loopback = false;
}

static void as_network(struct decap_facts *f)
{
	f->address->prefix = 24;
}

static void answers_arp(struct decap_facts *f)
{
	f->arp_ignore = 0;
}

static void announces(struct decap_facts *f)
{
	f->arp_announce = 1;
}

static void no_way(struct decap_facts *f)
{
	f->way[0].exists = f->way[1].exists = false;
}

static void strict_elsewhere(struct decap_facts *f)
{
	f->rp_filter = 1;
	strcpy(f->way[0].device, "eth1");
}

static void no_room(struct decap_facts *f)
{
	f->mtu = 1500;
}

static const struct {
	void (*spoil)(struct decap_facts *f);
	const char *addr, *sentence, *remedy;
} row[] = {
	{on_nothing, "192.0.2.10",
	 "192.0.2.10 is on no device here: the host does not take packets for it",
	 "ip address add 192.0.2.10/32 dev lo"},
	{on_nothing, "2001:db8::10",
	 "2001:db8::10 is on no device here: the host does not take packets for it",
	 "ip address add 2001:db8::10/128 dev lo"},
	{on_ethernet, "192.0.2.10",
	 "192.0.2.10 is on eth0, which answers ARP for it: packets come here past the balancer",
	 "ip address del 192.0.2.10/32 dev eth0; ip address add 192.0.2.10/32 dev lo"},
	{on_ethernet, "2001:db8::10",
	 "2001:db8::10 is on eth0, which answers neighbour solicitations for it: packets come here "
	 "past the balancer",
	 "ip address del 2001:db8::10/128 dev eth0; ip address add 2001:db8::10/128 dev lo"},
	{as_network, "192.0.2.10",
	 "192.0.2.10/24 on lo makes the host take its whole network for itself",
	 "ip address del 192.0.2.10/24 dev lo; ip address add 192.0.2.10/32 dev lo"},
	{answers_arp, "192.0.2.10",
	 "arp_ignore is 0: eth0 answers ARP for 192.0.2.10, and packets come here past the "
	 "balancer",
	 "sysctl -w net/ipv4/conf/eth0/arp_ignore=1"},
	{answers_arp, "2001:db8::10", NULL, NULL},
	{announces, "192.0.2.10",
	 "arp_announce is 1: the host's own ARP requests may say that 192.0.2.10 is here",
	 "sysctl -w net/ipv4/conf/eth0/arp_announce=2"},
	{no_way, "2001:db8::10", "there is no IPv6 default route: answers to clients have no way",
	 "ip -6 route add default via GATEWAY"},
	{strict_elsewhere, "192.0.2.10",
	 "rp_filter is 1 on eth0, but answers leave by eth1: the kernel drops what comes in",
	 "sysctl -w net/ipv4/conf/eth0/rp_filter=2"},
	{strict_elsewhere, "2001:db8::10", NULL, NULL},
	{no_room, "192.0.2.10",
	 "IPv4 packets of 1500 bytes do not fit eth0 once wrapped: its MTU of 1500 leaves 1460",
	 "ip link set eth0 mtu 1600 (the balancer's too), or ip route change default "
	 "via 10.0.0.254 dev eth0 advmss 1420"},
	{no_room, "2001:db8::10",
	 "IPv6 packets of 1500 bytes do not fit eth0 once wrapped: its MTU of 1500 leaves 1460",
	 "ip link set eth0 mtu 1600 (the balancer's too), or ip -6 route change default "
	 "via fe80::1 dev eth0 advmss 1400"},
};

Test(decap_check, one_thing_wrong_is_one_sentence)
{
	for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
		struct said said = {0};
		struct decap_facts f;

		cr_assert_eq(decap_judge(sound(&f, row[k].addr), hear, &said), 0, "%s",
			     said.sentence[0]);
		row[k].spoil(&f);
		decap_judge(&f, hear, &said);
		if (!row[k].sentence) {
			cr_expect_eq(said.count, 0, "%s", said.sentence[0]);
			continue;
		}
		cr_expect_eq(said.count, 1, "row %zu", k);
		cr_expect_str_eq(said.sentence[0], row[k].sentence);
		cr_expect_str_eq(said.remedy[0], row[k].remedy);
	}
}

Test(decap_check, room_is_enough_by_mtu_or_advmss_or_without_wrapping)
{
	struct said said = {0};
	struct decap_facts f;

	sound(&f, "192.0.2.10")->mtu = 1540;
	cr_expect_eq(decap_judge(&f, hear, &said), 0);
	f.mtu = 1539;
	cr_expect_eq(decap_judge(&f, hear, &said), 1);
	f.outer6 = false;
	cr_expect_eq(decap_judge(&f, hear, &said), 0, "20 bytes are enough for IPv4 in front");
	f.gue = true;
	cr_expect_eq(decap_judge(&f, hear, &said), 0, "and 8 for UDP");
	f.mtu = 1527;
	cr_expect_eq(decap_judge(&f, hear, &said), 1);
	f.gue = false;
	f.mtu = 1500;
	f.way[0].advmss = 1440;
	cr_expect_eq(decap_judge(&f, hear, &said), 0);
	f.way[0].advmss = 1441;
	cr_expect_eq(decap_judge(&f, hear, &said), 1);
	f.encapsulated = false;
	cr_expect_eq(decap_judge(&f, hear, &said), 0);
}
