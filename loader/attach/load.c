// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loading: the maps, then the program over them, then every attached device runs it.
 *
 * Each step leaves something the next run understands, so a kill at any point costs nothing:
 * maps are pinned before the programs, the magic number in meta comes last of a creation, and a
 * replacement changes device after device by an atomic update of its link.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "bpf/poise.skel.h"
#include "internal.h"
#include "maps/option.h"

struct load {
	struct attach_dir dir;
	struct poise *skel;
	struct config_limits limits;
	__u64 hash_key[2];
	__u32 flow_stage;
	bool fresh; /* the maps are to be made: known once the old ones have been looked for */
};

/* Limits and key of a new instance: the file's, else the defaults and a key drawn here. */
static int settle(struct load *l, const struct config *cfg, struct poise_error *err)
{
	if (cfg && cfg->has_limits)
		l->limits = cfg->limits;
	else
		option_defaults(OPTION_LIMIT, &l->limits);
	if (cfg && cfg->has_hash_key) {
		memcpy(l->hash_key, cfg->hash_key, sizeof(l->hash_key));
		return 0;
	}
	if (getrandom(l->hash_key, sizeof(l->hash_key), 0) != sizeof(l->hash_key))
		return poise_fail_errno(err, "cannot draw a hash key");
	return 0;
}

/* What the verifier takes for constants. */
static int set_knobs(struct load *l, struct poise_error *err)
{
	struct poise *skel = l->skel;
	__u32 mult;

	if (attach_clock(&mult, err))
		return -1;
	skel->rodata->poise_key0 = l->hash_key[0];
	skel->rodata->poise_key1 = l->hash_key[1];
	skel->rodata->poise_bucket_mask = bpf_map__max_entries(skel->maps.flows) - 1;
	if (POISE_FLOWS_STAGE(l->flow_stage) != POISE_FLOWS_ALONE)
		skel->rodata->poise_beside_buckets = bpf_map__max_entries(skel->maps.flows_beside);
	skel->rodata->poise_slot_mask = bpf_map__max_entries(skel->maps.listeners) - 1;
	skel->rodata->poise_seed_mask =
		bpf_map__max_entries(skel->maps.listener_seeds) * POISE_WORDS - 1;
	skel->rodata->poise_services = bpf_map__max_entries(skel->maps.services);
	skel->rodata->poise_members = bpf_map__max_entries(skel->maps.members);
	skel->rodata->poise_row_mask =
		poise_loads_row(bpf_map__max_entries(skel->maps.members)) - 1;
	skel->rodata->poise_groups = bpf_map__max_entries(skel->maps.slots) / POISE_PORTS;
	skel->rodata->poise_link_mask = bpf_map__max_entries(skel->maps.links) - 1;
	skel->rodata->poise_jiffies_mult = mult;
	return 0;
}

/* The maps that are not pinned. */
static int size_unpinned(const struct load *l, struct poise_error *err)
{
	__u32 services = bpf_map__max_entries(l->skel->maps.services);
	__u32 cpus = (__u32)libbpf_num_possible_cpus();
	__u32 groups = bpf_map__max_entries(l->skel->maps.slots) / POISE_PORTS;

	if (bpf_map__set_max_entries(l->skel->maps.turns, services * cpus) ||
	    bpf_map__set_max_entries(l->skel->maps.scratches, cpus) ||
	    bpf_map__set_max_entries(l->skel->maps.paces, services) ||
	    bpf_map__set_max_entries(l->skel->maps.rotors, groups ? groups * cpus : 1))
		return poise_fail_errno(err, "cannot size the maps of the program itself");
	return 0;
}

/* Readers of flow words tell their age by the programs' clock. */
static int tell_clock(const struct load *l, struct poise_error *err)
{
	struct poise_meta *meta = mmap(NULL, sizeof(*meta), PROT_READ | PROT_WRITE, MAP_SHARED,
				       bpf_map__fd(l->skel->maps.meta), 0);

	if (meta == MAP_FAILED)
		return poise_fail_errno(err, "cannot map meta");
	meta->jiffies_mult = l->skel->rodata->poise_jiffies_mult;
	munmap(meta, sizeof(*meta));
	return 0;
}

static int load_failed(const struct load *l, int error, struct poise_error *err)
{
	bool maps = !strncmp(attach_log_said(), "map '", strlen("map '"));

	errno = error;
	if (l->fresh && (error == ENOMEM || error == E2BIG || (maps && error == EINVAL))) {
		poise_fail(err, POISE_E_FULL, "the maps of these limits cannot be made (%s)",
			   attach_log_said());
		return poise_error_remedy(err,
					  "ask for less under limits: flow-slots %u, "
					  "table-slots %u, backends %u",
					  l->limits.flow_slots, l->limits.table_slots,
					  l->limits.backends);
	}
	if (error == EPERM) {
		poise_fail_errno(err, "the kernel refused to load the program (%s)",
				 attach_log_said());
		return poise_error_remedy(err, "run it as root, or with CAP_BPF, CAP_NET_ADMIN and "
					       "CAP_PERFMON");
	}
	poise_fail(err, POISE_E_UNSUPPORTED, "this kernel refused the program: %s (%s)",
		   attach_log_said(), strerror(error));
	return poise_error_remedy(err, "poise needs Linux 5.15 or newer; if it is, please report "
				       "this message with the output of uname -r");
}

static int load_object(struct load *l, struct poise_error *err)
{
	struct bpf_program *prog;
	bool complete;
	int rc;

	attach_pin_leftover(l->dir.path);
	if (attach_maps_complete(&l->dir, &complete, l->hash_key, &l->flow_stage, err))
		return -1;
	l->fresh = !complete;
	l->skel = poise__open();
	if (!l->skel)
		return poise_fail_errno(err, "cannot open the built-in BPF object");
	if (l->fresh ? attach_maps_size(l->skel, &l->limits, err)
		     : attach_maps_reuse(l->skel, &l->dir, l->flow_stage, err))
		return -1;
	if (size_unpinned(l, err) || set_knobs(l, err))
		return -1;
	/* None, as the dispatcher's programs have none: kernels let only equals jump to each other.
	 */
	bpf_object__for_each_program (prog, l->skel->obj)
		if (bpf_program__type(prog) == BPF_PROG_TYPE_XDP)
			bpf_program__set_expected_attach_type(prog, 0);
	rc = poise__load(l->skel);
	return rc ? load_failed(l, -rc, err) : tell_clock(l, err);
}

static void *map_values(const struct bpf_map *map, size_t *size)
{
	*size = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	return mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
}

/* The last step of a creation: instance_format writes the magic number into meta. */
static int format(struct load *l, const char *name, struct poise_error *err)
{
	struct instance blank = {.lock_fd = l->dir.fd, .locked = true};
	size_t meta, members;
	int rc = 0;

	blank.meta = map_values(l->skel->maps.meta, &meta);
	blank.members = map_values(l->skel->maps.members, &members);
	if (blank.meta == MAP_FAILED || blank.members == MAP_FAILED)
		rc = poise_fail_errno(err, "cannot map the new maps of %s", l->dir.path);
	else
		instance_format(&blank, name, &l->limits, l->hash_key);
	if (blank.meta != MAP_FAILED)
		munmap(blank.meta, meta);
	if (blank.members != MAP_FAILED)
		munmap(blank.members, members);
	return rc;
}

/* Not having one is no error: what it would do is not done then, and said. */
static int filters_everywhere(const struct load *l, struct poise_error *err)
{
	size_t size;
	struct poise_meta *meta = map_values(l->skel->maps.meta, &size);

	if (meta == MAP_FAILED)
		return poise_fail_errno(err, "cannot map meta");
	attach_filters_load(l->skel, l->dir.path);
	attach_filters_everywhere(l->dir.path, meta);
	munmap(meta, size);
	return 0;
}

/* A resize that was killed before it began, or after its end, has left a table that no program
 * has any more. */
static void forget_other_flows(const struct load *l)
{
	char path[PATH_MAX];

	if (POISE_FLOWS_STAGE(l->flow_stage) == POISE_FLOWS_ALONE)
		unlink(attach_path(path, sizeof(path), l->dir.path,
				   instance_flows_pin(l->flow_stage, true)));
}

/* Programs that the pipeline jumps to, in the pinned map: from here on the one that still runs
 * jumps to the new ones, and what its number stands for is the same (maps/nat.h). */
static int put_tails(const struct load *l, struct poise_error *err)
{
	const struct {
		__u32 number;
		const struct bpf_program *prog;
	} tail[] = {
		{POISE_TAIL_NAT, l->skel->progs.poise_nat},
		{POISE_TAIL_NAT_CLOSELY, l->skel->progs.poise_nat_closely},
		{POISE_TAIL_NAT_BACK, l->skel->progs.poise_nat_back},
		{POISE_TAIL_NAT_BACK_CLOSELY, l->skel->progs.poise_nat_back_closely},
		{POISE_TAIL_LOCAL, l->skel->progs.poise_local},
		{POISE_TAIL_RARE, l->skel->progs.poise_rare},
		{POISE_TAIL_NAT_ICMP, l->skel->progs.poise_nat_icmp},
		{POISE_TAIL_NAT_FRAGMENT, l->skel->progs.poise_nat_fragment},
	};

	for (size_t t = 0; t < sizeof(tail) / sizeof(tail[0]); t++) {
		int fd = bpf_program__fd(tail[t].prog);

		if (bpf_map_update_elem(bpf_map__fd(l->skel->maps.tails), &tail[t].number, &fd,
					BPF_ANY))
			return poise_fail_errno(err, "cannot store a program in map tails");
	}
	return 0;
}

static int publish(struct load *l, const char *name, struct poise_error *err)
{
	int xdp = bpf_program__fd(l->skel->progs.poise_xdp);

	if (l->fresh && attach_maps_pin(l->skel, &l->dir, err))
		return -1;
	if (put_tails(l, err))
		return -1;
	if (attach_pin_replace(bpf_program__fd(l->skel->progs.poise_sweep), l->dir.path,
			       ATTACH_PIN_SWEEP, err) ||
	    attach_pin_replace(xdp, l->dir.path, ATTACH_PIN_PROGRAM, err))
		return -1;
	if (l->fresh && format(l, name, err))
		return -1;
	if (attach_replace_all(l->dir.path, xdp, err))
		return -1;
	forget_other_flows(l);
	return filters_everywhere(l, err);
}

int attach_load_anew(const struct attach_dir *d, struct poise_error *err)
{
	struct load l = {.dir = *d};
	int rc = load_object(&l, err);

	if (!rc)
		rc = publish(&l, NULL, err);
	poise__destroy(l.skel);
	return rc;
}

/* A creation that failed leaves nothing; what was there before stays. */
static void undo(const struct load *l)
{
	char path[PATH_MAX];

	if (l->fresh) {
		attach_maps_unpin(&l->dir);
		unlink(attach_path(path, sizeof(path), l->dir.path, ATTACH_PIN_PROGRAM));
		unlink(attach_path(path, sizeof(path), l->dir.path, ATTACH_PIN_SWEEP));
		attach_filters_unpin(l->dir.path);
	}
	rmdir(l->dir.path); /* fails, rightly, unless it is empty */
	rmdir(l->dir.base);
}

int attach_load(struct instance **out, const struct instance_where *where, const struct config *cfg,
		bool *created, struct poise_error *err)
{
	const char *name = where && where->name ? where->name : POISE_DEFAULT_INSTANCE;
	struct load l = {0};
	int rc;

	attach_log_start();
	if (attach_privileges(err) || settle(&l, cfg, err))
		return -1;
	if (attach_dir_open(&l.dir, where, NULL, true, err))
		return -1;
	rc = attach_dir_abi(&l.dir, err);
	if (!rc)
		rc = load_object(&l, err);
	if (!rc)
		rc = publish(&l, name, err);
	if (rc)
		undo(&l);
	poise__destroy(l.skel);
	attach_dir_close(&l.dir);
	if (created)
		*created = l.fresh && !rc;
	return rc ? rc : instance_open(out, where, err);
}
