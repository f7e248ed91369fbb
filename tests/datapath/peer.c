// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packets in and packets out as another load balancer's own tests have them (peer-vectors.json),
 * compared where the two must agree: verdict, what is passed or dropped untouched, the packet
 * inside, and of what goes around it family, protocol, TTL, TOS, size and MAC addresses. Which
 * backend is chosen, and the outer source, are each balancer's own business.
 *
 * Where poise means to do otherwise, a line of the tables below says why, and what it does is
 * checked instead. What the file has for a backend's decapsulation, peer_decap.c compares.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <string.h>

#include "bpf/cut_note.h"
#include "tests/support/peer.h"
#include "tests/support/rig.h"

struct deviation {
	int index;			      /* of the vector in its set */
	int verdict;			      /* here */
	void (*check)(struct peer_vector *v); /* what else it is here; NULL: it stays as it came */
	const char *why;
};

/* A set of vectors, and a service's keys for it. */
struct set {
	const char *name;
	const char *keys;
	bool udp; /* a UDP header behind the outer IP header */
	const struct deviation *deviations;
};

#define GUE_DPORT 9886

static const struct set *set;  /* being compared */
static unsigned int checksums; /* outer UDP checksums seen, all valid */

static struct rig rig;

TestSuite(peer, .fini = place_cleanup);

/* ---- the set-up -------------------------------------------------------------------------------*/

/* The MAC addresses of the vectors in place of the rig's. */
static void set_nexthops(void)
{
	static const __u8 gateway[6] = {0x00, 0x00, 0xde, 0xad, 0xbe, 0xaf};
	struct poise_path path = {.ifindex = rig.place.lo, .mtu = RIG_MTU, .smac = {0x02}};
	struct poise_error err = {0};
	__u16 index;

	inet_pton(AF_INET, "172.16.0.1", &path.src4);
	inet_pton(AF_INET6, "0100::1", &path.src6);
	cr_assert(!instance_lock(rig.i, &err));
	index = instance_path(rig.i, &path, &err);
	cr_assert(index, "%s", err.message);
	for (size_t s = 0; s < rig.cfg->services; s++)
		for (size_t m = 0; m < rig.cfg->service[s]->members; m++)
			instance_set_nexthop(rig.i, rig.cfg->service[s]->member[m].id,
					     INSTANCE_NEXTHOP(gateway, index));
	instance_unlock(rig.i);
}

static void set_up(struct json_object *all)
{
	static char yaml[8192];

	peer_yaml(yaml, sizeof(yaml), all, set->name, set->keys);
	rig_open(&rig, yaml);
	rig_answer(&rig, NULL);
	set_nexthops();
}

/* ---- comparing --------------------------------------------------------------------------------*/

static bool is_backend(const __u8 *address, size_t n)
{
	for (size_t s = 0; s < rig.cfg->services; s++)
		for (size_t m = 0; m < rig.cfg->service[s]->members; m++)
			if (!memcmp(rig.cfg->service[s]->member[m].conf.addr.b + 16 - n, address,
				    n))
				return true;
	return false;
}

/* Of an outer header: what must be equal, as offsets into it. */
static void compare_outer(struct peer_vector *v, size_t at)
{
	static const size_t four[] = {0, 1, 2, 3, 8, 9}; /* version, TOS, length, TTL, protocol */
	static const size_t six[] = {4, 5, 6, 7};	 /* length, next header, hop limit */
	const __u8 *want = v->expected.byte + at, *is = v->out.byte + at;
	bool v6 = want[0] >> 4 == 6;
	size_t n = v6 ? sizeof(six) / sizeof(six[0]) : sizeof(four) / sizeof(four[0]);

	if (v6 && (want[0] != is[0] || (want[1] & 0xf0) != (is[1] & 0xf0)))
		PEER_FAULT(v, "version or traffic class");
	for (size_t k = 0; k < n; k++)
		if (want[v6 ? six[k] : four[k]] != is[v6 ? six[k] : four[k]])
			PEER_FAULT(v, "byte %zu of the outer header: %02x, not %02x",
				   v6 ? six[k] : four[k], is[v6 ? six[k] : four[k]],
				   want[v6 ? six[k] : four[k]]);
	if (!(v6 ? is_backend(is + 24, 16) : is_backend(is + 16, 4)))
		PEER_FAULT(v, "the outer destination is no backend");
	if (!(v6 ? is_backend(want + 24, 16) : is_backend(want + 16, 4)))
		PEER_FAULT(v, "to no backend of the service is what was expected");
}

static unsigned int at16(const __u8 *p)
{
	return (unsigned int)p[0] << 8 | p[1];
}

/* The UDP header at `at` with all behind it and the pseudo header: all ones if it is right. */
static unsigned int udp_sum(const struct frame *f, size_t at, size_t address)
{
	unsigned int sum = IPPROTO_UDP + (unsigned int)(f->length - at);

	for (size_t k = at - 2 * address; k < f->length; k++)
		sum += (unsigned int)f->byte[k] << (k & 1 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Port and length equal, the source port any dynamic one, the checksum zero or valid. */
static void compare_udp(struct peer_vector *v, size_t ip)
{
	bool six = v->out.byte[ip] >> 4 == 6;
	size_t at = ip + (six ? 40 : 20);
	const __u8 *udp = v->out.byte + at;

	if (at16(udp + 2) != GUE_DPORT || at16(udp + 4) != v->out.length - at)
		PEER_FAULT(v, "port %u or length %u of the outer UDP header", at16(udp + 2),
			   at16(udp + 4));
	else if (at16(udp) < 49152)
		PEER_FAULT(v, "source port %u", at16(udp));
	else if (at16(udp + 6) && udp_sum(&v->out, at, six ? 16 : 4) != 0xffff)
		PEER_FAULT(v, "outer UDP checksum 0x%04x", at16(udp + 6));
	else
		checksums += at16(udp + 6) != 0;
}

static void compare_encap(struct peer_vector *v)
{
	size_t at = frame_ip_at(&v->in), inner = v->in.length - at;

	if (v->out.length != v->expected.length)
		PEER_FAULT(v, "%zu bytes, not %zu", v->out.length, v->expected.length);
	else if (memcmp(v->out.byte, v->expected.byte, ETH_HLEN) != 0)
		PEER_FAULT(v, "MAC addresses or Ethernet type");
	else if (memcmp(v->out.byte + v->out.length - inner, v->in.byte + at, inner) != 0)
		PEER_FAULT(v, "the packet inside was changed");
	else
		compare_outer(v, at);
	if (!v->fault[0] && set->udp)
		compare_udp(v, at);
}

/* Forwarded where the vector is not, or over another family: by what poise itself promises. The
 * services concerned have IPv4 backends. */
static void compare_own(struct peer_vector *v)
{
	static const __u8 around[] = {0x00, 0x00, 0xde, 0xad, 0xbe, 0xaf, 0x02,
				      0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00};
	const __u8 *outer = v->out.byte + ETH_HLEN;
	size_t inner = v->in.length - ETH_HLEN, extra = set->udp ? 28 : 20;

	if (v->out.length != v->in.length + extra)
		PEER_FAULT(v, "%zu bytes, not %zu more than %zu", v->out.length, extra,
			   v->in.length);
	else if (memcmp(v->out.byte, around, sizeof(around)) != 0)
		PEER_FAULT(v, "MAC addresses or Ethernet type");
	else if (memcmp(outer + extra, v->in.byte + ETH_HLEN, inner) != 0)
		PEER_FAULT(v, "the packet inside was changed");
	else if (outer[0] != 0x45 || outer[8] != 64 ||
		 outer[9] != (set->udp ? IPPROTO_UDP : IPPROTO_IPIP) || !is_backend(outer + 16, 4))
		PEER_FAULT(v, "the outer header");
	else if (set->udp)
		compare_udp(v, ETH_HLEN);
}

/* As expected, but to a backend of the service. */
static void check_unrouted(struct peer_vector *v)
{
	size_t to = frame_ip_at(&v->in) + 24;

	memcpy(v->expected.byte + to, v->out.byte + to, 16);
	compare_encap(v);
}

/* An IPv6 packet that came back in an ICMP error, quoted as far as it fits. */
static void check_error(struct peer_vector *v, unsigned int type_code, unsigned int rest)
{
	const size_t ip = ETH_HLEN, icmp = ip + 40, quote = icmp + 8, most = ip + 1280 - quote;
	size_t all = v->in.length - ip, quoted = all < most ? all : most;
	const __u8 *in = v->in.byte, *out = v->out.byte;

	if (v->out.length != quote + quoted)
		PEER_FAULT(v, "%zu bytes, not %zu", v->out.length, quote + quoted);
	else if (memcmp(out, in + 6, 6) || memcmp(out + 6, in, 6) || memcmp(out + 12, in + 12, 2))
		PEER_FAULT(v, "the link header is not the other way round");
	else if (memcmp(out + ip + 8, in + ip + 24, 16) || memcmp(out + ip + 24, in + ip + 8, 16))
		PEER_FAULT(v, "the addresses are not the other way round");
	else if (out[ip + 6] != IPPROTO_ICMPV6 || at16(out + icmp) != type_code ||
		 at16(out + icmp + 4) || at16(out + icmp + 6) != rest)
		PEER_FAULT(v, "another error, or about %u bytes", at16(out + icmp + 6));
	else if (memcmp(out + quote, in + ip, quoted) != 0)
		PEER_FAULT(v, "the quotation is not what came");
	else if (!frame_sound(&v->out))
		PEER_FAULT(v, "a wrong checksum");
}

static void check_refused(struct peer_vector *v)
{
	check_error(v, 1 << 8 | 4, 0); /* unreachable: port */
}

#define OVERHEAD(address) ((address) + (set->udp ? 8u : 0u)) /* by an outer address's family */

static void check_too_big(struct peer_vector *v)
{
	check_error(v, 2 << 8, RIG_MTU - OVERHEAD(40)); /* what fits */
}

/* On its way to the program that cuts it in two: whole behind a note. */
static void check_cut(struct peer_vector *v)
{
	const struct cut_note *note = (const void *)v->out.byte;
	unsigned int first = (RIG_MTU - OVERHEAD(20) - 20) / CUT_UNIT * CUT_UNIT;

	if (v->out.length != v->in.length ||
	    memcmp(v->out.byte + ETH_HLEN, v->in.byte + ETH_HLEN, v->in.length - ETH_HLEN) != 0)
		PEER_FAULT(v, "the packet was changed");
	else if (note->type != htons(CUT_TYPE) || note->local != CUT_LOCAL || note->second)
		PEER_FAULT(v, "no note for cut.bpf.c");
	else if (note->first != first)
		PEER_FAULT(v, "the first piece is %u bytes, not %u", note->first, first);
}

static void check_unchanged(struct peer_vector *v)
{
	if (!frame_equal(&v->in, &v->out))
		PEER_FAULT(v, "passed or dropped, but changed");
}

/* ---- the sets ---------------------------------------------------------------------------------*/

#define NOT_OURS                                                                                   \
	"a later fragment of a protocol that no service has: the host's, as its other ports are"
#define QUIC                                                                                       \
	"its other scheme packs a server id of 16 bits across the bytes of a connection id; no "   \
	"offset and length in bytes say that, so poise goes by the 5-tuple"
#define QUIC_LATER                                                                                 \
	"carries no server id that is known: both stay with the flow's backend, which an earlier " \
	"vector gave it, and there " QUIC
#define OPTIONS "IP options are no reason to drop (not to follow, says the file)"
#define REFUSED "a service without a backend refuses, so that nobody waits for nothing"
#define TOO_BIG                                                                                    \
	"it says the link's MTU, so that the next packet is too big again once encapsulated, and " \
	"quotes 248 bytes; here what fits, and a quotation as long as an error may be"
#define TOO_BIG_GUE                                                                                \
	"expected for another packet than the one it gives (the quotation is of a shorter one) "   \
	"and with an MTU of 0; here what fits"
#define NO_DF                                                                                      \
	"DF is clear, so it is no error but a matter of two fragments (datapath/cut has them); "   \
	"they arrive, and the sender need not know"
#define ROUTED_6                                                                                   \
	"clients' prefixes choose among servers of their own, here over IPv6; a source range "     \
	"admits or denies, so the service's own backends, over IPv4, have it"
#define ROUTED "likewise; over IPv6 either way, so that only the outer destination is another"
#define PREFIX "a prefix as virtual address: poise has addresses, so this one is the host's"

/* clang-format off */
static const struct deviation in_base[] = {
	{12, XDP_TX, compare_own, OPTIONS},
	{14, XDP_PASS, NULL, NOT_OURS},
	{26, XDP_TX, compare_own, QUIC},
	{27, XDP_TX, compare_own, QUIC},
	{29, XDP_TX, compare_own, QUIC_LATER},
	{30, XDP_TX, compare_own, QUIC},
	{31, XDP_TX, compare_own, QUIC_LATER},
	{32, XDP_TX, compare_own, QUIC_LATER},
	{33, XDP_PASS, check_cut, NO_DF},
	{0},
};

static const struct deviation in_gue[] = {
	{10, XDP_TX, compare_own, OPTIONS},
	{12, XDP_PASS, NULL, NOT_OURS},
	{24, XDP_TX, compare_own, QUIC},
	{25, XDP_TX, compare_own, QUIC},
	{27, XDP_TX, compare_own, QUIC_LATER},
	{28, XDP_TX, compare_own, QUIC},
	{29, XDP_TX, compare_own, QUIC_LATER},
	{30, XDP_TX, compare_own, QUIC_LATER},
	{36, XDP_TX, check_refused, REFUSED},
	{0},
};

static const struct deviation in_too_big[] = {
	{1, XDP_PASS, check_cut, NO_DF},
	{2, XDP_TX, check_too_big, TOO_BIG},
	{0},
};

static const struct deviation in_too_big_gue[] = {
	{1, XDP_PASS, check_cut, NO_DF},
	{2, XDP_TX, check_too_big, TOO_BIG_GUE},
	{0},
};

static const struct deviation in_lpm_src[] = {
	{1, XDP_TX, compare_own, ROUTED_6},
	{2, XDP_TX, compare_own, ROUTED_6},
	{3, XDP_TX, compare_own, ROUTED_6},
	{5, XDP_TX, check_unrouted, ROUTED},
	{6, XDP_TX, check_unrouted, ROUTED},
	{8, XDP_TX, check_unrouted, ROUTED},
	{0},
};

static const struct deviation in_cidr_vip[] = {
	{1, XDP_PASS, NULL, PREFIX},
	{2, XDP_PASS, NULL, PREFIX},
	{3, XDP_PASS, NULL, PREFIX},
	{4, XDP_PASS, NULL, PREFIX},
	{6, XDP_PASS, NULL, PREFIX},
	{7, XDP_PASS, NULL, PREFIX},
	{0},
};

static const struct deviation nothing[] = {{0}};
/* clang-format on */

#define GUE "forward: gue, gue-port: 9886"

static const struct set sets[] = {
	{"base", "forward: ipip", false, in_base},
	{"gue", GUE, true, in_gue},
	{"icmp_too_big", "forward: ipip", false, in_too_big},
	{"icmp_too_big_gue", GUE, true, in_too_big_gue},
	{"lpm_src", GUE, true, in_lpm_src},
	{"cidr_vip", GUE, true, in_cidr_vip},
};
static const struct set gue_checksum = {"gue", GUE ", gue-checksum: yes", true, in_gue};
static const struct set tunnels[] = {
	{"xpop_decap", GUE, true, nothing},
	{"gue_decap_stats", GUE, true, nothing},
	{"egress_decap", GUE, true, nothing},
};

static const struct deviation *deviation(int index)
{
	for (const struct deviation *d = set->deviations; d->index; d++)
		if (d->index == index)
			return d;
	return NULL;
}

static void compare_expected(struct peer_vector *v)
{
	if (v->got != v->verdict)
		PEER_FAULT(v, "verdict %d, not %d", v->got, v->verdict);
	else if (!strcmp(v->kind, "encap"))
		compare_encap(v);
	else if (!frame_equal(&v->expected, &v->out))
		PEER_FAULT(v, "not as expected");
}

static void compare(struct peer_vector *v)
{
	const struct deviation *other = deviation(v->index);

	v->got = rig_run(&rig, &v->in, &v->out);
	compare_expected(v);
	if (!other)
		return;
	if (!v->fault[0]) {
		PEER_FAULT(v, "no longer a deviation: %s", other->why);
		return;
	}
	v->fault[0] = '\0';
	if (v->got != other->verdict)
		PEER_FAULT(v, "verdict %d, not %d: %s", v->got, other->verdict, other->why);
	else if (other->check)
		other->check(v);
	else
		check_unchanged(v);
}

/* A balancer takes no tunnels: only what is for a service without one is its own. */
static void compare_tunnel(struct peer_vector *v)
{
	v->got = rig_run(&rig, &v->in, &v->out);
	if (!strcmp(v->kind, "encap"))
		compare_expected(v);
	else if (v->got != XDP_PASS)
		PEER_FAULT(v, "verdict %d", v->got);
	else
		check_unchanged(v);
}

static int run_set(struct json_object *all, const struct set *which,
		   void (*run)(struct peer_vector *v))
{
	set = which;
	set_up(all);
	return peer_each(all, set->name, run);
}

Test(peer, sets)
{
	struct json_object *all = peer_open();
	int compared = 0;

	for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++)
		compared += run_set(all, &sets[s], compare);
	cr_expect_eq(compared, peer_count(all, PEER_BALANCER), "%d compared", compared);
	cr_expect(!checksums);
	run_set(all, &gue_checksum, compare);
	cr_expect(checksums > 0);
	for (size_t s = 0; s < sizeof(tunnels) / sizeof(tunnels[0]); s++)
		run_set(all, &tunnels[s], compare_tunnel);
	rig_close(&rig);
	json_object_put(all);
}
