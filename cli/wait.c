// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * --wait: a change is done when it is written, but drained or gone only when its last flow ends.
 * Looks at the instance until that is so, and lets time pass itself if poised is not there to.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../maps/clock.h"
#include "backend.h"

#define WAIT_DEFAULT_MS 300000ull
#define WAIT_STEP_MS	100 /* short against what people notice, long against reading the state */

void wait_start(struct wait_for *w, enum wait_until until, const struct backend_set *set)
{
	w->until = until;
	w->n = set->n;
	w->id = calloc(set->n + 1, sizeof(*w->id));
	if (!w->id)
		abort();
	for (size_t i = 0; i < w->n; i++)
		w->id[i] = set->ref[i].member->id;
}

void wait_end(struct wait_for *w)
{
	free(w->id);
	w->id = NULL;
}

int wait_duration(struct cli *c, __u64 *ms)
{
	*ms = 0;
	if (!c->args.set[OPT_WAIT])
		return 0;
	if (c->batch)
		return cli_usage(c, "--wait cannot stand in a batch: it is one transaction");
	*ms = WAIT_DEFAULT_MS;
	return c->args.value[OPT_WAIT]
		       ? poise_parse_duration(c->args.value[OPT_WAIT], ms, &c->error)
		       : 0;
}

static const char *state_of(const struct cli *c, __u16 id)
{
	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];

		for (size_t k = 0; k < svc->members; k++) {
			if (svc->member[k].id == id)
				return instance_member_state(c->instance, svc, &svc->member[k]);
		}
	}
	return NULL;
}

static bool arrived(const struct cli *c, enum wait_until until, __u16 id)
{
	const char *state = state_of(c, id);

	switch (until) {
	/* One that is down ends its flows itself, or keeps them by on-down: nothing to wait for. */
	case WAIT_DRAINED:
		return !state || !strcmp(state, "drained") || !strcmp(state, "disabled") ||
		       !strcmp(state, "down");
	case WAIT_UP: return state && (!strcmp(state, "up") || !strcmp(state, "sorry"));
	case WAIT_GONE: return !state;
	}
	return false;
}

static size_t missing(const struct cli *c, const struct wait_for *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += !arrived(c, w->until, w->id[i]);
	return n;
}

/* Without poised, drains end and leavers go only if somebody looks. */
static int let_time_pass(struct cli *c)
{
	struct timespec step = {0, WAIT_STEP_MS * (long)NS_PER_MS};

	nanosleep(&step, NULL);
	if (!instance_daemon_runs(c->instance)) {
		if (instance_lock(c->instance, &c->error) ||
		    instance_sweep(c->instance, &c->error) ||
		    instance_tick(c->instance, cli_now(), &c->error) < 0)
			return -1;
		instance_unlock(c->instance);
	}
	return cli_read(c);
}

int wait_run(struct cli *c, const struct wait_for *w, __u64 ms)
{
	static const char *const done[] = {"drained", "up", "gone"};
	__u64 start = cli_now(), now = start;
	char took[32];
	size_t left;

	if (!c->json) {
		cli_print_change(c);
		fflush(c->out);
	}
	if (cli_read(c))
		return -1;
	while ((left = missing(c, w)) && now - start < ms * NS_PER_MS) {
		if (let_time_pass(c))
			return -1;
		now = cli_now();
	}
	poise_format_duration((now - start) / NS_PER_MS, took, sizeof(took));
	if (left)
		cli_note(c, "%zu of %zu not %s after %s", left, w->n, done[w->until], took);
	else
		cli_note(c, "%s after %s", done[w->until], took);
	cli_print_change(c);
	return left ? CLI_NO : CLI_OK;
}
