// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/clock.h"

/* Files of the node. */
#define LOAD_LOG   "/run/load.log"
#define LOAD_SUM   "/run/load.sum"
#define SENDER_LOG "/run/sender.log"

double clients_now(void)
{
	return clock_seconds(CLOCK_REALTIME);
}

/* In the background of the node; its output to this file. */
static void begin(const struct clients *c, const char *program, const char *out)
{
	lab_must(c->lab, c->node, "rm -f %s; setsid %s > %s 2>&1 < /dev/null & echo $! > %s.pid",
		 out, program, out, out);
}

void clients_begin_on(struct clients *c, const struct lab *lab, const char *node, const char *vip,
		      int rate)
{
	const char *at = strchr(vip, ':') ? "[%s]:80" : "%s:80";
	char program[256], target[64];

	*c = (struct clients){.lab = lab, .node = node};
	snprintf(program, sizeof(program), "tests/lab/sender %s 9000", vip);
	begin(c, program, SENDER_LOG);
	lab_until(lab, node, LAB_SOON, "grep -q ready " SENDER_LOG);
	snprintf(c->udp_on, sizeof(c->udp_on), "%s",
		 lab_must(lab, node, "awk '{ printf \"%%s\", $2; exit }' " SENDER_LOG));
	snprintf(target, sizeof(target), at, vip);
	snprintf(program, sizeof(program), "load http %s --rate %d --log " LOAD_LOG " --epoch",
		 target, rate);
	c->began = clients_now();
	begin(c, program, LOAD_SUM);
	lab_until(lab, node, LAB_SOON, "[ -s " LOAD_LOG " ]");
}

void clients_begin(struct clients *c, const struct lab *lab, const char *vip, int rate)
{
	clients_begin_on(c, lab, "c1", vip, rate);
}

static void end(const struct clients *c, const char *out)
{
	lab_must(c->lab, c->node,
		 "read -r pid < %s.pid; kill -TERM $pid; "
		 "for n in $(seq %d); do [ -d /proc/$pid ] || exit 0; sleep 0.1; done; exit 1",
		 out, LAB_SOON * 10);
}

void clients_end(struct clients *c)
{
	end(c, SENDER_LOG);
	end(c, LOAD_SUM);
	lab_must(c->lab, c->node, "grep requests " LOAD_SUM);
}

/* The lines of a file of times that were written from then on and of which this holds. */
static int count(const struct clients *c, const char *file, double from, const char *what)
{
	return atoi(lab_must(c->lab, c->node,
			     "awk '$1 >= %.3f && (%s) { n++ } END { print n + 0 }' %s", from, what,
			     file));
}

int clients_asked(const struct clients *c, double from)
{
	return count(c, LOAD_LOG, from, "1");
}

int clients_failed(const struct clients *c, double from)
{
	return count(c, LOAD_LOG, from, "$6 != \"-\"");
}

int clients_sent(const struct clients *c, double from)
{
	return count(c, SENDER_LOG, from, "$1 != \"ready\"");
}

int clients_unanswered(const struct clients *c, double from, const char *by)
{
	char what[64];

	snprintf(what, sizeof(what), "$1 != \"ready\" && ($2 == \"-\" || $2 == \"%s\")", by ?: "");
	return count(c, SENDER_LOG, from, what);
}
