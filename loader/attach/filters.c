// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs at TC of the attached devices, beside the pipeline: the one that cuts in two what is
 * too big (bpf/cut.bpf.c), the two that health checks take clients' way by (bpf/probe.bpf.c), and
 * those by which answers of mode local leave, and which mark what the stack is to translate
 * (bpf/local.bpf.c).
 * Loaded over the pinned maps, pinned with the pipeline, run on every attached device. A word in
 * meta says of each kind that no device lacks any: only then XDP sends packets to be cut, and
 * checks go by the path. Other software may remove them with the qdisc that they are on: poised
 * looks again and again.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "bpf/cut.skel.h"
#include "bpf/local.skel.h"
#include "bpf/poise.skel.h"
#include "bpf/probe.skel.h"
#include "internal.h"

static const struct filter {
	enum attach_filter kind;
	const char *program, *pin;
	enum attach_tc_place place;
} filters[] = {
	{ATTACH_CUT, "poise_cut", "prog_cut", ATTACH_TC_CUT},
	{ATTACH_PROBE, "poise_probe_out", "prog_probe_out", ATTACH_TC_PROBE_OUT},
	{ATTACH_PROBE, "poise_probe_in", "prog_probe_in", ATTACH_TC_PROBE_IN},
	{ATTACH_LOCAL, "poise_local_out", "prog_local_out", ATTACH_TC_LOCAL_OUT},
	{ATTACH_LOCAL, "poise_local_in", "prog_local_in", ATTACH_TC_LOCAL_IN},
};
#define FILTERS (sizeof(filters) / sizeof(filters[0]))

static __u32 *word_of(struct poise_meta *meta, enum attach_filter kind)
{
	switch (kind) {
	case ATTACH_CUT: return &meta->cuts;
	case ATTACH_PROBE: return &meta->probes;
	case ATTACH_LOCAL: break;
	}
	return &meta->returns;
}

/* ---- loading ----------------------------------------------------------------------------------*/

/* Maps by the pipeline's names are the pipeline's. */
static int share_maps(const struct bpf_object *obj, const struct poise *skel)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, obj) {
		struct bpf_map *its = bpf_object__find_map_by_name(skel->obj, bpf_map__name(map));

		if (its && !bpf_map__is_internal(map) && bpf_map__reuse_fd(map, bpf_map__fd(its)))
			return -1;
	}
	return 0;
}

static int load(struct bpf_object *obj, enum attach_filter kind, const struct poise *skel,
		const char *dir, struct poise_error *err)
{
	int rc = 0;

	if (share_maps(obj, skel) || bpf_object__load(obj))
		return poise_fail(err, POISE_E_UNSUPPORTED, "this kernel refused the program (%s)",
				  attach_log_said());
	for (size_t b = 0; b < FILTERS && !rc; b++)
		if (filters[b].kind == kind)
			rc = attach_pin_replace(bpf_program__fd(bpf_object__find_program_by_name(
							obj, filters[b].program)),
						dir, filters[b].pin, err);
	return rc;
}

static int load_cut(const struct poise *skel, const char *dir, struct poise_error *err)
{
	struct cut *cut = cut__open();
	int rc;

	if (!cut)
		return poise_fail_errno(err, "cannot open the built-in BPF object");
	cut->rodata->poise_key0 = skel->rodata->poise_key0;
	cut->rodata->poise_key1 = skel->rodata->poise_key1;
	rc = load(cut->obj, ATTACH_CUT, skel, dir, err);
	cut__destroy(cut);
	return rc;
}

static int load_probe(const struct poise *skel, const char *dir, struct poise_error *err)
{
	struct probe *probe = probe__open();
	int rc;

	if (!probe)
		return poise_fail_errno(err, "cannot open the built-in BPF object");
	probe->rodata->poise_key0 = skel->rodata->poise_key0;
	probe->rodata->poise_key1 = skel->rodata->poise_key1;
	rc = load(probe->obj, ATTACH_PROBE, skel, dir, err);
	probe__destroy(probe);
	return rc;
}

static int load_local(const struct poise *skel, const char *dir, struct poise_error *err)
{
	struct local *local = local__open();
	int rc;

	if (!local)
		return poise_fail_errno(err, "cannot open the built-in BPF object");
	local->rodata->poise_key0 = skel->rodata->poise_key0;
	local->rodata->poise_key1 = skel->rodata->poise_key1;
	local->rodata->poise_members = skel->rodata->poise_members;
	local->rodata->poise_row_mask = skel->rodata->poise_row_mask;
	local->rodata->poise_services = skel->rodata->poise_services;
	local->rodata->poise_groups = skel->rodata->poise_groups;
	local->rodata->poise_link_mask = skel->rodata->poise_link_mask;
	local->rodata->poise_slot_mask = skel->rodata->poise_slot_mask;
	local->rodata->poise_seed_mask = skel->rodata->poise_seed_mask;
	local->rodata->poise_jiffies_mult = skel->rodata->poise_jiffies_mult;
	rc = load(local->obj, ATTACH_LOCAL, skel, dir, err);
	local__destroy(local);
	return rc;
}

static void unpin(enum attach_filter kind, const char *dir)
{
	char path[PATH_MAX];

	for (size_t b = 0; b < FILTERS; b++)
		if (filters[b].kind == kind)
			unlink(attach_path(path, sizeof(path), dir, filters[b].pin));
}

void attach_filters_load(const struct poise *skel, const char *dir)
{
	struct poise_error ignored = {0};

	/* What stays of an older load does not know this pipeline. */
	if (load_cut(skel, dir, &ignored))
		unpin(ATTACH_CUT, dir);
	if (load_probe(skel, dir, &ignored))
		unpin(ATTACH_PROBE, dir);
	if (load_local(skel, dir, &ignored))
		unpin(ATTACH_LOCAL, dir);
}

void attach_filters_unpin(const char *dir)
{
	unpin(ATTACH_CUT, dir);
	unpin(ATTACH_PROBE, dir);
	unpin(ATTACH_LOCAL, dir);
}

void attach_filters_remove(unsigned int ifindex)
{
	struct poise_error ignored = {0};

	for (size_t b = 0; b < FILTERS; b++)
		attach_tc_remove(ifindex, filters[b].place, &ignored);
}

/* ---- on devices -------------------------------------------------------------------------------*/

/* A walk over the attached devices. Two instances on one device do not take the place from each
 * other for ever: only who is told to load or attach replaces. */
struct walk {
	enum { LOOK, MEND, REPLACE } how;
	const char *dir;
	const struct filter *what;
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
	       !attach_tc(ifindex, w->what->place, w->prog_fd, &ignored);
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
	found = attach_tc_look(ifindex, w->what->place, w->prog_id);
	if (found == ATTACH_TC_OURS || add(w, ifindex, found))
		return 0;
	w->lacking++;
	if (w->one)
		w->one(w->ctx, p.device);
	return 0;
}

/* How many lack it; -1 if it is not there: the kernel refused it. */
static int walk(struct walk *w, const struct filter *what)
{
	struct poise_error ignored = {0};
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);
	char path[PATH_MAX];
	int rc = -1;

	w->what = what;
	w->lacking = 0;
	w->prog_fd = bpf_obj_get(attach_path(path, sizeof(path), w->dir, what->pin));
	if (w->prog_fd < 0)
		return -1;
	if (!bpf_obj_get_info_by_fd(w->prog_fd, &info, &size)) {
		w->prog_id = info.id;
		rc = attach_dir_each(w->dir, walk_one, w, &ignored);
	}
	close(w->prog_fd);
	return rc ? -1 : w->lacking;
}

/* The most that any program of a kind is lacking by. */
static int walk_kind(struct walk *w, enum attach_filter kind)
{
	int most = 0;

	for (size_t b = 0; b < FILTERS; b++) {
		int lacking = filters[b].kind == kind ? walk(w, &filters[b]) : 0;

		if (lacking < 0)
			return -1;
		if (lacking > most)
			most = lacking;
	}
	return most;
}

void attach_filters_everywhere(const char *dir, struct poise_meta *meta)
{
	struct walk w = {.how = REPLACE, .dir = dir};

	__atomic_store_n(&meta->cuts, !walk_kind(&w, ATTACH_CUT), __ATOMIC_RELAXED);
	__atomic_store_n(&meta->probes, !walk_kind(&w, ATTACH_PROBE), __ATOMIC_RELAXED);
	__atomic_store_n(&meta->returns, !walk_kind(&w, ATTACH_LOCAL), __ATOMIC_RELAXED);
}

bool attach_filters_mend(struct instance *i, enum attach_filter kind)
{
	struct walk w = {.how = MEND, .dir = i->dir};
	bool all;

	attach_log_start();
	all = !walk_kind(&w, kind);
	__atomic_store_n(word_of(i->meta, kind), all, __ATOMIC_RELAXED);
	return all;
}

bool attach_filters_all(const struct instance *i, enum attach_filter kind)
{
	return __atomic_load_n(word_of(i->meta, kind), __ATOMIC_RELAXED);
}

int attach_filters_lacking(struct instance *i, enum attach_filter kind,
			   void (*one)(void *ctx, const char *device), void *ctx)
{
	struct walk w = {.how = LOOK, .dir = i->dir, .one = one, .ctx = ctx};

	attach_log_start();
	return walk_kind(&w, kind);
}
