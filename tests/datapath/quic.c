// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * QUIC: packets go to the backend whose server id their connection id carries, from whatever
 * address they come, and by their 5-tuple where it carries none that is known.
 *
 * Client 10.1.0.9 port 1234 goes to backend HOME by its 5-tuple; connection ids name others.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cases.h"
#include "tests/support/setup.h"

#define SERVICE(name, n, more, backends)                                                           \
	"  - { name: " name ", listen: [ '10.2.0." n ":443/udp', '[fd02:0::" n                     \
	"]:443/udp' ], forward: l2, quic: yes, " more "backends: [ " backends " ] }\n"
#define BACKEND(n, id) "{ address: 10.3.0." n ", server-id: " id " }"
#define ONE	       BACKEND("1", "257") /* 0101 */
#define TWO	       BACKEND("2", "515") /* 0203 */
#define THREE	       BACKEND("3", "65535")
#define FOUR	       BACKEND("4", "1029") /* 0405, of another service */
#define THREE_OF_THEM  ONE ", " TWO ", " THREE

static struct rig rig;

TestSuite(quic, .fini = place_cleanup, .timeout = TEST_LONGEST);

#define HOST "10.1.0.9"

/* What a QUIC packet with this payload, in hex, came to. */
struct outcome {
	int backend; /* 0: dropped or passed */
	bool routed; /* and counted as quic-routed */
};

static struct outcome send_from(const char *host, const char *hex)
{
	static struct rig_counts before, after;
	static struct frame out;
	__u16 id = rig_service(&rig, "q");
	struct outcome o = {0};
	char words[256];

	snprintf(words, sizeof(words), "ip4 %s > 10.2.0.1 | udp 1234 > 443%s%s", host,
		 *hex ? " | hex " : "", hex);
	rig_count(&rig, &before);
	if (rig_send(&rig, words, &out) == XDP_TX && out.byte[4] == FRAME_MAC_BACKEND)
		o.backend = out.byte[5];
	rig_count(&rig, &after);
	o.routed = after.service[id].count[POISE_R_QUIC] > before.service[id].count[POISE_R_QUIC];
	return o;
}

/* By the 5-tuple alone. */
static int home(void)
{
	struct outcome o;

	rig_forget(&rig);
	o = send_from(HOST, "");
	cr_assert(o.backend && !o.routed);
	rig_forget(&rig);
	return o.backend;
}

/* backend 0: by the 5-tuple. Nothing remembered before. */
static void expect(const char *what, const char *hex, int backend)
{
	int at_home = home();
	struct outcome o = send_from(HOST, hex);

	cr_expect_eq(o.routed, backend != 0, "%s: %s %srouted", what, hex, o.routed ? "" : "not ");
	cr_expect_eq(o.backend, backend ? backend : at_home, "%s: %s to %d, not %d", what, hex,
		     o.backend, backend ? backend : at_home);
}

static void open_q(const char *more, const char *backends)
{
	char yaml[2048];

	snprintf(yaml, sizeof(yaml), "services:\n%s%s%s%s",
		 "  - { name: q, listen: [ '10.2.0.1:443/udp' ], forward: l2, quic: yes, ", more,
		 backends, " }\n" SERVICE("r", "2", "", FOUR));
	rig_open(&rig, yaml);
}

#define REST "000000000000" /* what follows the id, as far as it matters */

Test(quic, headers)
{
	static const struct {
		const char *what, *hex;
		int backend;
	} table[] = {
		{"short header",
		 "40"
		 "070203" REST,
		 2},
		{"short header, all other bits",
		 "7f"
		 "070203" REST,
		 2},
		{"short header, greased fixed bit",
		 "00"
		 "070203" REST,
		 2},
		{"another backend",
		 "40"
		 "07ffff" REST,
		 3},
		{"config rotation bits",
		 "40"
		 "c70203" REST,
		 2},
		{"id said to have no server id",
		 "40"
		 "e70203" REST,
		 0},
		{"nobody's id",
		 "40"
		 "070204" REST,
		 0},
		{"id 0",
		 "40"
		 "070000" REST,
		 0},
		{"id of another service's backend",
		 "40"
		 "070405" REST,
		 0},
		{"handshake",
		 "e0"
		 "00000001"
		 "08"
		 "0702030000000000"
		 "00",
		 2},
		{"handshake, an id of 3 bytes",
		 "e0"
		 "00000001"
		 "03"
		 "070203"
		 "00",
		 2},
		{"handshake, too short an id",
		 "e0"
		 "00000001"
		 "02"
		 "070203"
		 "00",
		 0},
		{"handshake, no id",
		 "e0"
		 "00000001"
		 "00"
		 "070203"
		 "00",
		 0},
		{"retry",
		 "f0"
		 "00000001"
		 "08"
		 "0702030000000000"
		 "00",
		 2},
		{"initial",
		 "c0"
		 "00000001"
		 "08"
		 "0702030000000000"
		 "00",
		 0},
		{"0-RTT",
		 "d0"
		 "00000001"
		 "08"
		 "0702030000000000"
		 "00",
		 0},
		{"version 2, retry",
		 "c0"
		 "6b3343cf"
		 "08"
		 "0702030000000000"
		 "00",
		 2},
		{"version 2, initial",
		 "d0"
		 "6b3343cf"
		 "08"
		 "0702030000000000"
		 "00",
		 0},
		{"version 2, 0-RTT",
		 "e0"
		 "6b3343cf"
		 "08"
		 "0702030000000000"
		 "00",
		 0},
		{"version 2, handshake",
		 "f0"
		 "6b3343cf"
		 "08"
		 "0702030000000000"
		 "00",
		 2},
		{"another version",
		 "e0"
		 "ff00001d"
		 "08"
		 "0702030000000000"
		 "00",
		 2},
		{"an id of 20 bytes",
		 "e0"
		 "00000001"
		 "14"
		 "07020300000000000000"
		 "00000000000000000000"
		 "00",
		 2},
	};

	open_q("backends: ", "[ " THREE_OF_THEM " ]");
	for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++)
		expect(table[k].what, table[k].hex, table[k].backend);
	rig_close(&rig);
}

/* Whatever is missing of the server id, the packet goes by its 5-tuple. */
static void cut(const char *hex, size_t need, int backend)
{
	char part[128];

	for (size_t bytes = 0; bytes <= strlen(hex) / 2; bytes++) {
		snprintf(part, sizeof(part), "%.*s", (int)(2 * bytes), hex);
		expect("cut short", part, bytes < need ? 0 : backend);
	}
}

Test(quic, truncated_at_every_length)
{
	open_q("backends: ", "[ " THREE_OF_THEM " ]");
	cut("40"
	    "070203" REST,
	    4, 2);
	cut("e0"
	    "00000001"
	    "08"
	    "07ffff0000000000"
	    "00",
	    9, 3);
	rig_close(&rig);
}

/* Lengths that lie: what lies beyond the UDP datagram is none of its bytes. */
Test(quic, beyond_the_datagram)
{
	static struct frame out;
	struct outcome o;
	int at_home;

	open_q("backends: ", "[ " THREE_OF_THEM " ]");
	at_home = home();
	cr_assert_eq(rig_send(&rig,
			      "ip4 " HOST " > 10.2.0.1 | udp 1234 > 443 len 11 | hex 40070203",
			      &out),
		     XDP_TX);
	cr_expect_eq(out.byte[5], at_home);
	cr_assert_eq(rig_send(&rig,
			      "ip4 " HOST " > 10.2.0.1 | udp 1234 > 443 len 13 | hex 40070203",
			      &out),
		     XDP_TX);
	cr_expect_eq(out.byte[5], at_home);
	o = send_from(HOST, "40070203");
	cr_expect(o.routed && o.backend == 2, "the same with the right length: %d", o.backend);
	rig_close(&rig);
}

Test(quic, where_the_id_is)
{
	static const struct {
		const char *more, *id, *known, *unknown;
	} table[] = {
		{"quic-id-offset: 0, ", "58881",
		 "40"
		 "e601" REST,
		 "40"
		 "e602" REST},
		{"quic-id-offset: 0, quic-id-length: 1, ", "7",
		 "40"
		 "07",
		 "40"
		 "08"},
		{"quic-id-length: 1, ", "255",
		 "40"
		 "00ff",
		 "40"
		 "ff00"},
		{"quic-id-length: 3, ", "66051",
		 "40"
		 "00010203",
		 "40"
		 "01020300"},
		{"quic-id-length: 4, ", "4294967295",
		 "40"
		 "00ffffffff",
		 "40"
		 "00fffffffe"},
		{"quic-id-offset: 16, quic-id-length: 4, ", "16909060",
		 "40"
		 "00000000000000000000000000000000"
		 "01020304",
		 "40"
		 "00000000000000000000000000000000"
		 "01020305"},
	};
	char backends[160];

	for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
		snprintf(backends, sizeof(backends),
			 "backends: [ { address: 10.3.0.1, weight: 0, server-id: %s }, "
			 "{ address: 10.3.0.2 } ]",
			 table[k].id);
		open_q(table[k].more, backends);
		expect(table[k].more, table[k].known, 1);
		expect(table[k].more, table[k].unknown, 0);
	}
	rig_close(&rig);
}

/* ---- over time --------------------------------------------------------------------------------*/

#define TO2 "40070203" REST

Test(quic, a_client_that_changes_its_address_stays)
{
	char host[32];

	open_q("backends: ", "[ " THREE_OF_THEM " ]");
	for (int n = 1; n <= 50; n++) {
		struct outcome o;

		snprintf(host, sizeof(host), "10.1.1.%d", n);
		o = send_from(host, TO2);
		cr_expect(o.routed && o.backend == 2, "%s goes to %d", host, o.backend);
		/* and what the client sends from there without an id follows it */
		o = send_from(host, "c000000001"
				    "08"
				    "1122334455667788");
		cr_expect(!o.routed && o.backend == 2, "%s then goes to %d", host, o.backend);
	}
	rig_close(&rig);
}

static __s64 gauge(const char *address)
{
	static struct rig_counts c;
	__u16 id = rig_member(&rig, address);

	rig_count(&rig, &c);
	return (__s64)(c.member[id].opened - c.member[id].closed);
}

/* A flow's record follows the packets, and is counted once. */
Test(quic, the_record_follows)
{
	open_q("track: always, backends: ", "[ " THREE_OF_THEM " ]");
	send_from(HOST, "");
	cr_expect_eq(gauge("10.3.0.1") + gauge("10.3.0.2") + gauge("10.3.0.3"), 1);
	send_from(HOST, TO2);
	cr_expect_eq(POISE_WORD_MEMBER(*rig_word(&rig)), rig_member(&rig, "10.3.0.2"));
	cr_expect_eq(gauge("10.3.0.2"), 1);
	send_from(HOST, "4007ffff" REST);
	cr_expect_eq(gauge("10.3.0.2"), 0);
	cr_expect_eq(gauge("10.3.0.3"), 1);
	cr_expect_eq(gauge("10.3.0.1"), 0);
	rig_close(&rig);
}

Test(quic, without_tracking)
{
	open_q("track: off, backends: ", "[ " THREE_OF_THEM " ]");
	expect("track off", TO2, 2);
	cr_expect_null(rig_word(&rig));
	rig_close(&rig);
}

static struct config_member *backend(const char *address)
{
	struct config_service *svc = config_service_named(rig.cfg, "q");
	struct poise_error err;
	struct config_member *m = config_member_find(svc, address, &err);

	cr_assert(m, "%s", address);
	return m;
}

Test(quic, while_backends_come_and_go)
{
	struct config_service *svc;

	open_q("backends: ", "[ " THREE_OF_THEM " ]");
	backend("10.3.0.2")->conf.weight = 0;
	rig_commit(&rig);
	expect("weight 0", TO2, 2);
	backend("10.3.0.2")->conf.weight = 1;
	backend("10.3.0.2")->conf.admin = POISE_DRAINING;
	rig_commit(&rig);
	expect("draining", TO2, 2);
	backend("10.3.0.2")->conf.admin = POISE_DISABLED;
	rig_commit(&rig);
	expect("disabled", TO2, 0);
	config_service_named(rig.cfg, "q")->conf.health.type = POISE_CHECK_ICMP;
	backend("10.3.0.2")->conf.admin = POISE_ENABLED;
	backend("10.3.0.2")->conf.health = POISE_HEALTH_DOWN;
	rig_commit(&rig);
	expect("down", TO2, 0);
	backend("10.3.0.2")->conf.health = POISE_HEALTH_UP;
	rig_commit(&rig);
	expect("up again", TO2, 2);
	backend("10.3.0.2")->conf.server_id = 0;
	backend("10.3.0.3")->conf.server_id = 0x0203;
	rig_commit(&rig);
	expect("the id of another", TO2, 3);
	config_member_leave(config_service_named(rig.cfg, "q"), backend("10.3.0.3"), 1);
	rig_commit(&rig);
	expect("leaving", TO2, 0);
	svc = config_service_named(rig.cfg, "q");
	config_member_del(svc, backend("10.3.0.3"));
	rig_commit(&rig);
	expect("removed", TO2, 0);
	backend("10.3.0.2")->conf.server_id = 0x0203;
	config_service_named(rig.cfg, "q")->conf.quic = 0;
	rig_commit(&rig);
	expect("no longer QUIC", TO2, 0);
	rig_close(&rig);
}

/* ---- families, modes, headers in front --------------------------------------------------------*/

#define MODE(n, forward, backend)                                                                  \
	"  - { name: m" n ", listen: [ '10.2.0." n ":443/udp', '[fd02:0::" n                       \
	"]:443/udp' ], forward: " forward ", quic: yes, backends: [ { address: 10.3.0.9 }, "       \
	"{ address: '" backend "', weight: 0, server-id: 515 } ] }\n"

static const char modes[] = "services:\n" MODE("1", "l2", "10.3.0.1") MODE("2", "ipip", "10.3.0.2")
	MODE("3", "ipip", "fd03:0::3") MODE("6", "gue", "10.3.0.6");

#define Q "| udp 1234 > 443 | hex 40070203" REST

#define ROUTED(name, in, member, service, out)                                                     \
	{                                                                                          \
		name, in, XDP_TX, out, member, service " quic-routed"                              \
	}
#define A4(n) "ip4 10.1.0.9 > 10.2.0." #n " "
#define A6(n) "ip6 fd01::9 > fd02:0::" #n " "

static const struct packet_case ways[] = {
	ROUTED("l2", IN0 A4(1) Q, "10.3.0.1", "m1", OUT0("b1") A4(1) "ttl 63 " Q),
	ROUTED("4in4", IN0 A4(2) Q, "10.3.0.2", "m2", OUT0("b2") OUTER4("10.3.0.2") "| " A4(2) Q),
	ROUTED("4in6", IN0 A4(3) Q, "fd03:0::3", "m3", OUT0("b3") OUTER6("fd03:0::3") "| " A4(3) Q),
	ROUTED("gue", IN0 A4(6) Q, "10.3.0.6", "m6",
	       OUT0("b6") OUTER4("10.3.0.6") GUE "| " A4(6) Q),
	ROUTED("IPv6, l2", IN0 A6(1) Q, "10.3.0.1", "m1", OUT0("b1") A6(1) "ttl 63 " Q),
	ROUTED("6in6", IN0 A6(3) Q, "fd03:0::3", "m3", OUT0("b3") OUTER6("fd03:0::3") "| " A6(3) Q),
	ROUTED("IP options", IN0 A4(1) "opt 40 " Q, "10.3.0.1", "m1",
	       OUT0("b1") A4(1) "opt 40 ttl 63 " Q),
	ROUTED("extension headers", IN0 A6(1) "| hop 8 | dst 24 " Q, "10.3.0.1", "m1",
	       OUT0("b1") A6(1) "ttl 63 | hop 8 | dst 24 " Q),
	ROUTED("two tags", IN2 A4(1) Q, "10.3.0.1", "m1", OUT0("b1") A4(1) "ttl 63 " Q),
};

/* Cut short at every length, too: then it passes, and nothing is counted. */
Test(quic, families_and_modes)
{
	rig_open(&rig, modes);
	CASES_RUN(&rig, ways);
	rig_close(&rig);
}
