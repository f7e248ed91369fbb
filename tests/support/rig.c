// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A balancer to put packets through (rig.h).
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "maps/text.h"
#include "rig.h"
#include "tests/support/driver.skel.h"

#define PATH_UNRESOLVED 9

/* ---- next hops --------------------------------------------------------------------------------*/

static void describe_path(const struct rig *r, unsigned int number, struct poise_path *p)
{
	*p = (struct poise_path){.ifindex = r->place.lo, .mtu = RIG_MTU};
	frame_mac("lb", p->smac);
	if (number != 5) {
		inet_pton(AF_INET, "10.3.0.254", &p->src4);
		inet_pton(AF_INET6, "fd03::fe", &p->src6);
	}
	switch (number) {
	case 1:
		p->vlans = 1;
		p->vlan[0] = htons(101);
		p->tpid[0] = htons(0x8100);
		break;
	case 2:
		p->vlans = 2;
		p->vlan[0] = htons(202);
		p->tpid[0] = htons(0x88a8);
		p->vlan[1] = htons(203);
		p->tpid[1] = htons(0x8100);
		break;
	case 3:
		p->ifindex = r->place.out;
		frame_mac("out", p->smac);
		break;
	case 4: p->mtu = RIG_NARROW; break;
	}
}

static unsigned int path_of(const union poise_addr *a)
{
	return poise_addr_is4(a) ? a->b[14] : a->b[3];
}

static void set_nexthop(struct rig *r, const struct config_member *m)
{
	const union poise_addr *a = &m->conf.addr;
	struct poise_error err = {0};
	struct poise_path path;
	char name[8];
	__u8 mac[6];
	__u16 index;

	if (path_of(a) == PATH_UNRESOLVED || r->i->members[m->id].nexthop == POISE_NEXTHOP_LOCAL)
		return;
	describe_path(r, path_of(a), &path);
	index = instance_path(r->i, &path, &err);
	place_must(!index, "path", &err);
	snprintf(name, sizeof(name), "b%u", a->b[15]);
	frame_mac(name, mac);
	instance_set_nexthop(r->i, m->id, INSTANCE_NEXTHOP(mac, index));
}

/* ---- configuration ----------------------------------------------------------------------------*/

/* With the lock held. */
static void commit(struct rig *r, struct config *cfg)
{
	struct poise_error err = {0};

	place_must(instance_commit(r->i, cfg, NULL, &err), "commit", &err);
	for (size_t s = 0; s < cfg->services; s++) {
		if (cfg->service[s]->id > r->services)
			r->services = cfg->service[s]->id;
		for (size_t m = 0; m < cfg->service[s]->members; m++)
			set_nexthop(r, &cfg->service[s]->member[m]);
	}
}

static struct config *load(struct rig *r)
{
	struct poise_error err = {0};
	struct config *live = NULL;

	place_must(instance_load(r->i, &live, &err), "load", &err);
	return live;
}

/* Everything goes, so that nothing of an earlier part of the test is found in a later one. */
static void clear(struct rig *r)
{
	struct config *live = load(r);

	while (live->services)
		config_service_del(live, live->service[0]);
	commit(r, live);
	config_free(live);
	rig_forget(r);
}

/* With the lock held. */
static void apply(struct rig *r, const char *yaml)
{
	struct poise_error err = {0};
	struct config *file = config_parse("rig.yaml", yaml, strlen(yaml), &err);

	place_must(!file, "configuration", &err);
	config_free(r->cfg);
	r->cfg = load(r);
	place_must(config_apply(r->cfg, file, 0, NULL, &err), "apply", &err);
	commit(r, r->cfg);
	config_free(file);
}

static void configure(struct rig *r, const char *yaml)
{
	struct poise_error err = {0};

	place_must(instance_lock(r->i, &err), "lock", &err);
	clear(r);
	apply(r, yaml);
	instance_unlock(r->i);
}

void rig_apply(struct rig *r, const char *yaml)
{
	struct poise_error err = {0};

	place_must(instance_lock(r->i, &err), "lock", &err);
	apply(r, yaml);
	instance_unlock(r->i);
}

void rig_commit(struct rig *r)
{
	struct poise_error err = {0};

	place_must(instance_lock(r->i, &err), "lock", &err);
	commit(r, r->cfg);
	instance_unlock(r->i);
}

/* A map of the program's own, which is not pinned; -1: it has none of that name. */
static int own_map(int program, const char *name)
{
	struct bpf_prog_info info = {0};
	__u32 ids[64], size = sizeof(info);

	info.nr_map_ids = sizeof(ids) / sizeof(ids[0]);
	info.map_ids = (__u64)(unsigned long)ids;
	cr_assert(!bpf_obj_get_info_by_fd(program, &info, &size), "%s", strerror(errno));
	for (__u32 k = 0; k < info.nr_map_ids && k < sizeof(ids) / sizeof(ids[0]); k++) {
		struct bpf_map_info map = {0};
		int fd = bpf_map_get_fd_by_id(ids[k]);

		size = sizeof(map);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &map, &size) && !strcmp(map.name, name))
			return fd;
		close(fd);
	}
	return -1;
}

/* A value of the map for every CPU, all zeros: long ago, by any clock. */
static void *rested(int limits)
{
	struct bpf_map_info map = {0};
	__u32 size = sizeof(map);
	void *rest;

	cr_assert(!bpf_obj_get_info_by_fd(limits, &map, &size), "%s", strerror(errno));
	rest = calloc((size_t)libbpf_num_possible_cpus(), map.value_size);
	cr_assert_not_null(rest);
	return rest;
}

static void open_driver(struct rig *r)
{
	struct bpf_program *prog;
	char path[PATH_MAX];
	__u32 slot = 0;

	snprintf(path, sizeof(path), "%s/prog_xdp", r->i->dir);
	r->program = bpf_obj_get(path);
	cr_assert(r->program >= 0, "cannot open %s: %s", path, strerror(errno));
	r->limits = own_map(r->program, "limits");
	cr_assert(r->limits >= 0, "the program has no limits");
	r->rest = rested(r->limits);
	r->driver = driver__open();
	cr_assert(r->driver, "cannot open the driver: %s", strerror(errno));
	/* As attach/ loads the pipeline: kernels let only equals jump to each other. */
	bpf_object__for_each_program (prog, r->driver->obj)
		bpf_program__set_expected_attach_type(prog, 0);
	cr_assert(!driver__load(r->driver), "cannot load the driver: %s", strerror(errno));
	cr_assert(!bpf_map_update_elem(bpf_map__fd(r->driver->maps.under_test), &slot, &r->program,
				       BPF_ANY));
}

/* ---- opening and closing ----------------------------------------------------------------------*/

/* What it was left with: services, what packets count of all members, and paths to devices that are
 * gone. */
static void forget_all(struct rig *r)
{
	struct instance *i = r->i;
	const struct poise_meta *meta = i->meta;
	struct poise_error err = {0};

	place_must(instance_lock(i, &err), "lock", &err);
	clear(r);
	for (__u32 m = 1; m < meta->members; m++)
		instance_set_nexthop(i, (__u16)m, 0);
	instance_unlock(i);
	memset(i->paths, 0, meta->paths * sizeof(*i->paths));
	memset(i->counters, 0, (size_t)meta->cpus * meta->members * sizeof(*i->counters));
	memset(i->loads, 0,
	       (size_t)meta->cpus * poise_loads_row(meta->members) * sizeof(*i->loads));
	memset(i->held, 0, meta->members * sizeof(*i->held));
}

/* One with these limits that was left by another test. */
static bool find_kept(struct rig *r, const struct config_limits *limits)
{
	const unsigned char *byte = (const unsigned char *)limits;
	char name[POISE_NAME_MAX];
	__u32 hash = 0;

	for (size_t n = 0; n < sizeof(*limits); n++)
		hash = hash * 31 + byte[n];
	snprintf(name, sizeof(name), "kept-rig-%08x", hash);
	place_keep(&r->place, name);
	if (instance_open(&r->i, &r->place.where, NULL))
		return false;
	forget_all(r);
	return true;
}

static void make(struct rig *r, const struct config_limits *limits)
{
	struct config cfg = {
		.has_limits = true, .limits = *limits, .has_hash_key = true, .hash_key = {1, 2}};
	struct poise_error err = {0};
	bool created;

	place_open(&r->place);
	if (getenv(RIG_KEPT) && find_kept(r, limits))
		return;
	place_must(attach_load(&r->i, &r->place.where, &cfg, &created, &err), "attach_load", &err);
	cr_assert(created, "%s was there already", r->i->dir);
}

void rig_open_with(struct rig *r, const char *yaml, const struct config_limits *limits)
{
	if (!r->i) {
		make(r, limits);
		r->cuts = r->i->meta->cuts;
		open_driver(r);
	}
	configure(r, yaml);
}

void rig_answer(struct rig *r, const char *but)
{
	union poise_addr host = {.q = {0}};

	if (but)
		place_must(poise_parse_addr(but, &host, NULL), but, NULL);
	for (size_t s = 0; s < r->cfg->services; s++) {
		struct poise_service_conf *conf = &r->cfg->service[s]->conf;

		for (int l = 0; l < conf->listeners; l++)
			conf->listener[l].own = poise_addr_cmp(&conf->listener[l].addr, &host)
							? POISE_OWN_NOT
							: POISE_OWN_HOST;
	}
	for (size_t a = 0; a < r->cfg->addresses; a++)
		if (r->cfg->address[a].conf.device[0]) {
			r->cfg->address[a].conf.own = POISE_OWN_NOT;
			r->cfg->address[a].conf.put = POISE_PUT_MARKED;
		}
	rig_commit(r);
}

void rig_open(struct rig *r, const char *yaml)
{
	static const struct config_limits limits = RIG_LIMITS(4096);

	rig_open_with(r, yaml, &limits);
}

void rig_close(struct rig *r)
{
	struct poise_error err = {0};

	driver__destroy(r->driver);
	r->i->meta->cuts = r->cuts; /* whoever is next has it as it was */
	free(r->rest);
	close(r->limits);
	close(r->program);
	config_free(r->cfg);
	instance_close(r->i);
	if (!getenv(RIG_KEPT))
		place_must(attach_reset(&r->place.where, &err), "attach_reset", &err);
}

/* ---- names ------------------------------------------------------------------------------------*/

__u16 rig_member(const struct rig *r, const char *address)
{
	struct poise_error err = {0};
	union poise_addr a;

	place_must(poise_parse_addr(address, &a, &err), address, &err);
	for (size_t s = 0; s < r->cfg->services; s++)
		for (size_t m = 0; m < r->cfg->service[s]->members; m++)
			if (!poise_addr_cmp(&r->cfg->service[s]->member[m].conf.addr, &a))
				return r->cfg->service[s]->member[m].id;
	cr_assert_fail("the rig has no member %s", address);
	return 0;
}

__u16 rig_service(const struct rig *r, const char *name)
{
	struct config_service *s = config_service_named(r->cfg, name);

	cr_assert(s, "the rig has no service %s", name);
	return s->id;
}
