// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Opening an instance: from a directory of pins to mapped memory.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "flow_table.h"
#include "mapping.h"
#include "sizes.h"
#include "store.h"

#define PIN_SWEEP "prog_sweep"

/* ---- what can be wrong ------------------------------------------------------------------------*/

static int no_bpffs(const char *root, struct poise_error *err)
{
	struct statfs fs = {0};
	char parent[256];

	/* the root itself may not exist before the first instance */
	snprintf(parent, sizeof(parent), "%s", root);
	while (statfs(parent, &fs) && errno == ENOENT && strrchr(parent, '/') > parent)
		*strrchr(parent, '/') = 0;
	if (fs.f_type == BPF_FS_MAGIC)
		return 0;
	poise_fail(err, POISE_E_NO_BPFFS, "there is no BPF file system at %s", root);
	return poise_error_remedy(err,
				  "mount -t bpf bpffs /sys/fs/bpf (inside a network namespace "
				  "enter it by nsenter --net=, ip netns exec hides the mount)");
}

/* Pins of another ABI beside the missing ones of ours say more than "not found". */
static int other_abi(const char *base, struct poise_error *err)
{
	DIR *dir = opendir(base);
	struct dirent *entry;
	int abi, found = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		if (sscanf(entry->d_name, "v%d", &abi) == 1 && abi != POISE_ABI)
			found = abi;
	closedir(dir);
	if (!found)
		return 0;
	poise_fail(err, POISE_E_ABI, "%s was made by %s poise: it has ABI %d, this one knows %d",
		   base, found > POISE_ABI ? "a newer" : "an older", found, POISE_ABI);
	return poise_error_remedy(err, found > POISE_ABI
					       ? "use the newer poise"
					       : "restart poised: it makes maps of this ABI");
}

static int no_instance(const struct instance *i, const char *root, const char *name,
		       struct poise_error *err)
{
	char base[256];

	snprintf(base, sizeof(base), "%s/%s", root, name);
	if (no_bpffs(root, err) || other_abi(base, err))
		return -1;
	poise_fail(err, POISE_E_NO_INSTANCE, "there is no instance \"%s\" (%s)", name, i->dir);
	return poise_error_remedy(err, "start poised, or poise attach DEV");
}

/* ---- mapping ----------------------------------------------------------------------------------*/

static int open_pin(const struct instance *i, const char *name, struct poise_error *err)
{
	char path[sizeof(i->dir) + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", i->dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		poise_fail_errno(err, "cannot open %s", path);
	if (fd < 0 && err && err->code == POISE_E_PERMISSION)
		poise_error_remedy(err, "run it as root, or with CAP_BPF");
	else if (fd < 0 && errno == ENOENT)
		poise_error_remedy(err, "poise reset, then apply the configuration anew");
	return fd;
}

static int check_size(const struct instance *i, const struct instance_map *map, int fd,
		      struct poise_error *err)
{
	struct bpf_map_info info = {0};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return poise_fail_errno(err, "cannot inspect map %s", map->name);
	if (info.value_size == sizes_value(i, map) &&
	    (!i->meta || info.max_entries == sizes_held(i, map)))
		return 0;
	poise_fail(err, POISE_E_ABI, "map %s of %s has %u entries of %u bytes, not %u of %u",
		   map->name, i->dir, info.max_entries, info.value_size,
		   i->meta ? sizes_held(i, map) : 1, sizes_value(i, map));
	return poise_error_remedy(err, "poise reset, then apply the configuration anew");
}

/* An mmapable array's values are mapped at their size rounded up to 8, in whole pages. */
static int open_map(struct instance *i, const struct instance_map *map, struct poise_error *err)
{
	int fd = open_pin(i, map->name, err);
	void *memory;

	if (fd < 0)
		return -1;
	if (check_size(i, map, fd, err)) {
		close(fd);
		return -1;
	}
	memory = mapping_take(fd, sizes_bytes(i, map), sizes_windows(i, map));
	if (!memory)
		return poise_fail_errno(err, "cannot map %s/%s", i->dir, map->name);
	*sizes_field(i, map) = memory;
	return 0;
}

static void close_map(struct instance *i, const struct instance_map *map)
{
	void *memory = *sizes_field(i, map);

	if (!i->anonymous)
		mapping_release(memory);
	else if (memory)
		munmap(memory, sizes_bytes(i, map));
}

static int check_identity(const struct instance *i, const char *root, const char *name,
			  struct poise_error *err)
{
	if (i->meta->magic == POISE_MAGIC && i->meta->abi == POISE_ABI)
		return 0;
	if (!i->meta->magic)
		return no_instance(i, root, name, err);
	return poise_fail(err, POISE_E_CORRUPT, "%s/meta does not say that poise made it", i->dir);
}

static int open_maps(struct instance *i, const char *root, const char *name,
		     struct poise_error *err)
{
	for (size_t m = 0; m < instance_maps_count; m++) {
		if (sizes_is_flows(&instance_maps[m])) {
			if (flow_table_open(i, err))
				return -1;
			continue;
		}
		if (open_map(i, &instance_maps[m], err))
			return m || errno != ENOENT ? -1 : no_instance(i, root, name, err);
		if (!m && check_identity(i, root, name, err))
			return -1;
	}
	i->devmap_fd = open_pin(i, "devmap", err);
	i->drops_fd = open_pin(i, "drops", err);
	if (i->devmap_fd < 0 || i->drops_fd < 0)
		return -1;
	i->sweep_fd = open_pin(i, PIN_SWEEP, NULL);
	return 0;
}

/* ---- open and close ---------------------------------------------------------------------------*/

static struct instance *instance_new(void)
{
	struct instance *i = calloc(1, sizeof(*i));

	if (!i)
		abort();
	i->lock_fd = i->devmap_fd = i->drops_fd = i->sweep_fd = -1;
	return i;
}

int instance_open(struct instance **out, const struct instance_where *where,
		  struct poise_error *err)
{
	const char *root = where && where->root ? where->root : POISE_PIN_ROOT;
	const char *name = where && where->name ? where->name : POISE_DEFAULT_INSTANCE;
	struct instance *i = instance_new();
	int rc = -1;

	*out = NULL;
	if (snprintf(i->dir, sizeof(i->dir), "%s/%s/v%d", root, name, POISE_ABI) >=
	    (int)sizeof(i->dir)) {
		poise_fail(err, POISE_E_BAD_VALUE, "the pin directory's name is too long: %s",
			   root);
		goto out;
	}
	i->lock_fd = open(i->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (i->lock_fd < 0 && errno == ENOENT) {
		no_instance(i, root, name, err);
		goto out;
	}
	if (i->lock_fd < 0) {
		poise_fail_errno(err, "cannot open %s", i->dir);
		goto out;
	}
	rc = open_maps(i, root, name, err);
	if (!rc)
		i->identity = *i->meta;
out:
	if (rc)
		instance_close(i);
	else
		*out = i;
	return rc;
}

void instance_close(struct instance *i)
{
	if (!i)
		return;
	/* meta last: it says how large those of plain memory are */
	if (!i->anonymous)
		flow_table_close(i);
	for (size_t m = instance_maps_count; m-- > 0;)
		close_map(i, &instance_maps[m]);
	if (i->devmap_fd >= 0)
		close(i->devmap_fd);
	if (i->drops_fd >= 0)
		close(i->drops_fd);
	if (i->sweep_fd >= 0)
		close(i->sweep_fd);
	if (i->lock_fd >= 0)
		close(i->lock_fd);
	free(i);
}

/* ---- making -----------------------------------------------------------------------------------*/

/* The magic number last: an instance whose maker was killed is not one. */
void instance_format(struct instance *i, const char *name, const struct config_limits *limits,
		     const __u64 hash_key[2])
{
	__u32 cpus = i->meta->cpus ? i->meta->cpus : sizes_cpus();
	struct poise_meta *meta = i->meta;

	meta->cpus = cpus;
	sizes_fill(meta, limits);
	meta->abi = POISE_ABI;
	meta->hash_key[0] = hash_key[0];
	meta->hash_key[1] = hash_key[1];
	meta->created = clock_realtime();
	snprintf(meta->instance, sizeof(meta->instance), "%s", name);
	for (__u32 id = 0; id < meta->members; id++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): set by its offset */
		i->members[id].live = POISE_RANK_NEVER;
	__atomic_store_n(&meta->magic, POISE_MAGIC, __ATOMIC_RELEASE);
}

/* Shared, so that a test's child that is killed leaves what it had stored. */
char *instance_boot_file(const struct instance_where *where, char *buf, size_t size)
{
	const char *name = where->name ? where->name : POISE_DEFAULT_INSTANCE;
	bool first = !strcmp(name, POISE_DEFAULT_INSTANCE);

	snprintf(buf, size, "%s/%s.yaml", POISE_BOOT_DIR, first ? "poise" : name);
	return buf;
}

struct instance *instance_anonymous_on(const struct config_limits *limits, __u32 cpus)
{
	static const __u64 hash_key[2] = {0x0f1e2d3c4b5a6978, 0x8796a5b4c3d2e1f0};
	struct instance *i = instance_new();
	struct poise_meta sizes = {.cpus = cpus};

	sizes_fill(&sizes, limits);
	i->anonymous = true;
	i->meta = &sizes;
	for (size_t m = 0; m < instance_maps_count; m++) {
		void *memory = mmap(NULL, sizes_bytes(i, &instance_maps[m]), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			abort();
		if (m)
			*sizes_field(i, &instance_maps[m]) = memory;
		else
			*sizes_field(i, &instance_maps[m]) = memcpy(memory, &sizes, sizeof(sizes));
	}
	i->flow_buckets = i->meta->flow_buckets;
	instance_format(i, "anonymous", limits, hash_key);
	i->identity = *i->meta;
	return i;
}

struct instance *instance_anonymous(const struct config_limits *limits)
{
	return instance_anonymous_on(limits, 2); /* enough to be more than one */
}
