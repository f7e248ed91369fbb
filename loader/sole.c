/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The place of the one daemon, and who holds it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/attach.h"
#include "sole.h"

#define DIRECTORY_MODE 0755 /* as attach/ makes it: pins themselves are 0600 */

/* The process that holds the flock on fd, from /proc/locks; 0 if it cannot be told. */
static pid_t holder(int fd)
{
	unsigned int major_number, minor_number;
	unsigned long inode;
	char line[256];
	struct stat st;
	pid_t pid, found = 0;
	FILE *f;

	if (fstat(fd, &st) < 0)
		return 0;
	f = fopen("/proc/locks", "re");
	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %x:%x:%lu", &pid, &major_number,
			   &minor_number, &inode) != 4)
			continue;
		if (inode == st.st_ino && major_number == major(st.st_dev) &&
		    minor_number == minor(st.st_dev))
			found = pid;
	}
	fclose(f);
	return found;
}

static int make_directory(const char *path, struct poise_error *err)
{
	if (mkdir(path, DIRECTORY_MODE) == 0 || errno == EEXIST)
		return 0;
	return poise_fail_errno(err, "cannot make the directory %s", path);
}

int sole_take(const struct instance_where *where, struct poise_error *err)
{
	const char *root = where->root ? where->root : POISE_PIN_ROOT;
	const char *name = where->name ? where->name : POISE_DEFAULT_INSTANCE;
	char path[256];
	pid_t pid;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	if (attach_on_bpffs(root, err) < 0 || make_directory(root, err) < 0 ||
	    make_directory(path, err) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return poise_fail_errno(err, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (errno != EWOULDBLOCK) {
		poise_fail_errno(err, "cannot lock %s", path);
	} else {
		pid = holder(fd);
		poise_fail(err, POISE_E_BUSY,
			   pid ? "poised runs already for instance %s, as process %d"
			       : "poised runs already for instance %s",
			   name, pid);
		poise_error_remedy(err, "poised --instance NAME for a balancer beside it");
	}
	close(fd);
	return -1;
}
