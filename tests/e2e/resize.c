// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The flow table gets another size under real traffic: long transfers arrive whole, requests are
 * all answered, and poised removes the old table once its flows have moved.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/site.h"

#define TRANSFERS 4
#define BYTES	  "20000000"
#define REQUESTS  1500
/* The table is `flows_1` after one resize. */
#define FLOWS_LEFT "/sys/fs/bpf/poise/default/v1/flows"

Test(resize, under_real_traffic, .timeout = TEST_LONGEST)
{
	struct site s = {.backends = 3, .keys = "track always policy source-hash"};
	pid_t transfer[TRANSFERS], load;
	const char *out;

	site_up(&s);
	site_attach(&s);
	site_service(&s, SITE_VIP4, 4);
	for (int n = 0; n < TRANSFERS; n++)
		transfer[n] = lab_start(&s.lab, "c1", "bulk " SITE_VIP4 ":9000 " BYTES);
	load = lab_start(&s.lab, "c1", "load http " SITE_VIP4 ":80 --rate 500 --count %d",
			 REQUESTS);
	lab_must(&s.lab, "lb1", "poise map resize flows 64k");
	out = lab_must(&s.lab, "lb1", "poise map check");
	cr_assert(strstr(out, "every map is"), "%s", out);
	for (int n = 0; n < TRANSFERS; n++)
		lab_wait(transfer[n]);
	lab_wait(load);
	lab_host(&out, "cat %s.c1*", s.lab.log);
	cr_assert(strstr(out, "1500 requests, 0 failed"), "%s", out);
	for (int n = 0; n < TRANSFERS; n++, out += 5) {
		out = strstr(out, "down ");
		cr_assert(out, "not every transfer arrived whole");
	}
	/* Connections that were closed without a word by way of us would take their timeout. */
	lab_must(&s.lab, "lb1", "poise -q flows drop all");
	lab_until(
		&s.lab, "lb1", LAB_SOON,
		"poise status --json | grep -q '\"flow_slots\":{\"used\":[0-9]*,\"limit\":65536}' "
		"&& test $(ls /sys/fs/bpf/poise/default/v1 | grep -c ^flows) = 1");
	/* What a resize leaves that is killed before it has begun. */
	lab_must(&s.lab, "lb1",
		 "bpftool map create " FLOWS_LEFT
		 " type array key 4 value 64 entries 8192 name flows flags 0x400");
	lab_until(&s.lab, "lb1", LAB_SOON, "test ! -e " FLOWS_LEFT);
	site_down(&s);
}
