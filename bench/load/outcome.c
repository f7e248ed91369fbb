/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/sample.h"

#define ROOM_LEAST 4096

static const char *const words[FAULTS] = {
	[FAULT_NONE] = "-",
	[FAULT_REFUSED] = "refused",
	[FAULT_RESET] = "reset",
	[FAULT_TIMED_OUT] = "timed-out",
	[FAULT_HOST_UNREACHABLE] = "host-unreachable",
	[FAULT_NETWORK_UNREACHABLE] = "network-unreachable",
	[FAULT_OUT_OF_SOCKETS] = "out-of-sockets",
	[FAULT_OUT_OF_PORTS] = "out-of-ports",
	[FAULT_OTHER] = "failed",
	[FAULT_CUT_SHORT] = "cut-short",
	[FAULT_CLOSED] = "closed",
	[FAULT_STATUS] = "status",
	[FAULT_NO_NAME] = "no-name",
	[FAULT_WRONG_ANSWER] = "wrong-answer",
	[FAULT_MISDIRECTED] = "misdirected",
	[FAULT_NO_ANSWER] = "no-answer",
	[FAULT_NO_CONNECTION] = "no-connection",
};

const char *fault_word(enum fault fault)
{
	return words[fault];
}

enum fault fault_of(int error)
{
	switch (error) {
	case ECONNREFUSED: return FAULT_REFUSED;
	case ECONNRESET:
	case EPIPE: return FAULT_RESET;
	case ETIMEDOUT: return FAULT_TIMED_OUT;
	case EHOSTUNREACH: return FAULT_HOST_UNREACHABLE;
	case ENETUNREACH: return FAULT_NETWORK_UNREACHABLE;
	case EMFILE:
	case ENFILE: return FAULT_OUT_OF_SOCKETS;
	case EADDRNOTAVAIL: return FAULT_OUT_OF_PORTS;
	default: return FAULT_OTHER;
	}
}

static bool grow(struct outcomes *o, size_t room)
{
	struct outcome *more = realloc(o->all, room * sizeof(*more));

	if (!more)
		return false;
	memset(more + o->room, 0, (room - o->room) * sizeof(*more));
	o->all = more;
	o->room = room;
	return true;
}

bool outcomes_open(struct outcomes *o, size_t expected)
{
	if (expected > OUTCOMES_MAX)
		expected = OUTCOMES_MAX;
	return grow(o, expected > ROOM_LEAST ? expected : ROOM_LEAST);
}

void outcomes_close(struct outcomes *o)
{
	free(o->all);
	o->all = NULL;
}

bool outcomes_expect(struct outcomes *o, uint64_t due)
{
	if (due < o->warm_up) {
		o->warm_sent++;
		return true;
	}
	if (o->sent == OUTCOMES_MAX || (o->sent == o->room && !grow(o, 2 * o->room)))
		return false;
	o->sent++;
	return true;
}

static uint8_t server_of(struct outcomes *o, const char *name)
{
	unsigned int i = 0;

	while (i < o->servers && strcmp(o->server[i], name) != 0)
		i++;
	if (i == OUTCOME_SERVERS)
		return OUTCOME_NOBODY;
	if (i == o->servers)
		snprintf(o->server[o->servers++], WIRE_NAME, "%s", name);
	return (uint8_t)i;
}

void outcomes_add(struct outcomes *o, struct outcome one, uint64_t due, const char *who)
{
	one.server = who ? server_of(o, who) : OUTCOME_NOBODY;
	if (o->log)
		fprintf(o->log, "%.6f %u %u %u %s %s %u %u\n", (double)(o->begun + due) / 1e9,
			one.connect, one.total, one.status, who ?: "-", words[one.fault],
			one.client, one.lag);
	if (due < o->warm_up) {
		o->warm_failed += one.fault != FAULT_NONE;
		return;
	}
	o->failed += one.fault != FAULT_NONE;
	o->faults[one.fault]++;
	if (one.fault == FAULT_NONE && one.server != OUTCOME_NOBODY)
		o->served[one.server]++;
	o->all[o->done++] = one;
}

/* In milliseconds. */
static double latest_p99(const struct outcomes *o)
{
	size_t n = o->done < OUTCOME_LATEST ? o->done : OUTCOME_LATEST;
	uint32_t total[OUTCOME_LATEST];

	for (size_t i = 0; i < n; i++)
		total[i] = o->all[o->done - n + i].total;
	sample_sort(total, n);
	return sample_percentile(total, n, 99) / 1e3;
}

void outcomes_status(struct outcomes *o, bool over)
{
	char line[128];
	int len;

	if (o->log)
		fflush(o->log);
	if (o->status_fd < 0)
		return;
	/* Padded to one length, so that one write replaces the line before it. */
	len = snprintf(line, sizeof(line), "sent %zu failed %zu p99 %.1f ms%s", o->sent, o->failed,
		       latest_p99(o), over ? " (over)" : "");
	memset(line + len, ' ', sizeof(line) - (size_t)len);
	line[sizeof(line) - 1] = '\n';
	if (pwrite(o->status_fd, line, sizeof(line), 0) < 0)
		o->status_fd = -1;
}
