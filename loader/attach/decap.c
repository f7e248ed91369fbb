// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The backend side: the decapsulator on a device, natively at XDP, else at TC ingress.
 *
 *   <root>/<instance>/decap/addresses_<device>   virtual addresses that it strips for
 *                           ports_<device>       UDP ports at which it takes mode gue
 *                           counts_<device>      what it did
 *                           link_<device>        a bpf_link at XDP, or
 *                           tc_<why>_<device>    the program at TC, and why not XDP (errno)
 *
 * Generic XDP would cost a copy of every packet that TC does without, so it is not tried.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/decap.skel.h"
#include "decap.h"

static char *decap_path(const char *dir, const char *kind, const char *device, char *buf,
			size_t size)
{
	char name[ATTACH_PIN_NAME];

	return attach_path(buf, size, dir, attach_decap_pin(kind, device, name, sizeof(name)));
}

int attach_decap_open_map(const char *dir, const char *kind, const char *device)
{
	char path[PATH_MAX];

	return bpf_obj_get(decap_path(dir, kind, device, path, sizeof(path)));
}

/* ---- loading ----------------------------------------------------------------------------------*/

static int reuse(struct bpf_map *map, const char *dir, const char *kind, const char *device,
		 struct poise_error *err)
{
	int fd = attach_decap_open_map(dir, kind, device);
	int rc;

	if (fd < 0)
		return errno == ENOENT ? 0 : poise_fail_errno(err, "cannot open map %s", kind);
	rc = bpf_map__reuse_fd(map, fd);
	close(fd);
	return rc ? poise_fail_errno(err, "cannot re-use map %s", kind) : 0;
}

static struct decap *load(const char *dir, const char *device, struct poise_error *err)
{
	struct decap *skel = decap__open();
	int rc;

	if (!skel) {
		poise_fail_errno(err, "cannot open the built-in BPF object");
		return NULL;
	}
	if (reuse(skel->maps.decap_addresses, dir, DECAP_ADDRESSES, device, err) ||
	    reuse(skel->maps.decap_ports, dir, DECAP_PORTS, device, err) ||
	    reuse(skel->maps.decap_counts, dir, DECAP_COUNTS, device, err))
		goto fail;
	rc = decap__load(skel);
	if (!rc)
		return skel;
	errno = -rc;
	poise_fail_errno(err, "this kernel refused the program (%s)", attach_log_said());
fail:
	decap__destroy(skel);
	return NULL;
}

/* The keys of a map that are wanted: n of `size` bytes, side by side. */
struct keys {
	int fd;
	const void *key;
	size_t n, size;
};

static bool listed(const struct keys *k, const void *key)
{
	for (size_t i = 0; i < k->n; i++)
		if (!memcmp((const char *)k->key + i * k->size, key, k->size))
			return true;
	return false;
}

/* New keys first, then those no longer wanted go: none that stays is ever missing. */
static int set_keys(const struct keys *k, struct poise_error *err)
{
	union poise_addr key, next; /* the longest */
	const __u8 one = 1;
	bool more;

	for (size_t i = 0; i < k->n; i++)
		if (bpf_map_update_elem(k->fd, (const char *)k->key + i * k->size, &one, BPF_ANY))
			return poise_fail_errno(err, "cannot store an address or port");
	more = !bpf_map_get_next_key(k->fd, NULL, &key);
	while (more) {
		more = !bpf_map_get_next_key(k->fd, &key, &next);
		if (!listed(k, &key))
			bpf_map_delete_elem(k->fd, &key);
		key = next;
	}
	return 0;
}

static int set_wanted(const struct decap *skel, const struct attach_decap_want *want,
		      struct poise_error *err)
{
	__be16 port[POISE_DECAP_PORTS];
	const struct keys addresses = {bpf_map__fd(skel->maps.decap_addresses), want->address,
				       want->addresses, sizeof(*want->address)};
	const struct keys ports = {bpf_map__fd(skel->maps.decap_ports), port, want->ports,
				   sizeof(*port)};

	for (size_t k = 0; k < want->ports; k++)
		port[k] = htons(want->port[k]);
	return set_keys(&addresses, err) || set_keys(&ports, err) ? -1 : 0;
}

/* ---- attaching --------------------------------------------------------------------------------*/

static int pin(int fd, const char *dir, const char *kind, const char *device,
	       struct poise_error *err)
{
	char name[ATTACH_PIN_NAME];

	return attach_pin_replace(fd, dir, attach_decap_pin(kind, device, name, sizeof(name)), err);
}

/* TC: the pin first, so that a kill leaves nothing attached that we do not know of. */
static int attach_at_tc(const struct decap *skel, const char *dir, const char *device, int why,
			unsigned int ifindex, struct poise_error *err)
{
	int fd = bpf_program__fd(skel->progs.poise_decap_tc);
	char kind[16];

	snprintf(kind, sizeof(kind), DECAP_TC "_%d", why);
	if (pin(fd, dir, kind, device, err))
		return -1;
	return attach_tc(ifindex, ATTACH_TC_DECAP, fd, err);
}

static int attach_new(const struct decap *skel, const char *dir, const char *device,
		      unsigned int ifindex, struct poise_error *err)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = XDP_FLAGS_DRV_MODE);
	int rc, fd = bpf_link_create(bpf_program__fd(skel->progs.poise_decap_xdp), (int)ifindex,
				     BPF_XDP, &opts);

	if (fd < 0)
		return attach_at_tc(skel, dir, device, errno, ifindex, err);
	rc = pin(fd, dir, DECAP_LINK, device, err);
	close(fd);
	return rc;
}

static int attach_again(const struct decap *skel, const char *dir, const struct decap_pin *old,
			unsigned int ifindex, struct poise_error *err)
{
	int rc, fd;

	if (old->tc)
		return attach_at_tc(skel, dir, old->device, old->why, ifindex, err);
	fd = attach_decap_open_map(dir, DECAP_LINK, old->device);
	rc = fd < 0 ? -1 : bpf_link_update(fd, bpf_program__fd(skel->progs.poise_decap_xdp), NULL);
	if (fd >= 0)
		close(fd);
	return rc ? poise_fail_errno(err, "cannot replace the program") : 0;
}

static int attach_locked(const char *dir, const char *device, unsigned int ifindex,
			 const struct attach_decap_want *want, struct poise_error *err)
{
	struct decap_pin old;
	bool known = attach_decap_find(dir, device, &old);
	struct decap *skel;
	int rc = -1;

	attach_pin_leftover(dir);
	if (known && attach_decap_ifindex(dir, &old) != ifindex) { /* its device is gone */
		attach_decap_unlink(dir, &old);
		known = false;
	}
	skel = load(dir, device, err);
	if (!skel)
		return -1;
	if (!set_wanted(skel, want, err) &&
	    !pin(bpf_map__fd(skel->maps.decap_addresses), dir, DECAP_ADDRESSES, device, err) &&
	    !pin(bpf_map__fd(skel->maps.decap_ports), dir, DECAP_PORTS, device, err) &&
	    !pin(bpf_map__fd(skel->maps.decap_counts), dir, DECAP_COUNTS, device, err))
		rc = known ? attach_again(skel, dir, &old, ifindex, err)
			   : attach_new(skel, dir, device, ifindex, err);
	if (rc && !known && attach_decap_find(dir, device, &old))
		attach_decap_unlink(dir, &old);
	decap__destroy(skel);
	return rc;
}

static int too_many(const char *what, size_t n, size_t most, struct poise_error *err)
{
	if (n <= most)
		return 0;
	poise_fail(err, POISE_E_FULL, "%zu %s are too many", n, what);
	return poise_error_remedy(err, "at most %zu a device", most);
}

int attach_decap(const struct instance_where *where, const char *device,
		 const struct attach_decap_want *want, struct attach_decap *state,
		 struct poise_error *err)
{
	unsigned int ifindex = if_nametoindex(device);
	struct attach_dir d;
	struct decap_pin p;
	int rc;

	attach_log_start();
	if (attach_privileges(err))
		return -1;
	if (!ifindex) {
		attach_no_device(err);
		return poise_error_about(err, "device %s", device);
	}
	if (too_many("addresses", want->addresses, POISE_DECAP_ADDRESSES, err) ||
	    too_many("ports", want->ports, POISE_DECAP_PORTS, err))
		return -1;
	if (attach_dir_open(&d, where, DECAP_DIR, true, err))
		return -1;
	rc = attach_locked(d.path, device, ifindex, want, err);
	if (!rc && state && attach_decap_find(d.path, device, &p))
		rc = attach_decap_describe(d.path, &p, state, err);
	attach_dir_close(&d);
	return rc ? poise_error_about(err, "device %s", device) : 0;
}

int attach_decap_remove(const char *dir, const struct decap_pin *p, struct poise_error *err)
{
	unsigned int ifindex = attach_decap_ifindex(dir, p);
	int fd, rc = 0;

	if (ifindex && p->tc) {
		rc = attach_tc_remove(ifindex, ATTACH_TC_DECAP, err);
	} else if (ifindex) {
		fd = attach_decap_open_map(dir, DECAP_LINK, p->device);
		rc = fd < 0 ? -1 : bpf_link_detach(fd);
		if (rc)
			poise_fail_errno(err, "cannot detach the program");
		if (fd >= 0)
			close(fd);
	}
	if (!rc)
		attach_decap_unlink(dir, p);
	return rc;
}

static int not_attached(struct poise_error *err)
{
	poise_fail(err, POISE_E_NOT_FOUND, "the decapsulator is not attached to it");
	return poise_error_remedy(err, "poise decap show lists the devices it is attached to");
}

int attach_decap_detach(const struct instance_where *where, const char *device,
			struct poise_error *err)
{
	struct poise_error none = {0};
	struct attach_dir d;
	struct decap_pin p;
	int rc;

	attach_log_start();
	if (attach_dir_open(&d, where, DECAP_DIR, false, &none)) {
		if (none.code == POISE_E_NO_INSTANCE)
			not_attached(err);
		else if (err)
			*err = none;
		return poise_error_about(err, "device %s", device);
	}
	rc = attach_decap_find(d.path, device, &p) ? attach_decap_remove(d.path, &p, err)
						   : not_attached(err);
	if (!rc && !rmdir(d.path)) /* the last device's is gone */
		rmdir(d.base);
	attach_dir_close(&d);
	return rc ? poise_error_about(err, "device %s", device) : 0;
}
