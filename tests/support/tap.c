/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tap.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#define PATIENCE (LAB_SOON * 10) /* times a tenth of a second */
#define MARK	 700 /* bytes of a ping that marks a place; the next mark has one more */

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

static void wait_for(const struct tap *t, const char *what)
{
	for (int tries = 0; lab_host(NULL, "grep -q '%s' %s", what, t->log); tries++) {
		cr_assert(tries < PATIENCE, "tcpdump does not say \"%s\": %s", what, tap_shown(t));
		nap();
	}
}

void tap_open(struct tap *t, const struct lab *l)
{
	*t = (struct tap){.lab = l};
	snprintf(t->log, sizeof(t->log), "%s.router", l->log);
	t->tcpdump = lab_start(l, "router", "tcpdump -l -n -i any");
	wait_for(t, "listening on any");
	tap_forget(t);
}

void tap_close(struct tap *t)
{
	lab_stop(t->tcpdump, SIGTERM);
}

/* tcpdump prints in order: behind a ping stands nothing that came before it. */
void tap_settle(struct tap *t)
{
	unsigned int size = MARK + t->marks++;
	char line[64];

	lab_must(t->lab, "router", "ping -q -c 1 -W 5 -s %u 198.51.100.1", size);
	snprintf(line, sizeof(line), "echo reply.* length %u", size + 8);
	wait_for(t, line);
}

void tap_forget(struct tap *t)
{
	tap_settle(t);
	lab_host(NULL, ": > %s", t->log);
}

unsigned int tap_count(const struct tap *t, const char *fmt, ...)
{
	char pattern[256];
	const char *out;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(pattern, sizeof(pattern), fmt, ap);
	va_end(ap);
	lab_host(&out, "grep -Ec '%s' %s", pattern, t->log);
	return (unsigned int)strtoul(out, NULL, 10);
}

const char *tap_shown(const struct tap *t)
{
	const char *out;

	lab_host(&out, "cat %s", t->log);
	return out;
}
