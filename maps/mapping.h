/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of maps: one mapping of each in a process, however many handles it has on an instance.
 * Each of poised's threads has one, and the kernel would fill page tables for all of a quarter of a
 * gigabyte, and count it, as often.
 *
 * Some are mapped by windows: their addresses are reserved as a whole, and a window is laid over
 * its part of them when something in it is first asked for, by whomever. It stays then.
 */
#ifndef POISE_MAPPING_H
#define POISE_MAPPING_H

#include <stddef.h>

struct mapping;

/* The values of the map behind fd, `bytes` of them, in whole pages: where this process has them
 * already, else mapped now; by windows if `windows` is not NULL, where it says then what
 * mapping_need wants (a map is always taken the same way). fd is not the caller's any more. NULL
 * with errno. From any thread, as all of these. */
void *mapping_take(int fd, size_t bytes, struct mapping **windows);
/* Unmaps it if nobody else has taken it. Of NULL, nothing. */
void mapping_release(void *memory);

/* So that bytes from, ... to - 1 may be used. NULL: it is mapped as a whole. */
void mapping_need(struct mapping *windows, size_t from, size_t to);

#endif
