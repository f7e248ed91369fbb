// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lends libxdp our dispatcher (bpf/dispatcher.bpf.c) where its own is too old for the kernel. It
 * looks for the object in a directory named by the environment, so the built-in one is put into a
 * temporary file as long as libxdp is at work.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/dispatcher.skel.h"
#include "internal.h"

#define PATH_VARIABLE "LIBXDP_OBJECT_PATH"
#define OBJECT	      "xdp-dispatcher.o"

static char lent[] = "/tmp/poise-XXXXXX";

static int write_object(int dir)
{
	size_t size;
	const void *elf = dispatcher__elf_bytes(&size);
	int fd = openat(dir, OBJECT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc = -1;

	if (fd < 0)
		return -1;
	if (write(fd, elf, size) == (ssize_t)size)
		rc = 0;
	close(fd);
	return rc;
}

bool attach_dispatcher_lend(void)
{
	int dir = -1;

	/* Whoever set it knows of a better one. */
	if (getenv(PATH_VARIABLE) || !mkdtemp(lent))
		return false;
	dir = open(lent, O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && !write_object(dir) && !setenv(PATH_VARIABLE, lent, 1)) {
		close(dir);
		return true;
	}
	if (dir >= 0)
		close(dir);
	attach_dispatcher_return();
	return false;
}

void attach_dispatcher_return(void)
{
	char path[sizeof(lent) + sizeof(OBJECT)];

	snprintf(path, sizeof(path), "%s/" OBJECT, lent);
	unlink(path);
	rmdir(lent);
	unsetenv(PATH_VARIABLE);
	snprintf(lent, sizeof(lent), "/tmp/poise-XXXXXX");
}
