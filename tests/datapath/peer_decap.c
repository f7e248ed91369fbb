// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What another load balancer's own tests have for decapsulation (peer-vectors.json), through the
 * really loaded decapsulator of a backend. That balancer strips tunnels itself, on a balancer and
 * on a backend, and forwards some of what was inside; here backends strip and nobody forwards, so
 * most of it deviates: a line of the tables says why, and what is done is checked instead. That a
 * balancer leaves all of these tunnels alone, peer.c checks.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <string.h>

#include "bpf/decap.skel.h"
#include "maps/text.h"
#include "tests/support/peer.h"

#define GUE_DPORT 9886
#define OUTER	  (40 + 8) /* of all tunnels in there: IPv6 and UDP */

#define HOP                                                                                        \
	"it counts a hop where it strips; the end of a tunnel leaves the TTL inside as it is "     \
	"(RFC 2003, section 3.1)"
#define LAST_HOP "no hop left by that count; here the packet has arrived, and needs none"
#define AGAIN                                                                                      \
	"a balancer behind a balancer, which takes a tunnel off and puts another on; here who "    \
	"strips is the backend, and keeps what is for its addresses"
#define ANY_OUTER                                                                                  \
	"strict about the outer destination; here the inner one decides, whichever address of "    \
	"the backend the balancer sends to"
#define DIRECT                                                                                     \
	"servers' answers through the balancer, out of a tunnel; here they go to clients "         \
	"directly, and one in a tunnel is not for an address of this backend"
#define PLAIN "no tunnel: a balancer's, and peer.c has it forwarded; nothing for a backend to strip"

struct deviation {
	int index;     /* of the vector in its set */
	bool stripped; /* here, with nothing inside changed; else it passes as it came */
	const char *why;
};

/* clang-format off */
static const struct deviation xpop_decap[] = {
	{1, true, AGAIN},
	{2, true, AGAIN},
	{3, true, AGAIN},
	{4, true, LAST_HOP},
	{5, true, LAST_HOP},
	{6, true, HOP},
	{7, true, ANY_OUTER},
	{0},
};

static const struct deviation gue_decap_stats[] = {
	{1, true, HOP},
	{2, true, HOP},
	{3, false, PLAIN},
	{0},
};

static const struct deviation egress_decap[] = {
	{1, false, DIRECT},
	{2, false, DIRECT},
	{3, false, DIRECT},
	{0},
};
/* clang-format on */

static const struct set {
	const char *name;
	const struct deviation *deviations;
} sets[] = {
	{"xpop_decap", xpop_decap},
	{"gue_decap_stats", gue_decap_stats},
	{"egress_decap", egress_decap},
};

static const struct set *set; /* being compared */
static struct decap *d;

/* The virtual addresses of the set are this backend's. */
static void set_up(struct json_object *all)
{
	struct json_object *vips = peer_get(peer_get(peer_get(all, "setups"), set->name), "vips");
	const __u16 port = htons(GUE_DPORT);
	__u8 one = 1;

	d = decap__open_and_load();
	cr_assert(d, "cannot load the decapsulator: %s", strerror(errno));
	cr_assert(!bpf_map_update_elem(bpf_map__fd(d->maps.decap_ports), &port, &one, BPF_ANY));
	for (size_t k = 0; k < json_object_array_length(vips); k++) {
		const char *vip = peer_text(json_object_array_get_idx(vips, k), "address");
		union poise_addr a;

		cr_assert(!poise_parse_addr(vip, &a, NULL), "%s", vip);
		cr_assert(!bpf_map_update_elem(bpf_map__fd(d->maps.decap_addresses), &a, &one,
					       BPF_ANY));
	}
}

static void run(struct peer_vector *v)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = v->in.byte,
		    .data_size_in = (__u32)v->in.length, .data_out = v->out.byte,
		    .data_size_out = sizeof(v->out.byte));

	cr_assert(!bpf_prog_test_run_opts(bpf_program__fd(d->progs.poise_decap_xdp), &opts), "%s",
		  strerror(errno));
	v->out.length = opts.data_size_out;
	v->got = (int)opts.retval;
}

/* The frame without its outer headers. */
static void strip(const struct frame *in, struct frame *out)
{
	const __u8 *inner = in->byte + ETH_HLEN + OUTER;
	const __u16 type = htons(*inner >> 4 == 6 ? ETH_P_IPV6 : ETH_P_IP);

	out->length = in->length - OUTER;
	memcpy(out->byte, in->byte, ETH_HLEN - sizeof(type));
	memcpy(out->byte + ETH_HLEN - sizeof(type), &type, sizeof(type));
	memcpy(out->byte + ETH_HLEN, inner, out->length - ETH_HLEN);
}

static void compare(struct peer_vector *v)
{
	const struct deviation *other = set->deviations;
	bool equal;

	while (other->index && other->index != v->index)
		other++;
	run(v);
	equal = v->got == v->verdict && frame_equal(&v->expected, &v->out);
	if (!other->index && !equal)
		PEER_FAULT(v, "verdict %d for %d, or another packet", v->got, v->verdict);
	if (!other->index)
		return;
	if (other->stripped)
		strip(&v->in, &v->expected);
	else
		v->expected = v->in;
	if (equal)
		PEER_FAULT(v, "no longer a deviation: %s", other->why);
	else if (v->got != XDP_PASS || !frame_equal(&v->expected, &v->out))
		PEER_FAULT(v, "verdict %d, or not %s: %s", v->got,
			   other->stripped ? "stripped" : "as it came", other->why);
}

Test(peer_decap, sets)
{
	struct json_object *all = peer_open();
	int compared = 0;

	for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		set = &sets[s];
		set_up(all);
		compared += peer_each(all, set->name, compare);
		decap__destroy(d);
	}
	cr_expect_eq(compared, peer_count(all, PEER_BACKEND), "%d compared", compared);
	json_object_put(all);
}
