// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program of ours at TC of a device: a filter with a place of its own, by which it is known
 * again. The clsact qdisc stays when it goes: others may have come to use it.
 */
#include <bpf/libbpf.h>
#include <errno.h>

#include "internal.h"

#define TC_HANDLE 1

static enum bpf_tc_attach_point point_of(enum attach_tc_place place)
{
	return place == ATTACH_TC_PROBE_OUT || place == ATTACH_TC_LOCAL_OUT ? BPF_TC_EGRESS
									    : BPF_TC_INGRESS;
}

int attach_tc(unsigned int ifindex, enum attach_tc_place place, int prog_fd,
	      struct poise_error *err)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = point_of(place));
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = TC_HANDLE, .priority = place, .prog_fd = prog_fd,
		    .flags = BPF_TC_F_REPLACE);
	int rc = bpf_tc_hook_create(&hook);

	if (!rc || rc == -EEXIST)
		rc = bpf_tc_attach(&hook, &opts);
	if (!rc)
		return 0;
	errno = -rc;
	return poise_fail_errno(err, "cannot attach the program at TC");
}

enum attach_tc_found attach_tc_look(unsigned int ifindex, enum attach_tc_place place, __u32 prog_id)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = point_of(place));
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = TC_HANDLE, .priority = place);

	if (bpf_tc_query(&hook, &opts))
		return ATTACH_TC_NOTHING;
	return opts.prog_id == prog_id ? ATTACH_TC_OURS : ATTACH_TC_OTHER;
}

int attach_tc_remove(unsigned int ifindex, enum attach_tc_place place, struct poise_error *err)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = point_of(place));
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = TC_HANDLE, .priority = place);
	int rc = bpf_tc_detach(&hook, &opts);

	if (!rc || rc == -ENOENT || rc == -EINVAL) /* somebody removed filter or qdisc before us */
		return 0;
	errno = -rc;
	return poise_fail_errno(err, "cannot detach the program from TC");
}
