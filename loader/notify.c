// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "health/child.h"
#include "log.h"
#include "maps/clock.h"

#define MS_PER_S 1000ull
#define WAIT_US	 5000 /* between looks at the end: as often as the loop looks */

static __u64 now_ms(void)
{
	return clock_monotonic() / NS_PER_MS;
}

/* ---- what happened, for a command -------------------------------------------------------------*/

struct variables {
	char **at;
	size_t n;
	char *buf;
	size_t left;
};

static void add(struct variables *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct variables *v, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(v->buf, v->left, fmt, args);
	va_end(args);
	if (length < 0 || (size_t)length >= v->left || v->n + 1 >= NOTIFY_VARIABLES)
		return;
	v->at[v->n++] = v->buf;
	v->buf += length + 1;
	v->left -= (size_t)length + 1;
}

static void add_object(struct variables *v, const struct poise_event *e)
{
	const char *what = events_object_word(e->kind);

	if (!strcmp(what, "backend"))
		add(v, "POISE_BACKEND=%s", e->object);
	else if (!strcmp(what, "address"))
		add(v, "POISE_ADDRESS=%s", e->object);
	else if (!strcmp(what, "device"))
		add(v, "POISE_DEVICE=%s", e->object);
}

void notify_variables(const struct poise_event *e, const char *instance,
		      char *variables[NOTIFY_VARIABLES], char buf[NOTIFY_TEXT])
{
	struct variables v = {.at = variables, .buf = buf, .left = NOTIFY_TEXT};
	char text[EVENTS_TEXT];

	add(&v, "POISE_INSTANCE=%s", instance);
	add(&v, "POISE_EVENT=%s", events_name(e->kind));
	add(&v, "POISE_STATE=%s", events_state(e));
	add(&v, "POISE_NUMBER=%llu", e->number);
	add(&v, "POISE_AT=%s", events_time(e->at, text));
	add(&v, "POISE_GENERATION=%llu", e->generation);
	if (e->service[0])
		add(&v, "POISE_SERVICE=%s", e->service);
	if (e->object[0])
		add_object(&v, e);
	if (e->kind == POISE_EVENT_CHANGE)
		add(&v, "POISE_UID=%u", e->uid);
	add(&v, "POISE_REASON=%s", e->words);
	add(&v, "POISE_TEXT=%s", events_words(e, text, sizeof(text)));
	variables[v.n] = NULL;
}

/* ---- the queue --------------------------------------------------------------------------------*/

void notify_put(struct notify *n, const char *command, const struct poise_event *e)
{
	struct notice *notice = &n->waiting[(n->first + n->count) % NOTIFY_QUEUE];

	if (n->count == NOTIFY_QUEUE) {
		n->lost++;
		return;
	}
	n->count++;
	snprintf(notice->command, sizeof(notice->command), "%s", command);
	notice->event = *e;
}

static void start(struct notify *n, struct notify_running *r)
{
	const struct notice *notice = &n->waiting[n->first];
	char *variables[NOTIFY_VARIABLES], buf[NOTIFY_TEXT];

	notify_variables(&notice->event, n->instance, variables, buf);
	r->pid = child_start(notice->command, variables, -1);
	r->until = now_ms() + NOTIFY_MS;
	snprintf(r->name, sizeof(r->name), "%.*s", (int)strcspn(notice->command, " "),
		 notice->command);
	n->first = (n->first + 1) % NOTIFY_QUEUE;
	n->count--;
	if (r->pid > 0)
		return;
	log_line(LOG_LEVEL_WARNING, "notify: %s: %s", r->name, strerror(errno));
	r->pid = 0;
}

/* ---- those that run ---------------------------------------------------------------------------*/

static void took_end(const struct notify_running *r, int status)
{
	if (!r->until)
		log_line(LOG_LEVEL_WARNING, "notify: %s: took too long and was killed", r->name);
	else if (WIFSIGNALED(status))
		log_line(LOG_LEVEL_WARNING, "notify: %s: killed by signal %d", r->name,
			 WTERMSIG(status));
	else if (WEXITSTATUS(status) == CHILD_FAILED)
		log_line(LOG_LEVEL_WARNING, "notify: %s: cannot be run", r->name);
	else if (WEXITSTATUS(status))
		log_line(LOG_LEVEL_WARNING, "notify: %s: exit status %d", r->name,
			 WEXITSTATUS(status));
}

/* What it left running in its group is ended with it. */
static void look(struct notify_running *r, __u64 now)
{
	siginfo_t info = {0};
	int status;

	if (!waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid) {
		child_end(r->pid);
		waitpid(r->pid, &status, 0);
		took_end(r, status);
		r->pid = 0;
	} else if (r->until && now >= r->until) {
		child_end(r->pid);
		r->until = 0;
	}
}

/* At most once a second. */
static void tell_lost(struct notify *n)
{
	if (!n->lost || now_ms() - n->told < MS_PER_S)
		return;
	log_line(LOG_LEVEL_WARNING, "notify: %llu events were not told, for %d waited already",
		 n->lost, NOTIFY_QUEUE);
	n->lost = 0;
	n->told = now_ms();
}

void notify_tick(struct notify *n)
{
	for (int k = 0; k < NOTIFY_RUNNING; k++) {
		struct notify_running *r = &n->running[k];

		if (r->pid)
			look(r, now_ms());
		if (!r->pid && n->count)
			start(n, r);
	}
	tell_lost(n);
}

static bool runs(const struct notify *n)
{
	bool any = n->count;

	for (int k = 0; k < NOTIFY_RUNNING; k++)
		any |= n->running[k].pid != 0;
	return any;
}

void notify_close(struct notify *n)
{
	__u64 until = now_ms() + NOTIFY_LAST_MS;

	for (notify_tick(n); runs(n) && now_ms() < until; notify_tick(n))
		usleep(WAIT_US);
	for (int k = 0; k < NOTIFY_RUNNING; k++)
		if (n->running[k].pid)
			child_end(n->running[k].pid);
}
