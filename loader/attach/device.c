// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Devices: attached, replaced, detached.
 *
 * A device's pin holds a bpf_link, or, where it is shared with other XDP programs, the program that
 * libxdp's dispatcher calls. Without its pin a link vanishes with the process, so a kill between
 * creating and pinning it leaves the device as it was.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../maps/events.h"
#include "internal.h"

/* What is known of a device while its attachment is changed. */
struct device {
	const char *dir;
	int prog_fd;
	unsigned int ifindex;
	enum attach_mode mode;
	struct attach_pin old; /* device[0] is 0: it is not attached */
	struct attach_pin pin; /* as it shall be */
	bool is_new;	       /* attached, or attached anew, not only replaced */
};

static char *pin_path(const char *dir, const struct attach_pin *p, char *buf, size_t size)
{
	char name[ATTACH_PIN_NAME];

	return attach_path(buf, size, dir, attach_pin_name(p, name, sizeof(name)));
}

static int open_pin(const char *dir, const struct attach_pin *p)
{
	char path[PATH_MAX];

	return bpf_obj_get(pin_path(dir, p, path, sizeof(path)));
}

static void unlink_pin(const char *dir, const struct attach_pin *p)
{
	char path[PATH_MAX];

	unlink(pin_path(dir, p, path, sizeof(path)));
}

unsigned int attach_pinned_ifindex(const char *dir, const struct attach_pin *p)
{
	unsigned int ifindex;
	int fd;

	/* a dispatcher goes with its device; there is no link of ours to ask */
	if (p->shared)
		return if_nametoindex(p->device);
	fd = open_pin(dir, p);
	if (fd < 0)
		return 0;
	ifindex = attach_link_ifindex(fd);
	close(fd);
	return ifindex;
}

int attach_remove(const char *dir, const struct attach_pin *p, struct poise_error *err)
{
	unsigned int ifindex = attach_pinned_ifindex(dir, p);
	char path[PATH_MAX];
	int fd, rc;

	if (p->shared && ifindex) {
		if (attach_shared_remove(pin_path(dir, p, path, sizeof(path)), ifindex, err))
			return -1;
	} else if (ifindex) {
		fd = open_pin(dir, p);
		rc = fd < 0 ? -1 : bpf_link_detach(fd);
		if (rc)
			poise_fail_errno(err, "cannot detach the program from %s", p->device);
		if (fd >= 0)
			close(fd);
		if (rc)
			return -1;
	}
	if (ifindex) {
		attach_filters_remove(ifindex);
		attach_offload_restore(p->device, p->offloads);
	}
	unlink_pin(dir, p);
	return 0;
}

/* ---- replacing --------------------------------------------------------------------------------*/

static int update(const char *dir, const struct attach_pin *p, int prog_fd, struct poise_error *err)
{
	int fd = open_pin(dir, p);
	int rc = fd < 0 ? -1 : bpf_link_update(fd, prog_fd, NULL);

	if (rc)
		poise_fail_errno(err, "cannot replace the program on %s", p->device);
	if (fd >= 0)
		close(fd);
	return rc;
}

struct replacement {
	const char *dir;
	int prog_fd;
	struct poise_error *err;
	int rc;
};

static int replace_one(void *ctx, const char *name)
{
	struct replacement *r = ctx;
	struct attach_pin p;

	if (!attach_pin_parse(name, &p))
		return 0;
	if (!attach_pinned_ifindex(r->dir, &p))
		unlink_pin(r->dir, &p);
	else if (!p.shared && update(r->dir, &p, r->prog_fd, r->err))
		r->rc = -1; /* the others still get it */
	return 0;
}

int attach_replace_all(const char *dir, int prog_fd, struct poise_error *err)
{
	struct replacement r = {dir, prog_fd, err, 0};

	if (attach_shared_update(dir, prog_fd, err) || attach_dir_each(dir, replace_one, &r, err))
		return -1;
	return r.rc;
}

/* ---- attaching --------------------------------------------------------------------------------*/

static int create(struct device *d, struct poise_error *err)
{
	char name[ATTACH_PIN_NAME];
	int fd, rc;

	d->pin.offloads |= attach_offload_off(d->pin.device);
	fd = d->pin.shared
		     ? attach_shared_create(d->dir, d->prog_fd, d->ifindex, &d->pin, &d->mode, err)
		     : attach_link_create(d->prog_fd, d->ifindex, &d->pin, &d->mode, err);
	if (fd < 0) {
		attach_offload_restore(d->pin.device, d->pin.offloads);
		return -1;
	}
	rc = attach_pin_replace(fd, d->dir, attach_pin_name(&d->pin, name, sizeof(name)), err);
	close(fd); /* without a pin it detaches */
	return rc;
}

/* Whether what is attached is what is wanted. `auto` is content with what it got before: to try
 * native mode again would interrupt traffic. */
static bool suits(const struct device *d)
{
	enum attach_mode wanted = d->pin.wanted == ATTACH_INSIDE ? ATTACH_GENERIC : d->pin.wanted;

	return d->old.shared == d->pin.shared &&
	       (wanted == ATTACH_AUTO || wanted == attach_link_mode(d->ifindex));
}

static int keep(struct device *d, struct poise_error *err)
{
	d->pin.offloads = d->old.offloads | attach_offload_off(d->pin.device);
	d->pin.why = d->old.why;
	d->mode = attach_link_mode(d->ifindex);
	if (!d->pin.shared && update(d->dir, &d->old, d->prog_fd, err))
		return -1;
	return attach_pin_rename(d->dir, &d->old, &d->pin, err);
}

/* The mode is to change: the old attachment goes first, the kernel allows no two. If the new one
 * fails the old one is made again. */
static int change(struct device *d, struct poise_error *err)
{
	struct device back = *d;

	if (attach_remove(d->dir, &d->old, err))
		return -1;
	if (!create(d, err))
		return 0;
	back.pin = d->old;
	back.pin.offloads = 0;
	create(&back, NULL);
	return -1;
}

static int attach_locked(struct device *d, struct poise_error *err)
{
	char path[PATH_MAX];
	unsigned int was = 0;
	int rc;

	attach_pin_leftover(d->dir);
	d->prog_fd = bpf_obj_get(attach_path(path, sizeof(path), d->dir, ATTACH_PIN_PROGRAM));
	if (d->prog_fd < 0)
		return poise_fail_errno(err, "cannot open the program %s", path);
	if (attach_pin_find(d->dir, d->pin.device, &d->old)) {
		was = attach_pinned_ifindex(d->dir, &d->old);
		if (was != d->ifindex) /* a device of that name that is gone, or elsewhere */
			unlink_pin(d->dir, &d->old);
	}
	d->is_new = !was || was != d->ifindex || !suits(d);
	if (!was || was != d->ifindex)
		rc = create(d, err);
	else
		rc = d->is_new ? change(d, err) : keep(d, err);
	close(d->prog_fd);
	return rc;
}

int attach_no_device(struct poise_error *err)
{
	poise_fail(err, POISE_E_NO_DEVICE, "there is no such network device");
	return poise_error_remedy(err, "see ip link; a device of another network namespace is "
				       "reached from there: nsenter --net=/run/netns/NAME");
}

/* A new program in the old place is no event. */
static void tell_attached(struct instance *i, const struct device *d)
{
	if (!d->is_new)
		return;
	events_object(i, POISE_EVENT_ATTACHED, d->pin.device, "%s mode%s",
		      d->mode == ATTACH_NATIVE ? "native" : "generic",
		      d->pin.shared ? ", shared" : "");
}

int attach_device(struct instance *i, const struct config_interface *want,
		  struct attach_state *state, struct poise_error *err)
{
	struct device d = {.dir = i->dir, .pin = {.shared = want->shared, .wanted = want->mode}};
	bool lock = !i->locked;
	int rc;

	attach_log_start();
	memcpy(d.pin.device, want->device, sizeof(d.pin.device));
	d.ifindex = if_nametoindex(d.pin.device);
	if (attach_privileges(err))
		return -1;
	if (!d.ifindex) {
		attach_no_device(err);
		return poise_error_about(err, "device %s", d.pin.device);
	}
	if (lock && instance_lock(i, err))
		return -1;
	rc = attach_locked(&d, err);
	if (!rc) {
		attach_filters_everywhere(d.dir, i->meta);
		attach_note_generic(i);
		tell_attached(i, &d);
	}
	if (lock)
		instance_unlock(i);
	if (rc)
		return poise_error_about(err, "device %s", d.pin.device);
	if (state) {
		attach_describe(&d.pin, d.ifindex, state);
		state->mode = d.mode;
	}
	return 0;
}

int attach_detach(struct instance *i, const char *device, struct poise_error *err)
{
	bool lock = !i->locked;
	struct attach_pin p;
	int rc = -1;

	attach_log_start();
	if (lock && instance_lock(i, err))
		return -1;
	if (attach_pin_find(i->dir, device, &p)) {
		rc = attach_remove(i->dir, &p, err);
		attach_note_generic(i);
		if (!rc)
			events_object(i, POISE_EVENT_DETACHED, device, NULL);
	} else {
		poise_fail(err, POISE_E_NOT_FOUND, "poise is not attached to it");
		poise_error_remedy(err, "poise status lists the devices it is attached to");
	}
	if (lock)
		instance_unlock(i);
	return rc ? poise_error_about(err, "device %s", device) : 0;
}
