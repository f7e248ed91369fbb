// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mode nat's packets, one after the other (flight.h).
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "flight.h"

/* Over path p: IPv4 and IPv6 backends whose port is not the listener's, and one whose is. */
#define NAT_SERVICE(p, n, backend)                                                                 \
	"  - { name: s" #p #n                                                                      \
	", " SETUP_LISTEN(p, n) ", forward: nat, backends: [ { address: '" backend                 \
				"', port: 8080 } ] }\n"
#define NAT_PATH(p) NAT_SERVICE(p, 1, "10.3." #p ".1") NAT_SERVICE(p, 2, "fd03:" #p "::2")

static const char setup[] = "services:\n" NAT_PATH(0) NAT_PATH(1) NAT_PATH(2) NAT_PATH(3)
	NAT_PATH(4) NAT_SERVICE(5, 1, "10.3.5.1") NAT_SERVICE(9, 1, "10.3.9.1")
		SETUP_SERVICE(0, 4, "nat", "10.3.0.4");

void flight_open(struct rig *r)
{
	struct config_limits limits = RIG_LIMITS(4096);

	limits.nat_groups = 1;
	limits.nat_low = limits.nat_high = 20000;
	rig_open_with(r, setup, &limits);
}

static void send_first(struct rig *r, const struct flight *f)
{
	char words[512], *rest, *one;

	snprintf(words, sizeof(words), "%s", f->first ? f->first : "");
	for (one = strtok_r(words, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
		int verdict = rig_send(r, one, NULL);

		cr_assert(verdict == XDP_TX || verdict == XDP_REDIRECT, "%s: %s: verdict %d",
			  f->name, one, verdict);
	}
}

static __u64 count_of(struct rig *r, const char *counted)
{
	static struct rig_counts c;
	static const char *const names[] = {
#define NAME(symbol, name, text) name,
		POISE_REASONS(NAME) POISE_EVENTS(NAME)
#undef NAME
	};
	char service[32], reason[32];

	if (!counted)
		return 0;
	cr_assert_eq(sscanf(counted, "%31s %31s", service, reason), 2);
	rig_count(r, &c);
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		if (!strcmp(names[k], reason))
			return c.service[strcmp(service, "none") ? rig_service(r, service) : 0]
				.count[k];
	cr_assert_fail("there is no reason %s", reason);
	return 0;
}

bool flight_one(struct rig *r, const struct flight *f)
{
	struct frame in, out, expected;
	__u64 was;
	int verdict;

	rig_forget(r);
	rig_refill(r);
	send_first(r, f);
	was = count_of(r, f->counted);
	frame_build(&in, f->in);
	verdict = rig_run(r, &in, &out);
	frame_build(&expected, f->out ? f->out : f->in);
	if (verdict == f->verdict && frame_equal(&expected, &out) &&
	    count_of(r, f->counted) == was + !!f->counted)
		return true;
	fprintf(stderr, "%s: verdict %d, not %d; %llu counted\n", f->name, verdict, f->verdict,
		count_of(r, f->counted) - was);
	frame_print_difference(&expected, &out);
	return false;
}

void flight_all(struct rig *r, const struct flight *f, size_t n)
{
	size_t bad = 0;

	for (size_t k = 0; k < n; k++)
		bad += !flight_one(r, &f[k]);
	cr_assert_eq(bad, 0, "%zu of %zu", bad, n);
}
