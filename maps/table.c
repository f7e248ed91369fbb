// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mapping by windows (table.h): a map's addresses are reserved as a whole, a window is laid over
 * its part of them when something in it is first asked for.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "table.h"

/* 2^18 entries: the two tables of the largest automatic size, so that most services lie in one. */
#define WINDOW ((size_t)1 << 20)

struct map_windows {
	int fd;
	size_t bytes;
	char *memory;
	bool mapped[];
};

struct map_windows *windows_reserve(int fd, size_t bytes, void **memory)
{
	size_t windows = (bytes + WINDOW - 1) / WINDOW;
	struct map_windows *w;

	*memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (*memory == MAP_FAILED) {
		*memory = NULL;
		return NULL;
	}
	w = calloc(1, sizeof(*w) + windows * sizeof(w->mapped[0]));
	if (!w)
		abort();
	w->fd = fd;
	w->bytes = bytes;
	w->memory = *memory;
	return w;
}

void windows_release(struct map_windows *w)
{
	if (!w)
		return;
	close(w->fd);
	free(w);
}

static void lay(struct map_windows *w, size_t window)
{
	size_t from = window * WINDOW;
	size_t size = w->bytes - from < WINDOW ? w->bytes - from : WINDOW;

	if (mmap(w->memory + from, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, w->fd,
		 (off_t)from) == MAP_FAILED)
		abort(); /* of a map that is open, into addresses that are ours: no memory */
	w->mapped[window] = true;
}

/* So that bytes from, ... to - 1 may be used. */
static void need(struct map_windows *windows, size_t from, size_t to)
{
	if (!windows)
		return;
	for (size_t w = from / WINDOW; w * WINDOW < to && w * WINDOW < windows->bytes; w++)
		if (!windows->mapped[w])
			lay(windows, w);
}

__u32 *instance_table(const struct instance *i, __u32 at, __u32 n)
{
	need(i->table_windows, (size_t)at * sizeof(*i->table),
	     ((size_t)at + n) * sizeof(*i->table));
	return i->table + at;
}

struct poise_latency *instance_latencies(const struct instance *i, __u32 member, __u32 n)
{
	need(i->latency_windows, (size_t)member * sizeof(*i->latencies),
	     ((size_t)member + n) * sizeof(*i->latencies));
	return &i->latencies[member];
}

struct poise_way *instance_ways(const struct instance *i, __u32 slot, __u32 n)
{
	need(i->way_windows, (size_t)slot * sizeof(*i->ways),
	     ((size_t)slot + n) * sizeof(*i->ways));
	return &i->ways[slot];
}

__u16 instance_slot_source(const struct instance *i, __u32 slot, union poise_addr *source)
{
	*source = instance_ways(i, slot, 1)->source;
	if (source->q[0] || source->q[1])
		return htons((__u16)(slot % POISE_PORTS));
	*source = i->slots[slot].client; /* mode local leaves it as it is (bpf/sent.h) */
	return (__u16)i->slots[slot].ports;
}

struct poise_bucket *instance_links(const struct instance *i)
{
	if (!i->meta->groups)
		return NULL;
	need(i->link_windows, 0, SIZE_MAX);
	return i->links;
}

void instance_map_all(const struct instance *i)
{
	need(i->table_windows, 0, SIZE_MAX);
	need(i->latency_windows, 0, SIZE_MAX);
	need(i->way_windows, 0, SIZE_MAX);
	need(i->link_windows, 0, SIZE_MAX);
}
