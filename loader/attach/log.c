// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libbpf's own words. Left alone it writes several lines to stderr for one failure; users get one
 * message of ours, which may quote the line that says most.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xdp/libxdp.h>

#include "internal.h"

static __thread char said[160];

/* Of the verifier's log the last line before its statistics says what it did not like. */
static const char *verdict_of(char *log)
{
	char *line = log, *best = log, *next;

	for (; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!strncmp(line, "processed ", strlen("processed ")) ||
		    !strncmp(line, "-- ", strlen("-- ")))
			break;
		if (*line)
			best = line;
	}
	return best;
}

/* libbpf tries again by itself; only its last word counts. */
static bool passing(const char *text)
{
	return strstr(text, "Retrying without BTF");
}

static void keep(const char *format, va_list args)
{
	const char *text;
	char *all, *log;

	if (vasprintf(&all, format, args) < 0)
		return;
	log = strstr(all, "BEGIN PROG LOAD LOG --\n");
	text = log ? verdict_of(strchr(log, '\n') + 1) : all;
	if (!strncmp(text, "libbpf: ", 8) || !strncmp(text, "libxdp: ", 8))
		text += 8;
	/* the first complaint is the cause, those after it follow from it; a log beats them all */
	if (log || (!said[0] && !passing(text)))
		snprintf(said, sizeof(said), "%.*s", (int)strcspn(text, "\n"), text);
	free(all);
}

static int libbpf_says(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN)
		keep(format, args);
	return 0;
}

static int libxdp_says(enum libxdp_print_level level, const char *format, va_list args)
{
	if (level == LIBXDP_WARN)
		keep(format, args);
	return 0;
}

void attach_log_start(void)
{
	said[0] = 0;
	libbpf_set_print(libbpf_says);
	libxdp_set_print(libxdp_says);
}

const char *attach_log_said(void)
{
	return said;
}
