/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * load: an open-loop load. When each request is due is fixed before the first is sent, whether or
 * not those before it will be answered, and its time counts from when it was due. So a stall of the
 * path, or of this program, shows in full and cannot hide by slowing the questions down. How late
 * this program itself was, to ask or to hear, is told apart, as lag.
 *
 * It asks nginx (kind http), the lab's serve (udp) and echod (tcp, kept, udp), each of which says
 * who it is. It ends by itself, at once if the lag is over its limit, or on SIGINT and SIGTERM;
 * then waits for what is under way. Exit 0: every request was answered; 1: not so; 3: the lag was
 * over its limit, and the figures are void.
 *
 * One thread: it asks some ten thousand connections a second, and what it cannot shows as lag.
 * Where other programs want the CPU, `chrt -f 1 load ...` goes before them.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "duration.h"
#include "load.h"

#define BREATH	     16	       /* requests begun before answers are looked at */
#define LOOK_EVERY   10000000  /* ns at most between looks at the clock, for timeouts */
#define STATUS_EVERY 200000000 /* ns between status lines */
#define FILES	     65536     /* sockets at once: a second's load at that rate */

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static bool due_ends(const struct load *l)
{
	return stopped || (l->count && l->outcomes.sent >= l->count) ||
	       (l->duration && schedule_due(&l->schedule) >= l->duration);
}

/* Whether what is due now is late enough to make the figures void: what comes after it is for
 * nothing. */
static bool too_late(const struct load *l, uint64_t due, uint64_t now)
{
	return l->told.lag_limit && due >= l->outcomes.warm_up &&
	       now - l->ask.begin - due > (l->told.lag_limit + 1) * US;
}

/* Begins what is due. Late ones are asked at once, but not all in one breath: no ring or queue on
 * the way is made for that. */
static void begin_due(struct load *l)
{
	for (int n = 0; n < BREATH && !due_ends(l); n++) {
		uint64_t due = schedule_due(&l->schedule), now = wire_now();

		if (l->ask.begin + due > now)
			return;
		if (too_late(l, due, now))
			stopped = 1;
		if (!ask_begin(&l->ask, schedule_take(&l->schedule), due)) {
			fprintf(stderr, "load: no room for more requests\n");
			stopped = 1;
		}
	}
}

/* How long nothing will be due. */
static struct timespec idle_time(const struct load *l)
{
	uint64_t now = wire_now(), next = l->ask.begin + schedule_due(&l->schedule);
	uint64_t wait = LOOK_EVERY;

	if (!due_ends(l) && next < now + wait)
		wait = next > now ? next - now : 0;
	return (struct timespec){.tv_nsec = (long)wait};
}

static void run(struct load *l)
{
	uint64_t status_at = 0;

	l->ask.begin = l->ask.since = wire_now();
	while (!due_ends(l) || l->ask.open) {
		begin_due(l);
		if (wire_now() >= status_at) {
			outcomes_status(&l->outcomes, false);
			status_at = wire_now() + STATUS_EVERY;
		}
		ask_wait(&l->ask, idle_time(l));
		ask_expire(&l->ask);
	}
	outcomes_status(&l->outcomes, true);
}

static void prepare(void)
{
	struct rlimit files = {.rlim_cur = FILES, .rlim_max = FILES};
	struct sigaction end = {.sa_handler = stop};

	setrlimit(RLIMIT_NOFILE, &files);
	prctl(PR_SET_TIMERSLACK, 1UL); /* the kernel wakes others up to 50 us late, to save power */
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
}

int main(int argc, char **argv)
{
	struct load l;
	uint32_t longest;
	int status;

	if (!load_open(&l, argc, argv))
		return 2;
	prepare();
	run(&l);
	if (l.json != stdout)
		report_text(&l.outcomes, stdout);
	if (l.json)
		report_json(&l.outcomes, &l.told, l.json);
	longest = report_lag(&l.outcomes).max;
	status = l.outcomes.failed || l.outcomes.warm_failed || !l.outcomes.done;
	if (l.told.lag_limit && longest > l.told.lag_limit) {
		fprintf(stderr,
			"load: void: a request was begun or heard %u us late, over the limit of "
			"%lu\n",
			longest, (unsigned long)l.told.lag_limit);
		status = 3;
	}
	load_close(&l);
	return status;
}
