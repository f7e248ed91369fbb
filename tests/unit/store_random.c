// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A thousand random changes in pools that are always nearly full, every third with its writer
 * killed at a random store, among them sweeps, next hops and flows. After each every map is as the
 * configuration asks; at the end packets see what they would see had the last state been the first.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/store.h"

#define CHANGES	 1200
#define SERVICES 9
#define BACKENDS 14

static __u64 seed;
static unsigned long refused;

static unsigned int draw(unsigned int n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(seed >> 33) % n;
}

/* ---- changes of the configuration -------------------------------------------------------------*/

static struct config_service *some_service(struct config *cfg)
{
	return cfg->services ? cfg->service[draw((unsigned int)cfg->services)] : NULL;
}

static void add_service(struct config *cfg)
{
	static const __u32 sizes[] = {31, 61, 97};
	struct poise_error err;
	unsigned int n = draw(SERVICES);
	struct config_service *old;
	char name[32];

	snprintf(name, sizeof(name), "192.0.2.%u:80", n);
	old = config_service_find(cfg, name, &err); /* whatever it is called by now */
	if (old)
		config_service_del(cfg, old);
	snprintf(name, sizeof(name), "s%u", n);
	old = config_service_named(cfg, name);
	if (old)
		config_service_del(cfg, old);
	store_add_service(cfg, name, n, draw(20), draw(6))->conf.table_size = sizes[draw(3)];
	snprintf(name, sizeof(name), "t%u", draw(4));
	if (cfg->services)
		config_service_rename(cfg, some_service(cfg), name, &err); /* may be taken */
}

static void change_listeners(struct config_service *svc, struct config *cfg)
{
	struct poise_listener_conf l = {.proto = draw(2) ? 6 : 17};
	struct poise_error err;

	l.addr.q[0] = 0x20010db8 + draw(2);
	l.addr.q[1] = draw(6);
	l.port = (__u16)draw(3);
	if (config_listen(cfg, svc, &l, &err) && svc->conf.listeners > 1)
		config_unlisten(svc, &svc->conf.listener[draw(svc->conf.listeners)], &err);
}

/* A few prefixes of few that there are, so that most changes leave some. */
static void change_ranges(struct config_service *svc)
{
	char text[RANGE_TEXT];

	ranges_free(&svc->allow);
	ranges_free(&svc->deny);
	for (unsigned int n = draw(4); n; n--) {
		snprintf(text, sizeof(text), draw(2) ? "10.%u.0.0/16" : "2001:db8:%u::/48",
			 draw(6));
		ranges_add(draw(2) ? &svc->allow : &svc->deny, text, NULL); /* may be there */
	}
}

static void change_service(struct config_service *svc)
{
	static const __u32 sizes[] = {31, 61, 97};

	switch (draw(6)) {
	case 0: svc->conf.table_size = sizes[draw(3)]; break;
	case 1: svc->conf.policy = draw(2) ? POISE_MAGLEV : POISE_SOURCE_HASH; break;
	case 2: svc->conf.idle = 1000 * (1 + draw(50000)); break;
	case 3: svc->conf.forward = (__u8)draw(POISE_GUE + 1); break;
	case 4:
		svc->conf.entropy = (__u8)draw(2);
		svc->conf.gue_port = (__u16)(1 + draw(65535));
		svc->conf.gue_checksum = (__u8)draw(2);
		break;
	case 5: change_ranges(svc); break;
	}
}

static void add_member(struct config_service *svc)
{
	struct poise_error err;
	union poise_addr addr = {.b = {[10] = 0xff, 0xff, 10, 1, 0, (__u8)(1 + draw(BACKENDS))}};

	config_member_add(svc, &addr, 0, &err); /* may be there */
}

static void change_member(struct config_service *svc)
{
	struct config_member *m = &svc->member[draw((unsigned int)svc->members)];

	switch (draw(6)) {
	case 0: m->conf.weight = (__u16)draw(4); break;
	case 1: m->conf.admin = (__u8)draw(3); break;
	case 2: m->conf.health = (__u8)draw(4); break;
	case 3: m->conf.forward_set = (__u8)draw(2); break;
	case 4:
		m->conf.r.state = POISE_REC_LEAVING;
		m->conf.deadline = 1 + draw(100);
		break;
	case 5: config_member_del(svc, m); break;
	}
}

static void edit(struct config *cfg, unsigned long argument)
{
	seed = argument;
	for (unsigned int n = 1 + draw(3); n; n--) {
		struct config_service *svc = some_service(cfg);

		switch (svc ? draw(8) : 0) {
		case 0: add_service(cfg); break;
		case 1: config_service_del(cfg, svc); break;
		case 2: change_listeners(svc, cfg); break;
		case 3: change_service(svc); break;
		case 4:
		case 5: add_member(svc); break;
		default:
			if (svc->members)
				change_member(svc);
		}
	}
}

/* ---- what else happens ------------------------------------------------------------------------*/

/* A new flow of a random backend, if its bucket has room. */
static void add_flow(struct instance *i)
{
	__u16 id = (__u16)draw(i->meta->members);
	__u64 *word = &i->flows[draw(i->meta->flow_buckets)].word[draw(POISE_BUCKET_WORDS)];

	if (*word || !i->members[id].service || i->members[id].live == POISE_RANK_NEVER)
		return;
	*word = (__u64)id << POISE_WORD_MEMBER_SHIFT | (__u64)POISE_FLOW_EST
							       << POISE_WORD_STATE_SHIFT;
	i->counters[id].opened++;
	instance_loads(i, 0, id)->own++;
}

static void move_nexthop(struct instance *i, struct poise_error *err)
{
	struct poise_path want = {.ifindex = 1 + draw(6), .mtu = 1500};
	__u16 id = (__u16)draw(i->meta->members), path;

	if (!i->members[id].service)
		return;
	path = instance_path(i, &want, err);
	if (path)
		instance_set_nexthop(i, id, 0x0a0b0c0d0e0full | (__u64)path << 48);
}

/* Members of all services but one. */
static size_t others(struct instance *i, __u16 id)
{
	struct config *cfg;
	size_t n = 0;

	cr_assert_eq(instance_load(i, &cfg, NULL), 0);
	for (size_t s = 0; s < cfg->services; s++)
		n += cfg->service[s]->id == id ? 0 : 1000 + cfg->service[s]->members;
	config_free(cfg);
	return n;
}

/* A change of the members of one service, which alone is loaded. */
static int edit_part(struct instance *i, struct poise_error *err)
{
	char name[32];
	struct config_service *svc;
	struct config *cfg;
	int rc = 0;

	snprintf(name, sizeof(name), draw(2) ? "192.0.2.%u:80" : "s%u", draw(SERVICES));
	cr_assert_eq(instance_load_service(i, name, &cfg, err), 0);
	svc = config_service_find(cfg, name, NULL);
	cr_assert_eq(cfg->part, svc != NULL);
	if (svc) {
		size_t before = others(i, svc->id);

		for (unsigned int n = 1 + draw(3); n; n--) {
			if (!svc->members || draw(3) == 0)
				add_member(svc);
			else
				change_member(svc);
		}
		rc = instance_commit(i, cfg, NULL, err);
		cr_assert_eq(others(i, svc->id), before);
	}
	config_free(cfg);
	return rc;
}

static void step_once(struct instance *i, unsigned long argument)
{
	struct poise_error err = {0};

	seed = argument;
	cr_assert_eq(instance_lock(i, &err), 0);
	switch (draw(10)) {
	case 8:
	case 9:
		if (edit_part(i, &err)) {
			refused++;
			cr_assert(err.code == POISE_E_FULL || err.code == POISE_E_CONFLICT, "%s",
				  err.message);
		}
		break;
	case 0: cr_assert_eq(instance_sweep(i, &err), 0); break;
	case 1: cr_assert_geq(instance_tick(i, draw(100), &err), 0); break;
	case 2:
	case 3: move_nexthop(i, &err); break;
	default:
		instance_unlock(i);
		if (!store_try(i, edit, draw(1u << 30), &err))
			return;
		refused++;
		cr_assert(err.code == POISE_E_FULL || err.code == POISE_E_CONFLICT, "%s",
			  err.message);
	}
	instance_unlock(i);
}

/* ---- killing ----------------------------------------------------------------------------------*/

static unsigned long last_store;

static void die(unsigned long n)
{
	if (n == last_store)
		raise(SIGKILL);
}

static bool step_and_die(struct instance *i, unsigned long argument, unsigned long at)
{
	int status;
	pid_t child = fork();

	if (!child) {
		last_store = at;
		instance_step = die;
		step_once(i, argument);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status),
		  "status %x", status);
	i->locked = false;
	return WIFSIGNALED(status);
}

static void run(unsigned long start)
{
	struct instance *i = store_tiny(), *fresh;
	unsigned long killed = 0;
	struct poise_error err;
	char when[64];

	for (unsigned long n = 0; n < CHANGES; n++) {
		unsigned long argument = start + n * 7919;

		seed = argument;
		add_flow(i);
		if (n % 3 == 0)
			killed += step_and_die(i, argument, 1 + draw(80));
		else
			step_once(i, argument);
		cr_assert_eq(instance_lock(i, &err), 0);
		instance_unlock(i);
		snprintf(when, sizeof(when), "start %lu, change %lu", start, n);
		store_check(i, when);
	}
	fresh = store_afresh(i);
	store_check(fresh, "afresh");
	store_same(i, fresh, "at the end");
	printf("start %lu: %d changes, %lu writers killed, %lu changes refused, generation "
	       "%llu\n",
	       start, CHANGES, killed, refused, i->meta->committed);
	cr_assert_gt(killed, 50);
	instance_close(fresh);
	instance_close(i);
}

Test(store_random, first)
{
	run(1);
}

Test(store_random, second)
{
	run(1000003);
}

Test(store_random, third)
{
	run(5000011);
}
