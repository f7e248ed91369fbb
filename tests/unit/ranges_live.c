// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lists of source ranges that change while packets come, through the datapath itself: between any
 * two stores of a change a packet sees the old list or the new one, whole. Whoever both say the
 * same of is never treated otherwise, and of the others all change their minds at one store.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "maps/text.h"
#include "tests/support/native.h"
#include "tests/support/ranges.h"

#define CHANGES 60
#define CLIENTS 24
#define RANGES	12 /* of a list at most */

static struct native n;
static struct poise_range list[2][RANGES]; /* old and new */
static size_t count[2];
static union poise_addr client[CLIENTS];
static unsigned long packets, unlike;
static bool turned; /* a packet of this change saw the new list */

static const char yaml[] =
	"services:\n  - { name: one, forward: l2, listen: [ '10.2.0.1:53/udp', '[fd02::1]:53/udp' "
	"], backends: [ 10.3.0.1 ] }\n";

static bool denied(const union poise_addr *a)
{
	char words[160], text[POISE_ADDR_TEXT];
	int verdict;

	poise_format_addr(a, text, sizeof(text));
	snprintf(words, sizeof(words),
		 poise_addr_is4(a) ? "eth gw > lb | ip4 %s > 10.2.0.1 | udp 1234 > 53"
				   : "eth gw > lb | ip6 %s > fd02::1 | udp 1234 > 53",
		 text);
	verdict = native_send(&n, NULL, words);
	cr_assert(verdict == XDP_TX || verdict == XDP_DROP, "%s: verdict %d", text, verdict);
	return verdict == XDP_DROP;
}

static void between_stores(unsigned long store)
{
	for (int c = 0; c < CLIENTS; c++) {
		bool now = denied(&client[c]);
		bool old = range_model_denies(list[0], count[0], &client[c]);
		bool new = range_model_denies(list[1], count[1], &client[c]);
		char text[POISE_ADDR_TEXT];

		if (old != new && !turned)
			turned = now == new;
		cr_assert_eq(now, turned ? new : old, "store %lu: %s", store,
			     poise_format_addr(&client[c], text, sizeof(text)));
		packets++;
		unlike += old != new;
	}
}

static void set_list(const struct poise_range *range, size_t ranges)
{
	struct config_service *svc = n.cfg->service[0];
	char text[RANGE_TEXT];

	ranges_free(&svc->allow);
	ranges_free(&svc->deny);
	for (size_t r = 0; r < ranges; r++) {
		range_format(&range[r], text, sizeof(text));
		cr_assert_eq(ranges_add(range[r].deny ? &svc->deny : &svc->allow, text, NULL), 0);
	}
}

/* Some of the ends of both lists. */
static void draw_clients(void)
{
	static union poise_addr probe[2 * RANGE_MODEL_PROBES(RANGES)];
	size_t probes = range_model_probes(list[0], count[0], probe);

	probes += range_model_probes(list[1], count[1], probe + probes);
	for (int c = 0; c < CLIENTS; c++)
		client[c] = probe[range_model_number((__u32)probes)];
}

Test(ranges_live, old_or_new_and_nothing_between)
{
	native_open(&n, yaml, 64);
	for (int change = 0; change < CHANGES; change++) {
		memcpy(list[0], list[1], sizeof(list[0]));
		count[0] = count[1];
		count[1] = range_model_number(RANGES + 1);
		range_model_draw(list[1], count[1]);
		draw_clients();
		set_list(list[1], count[1]);
		turned = false;
		instance_step = between_stores;
		native_commit(&n);
		instance_step = NULL;
		turned = true;
		between_stores(0);
	}
	cr_assert_gt(unlike, 1000, "only %lu of %lu packets met a difference", unlike, packets);
	native_close(&n);
}
