// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packets in and packets out as another load balancer's own tests have them (peer-vectors.json),
 * compared where the two must agree: verdict, what is passed or dropped untouched, the packet
 * inside, and of what goes around it family, protocol, TTL, TOS, size and MAC addresses. Which
 * backend is chosen, and the outer source, are each balancer's own business.
 *
 * Where poise means to do otherwise, `deviations` says why, and what it does is checked instead.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/rig.h"

/* The file stands in the binary, so that it is at hand wherever the test runs. */
__asm__(".section .rodata\n"
	".global peer_vectors\n"
	"peer_vectors: .incbin \"tests/datapath/peer-vectors.json\"\n"
	".byte 0\n"
	".previous\n");
extern const char peer_vectors[];

#define PING                                                                                       \
	"it answers echo requests itself; here they are the host's, until addresses are claimed"
#define NOT_OURS "a later fragment of a protocol that no service has"
#define QUIC                                                                                       \
	"its other scheme packs a server id of 16 bits across the bytes of a connection id; no "   \
	"offset and length in bytes say that, so poise goes by the 5-tuple"
#define QUIC_LATER                                                                                 \
	"carries no server id that is known: both stay with the flow's backend, which an earlier " \
	"vector gave it, and there " QUIC

#define OPTIONS "IP options are no reason to drop (not to follow, says the file)"

#define REFUSED "a service without a backend refuses, so that nobody waits for nothing"

struct deviation {
	int index; /* of the vector in its set */
	int verdict;
	const char *why;
};

/* clang-format off */
static const struct deviation deviations_base[] = {
	{8, XDP_PASS, PING},
	{9, XDP_PASS, PING},
	{12, XDP_TX, OPTIONS},
	{14, XDP_PASS, NOT_OURS},
	{26, XDP_TX, QUIC},
	{27, XDP_TX, QUIC},
	{29, XDP_TX, QUIC_LATER},
	{30, XDP_TX, QUIC},
	{31, XDP_TX, QUIC_LATER},
	{32, XDP_TX, QUIC_LATER},
	{0},
};

static const struct deviation deviations_gue[] = {
	{6, XDP_PASS, PING},
	{7, XDP_PASS, PING},
	{10, XDP_TX, OPTIONS},
	{12, XDP_PASS, NOT_OURS},
	{24, XDP_TX, QUIC},
	{25, XDP_TX, QUIC},
	{27, XDP_TX, QUIC_LATER},
	{28, XDP_TX, QUIC},
	{29, XDP_TX, QUIC_LATER},
	{30, XDP_TX, QUIC_LATER},
	{36, XDP_TX, REFUSED},
	{0},
};
/* clang-format on */

/* A set of vectors, and a service's keys for it. */
struct set {
	const char *name;
	const char *keys;
	bool udp; /* a UDP header behind the outer IP header */
	const struct deviation *deviations;
};

#define GUE_DPORT 9886

static const struct set base = {"base", "forward: ipip", false, deviations_base};
static const struct set gue = {"gue", "forward: gue, gue-port: 9886", true, deviations_gue};
static const struct set gue_checksum = {"gue", "forward: gue, gue-port: 9886, gue-checksum: yes",
					true, deviations_gue};
static const struct set *set;  /* being compared */
static unsigned int checksums; /* outer UDP checksums seen, all valid */

static struct rig rig;

TestSuite(peer, .fini = place_cleanup);

static struct json_object *get(struct json_object *from, const char *key)
{
	struct json_object *value = NULL;

	cr_assert(json_object_object_get_ex(from, key, &value), "peer-vectors.json has no %s", key);
	return value;
}

static const char *text(struct json_object *from, const char *key)
{
	return json_object_get_string(get(from, key));
}

/* ---- the set-up -------------------------------------------------------------------------------*/

/* Server ids of more than 16 bits are of the scheme that is bytes 1 to 3 of a connection id. Some
 * name servers that are no reals of the service: here they are backends without a weight. */
#define QUIC_KEYS "quic: yes, quic-id-offset: 1, quic-id-length: 3"
#define QUIC_BITS 16

static bool is_quic(struct json_object *vip)
{
	return strstr(json_object_get_string(get(vip, "flags")), "QUIC_VIP");
}

static bool is_real(struct json_object *vip, const char *address)
{
	struct json_object *reals = get(vip, "reals");

	for (size_t k = 0; k < json_object_array_length(reals); k++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(reals, k)), address))
			return true;
	return false;
}

static void add_server_ids(char *yaml, size_t size, struct json_object *vip,
			   struct json_object *ids)
{
	size_t used = strlen(yaml);

	for (size_t k = 0; k < json_object_array_length(ids); k++) {
		struct json_object *one = json_object_array_get_idx(ids, k);
		const char *address = text(one, "real");
		int id = json_object_get_int(get(one, "server_id"));

		if (id >> QUIC_BITS)
			used += (size_t)snprintf(yaml + used, size - used,
						 "%s { address: '%s', server-id: %d%s }",
						 yaml[used - 1] == '[' ? "" : ",", address, id,
						 is_real(vip, address) ? "" : ", weight: 0");
	}
}

static void add_service(char *yaml, size_t size, size_t number, struct json_object *vip,
			struct json_object *ids)
{
	struct json_object *reals = get(vip, "reals");
	const char *address = text(vip, "address");
	bool six = strchr(address, ':');
	size_t used = strlen(yaml);

	used += (size_t)snprintf(yaml + used, size - used,
				 "  - { name: s%zu, %s, %s, listen: [ '%s%s%s:%d%s' ], backends: [",
				 number, set->keys, is_quic(vip) ? QUIC_KEYS : "quic: no",
				 six ? "[" : "", address, six ? "]" : "",
				 json_object_get_int(get(vip, "port")),
				 json_object_get_int(get(vip, "proto")) == 17 ? "/udp" : "");
	if (is_quic(vip))
		add_server_ids(yaml, size, vip, ids);
	for (size_t k = 0; !is_quic(vip) && k < json_object_array_length(reals); k++)
		used += (size_t)snprintf(
			yaml + used, size - used, "%s { address: '%s' }", k ? "," : "",
			json_object_get_string(json_object_array_get_idx(reals, k)));
	strcat(yaml, " ] }\n");
}

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
	struct json_object *setup = get(get(all, "setups"), set->name);
	struct json_object *vips = get(setup, "vips");

	strcpy(yaml, "services:\n");
	for (size_t k = 0; k < json_object_array_length(vips); k++)
		add_service(yaml, sizeof(yaml), k, json_object_array_get_idx(vips, k),
			    get(setup, "server_ids"));
	rig_open(&rig, yaml);
	set_nexthops();
}

/* ---- comparing --------------------------------------------------------------------------------*/

struct vector {
	int index;
	const char *kind; /* encap, unchanged, reply_in_place */
	int verdict;
	struct frame in, expected, out;
	int got;
	char fault[160]; /* the first difference that counts */
};

static void read_frame(struct frame *f, const char *hex)
{
	unsigned int byte;

	memset(f, 0, sizeof(*f));
	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		f->byte[f->length++] = (__u8)byte;
}

static void read_vector(struct vector *v, struct json_object *o)
{
	static const char *const verdicts[] = {"XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX"};

	memset(v, 0, sizeof(*v));
	v->index = json_object_get_int(get(o, "index"));
	v->kind = text(get(o, "neutral"), "kind");
	while (strcmp(verdicts[v->verdict], text(o, "verdict")) != 0)
		v->verdict++;
	read_frame(&v->in, text(o, "input_hex"));
	read_frame(&v->expected, text(o, "expected_output_hex"));
}

#define FAULT(v, ...) snprintf((v)->fault, sizeof((v)->fault), __VA_ARGS__)

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
static void compare_outer(struct vector *v, size_t at)
{
	static const size_t four[] = {0, 1, 2, 3, 8, 9}; /* version, TOS, length, TTL, protocol */
	static const size_t six[] = {4, 5, 6, 7};	 /* length, next header, hop limit */
	const __u8 *want = v->expected.byte + at, *is = v->out.byte + at;
	bool v6 = want[0] >> 4 == 6;
	size_t n = v6 ? sizeof(six) / sizeof(six[0]) : sizeof(four) / sizeof(four[0]);

	if (v6 && (want[0] != is[0] || (want[1] & 0xf0) != (is[1] & 0xf0)))
		FAULT(v, "version or traffic class");
	for (size_t k = 0; k < n; k++)
		if (want[v6 ? six[k] : four[k]] != is[v6 ? six[k] : four[k]])
			FAULT(v, "byte %zu of the outer header: %02x, not %02x",
			      v6 ? six[k] : four[k], is[v6 ? six[k] : four[k]],
			      want[v6 ? six[k] : four[k]]);
	if (!(v6 ? is_backend(is + 24, 16) : is_backend(is + 16, 4)))
		FAULT(v, "the outer destination is no backend");
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
static void compare_udp(struct vector *v, size_t ip)
{
	bool six = v->out.byte[ip] >> 4 == 6;
	size_t at = ip + (six ? 40 : 20);
	const __u8 *udp = v->out.byte + at;

	if (at16(udp + 2) != GUE_DPORT || at16(udp + 4) != v->out.length - at)
		FAULT(v, "port %u or length %u of the outer UDP header", at16(udp + 2),
		      at16(udp + 4));
	else if (at16(udp) < 49152)
		FAULT(v, "source port %u", at16(udp));
	else if (at16(udp + 6) && udp_sum(&v->out, at, six ? 16 : 4) != 0xffff)
		FAULT(v, "outer UDP checksum 0x%04x", at16(udp + 6));
	else
		checksums += at16(udp + 6) != 0;
}

static void compare_encap(struct vector *v)
{
	size_t at = frame_ip_at(&v->in), inner = v->in.length - at;

	if (v->out.length != v->expected.length)
		FAULT(v, "%zu bytes, not %zu", v->out.length, v->expected.length);
	else if (memcmp(v->out.byte, v->expected.byte, ETH_HLEN) != 0)
		FAULT(v, "MAC addresses or Ethernet type");
	else if (memcmp(v->out.byte + v->out.length - inner, v->in.byte + at, inner) != 0)
		FAULT(v, "the packet inside was changed");
	else
		compare_outer(v, at);
	if (!v->fault[0] && set->udp)
		compare_udp(v, at);
}

static const struct deviation *deviation(int index)
{
	for (const struct deviation *d = set->deviations; d->index; d++)
		if (d->index == index)
			return d;
	return NULL;
}

/* Forwarded where the vector is not, or over another family: by what poise itself promises. The
 * services concerned have IPv4 backends. */
static void compare_own(struct vector *v)
{
	static const __u8 around[] = {0x00, 0x00, 0xde, 0xad, 0xbe, 0xaf, 0x02,
				      0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00};
	const __u8 *outer = v->out.byte + ETH_HLEN;
	size_t inner = v->in.length - ETH_HLEN, extra = set->udp ? 28 : 20;

	if (v->out.length != v->in.length + extra)
		FAULT(v, "%zu bytes, not %zu more than %zu", v->out.length, extra, v->in.length);
	else if (memcmp(v->out.byte, around, sizeof(around)) != 0)
		FAULT(v, "MAC addresses or Ethernet type");
	else if (memcmp(outer + extra, v->in.byte + ETH_HLEN, inner) != 0)
		FAULT(v, "the packet inside was changed");
	else if (outer[0] != 0x45 || outer[8] != 64 ||
		 outer[9] != (set->udp ? IPPROTO_UDP : IPPROTO_IPIP) || !is_backend(outer + 16, 4))
		FAULT(v, "the outer header");
	else if (set->udp)
		compare_udp(v, ETH_HLEN);
}

/* An IPv6 datagram that came back as port unreachable, quoted whole. */
static void compare_refused(struct vector *v)
{
	const __u8 *in = v->in.byte, *out = v->out.byte;
	const size_t headers = 40 + 8;

	if (v->out.length != v->in.length + headers)
		FAULT(v, "%zu bytes, not %zu more than %zu", v->out.length, headers, v->in.length);
	else if (memcmp(out, in + 6, 6) || memcmp(out + 6, in, 6) || memcmp(out + 12, in + 12, 2))
		FAULT(v, "the link header is not the other way round");
	else if (out[ETH_HLEN + 6] != IPPROTO_ICMPV6 || out[ETH_HLEN + 40] != 1 ||
		 out[ETH_HLEN + 41] != 4)
		FAULT(v, "no port unreachable");
	else if (memcmp(out + ETH_HLEN + headers, in + ETH_HLEN, v->in.length - ETH_HLEN) != 0)
		FAULT(v, "the quotation is not what came");
}

static void compare(struct vector *v)
{
	const struct deviation *other = deviation(v->index);
	int verdict = other ? other->verdict : v->verdict;

	if (v->got != verdict)
		FAULT(v, "verdict %d, not %d", v->got, verdict);
	else if (other && other->verdict == v->verdict && v->kind[0] == 'u')
		FAULT(v, "no longer a deviation: %s", other->why);
	else if (v->got == XDP_PASS || v->got == XDP_DROP) {
		if (!frame_equal(&v->in, &v->out))
			FAULT(v, "passed or dropped, but changed");
	} else if (other && !strcmp(other->why, REFUSED))
		compare_refused(v);
	else if (other)
		compare_own(v);
	else
		compare_encap(v);
}

static void compare_set(const struct set *which)
{
	struct json_object *all = json_tokener_parse(peer_vectors), *vectors;
	static struct vector v;
	int compared = 0;

	cr_assert(all, "peer-vectors.json is not JSON");
	set = which;
	checksums = 0;
	set_up(all);
	vectors = get(all, "vectors");
	for (size_t k = 0; k < json_object_array_length(vectors); k++) {
		struct json_object *o = json_object_array_get_idx(vectors, k);

		if (strcmp(text(o, "set"), set->name) != 0)
			continue;
		read_vector(&v, o);
		v.got = rig_run(&rig, &v.in, &v.out);
		compare(&v);
		compared++;
		cr_expect(!v.fault[0], "%s, vector %d: %s", set->keys, v.index, v.fault);
		if (v.fault[0])
			frame_print_difference(&v.expected, &v.out);
	}
	cr_expect(compared == 36, "%s: %d vectors compared", set->keys, compared);
	json_object_put(all);
}

Test(peer, sets)
{
	compare_set(&base);
	compare_set(&gue);
	cr_expect(!checksums);
	compare_set(&gue_checksum);
	cr_expect(checksums > 0);
	rig_close(&rig);
}
