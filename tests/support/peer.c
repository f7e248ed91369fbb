// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "peer.h"

#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

/* The file stands in the binary, so that it is at hand wherever the test runs. */
__asm__(".section .rodata\n"
	".global peer_vectors\n"
	"peer_vectors: .incbin \"tests/datapath/peer-vectors.json\"\n"
	".byte 0\n"
	".previous\n");
extern const char peer_vectors[];

static const struct {
	const char *name;
	enum peer_side side;
} sets[] = {
	{"base", PEER_BALANCER},	 {"gue", PEER_BALANCER},
	{"icmp_too_big", PEER_BALANCER}, {"icmp_too_big_gue", PEER_BALANCER},
	{"lpm_src", PEER_BALANCER},	 {"cidr_vip", PEER_BALANCER},
	{"xpop_decap", PEER_BACKEND},	 {"gue_decap_stats", PEER_BACKEND},
	{"egress_decap", PEER_BACKEND},
};

struct json_object *peer_open(void)
{
	struct json_object *all = json_tokener_parse(peer_vectors);

	cr_assert(all, "peer-vectors.json is not JSON");
	return all;
}

struct json_object *peer_get(struct json_object *from, const char *key)
{
	struct json_object *value = NULL;

	cr_assert(json_object_object_get_ex(from, key, &value), "peer-vectors.json has no %s", key);
	return value;
}

const char *peer_text(struct json_object *from, const char *key)
{
	return json_object_get_string(peer_get(from, key));
}

static void read_frame(struct frame *f, const char *hex)
{
	unsigned int byte;

	memset(f, 0, sizeof(*f));
	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		f->byte[f->length++] = (__u8)byte;
}

static void read_vector(struct peer_vector *v, struct json_object *o)
{
	static const char *const verdicts[] = {"XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX"};

	memset(v, 0, sizeof(*v));
	v->index = json_object_get_int(peer_get(o, "index"));
	v->kind = peer_text(peer_get(o, "neutral"), "kind");
	while (strcmp(verdicts[v->verdict], peer_text(o, "verdict")) != 0)
		v->verdict++;
	read_frame(&v->in, peer_text(o, "input_hex"));
	read_frame(&v->expected, peer_text(o, "expected_output_hex"));
}

int peer_each(struct json_object *all, const char *set, void (*run)(struct peer_vector *v))
{
	struct json_object *vectors = peer_get(all, "vectors");
	static struct peer_vector v;
	int n = 0;

	for (size_t k = 0; k < json_object_array_length(vectors); k++) {
		struct json_object *o = json_object_array_get_idx(vectors, k);

		if (strcmp(peer_text(o, "set"), set) != 0)
			continue;
		read_vector(&v, o);
		run(&v);
		n++;
		cr_expect(!v.fault[0], "%s, vector %d: %s", set, v.index, v.fault);
		if (v.fault[0])
			frame_print_difference(&v.expected, &v.out);
	}
	return n;
}

int peer_count(struct json_object *all, enum peer_side side)
{
	struct json_object *vectors = peer_get(all, "vectors");
	int n = 0;

	for (size_t k = 0; k < json_object_array_length(vectors); k++) {
		const char *set = peer_text(json_object_array_get_idx(vectors, k), "set");
		size_t s = 0;

		while (s < sizeof(sets) / sizeof(sets[0]) && strcmp(sets[s].name, set) != 0)
			s++;
		cr_assert(s < sizeof(sets) / sizeof(sets[0]), "nobody compares set %s", set);
		n += sets[s].side == side;
	}
	return n;
}

/* ---- what the vectors are for -----------------------------------------------------------------*/

/* Server ids of more than 16 bits are of the scheme that is bytes 1 to 3 of a connection id. Some
 * name servers that are no reals of the service: here they are backends without a weight. */
#define QUIC_KEYS "quic: yes, quic-id-offset: 1, quic-id-length: 3"
#define QUIC_BITS 16

static bool is_quic(struct json_object *vip)
{
	return strstr(json_object_get_string(peer_get(vip, "flags")), "QUIC_VIP");
}

static bool is_real(struct json_object *vip, const char *address)
{
	struct json_object *reals = peer_get(vip, "reals");

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
		const char *address = peer_text(one, "real");
		int id = json_object_get_int(peer_get(one, "server_id"));

		if (id >> QUIC_BITS)
			used += (size_t)snprintf(yaml + used, size - used,
						 "%s { address: '%s', server-id: %d%s }",
						 yaml[used - 1] == '[' ? "" : ",", address, id,
						 is_real(vip, address) ? "" : ", weight: 0");
	}
}

static void add_service(char *yaml, size_t size, size_t number, struct json_object *vip,
			struct json_object *ids, const char *keys)
{
	struct json_object *reals = peer_get(vip, "reals");
	const char *address = peer_text(vip, "address");
	bool six = strchr(address, ':');
	size_t used = strlen(yaml);

	used += (size_t)snprintf(yaml + used, size - used,
				 "  - { name: s%zu, %s, %s, listen: [ '%s%s%s:%d%s' ], backends: [",
				 number, keys, is_quic(vip) ? QUIC_KEYS : "quic: no",
				 six ? "[" : "", address, six ? "]" : "",
				 json_object_get_int(peer_get(vip, "port")),
				 json_object_get_int(peer_get(vip, "proto")) == 17 ? "/udp" : "");
	if (is_quic(vip))
		add_server_ids(yaml, size, vip, ids);
	for (size_t k = 0; !is_quic(vip) && k < json_object_array_length(reals); k++)
		used += (size_t)snprintf(
			yaml + used, size - used, "%s { address: '%s' }", k ? "," : "",
			json_object_get_string(json_object_array_get_idx(reals, k)));
	strcat(yaml, " ] }\n");
}

/* Ports that nobody listens on are left to the host, as the vectors have it. */
static void add_addresses(char *yaml, size_t size, struct json_object *vips)
{
	const char *last = "";
	size_t used = strlen(yaml);

	for (size_t k = 0; k < json_object_array_length(vips); k++) {
		const char *address = peer_text(json_object_array_get_idx(vips, k), "address");

		if (strcmp(address, last) != 0)
			used += (size_t)snprintf(yaml + used, size - used,
						 "  - { address: '%s', other-ports: pass }\n",
						 address);
		last = address;
	}
}

void peer_yaml(char *yaml, size_t size, struct json_object *all, const char *set, const char *keys)
{
	struct json_object *setup = peer_get(peer_get(all, "setups"), set);
	struct json_object *vips = peer_get(setup, "vips"), *ids = NULL;

	json_object_object_get_ex(setup, "server_ids", &ids);
	strcpy(yaml, "addresses:\n");
	add_addresses(yaml, size, vips);
	strcat(yaml, "services:\n");
	for (size_t k = 0; k < json_object_array_length(vips); k++)
		add_service(yaml, size, k, json_object_array_get_idx(vips, k), ids, keys);
}
