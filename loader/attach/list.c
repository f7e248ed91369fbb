// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is attached, read from the pins and the devices themselves.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The device has another name by now, and the old one is nobody's. */
static bool renamed(const struct attach_pin *p, unsigned int ifindex, char now[IF_NAMESIZE])
{
	return if_indextoname(ifindex, now) && strcmp(now, p->device) != 0 &&
	       !if_nametoindex(p->device);
}

void attach_describe(const struct attach_pin *p, unsigned int ifindex, struct attach_state *state)
{
	char why[128], now[IF_NAMESIZE];

	*state = (struct attach_state){
		.ifindex = ifindex,
		.mode = attach_link_mode(ifindex),
		.wanted = p->wanted,
		.shared = p->shared,
	};
	memcpy(state->device, p->device, sizeof(state->device));
	if (renamed(p, ifindex, now))
		snprintf(state->warning, sizeof(state->warning),
			 "is named %s now (poise detach %s, then poise attach %s)", now, p->device,
			 now);
	else if (p->why)
		snprintf(state->warning, sizeof(state->warning), "generic mode, slower: %s",
			 attach_link_why(p->why, p->device, why, sizeof(why)));
	else
		attach_offload_warn(p->device, state->warning, sizeof(state->warning));
}

struct listing {
	const char *dir;
	struct attach_state *state;
	int used;
	struct poise_error *err;
};

static int list_one(void *ctx, const char *name)
{
	struct listing *l = ctx;
	struct attach_state *more;
	struct attach_pin p;
	unsigned int ifindex;

	if (!attach_pin_parse(name, &p))
		return 0;
	ifindex = attach_pinned_ifindex(l->dir, &p);
	if (!ifindex)
		return 0;
	more = reallocarray(l->state, (size_t)l->used + 1, sizeof(*more));
	if (!more)
		return poise_fail_errno(l->err, "cannot list the devices");
	l->state = more;
	attach_describe(&p, ifindex, &l->state[l->used++]);
	return 0;
}

struct generic {
	const char *dir;
	__u32 mtu;
};

static int generic_one(void *ctx, const char *name)
{
	struct generic *g = ctx;
	struct attach_pin p;
	unsigned int ifindex = attach_pin_parse(name, &p) ? attach_pinned_ifindex(g->dir, &p) : 0;
	__u32 mtu =
		ifindex && attach_link_mode(ifindex) == ATTACH_GENERIC ? attach_mtu(p.device) : 0;

	if (mtu > g->mtu)
		g->mtu = mtu;
	return 0;
}

void attach_note_generic(struct instance *i)
{
	struct generic g = {.dir = i->dir};
	struct poise_error ignored;

	if (!attach_dir_each(i->dir, generic_one, &g, &ignored))
		__atomic_store_n(&i->meta->generic_mtu, g.mtu, __ATOMIC_RELAXED);
}

struct gone {
	const char *dir;
	void (*one)(void *ctx, const char *device);
	void *ctx;
};

static int gone_one(void *ctx, const char *name)
{
	const struct gone *g = ctx;
	struct attach_pin p;

	if (attach_pin_parse(name, &p) && !attach_pinned_ifindex(g->dir, &p))
		g->one(g->ctx, p.device);
	return 0;
}

int attach_gone(struct instance *i, void (*one)(void *ctx, const char *device), void *ctx)
{
	struct gone g = {i->dir, one, ctx};
	struct poise_error ignored;

	return attach_dir_each(i->dir, gone_one, &g, &ignored);
}

static int by_device(const void *a, const void *b)
{
	const struct attach_state *x = a, *y = b;

	return strcmp(x->device, y->device);
}

int attach_list(struct instance *i, struct attach_state **list, struct poise_error *err)
{
	struct listing l = {.dir = i->dir, .err = err};

	*list = NULL;
	if (attach_dir_each(i->dir, list_one, &l, err)) {
		free(l.state);
		return -1;
	}
	if (l.used)
		qsort(l.state, (size_t)l.used, sizeof(*l.state), by_device);
	*list = l.state;
	return l.used;
}
