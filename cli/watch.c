// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * --watch. On a terminal a frame is painted over the one before, line by line, cut to the window so
 * that nothing wraps or scrolls; elsewhere frames follow each other, each under its time.
 */
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tabular.h"

#define WATCH_DEFAULT_MS 2000
#define WATCH_LEAST_MS	 100 /* faster than that nobody reads, and each frame costs a snapshot */
#define CLEAR_LINE	 "\033[K"
#define HOME		 "\033[H"
#define CLEAR_SCREEN	 "\033[2J"
#define CLEAR_BELOW	 "\033[J"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* Prints a line cut to `width` columns; escape sequences take none. */
static void paint_line(const char *line, size_t len, size_t width)
{
	size_t used = 0, i = 0;

	while (i < len) {
		size_t start = i;
		char one[8] = "";

		if (line[i] == '\033') {
			while (i < len && line[i] != 'm')
				i++;
			i += i < len;
		} else {
			do
				i++;
			while (i < len && ((unsigned char)line[i] & 0xc0) == 0x80);
			memcpy(one, line + start, i - start < 7 ? i - start : 7);
			used += text_width(one);
			if (used > width)
				continue;
		}
		fwrite(line + start, 1, i - start, stdout);
	}
	fputs(CLEAR_LINE, stdout);
}

static void paint(const char *frame, const char *clock)
{
	struct winsize w = {0};
	size_t rows, columns, row = 1;

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
	rows = w.ws_row ? w.ws_row : 24;
	columns = w.ws_col ? w.ws_col : 80;
	printf(HOME "%s" CLEAR_LINE, clock);
	for (const char *p = frame; *p && row < rows; row++) {
		const char *end = strchrnul(p, '\n');

		putchar('\n');
		paint_line(p, (size_t)(end - p), columns);
		p = *end ? end + 1 : end;
	}
	fputs(CLEAR_BELOW, stdout);
}

static void now_text(char buf[16])
{
	time_t t = time(NULL);
	struct tm tm;

	localtime_r(&t, &tm);
	strftime(buf, 16, "%H:%M:%S", &tm);
}

/* One frame into memory, then onto the terminal at once: no flicker, no half of two frames. */
static int frame(struct cli *c, int (*once)(struct cli *c), bool terminal)
{
	size_t first = c->args.next, size = 0;
	char *text = NULL, clock[16];
	int status;

	c->out = open_memstream(&text, &size);
	if (!c->out)
		abort();
	status = once(c);
	fclose(c->out);
	c->out = stdout;
	c->args.next = first;
	now_text(clock);
	if (!status && terminal)
		paint(text, clock);
	else if (!status)
		printf("%s%s%s", c->json ? "" : clock, c->json ? "" : "\n", text);
	fflush(stdout);
	free(text);
	return status;
}

int watch(struct cli *c, int (*once)(struct cli *c))
{
	struct sigaction act = {.sa_handler = on_interrupt};
	bool terminal = isatty(STDOUT_FILENO) && !c->json;
	const char *value = c->args.value[OPT_WATCH];
	__u64 ms = WATCH_DEFAULT_MS;
	struct timespec pause;
	int status;

	if (value && poise_parse_duration(value, &ms, &c->error))
		return -1;
	ms = ms < WATCH_LEAST_MS ? WATCH_LEAST_MS : ms;
	pause = (struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (terminal)
		fputs(CLEAR_SCREEN, stdout);
	do
		status = frame(c, once, terminal);
	while (!status && !interrupted && !nanosleep(&pause, NULL) && !ferror(stdout));
	if (terminal)
		putchar('\n');
	return status;
}
