// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Type exec: a command (child.h) ends with status 0. All of its process group is killed when the
 * probe ends. The first line that it prints is the answer's words. At most EXEC_MAX run at once,
 * the others wait for their turn, and their time-out with them.
 *
 * The environment says what is asked about: POISE_ADDRESS, POISE_PORT.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "maps/text.h"
#include "probe_priv.h"

#define PIDFD_OPEN   434
#define VARIABLE_MAX (POISE_ADDR_TEXT + 16)
#define OUTPUT_KEPT  (PROBE_WORDS / 2) /* bytes: a line of them fits the words of an answer */
#define OUTPUT_PIECE 16384	       /* bytes read at once */

/* -1: none. out is the end of a pipe that it prints to. */
static pid_t spawn(const struct probe *p, int out)
{
	char address[VARIABLE_MAX], port[VARIABLE_MAX], addr[POISE_ADDR_TEXT];
	char *variables[] = {address, port, NULL};

	snprintf(address, sizeof(address), "POISE_ADDRESS=%s",
		 poise_format_addr(&p->want.addr, addr, sizeof(addr)));
	snprintf(port, sizeof(port), "POISE_PORT=%u", p->want.port);
	return child_start(p->want.conf->command, variables, out);
}

void probe_exec_line(char *text, size_t length)
{
	text[length] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	poise_printable(text);
}

/* What was printed by now: the beginning is kept, and the rest read, too, since who cannot print
 * would wait for us. In pieces: somebody who never ends holds nobody up. */
static void take_output(struct probe *p)
{
	char spill[OUTPUT_PIECE];
	ssize_t got;

	if (p->out_poll.data == NULL)
		return;
	got = read(p->out, spill, sizeof(spill));
	if (got > 0 && p->length < OUTPUT_KEPT) {
		size_t more = (size_t)got < OUTPUT_KEPT - p->length ? (size_t)got
								    : OUTPUT_KEPT - p->length;

		memcpy(p->body + p->length, spill, more);
		p->length += more;
	}
	/* The end: it would be told of again and again. */
	if (!got)
		uv_poll_stop(&p->out_poll);
}

static void on_output(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	take_output(poll->data);
}

static void watch_output(struct probe *p)
{
	p->body = malloc(OUTPUT_KEPT + 1);
	if (!p->body)
		abort();
	uv_poll_init(p->prober->loop, &p->out_poll, p->out);
	p->out_poll.data = p;
	p->handles++;
	uv_poll_start(&p->out_poll, UV_READABLE, on_output);
}

static void exec_ready(struct probe *p, int events)
{
	siginfo_t info = {0};
	const char *sep;

	(void)events;
	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return;
	take_output(p);
	probe_exec_line(p->body, p->length);
	sep = p->body[0] ? ": " : "";
	if (info.si_code != CLD_EXITED)
		probe_end(p, false, "exec killed by signal %d%s%s", info.si_status, sep, p->body);
	else
		probe_end(p, !info.si_status, "exec %d%s%s", info.si_status, sep, p->body);
}

/* Those that were killed and are gone by now: nobody waits for one that the kernel keeps. */
static void reap(struct prober *r)
{
	for (int n = 0; n < EXEC_MAX; n++) {
		if (!r->killed[n] || !waitpid(r->killed[n], NULL, WNOHANG))
			continue;
		r->killed[n] = 0;
		r->running--;
	}
}

static void exec_run(struct probe *p)
{
	int ends[2];

	p->prober->running++;
	p->began = uv_hrtime();
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		probe_end(p, false, "pipe: %s", strerror(errno));
		return;
	}
	p->out = ends[0];
	watch_output(p);
	/* The command need not know that nobody waits for what it prints. */
	fcntl(ends[1], F_SETFL, 0);
	p->pid = spawn(p, ends[1]);
	if (p->pid < 0)
		probe_end(p, false, "exec: %s", strerror(errno));
	close(ends[1]);
	if (p->pid < 0)
		return;
	p->fd = (int)syscall(PIDFD_OPEN, p->pid, 0);
	if (p->fd < 0)
		probe_end(p, false, "pidfd: %s", strerror(errno));
	else
		probe_watch_fd(p, UV_READABLE);
}

static void exec_open(struct probe *p)
{
	struct prober *r = p->prober;

	p->doing = "exec";
	p->out = -1;
	reap(r);
	if (r->running < EXEC_MAX) {
		exec_run(p);
		return;
	}
	uv_timer_stop(&p->timer);
	p->waits = true;
	if (r->last)
		r->last->next = p;
	else
		r->first = p;
	r->last = p;
}

/* Takes p out of those that wait. */
static void unqueue(struct prober *r, struct probe *p)
{
	struct probe **at = &r->first, *before = NULL;

	while (*at != p) {
		before = *at;
		at = &before->next;
	}
	*at = p->next;
	if (r->last == p)
		r->last = before;
	p->waits = false;
}

/* The next one's turn; the time-out starts with it. */
static void exec_next(struct prober *r)
{
	struct probe *p = r->first;

	if (!p || r->running >= EXEC_MAX)
		return;
	unqueue(r, p);
	probe_time(p);
	exec_run(p);
}

/* The group goes at once: its number is not given away before its leader is reaped. */
static void bury(struct prober *r, pid_t pid)
{
	int n = 0;

	child_end(pid);
	while (r->killed[n])
		n++;
	r->killed[n] = pid;
}

static void exec_close(struct probe *p)
{
	if (p->waits) {
		unqueue(p->prober, p);
		return;
	}
	if (p->out_poll.data) {
		uv_close((uv_handle_t *)&p->out_poll, probe_closed);
		close(p->out);
	}
	free(p->body);
	if (p->pid > 0)
		bury(p->prober, p->pid);
	else
		p->prober->running--;
	reap(p->prober);
	exec_next(p->prober);
}

const struct probe_kind probe_exec = {.open = exec_open, .ready = exec_ready, .close = exec_close};
