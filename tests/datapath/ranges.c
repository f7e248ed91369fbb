// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Source ranges: who reaches a service and who does not, at every address where that changes, and
 * for every kind of packet that belongs to a client; and that a change holds from the next packet
 * on.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "maps/text.h"
#include "tests/support/cases.h"
#include "tests/support/ranges.h"
#include "tests/support/setup.h"

static struct rig rig;

TestSuite(ranges, .fini = place_cleanup, .timeout = TEST_LONGEST);

/* ---- kinds of packets -------------------------------------------------------------------------*/

/* Clients 10.1.0.9 and fd01::9 are denied, 10.1.0.8 and fd01::8 admitted. */
#define DENY                                                                                       \
	"deny: [ '10.1.0.0/24', 'fd01::/64', 0.0.0.0 ], allow: [ '10.1.0.8', 'fd01::8', '::/0', "  \
	"'0.0.0.0/0' ]"
#define SERVICE(name, n, more, backend)                                                            \
	"  - { name: " name ", listen: [ '10.2.0." n ":80', '10.2.0." n ":53/udp', '[fd02:0::" n   \
	"]:80', '[fd02:0::" n "]:53/udp' ], " more ", " DENY ", backends: [ " backend " ] }\n"

static const char setup[] = "services:\n" SERVICE("l2", "1", "forward: l2", "10.3.0.1")
	SERVICE("ipip", "2", "forward: ipip", "10.3.0.2")
		SERVICE("gue", "3", "forward: gue, track: off", "'fd03:0::3'")
			SERVICE("always", "4", "forward: l2, track: always", "10.3.0.4")
				SERVICE("nobody", "5", "forward: l2", "")
					SERVICE("quic", "6", "forward: l2, quic: yes",
						"{ address: 10.3.0.6, server-id: 257 }");

#define NO4		"ip4 10.1.0.9 > 10.2.0."
#define NO6		"ip6 fd01::9 > fd02:0::"
#define YES4		"ip4 10.1.0.8 > 10.2.0."
#define YES6		"ip6 fd01::8 > fd02:0::"
#define DENIED(n, i, s) CASE_DROP(n, i, s " source-denied")

static const struct packet_case denied[] = {
	DENIED("TCP SYN", IN0 NO4 "1 | tcp 1234 > 80 S", "l2"),
	DENIED("in the middle of a flow", IN0 NO4 "1 | tcp 1234 > 80 A | data 9", "l2"),
	DENIED("a reset", IN0 NO4 "1 | tcp 1234 > 80 R", "l2"),
	DENIED("UDP", IN0 NO4 "1 | udp 1234 > 53 | data 9", "l2"),
	DENIED("IPv6 SYN", IN0 NO6 "1 | tcp 1234 > 80 S", "l2"),
	DENIED("IPv6 UDP", IN0 NO6 "1 | udp 1234 > 53 | data 9", "l2"),
	DENIED("behind IP options", IN0 NO4 "1 opt 40 | tcp 1234 > 80 S opt 40", "l2"),
	DENIED("behind extension headers", IN0 NO6 "1 | hop 16 | dst 8 | udp 1234 > 53", "l2"),
	DENIED("in a tag", IN1 NO4 "1 | udp 1234 > 53", "l2"),
	DENIED("in two tags", IN2 NO6 "1 | udp 1234 > 53", "l2"),
	DENIED("padded", IN0 NO4 "1 | udp 1234 > 53 | pad 18", "l2"),
	DENIED("ipip", IN0 NO4 "2 | tcp 1234 > 80 S", "ipip"),
	DENIED("gue, unrecorded", IN0 NO6 "3 | udp 1234 > 53", "gue"),
	DENIED("a service that records", IN0 NO6 "4 | tcp 1234 > 80 S", "always"),
	DENIED("no hop left: not answered", IN0 NO4 "1 ttl 1 | tcp 1234 > 80 S", "l2"),
	DENIED("IPv6, no hop left: not answered", IN0 NO6 "2 ttl 1 | udp 1234 > 53", "ipip"),
	DENIED("too big: not answered", IN0 NO4 "2 df | udp 1234 > 53 | data 1470", "ipip"),
	DENIED("nobody there: not refused", IN0 NO4 "5 | tcp 1234 > 80 S", "nobody"),
	DENIED("IPv6, nobody there: not refused", IN0 NO6 "5 | udp 1234 > 53", "nobody"),
	DENIED("a connection id that is known",
	       IN0 NO4 "6 | udp 1234 > 53 | hex 4007010100000000000000", "quic"),
	DENIED("a first fragment", IN0 NO4 "1 mf | udp 1234 > 53 len 160 csum 0 | data 32", "l2"),
	DENIED("IPv6, a first fragment",
	       IN0 NO6 "1 | frag6 mf | udp 1234 > 53 len 160 csum 0 | data 32", "l2"),
	DENIED("a later fragment alone", IN0 NO4 "1 off 5 proto 17 | data 40", "l2"),
	DENIED("a later fragment of TCP", IN0 NO4 "1 off 5 mf proto 6 | data 40", "l2"),
	DENIED("IPv6, a later fragment alone", IN0 NO6 "1 | frag6 off 5 proto 17 | data 40", "l2"),
	DENIED("an error about what went to such a client",
	       IN0 "ip4 10.1.0.8 > 10.2.0.1 | icmp 3 code 4 | ip4 10.2.0.1 > 10.1.0.9 | "
		   "tcp 80 > 1234 A",
	       "l2"),
	DENIED("IPv6, an error about what went to such a client",
	       IN0 "ip6 fd01::8 > fd02:0::2 | icmp6 2 | ip6 fd02:0::2 > fd01::9 | udp 53 > 1234",
	       "ipip"),
};

static const struct packet_case admitted[] = {
	CASE_TX("TCP SYN", IN0 YES4 "1 | tcp 1234 > 80 S", "10.3.0.1",
		OUT0("b1") YES4 "1 ttl 63 | tcp 1234 > 80 S"),
	CASE_TX("IPv6 UDP", IN0 YES6 "1 | udp 1234 > 53 | data 9", "10.3.0.1",
		OUT0("b1") YES6 "1 ttl 63 | udp 1234 > 53 | data 9"),
	CASE_TX("a service that records", IN0 YES4 "4 | tcp 1234 > 80 S", "10.3.0.4",
		OUT0("b4") YES4 "4 ttl 63 | tcp 1234 > 80 S"),
	CASE_TX("the next address", IN0 "ip4 10.1.1.0 > 10.2.0.1 | udp 1234 > 53", "10.3.0.1",
		OUT0("b1") "ip4 10.1.1.0 > 10.2.0.1 ttl 63 | udp 1234 > 53"),
	CASE_ANSWER("nobody there: refused", IN0 YES4 "5 | tcp 1234 > 80 S",
		    "nobody no-backend answered-rst",
		    "eth lb > gw | ip4 10.2.0.5 > 10.1.0.8 df | tcp 80 > 1234 RA win 0 seq 0 "
		    "ack 1001"),
	{"an error that a denied router sends",
	 IN0 "ip4 10.1.0.9 > 10.2.0.1 | icmp 3 code 4 | ip4 10.2.0.1 > 10.1.0.8 | tcp 80 > 1234 A",
	 XDP_TX,
	 OUT0("b1") "ip4 10.1.0.9 > 10.2.0.1 ttl 63 | icmp 3 code 4 | ip4 10.2.0.1 > 10.1.0.8 | "
		    "tcp 80 > 1234 A",
	 "10.3.0.1", "l2 icmp-error-routed"},
	CASE_PASS("an error about an outer packet, for such a client: not relayed",
		  IN0 "ip4 10.3.0.77 > 10.3.0.254 | icmp 3 code 4 mtu 1400 | ip4 10.3.0.254 > "
		      "10.3.0.2 df len 1500 | ip4 10.1.0.9 > 10.2.0.2 df len 1480 | "
		      "tcp 1234 > 80 A | data 33"),
	CASE_PASS("a denied client, to a port that nobody listens on",
		  IN0 NO4 "1 | tcp 1234 > 81 S"),
};

Test(ranges, every_kind_of_packet)
{
	rig_open(&rig, setup);
	CASES_RUN(&rig, denied);
	CASES_RUN(&rig, admitted);
	rig_close(&rig);
}

/* ---- every address where something changes ----------------------------------------------------*/

static struct config_service *service(void)
{
	struct config_service *svc = config_service_named(rig.cfg, "one");

	cr_assert(svc);
	return svc;
}

/* Makes the service's lists these. */
static void set_ranges(const struct poise_range *range, size_t n)
{
	struct config_service *svc = service();
	char text[RANGE_TEXT];

	ranges_free(&svc->allow);
	ranges_free(&svc->deny);
	for (size_t r = 0; r < n; r++) {
		range_format(&range[r], text, sizeof(text));
		cr_assert_eq(ranges_add(range[r].deny ? &svc->deny : &svc->allow, text, NULL), 0);
	}
	rig_commit(&rig);
}

static int send_from(const union poise_addr *a)
{
	char words[160], text[POISE_ADDR_TEXT];
	struct frame out;

	poise_format_addr(a, text, sizeof(text));
	snprintf(words, sizeof(words),
		 poise_addr_is4(a) ? IN0 "ip4 %s > 10.2.0.1 | udp 1234 > 53"
				   : IN0 "ip6 %s > fd02::1 | udp 1234 > 53",
		 text);
	return rig_send(&rig, words, &out);
}

static void expect_at(const struct poise_range *range, size_t n, const union poise_addr *a)
{
	int verdict = send_from(a);
	char text[POISE_ADDR_TEXT];

	cr_assert_eq(verdict, range_model_denies(range, n, a) ? XDP_DROP : XDP_TX,
		     "%s of %zu prefixes: verdict %d", poise_format_addr(a, text, sizeof(text)), n,
		     verdict);
}

#define ONE                                                                                        \
	"services:\n  - { name: one, forward: l2, listen: [ '10.2.0.1:53/udp', "                   \
	"'[fd02::1]:53/udp' ], backends: [ 10.3.0.1 ] }\n"

Test(ranges, every_bound)
{
	static union poise_addr probe[RANGE_MODEL_PROBES(POISE_RANGES_MAX)];
	static struct poise_range range[POISE_RANGES_MAX];
	static const size_t sizes[] = {0, 1, 1, 1, 2, 3, 5, 8, 15, 33, 70, 128, POISE_RANGES_MAX};
	const size_t step = place_emulated() ? 7 : 1;

	rig_open(&rig, ONE);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		size_t n = sizes[s], probes;

		range_model_draw(range, n);
		set_ranges(range, n);
		probes = range_model_probes(range, n, probe);
		for (size_t p = 0; p < probes; p += step)
			expect_at(range, n, &probe[p]);
	}
	rig_close(&rig);
}

/* ---- changes ----------------------------------------------------------------------------------*/

static __u64 count(const char *name, enum poise_reason reason)
{
	static struct rig_counts c;

	rig_count(&rig, &c);
	return c.service[rig_service(&rig, name)].count[reason];
}

/* A flow that is denied and admitted again goes on where it was. */
Test(ranges, a_known_flow_stops_and_goes_on)
{
	const char *flow = IN0 "ip4 10.1.0.9 > 10.2.0.1 | tcp 1234 > 80 %s";
	static const struct poise_range host = {
		.addr.b = {[10] = 0xff, 0xff, 10, 1, 0, 9}, .length = RANGE_BITS, .deny = 1};
	char syn[160], data[160];
	struct frame out;
	__u8 backend;
	__u64 word;

	rig_open(&rig, "services:\n  - { name: one, forward: l2, track: always, listen: [ "
		       "'10.2.0.1:80' ], backends: [ 10.3.0.1, 10.3.0.2, 10.3.0.3 ] }\n");
	snprintf(syn, sizeof(syn), flow, "S");
	snprintf(data, sizeof(data), flow, "A | data 9");
	cr_assert_eq(rig_send(&rig, syn, &out), XDP_TX);
	cr_assert_eq(rig_send(&rig, data, &out), XDP_TX);
	backend = out.byte[5];
	word = *rig_word(&rig);
	set_ranges(&host, 1);
	cr_assert_eq(rig_send(&rig, data, &out), XDP_DROP);
	cr_assert_eq(rig_send(&rig, syn, &out), XDP_DROP);
	cr_assert_eq(count("one", POISE_R_SOURCE), 2);
	cr_assert_eq(*rig_word(&rig), word, "whoever is denied changes no word");
	set_ranges(NULL, 0);
	cr_assert_eq(rig_send(&rig, data, &out), XDP_TX);
	cr_assert_eq(out.byte[5], backend);
	rig_close(&rig);
}

/* ---- fragments on an address of several services ----------------------------------------------*/

#define SHARED                                                                                     \
	"services:\n"                                                                              \
	"  - { name: open, forward: l2, listen: [ '10.2.0.1:53/udp' ], backends: [ 10.3.0.1 ] }\n" \
	"  - { name: shut, forward: l2, listen: [ '10.2.0.1:54/udp' ], deny: 10.1.0.9, backends: " \
	"[ 10.3.0.2 ] }\n"

static int piece(int id, int port, bool first)
{
	char words[160];
	struct frame out;

	if (first)
		snprintf(words, sizeof(words),
			 IN0 "ip4 10.1.0.9 > 10.2.0.1 id %d mf | udp 1234 > %d len 80 csum 0 | "
			     "data 32",
			 id, port);
	else
		snprintf(words, sizeof(words),
			 IN0 "ip4 10.1.0.9 > 10.2.0.1 id %d off 5 proto 17 | data 40", id);
	return rig_send(&rig, words, &out);
}

Test(ranges, fragments_to_a_shared_address)
{
	rig_open(&rig, SHARED);
	/* known by its first */
	cr_expect_eq(piece(1, 53, true), XDP_TX);
	cr_expect_eq(piece(1, 53, false), XDP_TX);
	cr_expect_eq(piece(2, 54, true), XDP_DROP);
	cr_expect_eq(count("shut", POISE_R_SOURCE), 1);
	/* the host's own datagrams on the same address are its own */
	cr_expect_eq(piece(3, 99, true), XDP_PASS);
	cr_expect_eq(piece(3, 99, false), XDP_PASS);
	/* denied meanwhile: the service that it would go to counts it */
	rig_apply(&rig, "services:\n  - { name: open, forward: l2, listen: [ '10.2.0.1:53/udp' ], "
			"deny: 10.1.0.0/24, backends: [ 10.3.0.1 ] }\n  - { name: shut, forward: "
			"l2, listen: [ '10.2.0.1:54/udp' ], backends: [ 10.3.0.2 ] }\n");
	cr_expect_eq(piece(1, 53, false), XDP_DROP);
	cr_expect_eq(count("open", POISE_R_SOURCE), 1);
	rig_close(&rig);
}

/* The same with one service, whose ranges are asked before anybody guesses. */
Test(ranges, fragments_to_the_host_of_a_service)
{
	rig_open(&rig, "services:\n  - { name: shut, forward: l2, listen: [ '10.2.0.1:54/udp' ], "
		       "deny: 10.1.0.9, backends: [ 10.3.0.2 ] }\n");
	cr_expect_eq(piece(2, 54, false), XDP_DROP);
	cr_expect_eq(piece(2, 54, true), XDP_DROP);
	cr_expect_eq(count("shut", POISE_R_SOURCE), 2);
	cr_expect_eq(piece(3, 99, true), XDP_PASS);
	cr_expect_eq(piece(3, 99, false), XDP_PASS);
	cr_expect_eq(count("shut", POISE_R_SOURCE), 2);
	rig_close(&rig);
}
