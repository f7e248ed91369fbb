// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Paths and next hops. A path is shared by the members that leave by it, counted in refs, and its
 * slot is re-used once nobody names it and a grace period has passed. The devmap has a path's
 * device at the path's index.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "path.h"

static __u16 path_of(__u64 nexthop)
{
	return (__u16)(nexthop >> 48);
}

static bool same_way(const struct poise_path *a, const struct poise_path *b)
{
	return a->ifindex == b->ifindex && !memcmp(a->smac, b->smac, sizeof(a->smac)) &&
	       a->mtu == b->mtu && a->vlans == b->vlans &&
	       !memcmp(a->vlan, b->vlan, sizeof(a->vlan)) &&
	       !memcmp(a->tpid, b->tpid, sizeof(a->tpid)) && a->src4 == b->src4 &&
	       !memcmp(&a->src6, &b->src6, sizeof(a->src6));
}

static void set_refs(struct instance *i, __u16 path, __u64 refs)
{
	struct poise_path *p = &i->paths[path];

	if (!path || path >= i->meta->paths)
		return;
	if (!refs && p->refs)
		store32(&p->retired, store_stamp32(i));
	store64(&p->refs, refs);
}

void instance_set_nexthop(struct instance *i, __u16 member, __u64 nexthop)
{
	struct poise_member *m = &i->members[member];
	__u16 from = path_of(m->nexthop), to = path_of(nexthop);
	bool began;

	/* whoever resolved it may have looked before the backend was removed */
	if (m->nexthop == nexthop || (nexthop && !m->service))
		return;
	began = store_begin(i);
	if (to != from && to < i->meta->paths)
		set_refs(i, to, i->paths[to].refs + 1);
	store64(&m->nexthop, nexthop);
	if (to != from && from < i->meta->paths)
		set_refs(i, from, i->paths[from].refs ? i->paths[from].refs - 1 : 0);
	store_end(i, began);
}

void path_recount(struct instance *i)
{
	static const struct poise_path none;

	for (__u32 path = 1; path < i->meta->paths; path++) {
		__u64 refs = 0;

		if (!(i->paths[path].flags & POISE_PATH_USED)) {
			store_words(&i->paths[path], &none, sizeof(none));
			continue;
		}
		for (__u32 id = 1; id < i->meta->members; id++)
			refs += path_of(i->members[id].nexthop) == path;
		set_refs(i, (__u16)path, refs);
	}
}

static __u16 find_path(const struct instance *i, const struct poise_path *want)
{
	for (__u32 path = 1; path < i->meta->paths; path++)
		if ((i->paths[path].flags & POISE_PATH_USED) && same_way(&i->paths[path], want))
			return (__u16)path;
	return 0;
}

/* One never used, else one that nobody names any more. */
static __u16 free_path(const struct instance *i)
{
	for (__u32 path = 1; path < i->meta->paths; path++)
		if (!(i->paths[path].flags & POISE_PATH_USED))
			return (__u16)path;
	for (__u32 path = 1; path < i->meta->paths; path++)
		if (!i->paths[path].refs && store_graced(i, i->paths[path].retired))
			return (__u16)path;
	return 0;
}

static void write_path(struct instance *i, __u16 path, const struct poise_path *want)
{
	struct poise_path *p = &i->paths[path], fresh = *want;
	bool began = store_begin(i);

	fresh.flags = 0;
	fresh.refs = 0;
	fresh.retired = 0;
	store8(&p->flags, 0);
	store_words(p, &fresh, sizeof(fresh));
	store8(&p->flags, want->flags | POISE_PATH_USED);
	store_end(i, began);
}

__u16 instance_path(struct instance *i, const struct poise_path *want, struct poise_error *err)
{
	__u16 path = find_path(i, want);
	__u32 key;

	if (path)
		return path;
	path = free_path(i);
	if (!path) {
		instance_grace(i);
		path = free_path(i);
	}
	if (!path) {
		poise_fail(err, POISE_E_FULL, "all %u paths to backends are in use",
			   i->meta->paths - 1);
		poise_error_remedy(err, "raise limits: paths");
		return 0;
	}
	key = path;
	if (!i->anonymous && bpf_map_update_elem(i->devmap_fd, &key, &want->ifindex, BPF_ANY)) {
		poise_fail_errno(err, "cannot redirect to interface %u", want->ifindex);
		return 0;
	}
	write_path(i, path, want);
	return path;
}
