// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mapping the pool of tables by windows (table.h): its addresses are reserved as a whole, a window
 * is laid over its part of them when an entry in it is first asked for.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "table.h"

/* 2^18 entries: the two tables of the largest automatic size, so that most services lie in one. */
#define WINDOW ((size_t)1 << 20)

struct table_windows {
	int fd;
	size_t bytes;
	bool mapped[];
};

int table_reserve(struct instance *i, int fd, size_t bytes)
{
	size_t windows = (bytes + WINDOW - 1) / WINDOW;
	void *memory =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	i->windows = calloc(1, sizeof(*i->windows) + windows * sizeof(i->windows->mapped[0]));
	if (!i->windows)
		abort();
	i->windows->fd = fd;
	i->windows->bytes = bytes;
	i->table = memory;
	return 0;
}

void table_release(struct instance *i)
{
	if (!i->windows)
		return;
	munmap(i->table, i->windows->bytes);
	close(i->windows->fd);
	free(i->windows);
	i->table = NULL;
	i->windows = NULL;
}

static void lay(const struct instance *i, size_t window)
{
	struct table_windows *w = i->windows;
	size_t from = window * WINDOW;
	size_t size = w->bytes - from < WINDOW ? w->bytes - from : WINDOW;

	if (mmap((char *)i->table + from, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 w->fd, (off_t)from) == MAP_FAILED)
		abort(); /* of a map that is open, into addresses that are ours: no memory */
	w->mapped[window] = true;
}

__u32 *instance_table(const struct instance *i, __u32 at, __u32 n)
{
	size_t from = (size_t)at * sizeof(*i->table), to = from + (size_t)n * sizeof(*i->table);

	if (i->windows)
		for (size_t w = from / WINDOW; w * WINDOW < to && w * WINDOW < i->windows->bytes;
		     w++)
			if (!i->windows->mapped[w])
				lay(i, w);
	return i->table + at;
}
