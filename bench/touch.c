// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where the accesses of the counting build are reported to (touch.h). It is for one thread. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/native.h"
#include "touch.h"

#define LINE_SHIFT 6
#define SEEN_MAX   (1u << 20) /* lines of one operation; a sweep touches a tenth of that */

struct touch_counts touch_counts;

/* Open addressing; an entry is of this operation if it carries its number. */
static struct {
	uintptr_t line;
	__u64 operation;
} seen[SEEN_MAX];

static bool counting;
static __u64 operation; /* never the same again, whoever begins to count anew */
static uintptr_t stack_low, stack_high;

extern char __data_start, _end;

void touch_begin(void)
{
	pthread_attr_t attr;
	void *stack = NULL;
	size_t size = 0;

	if (!stack_high && !pthread_getattr_np(pthread_self(), &attr)) {
		pthread_attr_getstack(&attr, &stack, &size);
		pthread_attr_destroy(&attr);
		stack_low = (uintptr_t)stack;
		stack_high = stack_low + size;
	}
	touch_counts.calls++;
	operation++;
	counting = true;
}

void touch_end(void)
{
	counting = false;
}

static void touch_line(uintptr_t line)
{
	__u32 at = (__u32)(line * 0x9e3779b97f4a7c15ull >> 44);

	while (seen[at].operation == operation) {
		if (seen[at].line == line)
			return;
		at = (at + 1) % SEEN_MAX;
	}
	seen[at].line = line;
	seen[at].operation = operation;
	touch_counts.lines++;
}

static void touch(uintptr_t at, size_t size)
{
	if (!counting || (at >= stack_low && at < stack_high) ||
	    (at >= (uintptr_t)&__data_start && at < (uintptr_t)&_end) ||
	    at == (uintptr_t)&native_cpu)
		return;
	for (uintptr_t line = at >> LINE_SHIFT; line <= (at + size - 1) >> LINE_SHIFT; line++)
		touch_line(line);
}

/* The names are the compilers'. */
#define ACCESS(size)                                                                               \
	void __asan_load##size##_noabort(uintptr_t at);                                            \
	void __asan_store##size##_noabort(uintptr_t at);                                           \
	void __asan_load##size##_noabort(uintptr_t at)                                             \
	{                                                                                          \
		touch(at, size);                                                                   \
	}                                                                                          \
	void __asan_store##size##_noabort(uintptr_t at)                                            \
	{                                                                                          \
		touch(at, size);                                                                   \
	}

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __asan_loadN_noabort(uintptr_t at, size_t size);
void __asan_storeN_noabort(uintptr_t at, size_t size);
void __asan_handle_no_return(void);

void __asan_loadN_noabort(uintptr_t at, size_t size)
{
	if (size)
		touch(at, size);
}

void __asan_storeN_noabort(uintptr_t at, size_t size)
{
	if (size)
		touch(at, size);
}

void __asan_handle_no_return(void)
{
}
