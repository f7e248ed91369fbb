// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise backend: add set drain enable disable del list */
#include "../maps/memory.h"
#include "backend.h"

#include <stdlib.h>
#include <string.h>

void backend_set_add(struct backend_set *set, struct config_service *svc, struct config_member *m)
{
	set->ref = memory_grow(set->ref, set->n, &set->room, sizeof(*set->ref));
	set->ref[set->n++] = (struct backend_ref){svc, m};
}

void backend_set_free(struct backend_set *set)
{
	free(set->ref);
	memset(set, 0, sizeof(*set));
}

/* Whoever is said twice is meant once. */
static void add_once(struct backend_set *set, struct config_service *svc, struct config_member *m)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->ref[i].member == m)
			return;
	backend_set_add(set, svc, m);
}

static int about(struct cli *c, const struct config_service *svc)
{
	return poise_error_about(&c->error, "service \"%s\"", svc->conf.name);
}

/* After the first backend, what is none may have been meant as a KEY. */
static int mistaken(struct cli *c, const char *word)
{
	struct poise_error as_key = {0};

	if (c->command->keys == CLI_NO_KEYS || strpbrk(word, ".:") ||
	    !option_need((enum option_scope)c->command->keys, word, &as_key) == !as_key.remedy[0])
		return -1;
	cli_usage(c, "\"%s\" is neither a backend nor a key", word);
	return poise_error_remedy(&c->error, "%s", as_key.remedy);
}

/* A backend on its way out can only be cut, or be added again. */
static int refuse_leaving(struct cli *c, const struct config_service *svc,
			  const struct config_member *m)
{
	char name[POISE_NAME_MAX];

	if (!config_member_leaving(m) || c->command->run == cmd_backend_del)
		return 0;
	poise_fail(&c->error, POISE_E_CONFLICT, "is leaving");
	poise_error_remedy(&c->error, "poise backend add %s %s brings it back", svc->conf.name,
			   poise_format_endpoint(&m->conf.addr, m->conf.port, name, sizeof(name)));
	poise_error_about(&c->error, "backend %s", cli_member_name(m, name));
	return about(c, svc);
}

/* Backends by name or address up to the first KEY; a backend whose name is that of a key can be
 * said by its address. Each at most once. */
static int take_backends(struct cli *c, struct config_service *svc, struct backend_set *set)
{
	const char *word;

	while ((word = args_peek(&c->args))) {
		struct config_member *m;

		if (set->n && c->command->keys != CLI_NO_KEYS && cli_key(c, c->command->keys, word))
			break;
		if (set->n && !strcmp(word, "deadline"))
			break;
		m = config_member_find(svc, word, &c->error);
		if (!m)
			return set->n ? mistaken(c, word) : -1;
		if (refuse_leaving(c, svc, m))
			return -1;
		add_once(set, svc, m);
		args_take(&c->args);
	}
	return set->n ? 0 : cli_usage(c, "BACKEND is missing");
}

/* SERVICE or `all`, then backends. With all, every service that has the backend. */
static int take_everywhere(struct cli *c, struct backend_set *set)
{
	size_t first = c->args.next + 1;
	struct config_service *svc;

	if (!args_peek(&c->args) || strcmp(args_peek(&c->args), "all")) {
		svc = cli_service(c);
		return svc ? take_backends(c, svc, set) : -1;
	}
	if (args_left(&c->args) < 2)
		return cli_usage(c, "BACKEND is missing");
	for (c->args.next = first; args_peek(&c->args); c->args.next++) {
		const char *word = args_peek(&c->args);
		bool found = false;

		if (c->args.next > first && !strcmp(word, "deadline"))
			break;
		for (size_t i = 0; i < c->config->services; i++) {
			struct config_member *m;

			svc = c->config->service[i];
			m = config_member_find(svc, word, NULL);
			if (!m || config_member_leaving(m))
				continue;
			add_once(set, svc, m);
			found = true;
		}
		if (!found)
			return poise_fail(&c->error, POISE_E_NOT_FOUND,
					  "no service has a backend \"%s\"", word);
	}
	return 0;
}

/* "backend 10.0.0.1 of web" or "3 backends" */
static const char *what(const struct backend_set *set, char *buf, size_t size)
{
	char name[POISE_NAME_MAX];

	if (set->n == 1)
		snprintf(buf, size, "backend %s of %s", cli_member_name(set->ref[0].member, name),
			 set->ref[0].svc->conf.name);
	else
		snprintf(buf, size, "%zu backends", set->n);
	return buf;
}

/* "88 flows stay", or that nobody counts them. */
static const char *flows_of(const struct cli *c, const struct backend_set *set, char *buf,
			    size_t size)
{
	__u64 n = 0;
	bool known = true;

	for (size_t i = 0; i < set->n; i++) {
		known &= cli_flows_known(set->ref[i].svc);
		n += cli_member_flows(c, set->ref[i].member);
	}
	if (set->n > 1 && !known && !n)
		snprintf(buf, size, "their flows (not counted: track auto)");
	else
		cli_flows_text(known, n, buf, size);
	return buf;
}

/* What a hand added to a file's service, no apply undoes. */
static void note_owner(struct cli *c, const struct backend_set *set)
{
	bool of_file = false;

	for (size_t i = 0; i < set->n; i++)
		of_file |= set->ref[i].member->conf.r.owner == POISE_OWNER_FILE;
	if (of_file)
		cli_note_owner(c, set->ref[0].svc);
}

/* ---- add and set --------------------------------------------------------------------------*/

static int add_one(struct cli *c, struct config_service *svc, const char *word)
{
	union poise_addr addr;
	__u16 port;

	if (poise_parse_endpoint(word, &addr, &port, &c->error)) {
		poise_error_of(&c->error, "backend");
		return about(c, svc);
	}
	return config_member_add(svc, &addr, port, &c->error) ? 0 : -1;
}

/* The same KEY VALUE words for every member of the set. */
static int set_keys(struct cli *c, const struct backend_set *set, bool some)
{
	size_t first = c->args.next;

	for (size_t i = 0; i < set->n; i++) {
		struct config_member *m = set->ref[i].member;
		__u8 admin = m->conf.admin;

		m->line = c->line;
		c->args.next = first;
		if (cli_keys(c, OPTION_BACKEND, &m->conf, some)) {
			char name[POISE_NAME_MAX];

			if (c->error.code == POISE_E_USAGE)
				return -1;
			poise_error_about(&c->error, "backend %s", cli_member_name(m, name));
			return about(c, set->ref[i].svc);
		}
		if (m->conf.admin != admin) {
			enum poise_admin now = m->conf.admin;

			m->conf.admin = admin; /* and on with its deadline */
			config_member_admin(set->ref[i].svc, m, now, 0, cli_now());
		}
		config_health_forget_one(set->ref[i].svc, m);
	}
	return 0;
}

int cmd_backend_add(struct cli *c)
{
	struct config *cfg = cli_begin_service(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	struct backend_set set = {0};
	size_t first = c->args.next, n = 0;
	const char *word;
	int status = -1;

	if (!svc)
		return -1;
	while ((word = args_peek(&c->args)) && !(n && cli_key(c, OPTION_BACKEND, word))) {
		if (add_one(c, svc, args_take(&c->args)))
			return -1;
		n++;
	}
	if (!n)
		return cli_usage(c, "ADDR[:PORT] is missing");
	/* Only now: adding moves the array that references point into. */
	for (size_t i = first; i < first + n; i++) {
		union poise_addr addr;
		__u16 port;

		if (!poise_parse_endpoint(c->args.word[i], &addr, &port, NULL))
			backend_set_add(&set, svc, config_member_at(svc, &addr, port));
	}
	if (set_keys(c, &set, false))
		goto out;
	if (n == 1)
		cli_say(c,
			"backend %s added to %s (%zu now); established flows stay where they are.",
			c->args.word[first], svc->conf.name, svc->members);
	else
		cli_say(c,
			"%zu backends added to %s (%zu now); established flows stay where they "
			"are.",
			n, svc->conf.name, svc->members);
	cli_note_files(c, svc);
	cli_note_added(c, svc);
	status = cli_end(c);
out:
	backend_set_free(&set);
	return status;
}

/* What a change of keys means for flows that there are. */
static const char *effect_of(const struct cli *c, const struct backend_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (cli_cuts(c, set->ref[i].svc, set->ref[i].member))
			return CLI_CUTS;
	return "established flows stay where they are";
}

int cmd_backend_set(struct cli *c)
{
	struct config *cfg = cli_begin_service(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	struct backend_set set = {0};
	char text[160], now[160];
	size_t first;
	int status = -1;

	if (!svc || take_backends(c, svc, &set))
		goto out;
	first = c->args.next;
	if (set_keys(c, &set, true))
		goto out;
	if (c->args.words - first == 2)
		cli_say(c, "%s: %s; %s.", what(&set, text, sizeof(text)),
			cli_now_is(c, OPTION_BACKEND, c->args.word[first], &set.ref[0].member->conf,
				   now, sizeof(now)),
			effect_of(c, &set));
	else
		cli_say(c, "%s: %zu keys set; %s.", what(&set, text, sizeof(text)),
			(c->args.words - first) / 2, effect_of(c, &set));
	cli_note_files(c, svc);
	note_owner(c, &set);
	status = cli_end(c);
out:
	backend_set_free(&set);
	return status;
}

static const char *stay(const char *flows)
{
	return strncmp(flows, "1 ", 2) ? "stay" : "stays";
}

/* ---- drain, enable, disable, del ----------------------------------------------------------*/

/* Commits, then waits if that was asked for. */
static int end_and_wait(struct cli *c, const struct backend_set *set, enum wait_until until)
{
	struct wait_for w;
	int status;
	__u64 ms;

	if (wait_duration(c, &ms))
		return -1;
	if (!ms)
		return cli_end(c);
	wait_start(&w, until, set);
	status = cli_commit(c) ? -1 : wait_run(c, &w, ms);
	wait_end(&w);
	return status;
}

/* [deadline DURATION]; without it the service's drain-timeout. */
static int take_deadline(struct cli *c, bool *said, __u64 *ms)
{
	const char *word = args_take(&c->args), *value;

	*said = false;
	if (!word)
		return 0;
	if (strcmp(word, "deadline"))
		return cli_usage(c, "\"%s\" is one word too many", word);
	value = cli_need(c, "the duration of deadline");
	if (!value || cli_no_more(c) || poise_parse_duration(value, ms, &c->error))
		return -1;
	*said = true;
	return 0;
}

int backend_drain(struct cli *c, const struct backend_set *set)
{
	char text[160], flows[64], longest[32];
	__u64 ms = 0, most = 0;
	bool said;

	if (take_deadline(c, &said, &ms))
		return -1;
	for (size_t i = 0; i < set->n; i++) {
		__u64 timeout = said ? ms : set->ref[i].svc->conf.drain_timeout;

		most = timeout > most ? timeout : most;
		config_member_admin(set->ref[i].svc, set->ref[i].member, POISE_DRAINING,
				    said ? (ms ? ms : 1) : 0, cli_now()); /* 0 is the service's */
	}
	what(set, text, sizeof(text));
	flows_of(c, set, flows, sizeof(flows));
	cli_say(c, "%s drain%s: no new flows, %s %s until they end, at most %s.", text,
		set->n == 1 ? "s" : "", flows, stay(flows),
		poise_format_duration(most, longest, sizeof(longest)));
	if (!c->args.set[OPT_WAIT])
		cli_note(c, "poise show tells when it is drained; poise backend enable takes it "
			    "back");
	return end_and_wait(c, set, WAIT_DRAINED);
}

/* The commands that take SERVICE|all BACKEND... and change each. */
static int on_backends(struct cli *c, int (*change)(struct cli *c, const struct backend_set *set))
{
	struct backend_set set = {0};
	int status = -1;

	if (cli_begin_service(c) && !take_everywhere(c, &set))
		status = change(c, &set);
	backend_set_free(&set);
	return status;
}

int cmd_backend_drain(struct cli *c)
{
	return on_backends(c, backend_drain);
}

static int enable(struct cli *c, const struct backend_set *set)
{
	char text[160];

	if (cli_no_more(c))
		return -1;
	for (size_t i = 0; i < set->n; i++) {
		config_member_admin(set->ref[i].svc, set->ref[i].member, POISE_ENABLED, 0,
				    cli_now());
		config_member_pardon(set->ref[i].member);
	}
	cli_say(c, "%s enabled; established flows stay where they are.",
		what(set, text, sizeof(text)));
	return end_and_wait(c, set, WAIT_UP);
}

int cmd_backend_enable(struct cli *c)
{
	return on_backends(c, enable);
}

/* " (TCP keep, UDP move)": what their services say, if they say the same. */
static const char *on_down(const struct backend_set *set, char *buf, size_t size)
{
	const struct poise_service_conf *first;

	buf[0] = '\0';
	if (!set->n)
		return buf;
	first = &set->ref[0].svc->conf;
	for (size_t i = 1; i < set->n; i++)
		if (set->ref[i].svc->conf.on_down != first->on_down ||
		    set->ref[i].svc->conf.on_down_udp != first->on_down_udp)
			return buf;
	snprintf(buf, size, " (TCP %s, UDP %s)",
		 option_word(option_find(OPTION_SERVICE, "on-down"), first->on_down),
		 option_word(option_find(OPTION_SERVICE, "on-down-udp"), first->on_down_udp));
	return buf;
}

static int disable(struct cli *c, const struct backend_set *set)
{
	char text[160], flows[64], how[64];

	if (cli_no_more(c))
		return -1;
	for (size_t i = 0; i < set->n; i++)
		config_member_admin(set->ref[i].svc, set->ref[i].member, POISE_DISABLED, 0,
				    cli_now());
	cli_say(c, "%s disabled: no new flows; on-down says what becomes of %s%s.",
		what(set, text, sizeof(text)), flows_of(c, set, flows, sizeof(flows)),
		on_down(set, how, sizeof(how)));
	return cli_end(c);
}

int cmd_backend_disable(struct cli *c)
{
	return on_backends(c, disable);
}

static int by_place(const void *a, const void *b)
{
	const struct backend_ref *x = a, *y = b;

	return x->member < y->member ? 1 : -1;
}

/* Deleting moves those behind: from the end, the places of those still to go stay. */
static void cut_from_end(struct backend_set *set)
{
	if (set->n)
		qsort(set->ref, set->n, sizeof(*set->ref), by_place);
}

int cmd_backend_del(struct cli *c)
{
	struct config *cfg = cli_begin_service(c);
	struct config_service *svc = cfg ? cli_service(c) : NULL;
	struct backend_set set = {0};
	char text[160], flows[64], timeout[32];
	int status = -1;

	if (!svc || take_backends(c, svc, &set) || cli_no_more(c))
		goto out;
	what(&set, text, sizeof(text));
	flows_of(c, &set, flows, sizeof(flows));
	note_owner(c, &set);
	if (c->args.set[OPT_NOW]) {
		cut_from_end(&set);
		for (size_t i = 0; i < set.n; i++)
			config_member_del(svc, set.ref[i].member);
		cli_say(c, "%s deleted; %s are cut.", text, flows);
		status = cli_end(c);
	} else {
		cut_from_end(&set);
		for (size_t i = 0; i < set.n; i++)
			config_member_leave(svc, set.ref[i].member, cli_now());
		cli_say(c, "%s leave%s: no new flows, %s %s until they end, at most %s.", text,
			set.n == 1 ? "s" : "", flows, stay(flows),
			poise_format_duration(svc->conf.drain_timeout, timeout, sizeof(timeout)));
		status = end_and_wait(c, &set, WAIT_GONE);
	}
out:
	backend_set_free(&set);
	return status;
}
