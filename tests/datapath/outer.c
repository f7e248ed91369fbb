// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Generated headers over all their values: checksums through every carry, and what varies from flow
 * to flow for the receiver's sake, but never within one.
 */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/driver.h"
#include "tests/support/driver.skel.h"
#include "tests/support/rig.h"
#include "tests/support/setup.h"

#define ENTROPY(n, backend)                                                                        \
	"  - { name: e" #n ", " SETUP_LISTEN(0, n) ", forward: ipip, entropy: yes, backends: [ { " \
						   "address: '" backend "' } ] }\n"

static const char setup[] =
	"services:\n" SETUP_MODES(0) ENTROPY(4, "10.3.0.4") ENTROPY(5, "fd03::5");

static struct rig rig;

TestSuite(outer, .fini = place_cleanup, .timeout = TEST_LONGEST);

#define ETH	  14
#define ID_AT	  (ETH + 4)
#define CHECK_AT  (ETH + 10)
#define SPORT_AT  (ETH + 20)
#define FLOWS	  64
#define DIFFERENT 56 /* of 64 values at random in 65,536 or more, so many differ all but surely */

static unsigned int sum_of(const __u8 *header)
{
	unsigned int sum = 0;

	for (int k = 0; k < 20; k += 2)
		sum += (unsigned int)header[k] << 8 | header[k + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* ---- checksums --------------------------------------------------------------------------------*/

/* Every identification: the header's checksum then takes every value, too, that it can. Without DF
 * the outer header of ipip has the same number, so that its checksum goes through all its sums. */
static void every_checksum(const char *words)
{
	static struct frame in, out;
	unsigned int step = place_emulated() ? 97 : 1;

	frame_build(&in, words);
	for (unsigned int id = 0; id <= 0xffff; id += step) {
		unsigned int sum;

		in.byte[ID_AT] = (__u8)(id >> 8);
		in.byte[ID_AT + 1] = (__u8)id;
		in.byte[CHECK_AT] = in.byte[CHECK_AT + 1] = 0;
		sum = ~sum_of(in.byte + ETH) & 0xffff;
		in.byte[CHECK_AT] = (__u8)(sum >> 8);
		in.byte[CHECK_AT + 1] = (__u8)sum;
		cr_assert(rig_run(&rig, &in, &out) == XDP_TX);
		cr_assert(sum_of(out.byte + ETH) == 0xffff, "%s, id %u: checksum %02x%02x", words,
			  id, out.byte[CHECK_AT], out.byte[CHECK_AT + 1]);
		cr_assert(out.byte[CHECK_AT] != 0xff || out.byte[CHECK_AT + 1] != 0xff ||
				  in.byte[CHECK_AT] == 0xff,
			  "%s, id %u: minus zero, which no sender writes", words, id);
	}
}

/* ---- what varies ------------------------------------------------------------------------------*/

static unsigned int value_at(const struct frame *f, size_t at, unsigned int mask)
{
	return ((unsigned int)f->byte[at] << 16 | (unsigned int)f->byte[at + 1] << 8 |
		f->byte[at + 2]) &
	       mask;
}

/* The three bytes at `at` under mask: by flow, and the same for all of a flow's packets; all other
 * bytes of the outer header but its checksum stay the same. */
static void varies(const char *words, size_t at, unsigned int mask, size_t header)
{
	static struct frame in, out, again, first;
	unsigned int seen[FLOWS], different = 0;

	frame_build(&in, words);
	for (unsigned int k = 0; k < FLOWS; k++) {
		bool known = false;

		in.byte[SPORT_AT] = (__u8)k;
		cr_assert(rig_run(&rig, &in, &out) == XDP_TX);
		cr_assert(rig_run(&rig, &in, &again) == XDP_TX);
		cr_expect(frame_equal(&out, &again), "%s, flow %u: not the same again", words, k);
		seen[k] = value_at(&out, at, mask);
		for (unsigned int other = 0; other < k; other++)
			known |= seen[other] == seen[k];
		different += !known;
		if (out.byte[ETH] >> 4 == 4)
			cr_expect(sum_of(out.byte + ETH) == 0xffff, "%s: checksum", words);
		/* with these bytes and the checksum out of the way it is the first flow's header */
		for (int b = 0; b < 3; b++)
			out.byte[at + (size_t)b] &= (__u8) ~(mask >> (16 - 8 * b));
		if (out.byte[ETH] >> 4 == 4)
			out.byte[CHECK_AT] = out.byte[CHECK_AT + 1] = 0;
		if (!k)
			first = out;
		cr_expect(!memcmp(out.byte, first.byte, ETH + header), "%s, flow %u", words, k);
	}
	cr_expect(different >= DIFFERENT, "%s: %u different values in %d flows", words, different,
		  FLOWS);
}

/* ---- the poison -------------------------------------------------------------------------------*/

/* A program that leaves its header unwritten is found out: the tables rely on it. */
static void poison_works(void)
{
	int forgetful = bpf_program__fd(rig.driver->progs.forgetful);
	int map = bpf_map__fd(rig.driver->maps.under_test);
	static struct frame out;
	__u32 slot = 0;

	cr_assert(!bpf_map_update_elem(map, &slot, &forgetful, BPF_ANY));
	cr_assert(rig_send(&rig, "ip4 10.1.0.9 > 10.2.0.1 | tcp 1 > 80 S", &out) == XDP_TX);
	for (int k = 0; k < 20; k++)
		cr_expect(out.byte[k] == DRIVER_POISON, "byte %d is %02x", k, out.byte[k]);
	cr_assert(!bpf_map_update_elem(map, &slot, &rig.program, BPF_ANY));
}

/* With entropy an outer IPv6 header varies in two places: the source is looked at by itself. */
static void source6(void)
{
	static struct frame in, out;
	unsigned int seen[FLOWS], different = 0;
	static const __u8 prefix[14] = {0xfd, 0x03};

	frame_build(&in, "ip4 10.1.0.9 > 10.2.0.5 | udp 1 > 53");
	for (unsigned int k = 0; k < FLOWS; k++) {
		bool known = false;

		in.byte[SPORT_AT] = (__u8)k;
		cr_assert(rig_run(&rig, &in, &out) == XDP_TX);
		cr_expect(!memcmp(out.byte + ETH + 8, prefix, sizeof(prefix)));
		seen[k] = value_at(&out, ETH + 21, 0xffff);
		for (unsigned int other = 0; other < k; other++)
			known |= seen[other] == seen[k];
		different += !known;
	}
	cr_expect(different >= DIFFERENT, "%u different sources", different);
}

Test(outer, stories)
{
	rig_open(&rig, setup);
	poison_works();
	every_checksum("ip4 10.1.0.9 > 10.2.0.1 | tcp 1 > 80 S");
	every_checksum("ip4 10.1.0.9 > 10.2.0.2 | tcp 1 > 80 S");
	/* the last 16 bits of the outer source */
	varies("ip4 10.1.0.9 > 10.2.0.4 | tcp 1 > 80 S", ETH + 13, 0xffff, 20);
	/* the flow label, always */
	varies("ip4 10.1.0.9 > 10.2.0.3 | tcp 1 > 80 S", ETH + 1, 0x0fffff, 40);
	source6();
	/* mode gue: the source port, within the dynamic ports */
	varies("ip4 10.1.0.9 > 10.2.0.6 | tcp 1 > 80 S", ETH + 20 - 1, 0x3fff, 28);
	rig_close(&rig);
}
