// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packets through a rig's programs (rig.h): at XDP, and at TC of mode local. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rig.h"
#include "tests/support/driver.skel.h"

int rig_run(struct rig *r, const struct frame *in, struct frame *out)
{
	struct xdp_md ctx = {.data_end = (__u32)in->length, .ingress_ifindex = r->place.lo};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in->byte, .data_size_in = (__u32)in->length,
		    .data_out = out->byte, .data_size_out = sizeof(out->byte), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx));
	int rc = bpf_prog_test_run_opts(bpf_program__fd(r->driver->progs.poisoned), &run);

	out->length = rc ? 0 : run.data_size_out;
	return rc ? -errno : (int)run.retval;
}

int rig_send_raw(void *rig, const __u8 *frame, size_t length)
{
	static __u8 out[512];
	const struct rig *r = rig;
	struct xdp_md md = {.data_end = (__u32)length, .ingress_ifindex = r->place.lo};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = (__u32)length,
		    .data_out = out, .data_size_out = sizeof(out), .ctx_in = &md,
		    .ctx_size_in = sizeof(md));

	cr_assert(!bpf_prog_test_run_opts(r->program, &run), "%s", strerror(errno));
	return run.retval == XDP_TX ? out[5] : 0;
}

/* Through a program at TC, by its pin; the mark that the packet has then. */
static __u32 run_tc(const struct rig *r, const char *pin, const struct frame *in, struct frame *out,
		    int *verdict)
{
	struct __sk_buff ctx = {0};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in->byte, .data_size_in = (__u32)in->length,
		    .data_out = out->byte, .data_size_out = sizeof(out->byte), .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .ctx_out = &ctx, .ctx_size_out = sizeof(ctx));
	char path[PATH_MAX];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", r->i->dir, pin);
	fd = bpf_obj_get(path);
	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
	rc = bpf_prog_test_run_opts(fd, &run);
	close(fd);
	cr_assert(!rc, "%s: %s", path, strerror(-rc));
	out->length = run.data_size_out;
	*verdict = (int)run.retval;
	return ctx.mark;
}

int rig_leave(const struct rig *r, const struct frame *in, struct frame *out)
{
	int verdict;

	run_tc(r, "prog_local_out", in, out, &verdict);
	return verdict;
}

__u32 rig_enter(const struct rig *r, const struct frame *in)
{
	struct frame out;
	int verdict;
	__u32 mark = run_tc(r, "prog_local_in", in, &out, &verdict);

	cr_assert_eq(verdict, TC_ACT_UNSPEC);
	cr_assert(frame_equal(in, &out), "a packet that comes in is changed");
	return mark;
}

int rig_send(struct rig *r, const char *words, struct frame *out)
{
	struct frame in, unused;

	frame_build(&in, words);
	return rig_run(r, &in, out ? out : &unused);
}
