// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The program at TC ingress that cuts in two what is too big (bpf/cut.bpf.c): loaded over the
 * pinned maps, pinned beside the pipeline, run on every attached device. XDP sends it packets only
 * while meta.cuts says that no device lacks it; where a kernel cannot run it, they are dropped as
 * too big. Other software may remove it with the qdisc that it is on: poised looks again and again.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "bpf/cut.skel.h"
#include "bpf/poise.skel.h"
#include "internal.h"

/* Maps by the pipeline's names are the pipeline's. */
static int share_maps(const struct cut *cut, const struct poise *skel)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, cut->obj) {
		struct bpf_map *its = bpf_object__find_map_by_name(skel->obj, bpf_map__name(map));

		if (its && !bpf_map__is_internal(map) && bpf_map__reuse_fd(map, bpf_map__fd(its)))
			return -1;
	}
	return 0;
}

int attach_cut_load(const struct poise *skel, const char *dir, struct poise_error *err)
{
	struct cut *cut = cut__open();
	char path[PATH_MAX];
	int rc = -1;

	if (!cut)
		return poise_fail_errno(err, "cannot open the built-in BPF object");
	cut->rodata->poise_key0 = skel->rodata->poise_key0;
	cut->rodata->poise_key1 = skel->rodata->poise_key1;
	if (share_maps(cut, skel) || cut__load(cut))
		poise_fail(err, POISE_E_UNSUPPORTED, "this kernel refused the program (%s)",
			   attach_log_said());
	else
		rc = attach_pin_replace(bpf_program__fd(cut->progs.poise_cut), dir, ATTACH_PIN_CUT,
					err);
	if (rc) /* an older one does not know this pipeline's notes */
		unlink(attach_path(path, sizeof(path), dir, ATTACH_PIN_CUT));
	cut__destroy(cut);
	return rc;
}

/* A walk over the attached devices. Two instances on one device do not take the place from each
 * other for ever: only who is told to load or attach replaces. */
struct walk {
	enum { LOOK, MEND, REPLACE } how;
	const char *dir;
	int prog_fd;
	__u32 prog_id;
	int lacking;
	void (*one)(void *ctx, const char *device);
	void *ctx;
};

static bool add(const struct walk *w, unsigned int ifindex, enum attach_tc_found found)
{
	struct poise_error ignored = {0};

	return (w->how == REPLACE || (w->how == MEND && found == ATTACH_TC_NOTHING)) &&
	       !attach_tc(ifindex, ATTACH_TC_CUT, w->prog_fd, &ignored);
}

static int walk_one(void *ctx, const char *name)
{
	struct walk *w = ctx;
	enum attach_tc_found found;
	struct attach_pin p;
	unsigned int ifindex;

	if (!attach_pin_parse(name, &p))
		return 0;
	ifindex = attach_pinned_ifindex(w->dir, &p);
	if (!ifindex)
		return 0;
	found = attach_tc_look(ifindex, ATTACH_TC_CUT, w->prog_id);
	if (found == ATTACH_TC_OURS || add(w, ifindex, found))
		return 0;
	w->lacking++;
	if (w->one)
		w->one(w->ctx, p.device);
	return 0;
}

/* How many lack it; -1 if it is not there: the kernel refused it. */
static int walk(struct walk *w)
{
	struct poise_error ignored = {0};
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);
	char path[PATH_MAX];
	int rc = -1;

	w->prog_fd = bpf_obj_get(attach_path(path, sizeof(path), w->dir, ATTACH_PIN_CUT));
	if (w->prog_fd < 0)
		return -1;
	if (!bpf_obj_get_info_by_fd(w->prog_fd, &info, &size)) {
		w->prog_id = info.id;
		rc = attach_dir_each(w->dir, walk_one, w, &ignored);
	}
	close(w->prog_fd);
	return rc ? -1 : w->lacking;
}

void attach_cut_everywhere(const char *dir, struct poise_meta *meta)
{
	struct walk w = {.how = REPLACE, .dir = dir};

	__atomic_store_n(&meta->cuts, !walk(&w), __ATOMIC_RELAXED);
}

bool attach_cut_mend(struct instance *i)
{
	struct walk w = {.how = MEND, .dir = i->dir};
	bool all;

	attach_log_start();
	all = !walk(&w);
	__atomic_store_n(&i->meta->cuts, all, __ATOMIC_RELAXED);
	return all;
}

int attach_cut_lacking(struct instance *i, void (*one)(void *ctx, const char *device), void *ctx)
{
	struct walk w = {.how = LOOK, .dir = i->dir, .one = one, .ctx = ctx};

	attach_log_start();
	return walk(&w);
}
