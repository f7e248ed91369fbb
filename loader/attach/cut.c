// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The program at TC ingress that cuts in two what is too big (bpf/cut.bpf.c): loaded over the
 * pinned maps, pinned beside the pipeline, run on every attached device. XDP sends it packets only
 * while meta.cuts says that no device lacks it; where a kernel cannot run it, they are dropped as
 * too big.
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
	cut__destroy(cut);
	return rc;
}

struct everywhere {
	const char *dir;
	int prog_fd;
	bool lacking; /* a device that cannot run it */
};

static int add_one(void *ctx, const char *name)
{
	struct everywhere *e = ctx;
	struct poise_error ignored = {0};
	struct attach_pin p;
	unsigned int ifindex;

	if (!attach_pin_parse(name, &p))
		return 0;
	ifindex = attach_pinned_ifindex(e->dir, &p);
	if (ifindex && attach_tc(ifindex, ATTACH_TC_CUT, e->prog_fd, &ignored))
		e->lacking = true;
	return 0;
}

void attach_cut_everywhere(const char *dir, struct poise_meta *meta)
{
	struct poise_error ignored = {0};
	struct everywhere e = {.dir = dir};
	char path[PATH_MAX];

	e.prog_fd = bpf_obj_get(attach_path(path, sizeof(path), dir, ATTACH_PIN_CUT));
	if (e.prog_fd < 0 || attach_dir_each(dir, add_one, &e, &ignored))
		e.lacking = true;
	__atomic_store_n(&meta->cuts, !e.lacking, __ATOMIC_RELAXED);
	if (e.prog_fd >= 0)
		close(e.prog_fd);
}
