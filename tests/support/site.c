/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "site.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "late.h"

/* As the lab is laid out. */
static const char *layout(const struct site *s)
{
	return s->ipip ? "ipip" : s->gue ? "gue" : "l2";
}

static const char *mode(const struct site *s)
{
	return s->nat ? "nat" : layout(s);
}

void site_up(struct site *s)
{
	char options[128];
	int used;

	cr_assert_leq(s->backends, SITE_MOST);
	s->arms = s->arms ?: 1;
	used = snprintf(options, sizeof(options), "--clients %d --backends %d --mode %s --arms %d",
			s->clients ?: 1, s->backends, layout(s), s->arms);
	if (s->mtu)
		snprintf(options + used, sizeof(options) - (size_t)used, " --mtu %d", s->mtu);
	lab_up(&s->lab, options);
	for (int n = 1; n <= s->backends; n++) {
		char node[16];

		snprintf(node, sizeof(node), "b%d", n);
		lab_must(&s->lab, node, "nginx");
		site_serve(s, n);
		if (s->ipip || s->gue)
			lab_must(&s->lab, node,
				 "poise decap attach eth0 " SITE_VIP4 " " SITE_VIP6 "%s",
				 s->gue ? " gue-port 6080" : "");
	}
}

void site_serve(struct site *s, int n)
{
	char node[16], own[32];

	snprintf(node, sizeof(node), "b%d", n);
	if (!s->nat) {
		s->serve[n] = lab_serve(&s->lab, node,
					"serve %s " SITE_VIP4 ":9000 [" SITE_VIP6 "]:9000", node);
		return;
	}
	snprintf(own, sizeof(own), "%s", site_backend(s, n, 4));
	s->serve[n] = lab_serve(&s->lab, node, "serve %s %s:9000 [%s]:9000", node, own,
				site_backend(s, n, 6));
}

void site_unserve(struct site *s, int n)
{
	lab_stop(s->serve[n], SIGKILL);
	s->serve[n] = 0;
}

void site_attach(struct site *s)
{
	s->poised = lab_poised(&s->lab, "lb1", s->daemon ? s->daemon : "");
	lab_must(&s->lab, "lb1", "poise attach eth0");
	if (s->arms > 1)
		lab_must(&s->lab, "lb1", "poise attach eth1");
}

void site_begin(struct site *s)
{
	site_up(s);
	site_attach(s);
}

const char *site_backend(const struct site *s, int n, int family)
{
	static char text[32];
	bool far = s->ipip || s->gue || s->arms > 1;

	if (family == 4)
		snprintf(text, sizeof(text), "10.0.%d.%d", far, n);
	else
		snprintf(text, sizeof(text), "2001:db8:%c::%d", far ? 'f' : '5', n);
	return text;
}

void site_service(struct site *s, const char *vip, int backend_family)
{
	char at[64], backends[512] = "";

	snprintf(at, sizeof(at), strchr(vip, ':') ? "[%s]" : "%s", vip);
	for (int n = 1; n <= s->backends; n++) {
		strcat(backends, " ");
		strcat(backends, site_backend(s, n, backend_family));
	}
	lab_must(&s->lab, "lb1", "poise service add web %s:80 %s:9000 %s:9000/udp forward %s %s",
		 at, at, at, mode(s), s->keys ?: "");
	/* No packets and no changes of state but what a test asks for. */
	lab_must(&s->lab, "lb1", "poise health off web");
	lab_must(&s->lab, "lb1", "poise backend add web%s", backends);
	/* Next hops are being asked for; a few requests answered by all means they are known. */
	lab_until(&s->lab, "c1", SITE_SOON,
		  "load udp %s:9000 --count %d --timeout 0.3 | grep -q ' 0 failed'", at,
		  8 * s->backends);
}

void site_nat_service(struct site *s, const char *name, int port, const char *backend)
{
	static const char *const vips[] = {SITE_VIP4, "[" SITE_VIP6 "]"};

	lab_must(&s->lab, "lb1",
		 "poise service add %s " SITE_VIP4 ":%d " SITE_VIP4 ":%d/udp [" SITE_VIP6 "]:%d "
		 "[" SITE_VIP6 "]:%d/udp forward nat && poise health off %s && "
		 "poise backend add %s %s",
		 name, port, port, port, port, name, name, backend);
	for (int k = 0; k < 2; k++)
		lab_until(&s->lab, "c1", SITE_SOON, "probe tcp %s:%d | grep -qE 'connec|refused'",
			  vips[k], port);
}

void site_expect(const struct site *s, int n, int family, const char *state, const char *said)
{
	lab_until(&s->lab, "lb1", SITE_SOON,
		  "poise show web --columns backend,state,check | grep -qE '^ *%s +%s +%s'",
		  site_backend(s, n, family), state, said);
}

void site_expect_all_up(const struct site *s, int family, const char *said)
{
	for (int n = 1; n <= s->backends; n++)
		site_expect(s, n, family, "up", said);
}

double site_since(const struct site *s, int n, int family)
{
	return atof(lab_must(&s->lab, "lb1",
			     "date +%%s.%%N -d $(poise show web --json | "
			     "grep -o '\"address\": *\"%s\".*' | "
			     "grep -o 'state_since\": *\"[^\"]*' | head -1 | cut -d'\"' -f3)",
			     site_backend(s, n, family)));
}

void site_expect_in_time(const struct site *s, const char *fault, double took)
{
	double late = late_end();

	fprintf(stderr, "%s: found after %.3f s, while the machine was late by up to %.3f s\n",
		fault, took, late);
	cr_expect(took <= SITE_FOUND + SITE_WAKINGS * late ||
			  took <= SITE_FOUND * lab_slowness(&s->lab),
		  "%s: found after %.3f s; in %.3f s it must be", fault, took, SITE_FOUND);
}

void site_expect_shown(const struct site *s, const char *words)
{
	lab_until(&s->lab, "lb1", SITE_SOON, "poise show web | grep -qF '%s'", words);
}

void site_expect_from(const struct site *s, const char *url, const char *backends)
{
	const char *out = lab_must(&s->lab, "c1",
				   "for n in $(seq 40); do curl -s -m 2 %s || echo failed; done | "
				   "grep -oE '[a-z]+[0-9]|failed' | sort -u | tr '\\n' ' '",
				   url);

	cr_assert_str_eq(out, backends);
}

/* ---- many connections, and late answers -------------------------------------------------------*/

#define SLOW  900000 /* us: a SYN that is sent again takes a second */
#define TRIES 3

/* Of the requests in the load's log, how many took longer. */
static long slow_ones(const struct site *s)
{
	return atol(lab_must(&s->lab, "c1", "awk '$3 > %d { n++ } END { print n + 0 }' /run/log",
			     SLOW));
}

/* What load says when it has asked so often, and none failed. */
static void expect_all(const char *said, int count)
{
	char want[64];

	snprintf(want, sizeof(want), "%d requests, 0 failed", count);
	cr_assert(strstr(said, want), "%s", said);
}

const char *site_all_answered(const struct site *s, const char *kind, const char *target, int rate,
			      int count)
{
	const char *out = lab_must(&s->lab, "c1", "load %s %s --rate %d --count %d", kind, target,
				   rate, count);

	expect_all(out, count);
	return out;
}

void site_connect_often(const struct site *s, const char *at, const char *from, int rate, int count)
{
	long slow = 1;

	for (int k = 0; k < TRIES && slow; k++) {
		const char *out = lab_must(&s->lab, "c1",
					   "load http %s --from %s --rate %d "
					   "--count %d --timeout 30s --log /run/log",
					   at, from, rate, count);

		expect_all(out, count);
		slow = slow_ones(s);
	}
	cr_assert_eq(slow, 0, "%ld of %d took longer than %d us", slow, count, SLOW);
}

void site_expect_late(const struct site *s, const char *node, const char *backend, const char *vip,
		      int port, int size, const char *says)
{
	const char *out;
	int heard = -1;

	lab_must(&s->lab, node,
		 "rm -f /run/late; probe late %s size %d > /run/late 2>&1 & "
		 "until grep -q ready /run/late; do sleep 0.05; done",
		 backend, size);
	for (int k = 0; k < 3 && heard; k++) {
		lab_must(&s->lab, "c1", "bash -c 'echo > /dev/udp/%s/%d'", vip, port);
		heard = lab_run(&s->lab, node, NULL,
				"for n in $(seq 100); do grep -q after /run/late && exit 0; "
				"sleep 0.1; done; exit 1");
	}
	out = lab_must(&s->lab, node, "cat /run/late");
	cr_assert(strstr(out, says), "%s by %s: %s: %s", backend, vip, says, out);
}

void site_down(struct site *s)
{
	if (s->poised)
		lab_stop(s->poised, SIGTERM);
	s->poised = 0;
	lab_down(&s->lab);
}

void site_end(struct site *s)
{
	lab_must(&s->lab, "lb1", "poise map check");
	site_down(s);
}
