// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Directories, the lock and privileges.
 *
 *   <root>/<instance>/v<ABI>/    maps, programs and links of a balancer; flock on it: one writer
 *   <root>/<instance>/decap/     the same for the backend side
 *
 * Creation and removal happen under the lock, too: whoever waited for the lock of a directory that
 * was removed meanwhile starts over.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "internal.h"

/* Others may look where the pins are; the pins themselves are 0600. */
#define DIR_MODE 0755

char *attach_path(char *buf, size_t size, const char *dir, const char *name)
{
	/* A path cut short names nothing that exists, so that using it fails by itself. */
	if (snprintf(buf, size, "%s/%s", dir, name) >= (int)size)
		buf[0] = 0;
	return buf;
}

int attach_privileges(struct poise_error *err)
{
	static const struct {
		cap_value_t cap;
		const char *name;
	} needed[] = {
		{CAP_BPF, "CAP_BPF"},
		{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
		{CAP_PERFMON, "CAP_PERFMON"},
	};
	char missing[64] = "";
	cap_flag_value_t admin = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	if (!caps)
		return poise_fail_errno(err, "cannot read the capabilities of this process");
	cap_get_flag(caps, CAP_SYS_ADMIN, CAP_EFFECTIVE, &admin);
	for (size_t k = 0; k < sizeof(needed) / sizeof(needed[0]); k++) {
		cap_flag_value_t has = CAP_CLEAR;

		cap_get_flag(caps, needed[k].cap, CAP_EFFECTIVE, &has);
		/* CAP_SYS_ADMIN contains the other two, as it did before they were split off */
		if (has == CAP_SET || (admin == CAP_SET && needed[k].cap != CAP_NET_ADMIN))
			continue;
		if (missing[0])
			strcat(missing, ", ");
		strcat(missing, needed[k].name);
	}
	cap_free(caps);
	if (!missing[0])
		return 0;
	poise_fail(err, POISE_E_PERMISSION, "this needs privileges that the process lacks: %s",
		   missing);
	return poise_error_remedy(err, "run it as root, or with CAP_BPF, CAP_NET_ADMIN and "
				       "CAP_PERFMON");
}

/* The nearest existing directory at or above path must be on a bpffs. */
int attach_on_bpffs(const char *root, struct poise_error *err)
{
	char path[PATH_MAX];
	struct statfs fs;
	char *slash;

	snprintf(path, sizeof(path), "%s", root);
	while (statfs(path, &fs)) {
		slash = strrchr(path, '/');
		if (errno != ENOENT || !slash)
			return poise_fail_errno(err, "cannot look at %s", path);
		slash[slash == path] = 0;
	}
	if (fs.f_type == BPF_FS_MAGIC)
		return 0;
	poise_fail(err, POISE_E_NO_BPFFS, "%s is not on a BPF file system", root);
	if (!strncmp(root, "/sys/fs/bpf", strlen("/sys/fs/bpf")))
		return poise_error_remedy(err, "mount one: mount -t bpf bpffs /sys/fs/bpf");
	return poise_error_remedy(err, "say --pin with a directory under /sys/fs/bpf, or mount one "
				       "there: mount -t bpf bpffs DIR");
}

static int make_dir(const char *path, struct poise_error *err)
{
	if (!mkdir(path, DIR_MODE) || errno == EEXIST)
		return 0;
	poise_fail_errno(err, "cannot make directory %s", path);
	if (err && err->code == POISE_E_PERMISSION)
		poise_error_remedy(err, "run it as root, or as the owner of the directory above");
	return -1;
}

static int make_dirs(const struct attach_dir *d, const char *root, struct poise_error *err)
{
	/* root's own parent must exist: bpffs is mounted there */
	if (make_dir(root, err) || make_dir(d->base, err))
		return -1;
	return make_dir(d->path, err);
}

static int no_instance(const struct attach_dir *d, const char *name, struct poise_error *err)
{
	poise_fail(err, POISE_E_NO_INSTANCE, "there is no instance \"%s\" (%s)", name, d->path);
	return poise_error_remedy(err, "start poised, or attach a device: poise attach DEV");
}

/* Opens and locks; 1: the directory was removed while we waited, start over. */
static int lock_dir(struct attach_dir *d, struct poise_error *err)
{
	struct stat st;

	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd < 0)
		return errno == ENOENT ? 1 : poise_fail_errno(err, "cannot open %s", d->path);
	while (flock(d->fd, LOCK_EX))
		if (errno != EINTR)
			return poise_fail_errno(err, "cannot lock %s", d->path);
	if (fstat(d->fd, &st))
		return poise_fail_errno(err, "cannot look at %s", d->path);
	return st.st_nlink == 0;
}

int attach_dir_open(struct attach_dir *d, const struct instance_where *where, const char *leaf,
		    bool create, struct poise_error *err)
{
	const char *root = where && where->root ? where->root : POISE_PIN_ROOT;
	const char *name = where && where->name ? where->name : POISE_DEFAULT_INSTANCE;
	char ours[16];
	int rc;

	d->fd = -1;
	snprintf(ours, sizeof(ours), "v%d", POISE_ABI);
	if (!*name || strpbrk(name, "/.") || strlen(name) >= POISE_NAME_MAX) {
		poise_fail(err, POISE_E_BAD_VALUE, "\"%s\" is not the name of an instance", name);
		return poise_error_remedy(err,
					  "up to %d letters, digits, - and _: it is a "
					  "directory's name on bpffs, which takes no dots",
					  POISE_NAME_MAX - 1);
	}
	if (snprintf(d->base, sizeof(d->base), "%s/%s", root, name) >= (int)sizeof(d->base) ||
	    snprintf(d->path, sizeof(d->path), "%s/%s", d->base, leaf ? leaf : ours) >=
		    (int)sizeof(d->path))
		return poise_fail(err, POISE_E_BAD_VALUE, "the directory's name is too long: %s",
				  root);
	if (attach_on_bpffs(root, err))
		return -1;
	do {
		attach_dir_close(d);
		if (create && make_dirs(d, root, err))
			return -1;
		if (!create && access(d->path, F_OK))
			return no_instance(d, name, err);
		rc = lock_dir(d, err);
	} while (rc > 0);
	if (rc)
		attach_dir_close(d);
	return rc;
}

void attach_dir_close(struct attach_dir *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

int attach_dir_each(const char *path, int (*one)(void *ctx, const char *name), void *ctx,
		    struct poise_error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return poise_fail_errno(err, "cannot read directory %s", path);
	while (!rc && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			rc = one(ctx, entry->d_name);
	closedir(dir);
	return rc;
}

struct abi_check {
	struct poise_error *err;
	const char *base;
};

static int newer_abi(void *ctx, const char *name)
{
	struct abi_check *check = ctx;
	int abi = name[0] == 'v' ? atoi(name + 1) : 0;

	if (abi <= POISE_ABI)
		return 0;
	poise_fail(check->err, POISE_E_ABI,
		   "%s was made by a newer poise: it has ABI %d, this poise knows %d", check->base,
		   abi, POISE_ABI);
	return poise_error_remedy(check->err, "use the newer poise, or have it remove the "
					      "instance: poise reset");
}

int attach_dir_abi(const struct attach_dir *d, struct poise_error *err)
{
	struct abi_check check = {err, d->base};

	return attach_dir_each(d->base, newer_abi, &check, err);
}

struct removal {
	const char *path;
	struct poise_error *err;
	bool any;
};

static int remove_one(void *ctx, const char *name)
{
	struct removal *r = ctx;
	char path[PATH_MAX];

	if (unlink(attach_path(path, sizeof(path), r->path, name)))
		return poise_fail_errno(r->err, "cannot remove %s", path);
	r->any = true;
	return 0;
}

int attach_dir_remove(const char *path, struct poise_error *err)
{
	struct removal r = {.path = path, .err = err};

	/* a directory that changes while it is read may hide entries: until a pass finds none */
	do {
		r.any = false;
		if (attach_dir_each(path, remove_one, &r, err))
			return -1;
	} while (r.any);
	if (rmdir(path))
		return poise_fail_errno(err, "cannot remove directory %s", path);
	return 0;
}
