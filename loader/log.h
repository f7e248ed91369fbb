/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One line an event, on standard error: with a priority prefix when that is the journal, else with
 * the time. A flood is cut short and counted, but for errors.
 */
#ifndef POISED_LOG_H
#define POISED_LOG_H

#include "../maps/error.h"

enum log_level { /* as syslog's */
		 LOG_LEVEL_ERROR = 3,
		 LOG_LEVEL_WARNING = 4,
		 LOG_LEVEL_NOTICE = 5,
		 LOG_LEVEL_INFO = 6,
		 LOG_LEVEL_DEBUG = 7,
};

void log_open(enum log_level most);
/* The level of a word, or -1. */
int log_level_of(const char *word);
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The error's text and, if it has one, its remedy. */
void log_error(enum log_level level, const struct poise_error *err);

/* What the flood gate lets through, apart from clocks and streams: tokens come with time, one a
 * line; a line that finds none is counted in `cut`. */
struct log_gate {
	double tokens;
	unsigned long long last; /* ns */
	unsigned long cut;
	unsigned long long told; /* ns when `cut` was last told */
};
#define LOG_GATE_BURST	100 /* lines at once: a change of some dozen backends in full */
#define LOG_GATE_SECOND 20  /* lines a second after that */
bool log_gate_pass(struct log_gate *g, unsigned long long now_ns);
/* How many lines were cut since this last said so, at most once a second; 0: nothing to tell. */
unsigned long log_gate_cut(struct log_gate *g, unsigned long long now_ns);

#endif
