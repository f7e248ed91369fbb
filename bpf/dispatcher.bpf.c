// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A dispatcher by libxdp's protocol, version 2, for libxdp before 1.5.5: kernels since 6.13, and
 * those that took the check over (6.12, 6.6, 6.1), put a program that changes packets only in the
 * place of a function that does so too, and the functions of these libxdp's own dispatcher do not.
 * libxdp takes this object instead of its own when LIBXDP_OBJECT_PATH says so
 * (attach/dispatcher.c).
 *
 * Each prog<N> stands for one program, which libxdp puts in its place. Their results say whether
 * the next one is asked: a bit of chain_call_actions for every verdict.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <xdp/prog_dispatcher.h>

/* Written by libxdp before it loads. */
static volatile const struct xdp_dispatcher_config conf = {};

/* Never runs the helper: that it is there is what counts. */
#define PLACE(name)                                                                                \
	__attribute__((noinline)) int name(struct xdp_md *ctx)                                     \
	{                                                                                          \
		volatile int verdict = XDP_DISPATCHER_RETVAL;                                      \
                                                                                                   \
		if (verdict != XDP_DISPATCHER_RETVAL)                                              \
			bpf_xdp_adjust_meta(ctx, 0);                                               \
		return verdict;                                                                    \
	}

PLACE(prog0)
PLACE(prog1)
PLACE(prog2)
PLACE(prog3)
PLACE(prog4)
PLACE(prog5)
PLACE(prog6)
PLACE(prog7)
PLACE(prog8)
PLACE(prog9)
PLACE(compat_test) /* libxdp puts xdp_pass here to see whether the kernel takes dispatchers */

#define ASK(n)                                                                                     \
	do {                                                                                       \
		if (conf.num_progs_enabled < (n) + 1)                                              \
			return XDP_PASS;                                                           \
		verdict = prog##n(ctx);                                                            \
		if (!(1u << verdict & conf.chain_call_actions[n]))                                 \
			return verdict;                                                            \
	} while (0)

SEC("xdp")
int xdp_dispatcher(struct xdp_md *ctx)
{
	int verdict;

	ASK(0);
	ASK(1);
	ASK(2);
	ASK(3);
	ASK(4);
	ASK(5);
	ASK(6);
	ASK(7);
	ASK(8);
	ASK(9);
	if (conf.num_progs_enabled > MAX_DISPATCHER_ACTIONS)
		return compat_test(ctx);
	return XDP_PASS;
}

/* Put in the place of compat_test. */
SEC("xdp")
int xdp_pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
__uint(dispatcher_version, XDP_DISPATCHER_VERSION) SEC(XDP_METADATA_SECTION);
