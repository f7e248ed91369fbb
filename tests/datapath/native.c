// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The native build does what the loaded program does: the same frames, sound and mutated, through
 * both, over the very same maps; verdict and every byte must agree. What unit tests and the fuzzer
 * find out about the one then holds for the other.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <string.h>

#include "bpf/run.h"
#include "tests/support/mutate.h"
#include "tests/support/rig.h"
#include "tests/support/setup.h"

#define ROUNDS	 20000
#define HEADROOM 128

static const char yaml[] = "services:\n" SETUP_MODES(0) SETUP_MODES(1) SETUP_MODES(2) SETUP_MODES(3)
	SETUP_MODES(4) SETUP_MODES(5) SETUP_MODES(9) SETUP_SERVICE(
		0, 5, "nat",
		"10.3.0.5") "  - { name: any, listen: [ '10.2.0.4:0', '[fd02::4]:0/udp' ], "
			    "forward: ipip,\n"
			    "      entropy: yes, backends: [ { address: 10.3.0.9 } ] }\n";

static struct rig rig;

TestSuite(native, .fini = place_cleanup);

static int run_native(const struct frame *in, struct frame *out)
{
	static __u8 buffer[HEADROOM + FRAME_MAX + 4] __attribute__((aligned(4)));
	__u8 *start = buffer + 2;
	struct run_frame f = {
		.start = start,
		.data = start + HEADROOM,
		.end = start + HEADROOM + in->length,
		.limit = start + HEADROOM + in->length,
	};
	int verdict;

	memcpy(f.data, in->byte, in->length);
	verdict = run_xdp(&f, rig.place.lo);
	out->length = (size_t)(f.end - f.data);
	memcpy(out->byte, f.data, out->length);
	return verdict;
}

/* To another path now and then: the third byte of the virtual address. */
static void change_path(struct frame *f, uint64_t *random)
{
	static const __u8 paths[] = {0, 1, 2, 3, 4, 5, 9};
	size_t ip = frame_ip_at(f), at;
	__u8 path = paths[mutate_draw(random, sizeof(paths))];

	if (!ip || ip + 28 > f->length)
		return;
	at = f->byte[ip] >> 4 == 4 ? ip + 18 : ip + 27;
	f->byte[at] = path;
}

Test(native, agrees_with_the_loaded_program, .timeout = TEST_LONGEST)
{
	int verdicts[XDP_REDIRECT + 1] = {0};
	static struct frame in, kernel, native;
	int rounds = place_emulated() ? ROUNDS / 20 : ROUNDS;
	uint64_t random = 1;
	struct config_limits limits = RIG_LIMITS(4096);

	limits.nat_groups = 1;
	limits.nat_low = limits.nat_high = 20000; /* both take the same */
	rig_open_with(&rig, yaml, &limits);
	rig_answer(&rig, "fd02:0::3");
	run_use(rig.i);
	for (int round = 0; round < rounds; round++) {
		int want, got;

		mutate_next(&in, &random);
		change_path(&in, &random);
		if (in.length < 14)
			continue; /* the kernel's test run takes no less */
		rig_refill(&rig);
		run_refill();
		rig_forget(&rig); /* the two share the maps, but not the clock */
		want = rig_run(&rig, &in, &kernel);
		rig_forget(&rig);
		got = run_native(&in, &native);
		if (want != got || (want != XDP_DROP && !frame_equal(&kernel, &native)))
			frame_print_difference(&kernel, &native);
		cr_assert_eq(got, want, "round %d: %d natively, %d in the kernel", round, got,
			     want);
		cr_assert(want == XDP_DROP || frame_equal(&kernel, &native), "round %d", round);
		verdicts[want]++;
	}
	for (int v = XDP_DROP; v <= XDP_REDIRECT; v++)
		cr_assert_gt(verdicts[v], rounds / 100, "verdict %d hardly occurred", v);
	run_use(NULL);
	rig_close(&rig);
}
