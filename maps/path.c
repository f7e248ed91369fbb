// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Paths and next hops. A path is shared by the members that leave by it, counted in refs, and its
 * slot is re-used once nobody names it and a grace period has passed. The devmap has a path's
 * device at the path's index.
 *
 * Several source addresses are a chain of paths, each naming the next by `more`: a member names the
 * first, and a path that is named counts for the one behind it. A chain never changes, as a path
 * never does; it is made from its end.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"
#include "text.h"

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
	       !memcmp(&a->src6, &b->src6, sizeof(a->src6)) && a->more == b->more &&
	       a->sources == b->sources;
}

static void set_refs(struct instance *i, __u16 path, __u64 refs)
{
	struct poise_path *p = &i->paths[path];

	if (!refs && p->refs)
		store32(&p->retired, store_stamp32(i));
	store64(&p->refs, refs);
}

/* One more names the path, or one less; and so the next, if it is the first or the last. */
static void name_path(struct instance *i, __u16 path, bool more)
{
	while (path && path < i->meta->paths) {
		struct poise_path *p = &i->paths[path];
		__u64 was = p->refs;

		if (!more && !was)
			return;
		set_refs(i, path, more ? was + 1 : was - 1);
		if (more ? was : was - 1)
			return;
		path = p->more;
	}
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
		name_path(i, to, true);
	store64(&m->nexthop, nexthop);
	if (to != from && from < i->meta->paths)
		name_path(i, from, false);
	store_end(i, began);
}

__u64 *path_count(const struct instance *i)
{
	__u64 *refs = calloc(i->meta->paths, sizeof(*refs));

	if (!refs)
		abort();
	for (__u32 id = 1; id < i->meta->members; id++) {
		__u16 path = path_of(i->members[id].nexthop);

		/* The first to name a path names what it names, and so on. */
		while (path && path < i->meta->paths && !refs[path]++)
			path = i->paths[path].more;
	}
	return refs;
}

void path_recount(struct instance *i)
{
	static const struct poise_path none;
	__u64 *refs;

	for (__u32 path = 1; path < i->meta->paths; path++)
		if (!(i->paths[path].flags & POISE_PATH_USED))
			store_words(&i->paths[path], &none, sizeof(none));
	refs = path_count(i);
	for (__u32 path = 1; path < i->meta->paths; path++)
		if (i->paths[path].flags & POISE_PATH_USED)
			set_refs(i, (__u16)path, refs[path]);
	free(refs);
}

static __u16 find_path(const struct instance *i, const struct poise_path *want)
{
	for (__u32 path = 1; path < i->meta->paths; path++)
		if ((i->paths[path].flags & POISE_PATH_USED) && same_way(&i->paths[path], want))
			return (__u16)path;
	return 0;
}

/* Is it of the chain that begins with `first`, which nobody need name yet? */
static bool in_chain(const struct instance *i, __u16 first, __u32 path)
{
	while (first && first != path)
		first = i->paths[first].more;
	return first;
}

/* One never used, else one that nobody names any more; none of this chain. */
static __u16 free_path(const struct instance *i, __u16 chain)
{
	for (__u32 path = 1; path < i->meta->paths; path++)
		if (!(i->paths[path].flags & POISE_PATH_USED))
			return (__u16)path;
	for (__u32 path = 1; path < i->meta->paths; path++)
		if (!i->paths[path].refs && store_graced(i, i->paths[path].retired) &&
		    !in_chain(i, chain, path))
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
	path = free_path(i, want->more);
	if (!path) {
		instance_grace(i);
		path = free_path(i, want->more);
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

static void set_source(struct poise_path *path, const union poise_addr *source)
{
	if (poise_addr_is4(source))
		path->src4 = source->w[3];
	else
		path->src6 = *source;
}

__u16 instance_path_chain(struct instance *i, const struct poise_path *want,
			  const union poise_addr *source, __u32 sources, struct poise_error *err)
{
	struct poise_path one = *want;

	if (sources < 2)
		return instance_path(i, want, err);
	one.more = 0;
	for (__u32 k = sources; k--;) {
		set_source(&one, &source[k]);
		one.sources = (__u16)(sources - k > 1 ? sources - k : 0);
		one.more = instance_path(i, &one, err);
		if (!one.more)
			return 0;
	}
	return one.more;
}

bool path_chain_is(const struct instance *i, __u16 at, const struct poise_path *want,
		   const union poise_addr *source, __u32 sources)
{
	struct poise_path one = *want;

	if (sources < 2)
		return at && at < i->meta->paths && same_way(&i->paths[at], want);
	for (__u32 k = 0; k < sources; k++) {
		if (!at || at >= i->meta->paths)
			return false;
		set_source(&one, &source[k]);
		one.sources = (__u16)(sources - k > 1 ? sources - k : 0);
		one.more = k + 1 < sources ? i->paths[at].more : 0;
		if (!same_way(&i->paths[at], &one))
			return false;
		at = one.more;
	}
	return true;
}
