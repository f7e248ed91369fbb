// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The pinned maps: created once, re-used by every later load.
 *
 * A creation is complete once meta carries the magic number, which is its last step. Pins found
 * without it were left by a process that was killed; they are made afresh.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/poise.skel.h"
#include "internal.h"

#define MAP_NAME(name) #name,
static const char *const names[] = {POISE_MAPS(MAP_NAME)};

#define MAPS (sizeof(names) / sizeof(names[0]))

static int repair_remedy(const struct attach_dir *d, struct poise_error *err)
{
	return poise_error_remedy(err,
				  "save what is there (poise save), then start afresh: poise "
				  "reset; or remove %s",
				  d->path);
}

static struct bpf_map *find(struct poise *skel, const char *name, struct poise_error *err)
{
	struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, name);

	if (!map)
		poise_fail(err, POISE_E_UNSUPPORTED, "the built-in BPF object has no map %s", name);
	return map;
}

int attach_maps_complete(const struct attach_dir *d, bool *complete, __u64 hash_key[2],
			 __u32 *flow_stage, struct poise_error *err)
{
	char path[PATH_MAX];
	struct bpf_map_info info = {0};
	__u32 size = sizeof(info);
	struct poise_meta *meta;
	int fd = bpf_obj_get(attach_path(path, sizeof(path), d->path, "meta"));

	*complete = false;
	*flow_stage = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : poise_fail_errno(err, "cannot open %s", path);
	if (bpf_obj_get_info_by_fd(fd, &info, &size) || info.value_size != sizeof(*meta)) {
		close(fd);
		poise_fail(err, POISE_E_CORRUPT, "%s is not a map of this poise", path);
		return repair_remedy(d, err);
	}
	meta = mmap(NULL, sizeof(*meta), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (meta == MAP_FAILED)
		return poise_fail_errno(err, "cannot map %s", path);
	*complete = meta->magic == POISE_MAGIC;
	if (*complete) {
		memcpy(hash_key, meta->hash_key, sizeof(meta->hash_key));
		*flow_stage = meta->flow_stage;
	}
	munmap(meta, sizeof(*meta));
	return 0;
}

/* A CPU's row of loads is one value: as long as there are members. */
static int size_row(struct poise *skel, struct poise_error *err)
{
	__u32 row = poise_loads_row(bpf_map__max_entries(skel->maps.members));

	if (bpf_map__set_value_size(skel->maps.loads, row * sizeof(struct poise_loads)))
		return poise_fail_errno(err, "cannot size map loads");
	return 0;
}

int attach_maps_size(struct poise *skel, const struct config_limits *limits,
		     struct poise_error *err)
{
	__u32 cpus = (__u32)libbpf_num_possible_cpus();

	for (size_t k = 0; k < MAPS; k++) {
		struct bpf_map *map = find(skel, names[k], err);

		if (!map)
			return -1;
		if (bpf_map__set_max_entries(map, instance_map_entries(names[k], limits, cpus)))
			return poise_fail_errno(err, "cannot size map %s", names[k]);
	}
	return size_row(skel, err);
}

/* Set by the kernel itself on a devmap: programs cannot write it anyway. */
#define KERNEL_FLAGS BPF_F_RDONLY_PROG

/* A map that another build made with other records must not be taken for ours. */
static bool same_shape(const struct bpf_map *map, int fd, struct bpf_map_info *info)
{
	__u32 size = sizeof(*info);

	return !bpf_obj_get_info_by_fd(fd, info, &size) && info->type == bpf_map__type(map) &&
	       info->key_size == bpf_map__key_size(map) &&
	       info->value_size == bpf_map__value_size(map) &&
	       (info->map_flags & ~KERNEL_FLAGS) == bpf_map__map_flags(map);
}

static int reuse_one(struct bpf_map *map, const char *pin, const struct attach_dir *d,
		     struct poise_error *err)
{
	char path[PATH_MAX];
	struct bpf_map_info info = {0};
	int rc = -1, fd;

	fd = bpf_obj_get(attach_path(path, sizeof(path), d->path, pin));
	if (fd < 0) {
		if (errno != ENOENT)
			return poise_fail_errno(err, "cannot open %s", path);
		poise_fail(err, POISE_E_CORRUPT, "map %s is missing from %s", pin, d->path);
		return repair_remedy(d, err);
	}
	if (!same_shape(map, fd, &info)) {
		poise_fail(err, POISE_E_CORRUPT, "%s is not a map of this poise", path);
		repair_remedy(d, err);
	} else if (bpf_map__reuse_fd(map, fd)) { /* keeps a duplicate */
		poise_fail_errno(err, "cannot re-use map %s", path);
	} else {
		rc = 0;
	}
	close(fd);
	return rc;
}

static bool power_of_two(__u32 n)
{
	return n && !(n & (n - 1));
}

/* The program's masks and strides come from these: records past a map's end must not follow. */
static int check_sizes(struct poise *skel, const struct attach_dir *d, struct poise_error *err)
{
	__u64 members = bpf_map__max_entries(skel->maps.members);
	__u64 lines = members * (__u64)libbpf_num_possible_cpus();

	if (power_of_two(bpf_map__max_entries(skel->maps.flows)) &&
	    power_of_two(bpf_map__max_entries(skel->maps.listeners)) &&
	    power_of_two(bpf_map__max_entries(skel->maps.listener_seeds)) &&
	    bpf_map__max_entries(skel->maps.counters) == lines &&
	    bpf_map__max_entries(skel->maps.loads) == (__u32)libbpf_num_possible_cpus())
		return 0;
	poise_fail(err, POISE_E_CORRUPT, "the sizes of the maps in %s contradict each other",
		   d->path);
	return repair_remedy(d, err);
}

int attach_maps_reuse(struct poise *skel, const struct attach_dir *d, __u32 stage,
		      struct poise_error *err)
{
	for (size_t k = 0; k < MAPS; k++) {
		struct bpf_map *map = find(skel, names[k], err);
		bool flows = map == skel->maps.flows;

		/* members is one of those before. */
		if (map == skel->maps.loads && size_row(skel, err))
			return -1;
		if (!map ||
		    reuse_one(map, flows ? instance_flows_pin(stage, false) : names[k], d, err))
			return -1;
	}
	if (POISE_FLOWS_STAGE(stage) != POISE_FLOWS_ALONE &&
	    reuse_one(skel->maps.flows_beside, instance_flows_pin(stage, true), d, err))
		return -1;
	return check_sizes(skel, d, err);
}

int attach_maps_pin(struct poise *skel, const struct attach_dir *d, struct poise_error *err)
{
	for (size_t k = 0; k < MAPS; k++) {
		struct bpf_map *map = find(skel, names[k], err);

		if (!map || attach_pin_replace(bpf_map__fd(map), d->path, names[k], err))
			return -1;
	}
	return 0;
}

void attach_maps_unpin(const struct attach_dir *d)
{
	char path[PATH_MAX];

	for (size_t k = 0; k < MAPS; k++)
		unlink(attach_path(path, sizeof(path), d->path, names[k]));
}
