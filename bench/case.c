// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "case.h"

#include <stdarg.h>
#include <stdio.h>

#include "maps/memory.h"

#define COUNTED 64

struct bench_case *case_add(struct cases *cases, const struct case_kind *kind, const char *fmt, ...)
{
	struct bench_case *c;
	va_list ap;

	cases->list = memory_grow(cases->list, cases->count, &cases->room, sizeof(*cases->list));
	c = &cases->list[cases->count++];
	*c = (struct bench_case){.kind = kind, .times = COUNTED, .per = 1};
	va_start(ap, fmt);
	vsnprintf(c->name, sizeof(c->name), fmt, ap);
	va_end(ap);
	return c;
}
