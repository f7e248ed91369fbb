// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Type exec: a command (child.h) ends with status 0. All of its process group is killed when the
 * probe ends. The first line that it prints is the answer's words. At most EXEC_MAX run at once,
 * the others wait for their turn, and their time-out with them. One that the kernel does not end
 * (a file system that hangs) is left to itself after a while, and said in the words of the next,
 * until there are EXEC_STUCK of them.
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
#define REAP_MS	     20		       /* between looks at who was killed */
#define REAP_GRACE   1000	       /* ms until one that is not gone counts as stuck */

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

static void exec_run(struct probe *p)
{
	int ends[2];

	p->prober->running++;
	p->ran = true;
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

/* Puts p behind those that wait. What they wait for may be the reaper alone, which else keeps no
 * loop going. */
static void queue(struct prober *r, struct probe *p)
{
	uv_ref((uv_handle_t *)&r->reaper);
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
	if (!r->first)
		uv_unref((uv_handle_t *)&r->reaper);
	p->waits = false;
}

/* Nobody knows how many more would stay: none is begun. Returns whether that was so. */
static bool refuse(struct probe *p)
{
	if (p->prober->stuck < EXEC_STUCK)
		return false;
	probe_end(p, false, "exec: %d killed commands do not end: no more are begun", EXEC_STUCK);
	return true;
}

static void exec_open(struct probe *p)
{
	struct prober *r = p->prober;

	p->doing = "exec";
	p->out = -1;
	if (r->running >= EXEC_MAX)
		queue(r, p);
	else if (!refuse(p))
		exec_run(p);
}

/* Those whose turn it is; the time-out starts with it. */
static void exec_next(struct prober *r)
{
	while (r->first && (r->running < EXEC_MAX || r->stuck == EXEC_STUCK)) {
		struct probe *p = r->first;

		unqueue(r, p);
		probe_time(p);
		if (!refuse(p))
			exec_run(p);
	}
}

/* ---- those that were killed -------------------------------------------------------------------*/

static void gone(struct prober *r, struct exec_killed *k)
{
	if (k->stuck)
		r->stuck--;
	else
		r->running--;
	*k = (struct exec_killed){0};
}

/* Whoever is gone by now makes room; so does, as long as there are not too many, whoever the kernel
 * does not let go: a file system that does not answer must not stop every check. */
static void reap(struct prober *r)
{
	for (int n = 0; n < EXEC_MAX + EXEC_STUCK; n++) {
		struct exec_killed *k = &r->killed[n];

		if (!k->pid)
			continue;
		if (waitpid(k->pid, NULL, WNOHANG)) {
			gone(r, k);
		} else if (!k->stuck && r->stuck < EXEC_STUCK &&
			   uv_now(r->loop) - k->since >= REAP_GRACE) {
			k->stuck = true;
			r->stuck++;
			r->running--;
		}
	}
}

static bool has_killed(const struct prober *r)
{
	for (int n = 0; n < EXEC_MAX + EXEC_STUCK; n++)
		if (r->killed[n].pid)
			return true;
	return false;
}

static void on_reaper(uv_timer_t *timer)
{
	struct prober *r = timer->data;

	reap(r);
	exec_next(r);
	if (has_killed(r))
		uv_timer_start(timer, on_reaper, REAP_MS, 0);
}

/* The group goes at once: its number is not given away before its leader is reaped. */
static void bury(struct prober *r, pid_t pid)
{
	int n = 0;

	child_end(pid);
	while (r->killed[n].pid)
		n++;
	r->killed[n] = (struct exec_killed){.pid = pid, .since = uv_now(r->loop)};
	if (!uv_is_active((uv_handle_t *)&r->reaper))
		uv_timer_start(&r->reaper, on_reaper, REAP_MS, 0);
}

void prober_exec_open(struct prober *r)
{
	uv_timer_init(r->loop, &r->reaper);
	r->reaper.data = r;
	uv_unref((uv_handle_t *)&r->reaper);
}

void prober_exec_close(struct prober *r)
{
	uv_close((uv_handle_t *)&r->reaper, prober_closed);
}

/* ---- the end of one ---------------------------------------------------------------------------*/

static const char *exec_late(struct probe *p)
{
	struct prober *r = p->prober;

	if (!r->stuck)
		return p->doing;
	snprintf(r->late, sizeof(r->late), "exec (%d killed before do not end)", r->stuck);
	return r->late;
}

static void exec_close(struct probe *p)
{
	if (p->waits) {
		unqueue(p->prober, p);
		return;
	}
	if (!p->ran)
		return;
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

const struct probe_kind probe_exec = {
	.open = exec_open, .ready = exec_ready, .close = exec_close, .late = exec_late};
