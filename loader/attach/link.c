// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One bpf_link on one device: native mode first, generic where native is refused and may be
 * replaced, and what a refusal means in words.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Largest MTU of native XDP without fragments where a frame must fit a page: 4096 less headroom
 * and skb_shared_info; what veth enforces. Only said in remedies. */
#define NATIVE_MTU 3506

static int create(int prog_fd, unsigned int ifindex, __u32 flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);

	return bpf_link_create(prog_fd, (int)ifindex, BPF_XDP, &opts);
}

/* Somebody else's program, missing privileges and a vanished device stay so in generic mode. */
static bool generic_may_help(int error)
{
	return error != EBUSY && error != EEXIST && error != EPERM && error != ENODEV;
}

/* Drivers differ in the errno for a frame that does not fit; the MTU tells. */
static bool too_large(int error, const char *device)
{
	return error == ERANGE || (error != EOPNOTSUPP && attach_mtu(device) > NATIVE_MTU);
}

/* Devices that stand upon others, by their drivers' names. Those underneath may have native XDP,
 * and what comes by them has not been through the stack yet. */
static const struct {
	const char *driver, *what;
} stacked[] = {
	{"802.1Q VLAN Support", "a VLAN"}, {"bonding", "a bond"},   {"team", "a team"},
	{"macvlan", "a macvlan"},	   {"ipvlan", "an ipvlan"}, {"bridge", "a bridge"},
};

/* What kind of device standing upon others it is; NULL: none. */
static const char *stacked_as(const char *device)
{
	char driver[32];

	attach_driver(device, driver, sizeof(driver));
	for (size_t k = 0; k < sizeof(stacked) / sizeof(stacked[0]); k++)
		if (!strcmp(driver, stacked[k].driver))
			return stacked[k].what;
	return NULL;
}

char *attach_link_why(int why, const char *device, char *buf, size_t size)
{
	char driver[32];

	attach_driver(device, driver, sizeof(driver));
	if (too_large(why, device) && attach_mtu(device) > NATIVE_MTU)
		snprintf(buf, size, "its MTU of %u is too large for native XDP",
			 attach_mtu(device));
	else if (too_large(why, device))
		snprintf(buf, size, "the MTU of its peer is too large for native XDP");
	else if (why == EOPNOTSUPP && stacked_as(device))
		snprintf(buf, size, "it is %s, which has no native XDP of its own",
			 stacked_as(device));
	else if (why == EOPNOTSUPP)
		snprintf(buf, size, "%s%s has no native XDP", driver[0] ? "its driver " : "it",
			 driver);
	else
		snprintf(buf, size, "its driver %s refuses native XDP: %s", driver, strerror(why));
	return buf;
}

static int busy(unsigned int ifindex, const char *device, struct poise_error *err)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	__u32 id = 0;

	if (!bpf_xdp_query((int)ifindex, 0, &query))
		id = query.prog_id ?: query.drv_prog_id ?: query.skb_prog_id;
	poise_fail(err, POISE_E_BUSY, "another XDP program (id %u) is attached to it", id);
	return poise_error_remedy(err,
				  "remove that one (ip link set %s xdp off, or the tool that "
				  "attached it), or attach beside it: poise attach %s shared",
				  device, device);
}

/* Native mode was asked for by name and the device cannot. */
static int no_native(int error, const struct attach_pin *p, struct poise_error *err)
{
	char why[128];

	poise_fail(err, POISE_E_ATTACH, "%s", attach_link_why(error, p->device, why, sizeof(why)));
	if (too_large(error, p->device))
		return poise_error_remedy(err,
					  "ip link set %s mtu %d (at both ends of a veth), or, "
					  "slower: poise attach %s "
					  "mode generic",
					  p->device, NATIVE_MTU, p->device);
	if (stacked_as(p->device))
		return poise_error_remedy(err,
					  "attach to what it stands upon (ip -details link show "
					  "%s), where tags are understood too, or, slower: poise "
					  "attach %s mode generic",
					  p->device, p->device);
	return poise_error_remedy(err,
				  "generic mode works everywhere, if slower: poise attach %s "
				  "mode generic",
				  p->device);
}

static int refused(int error, unsigned int ifindex, const struct attach_pin *p,
		   struct poise_error *err)
{
	if (error == EBUSY || error == EEXIST)
		return busy(ifindex, p->device, err);
	if (p->wanted == ATTACH_NATIVE && generic_may_help(error))
		return no_native(error, p, err);
	errno = error;
	poise_fail_errno(err, "cannot attach the program");
	if (err && err->code == POISE_E_SYSTEM)
		err->code = POISE_E_ATTACH;
	return -1;
}

int attach_link_create(int prog_fd, unsigned int ifindex, struct attach_pin *p,
		       enum attach_mode *mode, struct poise_error *err)
{
	int fd, error;

	p->why = 0;
	if (p->wanted != ATTACH_GENERIC && p->wanted != ATTACH_INSIDE) {
		*mode = ATTACH_NATIVE;
		fd = create(prog_fd, ifindex, XDP_FLAGS_DRV_MODE);
		if (fd >= 0)
			return fd;
		error = errno;
		if (p->wanted == ATTACH_NATIVE || !generic_may_help(error))
			return refused(error, ifindex, p, err);
		p->why = error;
	}
	*mode = ATTACH_GENERIC;
	fd = create(prog_fd, ifindex, XDP_FLAGS_SKB_MODE);
	return fd >= 0 ? fd : refused(errno, ifindex, p, err);
}

unsigned int attach_link_ifindex(int link_fd)
{
	struct bpf_link_info info = {0};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(link_fd, &info, &size) || info.type != BPF_LINK_TYPE_XDP)
		return 0;
	return info.xdp.ifindex;
}

enum attach_mode attach_link_mode(unsigned int ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);

	if (!bpf_xdp_query((int)ifindex, 0, &query) && query.attach_mode == XDP_ATTACHED_SKB)
		return ATTACH_GENERIC;
	return ATTACH_NATIVE;
}
