/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The log. The loop and the keeper's thread both write it. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../maps/clock.h"
#include "log.h"

#define LINE_MAX_BYTES 1536 /* an error's text with its object and file, and then some */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static enum log_level most = LOG_LEVEL_INFO;
static bool journal;
static struct log_gate gate = {.tokens = LOG_GATE_BURST};

static const struct {
	const char *word;
	enum log_level level;
} levels[] = {
	{"error", LOG_LEVEL_ERROR}, {"warning", LOG_LEVEL_WARNING}, {"notice", LOG_LEVEL_NOTICE},
	{"info", LOG_LEVEL_INFO},   {"debug", LOG_LEVEL_DEBUG},
};

int log_level_of(const char *word)
{
	for (size_t k = 0; k < sizeof(levels) / sizeof(levels[0]); k++)
		if (!strcmp(levels[k].word, word))
			return levels[k].level;
	return -1;
}

/* systemd says which device and inode the journal's end of our standard error is. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	if (!stream || sscanf(stream, "%llu:%llu", &device, &inode) != 2)
		return false;
	return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_open(enum log_level level)
{
	most = level;
	journal = is_journal();
}

bool log_gate_pass(struct log_gate *g, unsigned long long now_ns)
{
	g->tokens += (now_ns - g->last) / 1e9 * LOG_GATE_SECOND;
	if (g->tokens > LOG_GATE_BURST)
		g->tokens = LOG_GATE_BURST;
	g->last = now_ns;
	if (g->tokens < 1) {
		g->cut++;
		return false;
	}
	g->tokens--;
	return true;
}

unsigned long log_gate_cut(struct log_gate *g, unsigned long long now_ns)
{
	unsigned long cut = g->cut;

	if (!cut || now_ns - g->told < NS_PER_S)
		return 0;
	g->cut = 0;
	g->told = now_ns;
	return cut;
}

/* One write a line, so that lines of two threads or processes do not mix. */
static void put(enum log_level level, const char *text)
{
	char line[LINE_MAX_BYTES + 64], when[32] = "";
	struct timespec now;
	struct tm tm;
	int length;

	if (journal) {
		length = snprintf(line, sizeof(line), "<%d>%s\n", level, text);
	} else {
		clock_gettime(CLOCK_REALTIME, &now);
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &tm));
		length = snprintf(line, sizeof(line), "%s.%03ldZ poised: %s\n", when,
				  now.tv_nsec / 1000000, text);
	}
	if (write(STDERR_FILENO, line, length) < 0)
		return; /* nobody listens; forwarding matters more */
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES], cut[64];
	unsigned long long now;
	unsigned long left_out;
	va_list ap;
	bool pass;

	if (level > most)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	pthread_mutex_lock(&mutex);
	now = clock_monotonic();
	pass = log_gate_pass(&gate, now);
	left_out = pass ? log_gate_cut(&gate, now) : 0;
	if (left_out) {
		snprintf(cut, sizeof(cut), "%lu lines were left out", left_out);
		put(LOG_LEVEL_NOTICE, cut);
	}
	if (pass || level <= LOG_LEVEL_ERROR)
		put(level, text);
	pthread_mutex_unlock(&mutex);
}

void log_error(enum log_level level, const struct poise_error *err)
{
	char text[LINE_MAX_BYTES];

	poise_error_text(err, text, sizeof(text));
	if (err->remedy[0])
		log_line(level, "%s; try: %s", text, err->remedy);
	else
		log_line(level, "%s", text);
}
