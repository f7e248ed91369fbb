// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Beside other XDP programs: libxdp's dispatcher is on the device and calls one program after
 * another, ours being bpf/shared.bpf.c. It is pinned so that we find it again; the pipeline it
 * jumps to stands in the pinned map shared_progs.
 *
 * libxdp falls back to attaching a lone program where the kernel refuses dispatchers; that would
 * keep others out instead of letting them in, so it is undone and said.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include "bpf/shared.skel.h"
#include "internal.h"

#define SLOT 0 /* of shared_progs, the only one */

/* The pinned map, made if need be, with prog_fd in its slot; a descriptor or -1. */
static int progs_map(const char *dir, int prog_fd, bool *made, struct poise_error *err)
{
	char path[PATH_MAX];
	__u32 slot = SLOT;
	int fd = bpf_obj_get(attach_path(path, sizeof(path), dir, ATTACH_PIN_SHARED));

	*made = fd < 0;
	if (*made) {
		fd = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, ATTACH_PIN_SHARED, sizeof(__u32),
				    sizeof(__u32), SLOT + 1, NULL);
		if (fd < 0)
			return poise_fail_errno(err, "cannot make map %s", ATTACH_PIN_SHARED);
		if (attach_pin_replace(fd, dir, ATTACH_PIN_SHARED, err))
			goto fail;
	}
	if (!bpf_map_update_elem(fd, &slot, &prog_fd, BPF_ANY))
		return fd;
	poise_fail_errno(err, "cannot store the program in %s", path);
fail:
	close(fd);
	return -1;
}

int attach_shared_update(const char *dir, int prog_fd, struct poise_error *err)
{
	char path[PATH_MAX];
	bool made;
	int fd;

	if (access(attach_path(path, sizeof(path), dir, ATTACH_PIN_SHARED), F_OK))
		return 0; /* no device was ever shared */
	fd = progs_map(dir, prog_fd, &made, err);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int no_dispatcher(struct poise_error *err)
{
	poise_fail(err, POISE_E_UNSUPPORTED,
		   "this kernel refuses libxdp's dispatcher (%s), so a device cannot be shared",
		   attach_log_said());
	return poise_error_remedy(err, "attach without shared, as the only XDP program of the "
				       "device; the dispatcher needs programs of type ext");
}

static int refused(int error, const char *device, struct poise_error *err)
{
	char text[128];

	libxdp_strerror(error, text, sizeof(text));
	if (error == -EBUSY) {
		poise_fail(
			err, POISE_E_BUSY,
			"an XDP program that is not under libxdp's dispatcher is attached to it");
		return poise_error_remedy(err,
					  "have it attached by a tool that uses libxdp, or "
					  "remove it: ip link set %s xdp off",
					  device);
	}
	if (error == -EPERM) {
		poise_fail(err, POISE_E_PERMISSION, "sharing a device was not permitted (%s)",
			   attach_log_said());
		return poise_error_remedy(err,
					  "libxdp looks programs up by id, which takes "
					  "CAP_SYS_ADMIN: run poise attach %s shared as root, "
					  "once",
					  device);
	}
	return poise_fail(err, POISE_E_ATTACH, "libxdp cannot attach the program: %s (%s)", text,
			  attach_log_said());
}

/* True if libxdp attached a lone program; that is taken off again. */
static bool fell_back(struct xdp_program *prog, unsigned int ifindex, enum xdp_attach_mode mode)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex((int)ifindex);
	bool alone = libxdp_get_error(mp) || xdp_multiprog__is_legacy(mp);

	if (!libxdp_get_error(mp))
		xdp_multiprog__close(mp);
	if (alone)
		xdp_program__detach(prog, (int)ifindex, mode, 0);
	return alone;
}

static int attach(struct xdp_program *prog, unsigned int ifindex, struct attach_pin *p,
		  enum attach_mode *mode, struct poise_error *err)
{
	enum xdp_attach_mode how = p->wanted == ATTACH_GENERIC ? XDP_MODE_SKB : XDP_MODE_NATIVE;
	int rc = xdp_program__attach(prog, (int)ifindex, how, 0);

	if (p->wanted == ATTACH_AUTO && (rc == -EOPNOTSUPP || rc == -ERANGE)) {
		p->why = -rc;
		how = XDP_MODE_SKB;
		rc = xdp_program__attach(prog, (int)ifindex, how, 0);
	}
	if (rc)
		return refused(rc, p->device, err);
	if (fell_back(prog, ifindex, how))
		return no_dispatcher(err);
	*mode = how == XDP_MODE_SKB ? ATTACH_GENERIC : ATTACH_NATIVE;
	return 0;
}

/* A program that jumps to what stands in map, under the device's dispatcher; a descriptor or -1. */
static int create(int map, unsigned int ifindex, struct attach_pin *p, enum attach_mode *mode,
		  struct poise_error *err)
{
	struct shared *skel = shared__open();
	struct xdp_program *prog = NULL;
	int fd = -1;

	p->why = 0;
	if (!skel || bpf_map__reuse_fd(skel->maps.shared_progs, map)) {
		poise_fail_errno(err, "cannot open the built-in BPF object");
		goto out;
	}
	/* As the pipeline's (load.c), also where libxdp falls back to it as a lone program. */
	bpf_program__set_expected_attach_type(skel->progs.poise_shared, 0);
	prog = xdp_program__from_bpf_obj(skel->obj, "xdp");
	if (libxdp_get_error(prog)) {
		refused((int)libxdp_get_error(prog), p->device, err);
		prog = NULL;
		goto out;
	}
	if (!attach(prog, ifindex, p, mode, err))
		fd = dup(xdp_program__fd(prog));
out:
	if (prog)
		xdp_program__close(prog);
	shared__destroy(skel);
	return fd;
}

int attach_shared_create(const char *dir, int prog_fd, unsigned int ifindex, struct attach_pin *p,
			 enum attach_mode *mode, struct poise_error *err)
{
	char path[PATH_MAX];
	bool made;
	int map = progs_map(dir, prog_fd, &made, err), fd;

	if (map < 0)
		return -1;
	fd = create(map, ifindex, p, mode, err);
	if (fd < 0 && attach_dispatcher_lend()) {
		attach_log_start();
		fd = create(map, ifindex, p, mode, err);
		attach_dispatcher_return();
	}
	close(map);
	if (fd < 0 && made)
		unlink(attach_path(path, sizeof(path), dir, ATTACH_PIN_SHARED));
	return fd;
}

int attach_shared_remove(const char *path, unsigned int ifindex, struct poise_error *err)
{
	struct xdp_program *prog = xdp_program__from_pin(path);
	enum xdp_attach_mode mode;
	int rc;

	if (libxdp_get_error(prog))
		return poise_fail_errno(err, "cannot open %s", path);
	mode = xdp_program__is_attached(prog, (int)ifindex);
	/* somebody removed the whole dispatcher: nothing is left to do */
	rc = mode == XDP_MODE_UNSPEC ? 0 : xdp_program__detach(prog, (int)ifindex, mode, 0);
	if (rc && attach_dispatcher_lend()) {
		rc = xdp_program__detach(prog, (int)ifindex, mode, 0);
		attach_dispatcher_return();
	}
	xdp_program__close(prog);
	if (!rc)
		return 0;
	errno = -rc;
	poise_fail_errno(err, "libxdp cannot take the program off its dispatcher (%s)",
			 attach_log_said());
	return poise_error_remedy(err, "libxdp looks programs up by id, which takes CAP_SYS_ADMIN: "
				       "run it as root");
}
