// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The mappings of this process (mapping.h), found by the kernel's number of the map, which is no
 * other's for as long as it is mapped: so one that is made anew under the same pin is another.
 */
#include <bpf/bpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mapping.h"
#include "memory.h"

/* 2^18 entries of a table: two of the largest automatic size, so that most services lie in one. */
#define WINDOW ((size_t)1 << 20)

struct mapping {
	struct mapping *next;
	__u32 map;
	unsigned int users;
	void *memory;
	size_t bytes;
	int fd;	     /* that windows are laid from; -1: there are none */
	bool laid[]; /* set once, under the lock */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings; /* some thirty an instance */

/* Takes fd over only with windows. */
static struct mapping *make(int fd, __u32 map, size_t bytes, bool by_windows)
{
	size_t windows = by_windows ? (bytes + WINDOW - 1) / WINDOW : 0;
	void *memory = by_windows ? mmap(NULL, bytes, PROT_NONE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
				  : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct mapping *m;

	if (memory == MAP_FAILED)
		return NULL;
	m = memory_alloc(sizeof(*m) + windows * sizeof(m->laid[0]));
	m->map = map;
	m->memory = memory;
	m->bytes = bytes;
	m->fd = by_windows ? fd : -1;
	m->next = mappings;
	mappings = m;
	return m;
}

static struct mapping *find(__u32 map)
{
	struct mapping *m = mappings;

	while (m && m->map != map)
		m = m->next;
	return m;
}

void *mapping_take(int fd, size_t bytes, struct mapping **windows)
{
	struct bpf_map_info info = {0};
	__u32 size = sizeof(info);
	struct mapping *m = NULL;

	if (!bpf_obj_get_info_by_fd(fd, &info, &size)) {
		pthread_mutex_lock(&lock);
		m = find(info.id);
		if (!m)
			m = make(fd, info.id, bytes, windows != NULL);
		if (m)
			m->users++;
		pthread_mutex_unlock(&lock);
	}
	if (!m || m->fd != fd)
		close(fd);
	if (windows)
		*windows = m;
	return m ? m->memory : NULL;
}

void mapping_release(void *memory)
{
	struct mapping **at = &mappings, *last = NULL;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->memory != memory)
		at = &(*at)->next;
	if (*at && !--(*at)->users) {
		last = *at;
		*at = last->next;
	}
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	munmap(last->memory, last->bytes);
	if (last->fd >= 0)
		close(last->fd);
	free(last);
}

static void lay(struct mapping *m, size_t window)
{
	size_t from = window * WINDOW, size = m->bytes - from < WINDOW ? m->bytes - from : WINDOW;

	pthread_mutex_lock(&lock);
	if (!m->laid[window]) {
		if (mmap((char *)m->memory + from, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, m->fd, (off_t)from) == MAP_FAILED)
			abort(); /* of a map that is open, into addresses that are ours: no memory
				  */
		__atomic_store_n(&m->laid[window], true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

void mapping_need(struct mapping *windows, size_t from, size_t to)
{
	if (!windows)
		return;
	for (size_t w = from / WINDOW; w * WINDOW < to && w * WINDOW < windows->bytes; w++)
		if (!__atomic_load_n(&windows->laid[w], __ATOMIC_ACQUIRE))
			lay(windows, w);
}
