// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../loader/attach/attach.h"
#include "../maps/fade.h"
#include "../maps/hash.h"
#include "../maps/text.h"
#include "balancer.h"
#include "row.h"

#define PREFIX	    "bench-"
#define LOOPBACK    1 /* BPF_PROG_TEST_RUN's packets come in through lo */
#define MTU	    1500
#define PIN_XDP	    "prog_xdp"
#define CHOICE_NAME "choice" /* of services, with their number in row.h */

static const __u8 balancer_mac[6] = {2, 0, 0, 0, 0, 1};
static const __u8 backend_mac[6] = {2, 0, 0, 0, 0, 3};

/* An instance bench-PID whose process is gone was left by a kill. */
static void remove_dead(void)
{
	DIR *dir = opendir(POISE_PIN_ROOT);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		struct instance_where where = {.name = e->d_name};
		long pid;

		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		pid = strtol(e->d_name + strlen(PREFIX), NULL, 10);
		if (pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH)
			attach_reset(&where, NULL);
	}
	if (dir)
		closedir(dir);
}

struct service {
	char name[32];
	unsigned int which; /* of row.h */
	enum poise_policy policy;
	enum poise_track track;
	enum poise_mode mode;
	int backends;
};

static const struct service services[] = {
	{"auto4", ROW_AUTO4, POISE_MAGLEV, POISE_TRACK_AUTO, POISE_IPIP, BALANCER_BACKENDS},
	{"always4", ROW_ALWAYS4, POISE_MAGLEV, POISE_TRACK_ALWAYS, POISE_IPIP, BALANCER_BACKENDS},
	{"auto6", ROW_AUTO6, POISE_MAGLEV, POISE_TRACK_AUTO, POISE_IPIP, BALANCER_BACKENDS},
	{"gue4", ROW_GUE4, POISE_MAGLEV, POISE_TRACK_AUTO, POISE_GUE, BALANCER_BACKENDS},
	{"nat4", ROW_NAT4, POISE_MAGLEV, POISE_TRACK_AUTO, POISE_NAT, BALANCER_BACKENDS},
	{"nat46", ROW_NAT46, POISE_MAGLEV, POISE_TRACK_AUTO, POISE_NAT, BALANCER_BACKENDS},
	{"nat64", ROW_NAT64, POISE_MAGLEV, POISE_TRACK_AUTO, POISE_NAT, BALANCER_BACKENDS},
};

#define CHOICES	     4	  /* of p2c */
#define SMALL_TABLE  4099 /* what a look-up costs does not depend on it, filling it does */
#define FADING_FIRST ROW_FADING(0, 0)

static int add_service(struct config *cfg, const struct service *s, struct poise_error *err)
{
	struct config_service *svc = config_service_add(cfg, s->name, POISE_OWNER_HAND, err);
	struct poise_listener_conf listener = {.port = htons(ROW_PORT), .proto = IPPROTO_TCP};
	bool other = s->which == ROW_NAT46 || s->which == ROW_NAT64;
	bool v6 = !strchr(row_address(s->which), ':') == other;
	union poise_addr addr;
	char text[64];

	if (!svc || poise_parse_addr(row_address(s->which), &listener.addr, err))
		return -1;
	svc->conf.policy = s->policy;
	svc->conf.forward = s->mode;
	svc->conf.track = s->track;
	svc->conf.choices = s->policy == POISE_P2C ? CHOICES : 0;
	if (config_listen(cfg, svc, &listener, err))
		return -1;
	for (int n = 1; n <= s->backends; n++) {
		snprintf(text, sizeof(text), v6 ? "2001:db8:2::%x" : "10.0.%d.%d", v6 ? n : n >> 8,
			 n & 0xff);
		if (poise_parse_addr(text, &addr, err) || !config_member_add(svc, &addr, 0, err))
			return -1;
	}
	return 0;
}

/* `only` of them, or all. */
static int add_services(struct config *cfg, const struct row *only, struct poise_error *err)
{
	for (size_t s = 0; s < sizeof(services) / sizeof(services[0]); s++)
		if ((!only || only->service == services[s].which) &&
		    add_service(cfg, &services[s], err))
			return -1;
	for (unsigned int which = ROW_CHOICES; which < ROW_SERVICES; which++) {
		bool fades = which >= FADING_FIRST;
		struct service s = {
			.which = which,
			.policy = (enum poise_policy)(fades ? (which - FADING_FIRST) / 2
							    : ROW_CHOICE_POLICY(which)),
			.track = POISE_TRACK_ALWAYS,
			.mode = POISE_IPIP,
			.backends = row_sizes[fades ? ROW_SIZES - 1
						    : (which - ROW_CHOICES) % ROW_SIZES],
		};

		snprintf(s.name, sizeof(s.name), CHOICE_NAME "%u", which);
		if ((!only || only->service == which) && add_service(cfg, &s, err))
			return -1;
	}
	for (size_t s = 0; s < cfg->services && only; s++)
		cfg->service[s]->conf.table_size = SMALL_TABLE;
	return 0;
}

int balancer_resolve(struct instance *i, const struct config *cfg, struct poise_error *err)
{
	struct poise_path want = {.ifindex = LOOPBACK, .mtu = MTU, .flags = POISE_PATH_USED};
	__u16 path;

	memcpy(want.smac, balancer_mac, sizeof(want.smac));
	inet_pton(AF_INET, "198.51.100.1", &want.src4);
	inet_pton(AF_INET6, "2001:db8:3::1", &want.src6);
	path = instance_path(i, &want, err);
	if (!path)
		return -1;
	for (size_t s = 0; s < cfg->services; s++)
		for (size_t m = 0; m < cfg->service[s]->members; m++)
			instance_set_nexthop(i, cfg->service[s]->member[m].id,
					     INSTANCE_NEXTHOP(backend_mac, path));
	return 0;
}

/* What poised does when it folds: every member has a flow or none by other CPUs, in no order. Many
 * equals of the best and as many that are not, which costs choices by load most. */
static void load(struct instance *i)
{
	for (__u32 cpu = 0; cpu < i->meta->cpus; cpu++)
		for (__u32 id = 1; id < i->meta->members; id++)
			instance_loads(i, cpu, id)->others = poise_mix(id * POISE_GOLD) & 1;
}

#define FADED 0.5   /* how far those are who fade */
#define LASTS 86400 /* seconds, more than a bench */

/* What poised does each tick for those who fade in, once and for the bench's whole time. */
static void fade(struct instance *i, const struct config *cfg)
{
	for (size_t s = 0; s < cfg->services; s++) {
		const struct config_service *svc = cfg->service[s];
		const struct poise_service *slot = &i->services[svc->id];
		const struct poise_service_rec *rec = &slot->rec[slot->active & 1];
		unsigned int which;

		if (sscanf(svc->conf.name, CHOICE_NAME "%u", &which) != 1 || which < FADING_FIRST)
			continue;
		for (size_t k = 0; k < ((which - FADING_FIRST) & 1 ? svc->members : 1); k++) {
			struct poise_member *m = &i->members[svc->member[k].id];

			m->fade = fade_share(rec, FADED, 1, svc->members);
			m->fade_cap = fade_cap(rec, 1, svc->members);
			m->fade_until = instance_stamp_now(i) + LASTS;
			m->live |= POISE_L_FADING;
		}
	}
}

int balancer_configure(struct instance *i, const struct row *only, struct poise_error *err)
{
	struct instance_change change;
	struct config *cfg = NULL;
	int rc = -1;

	if (instance_lock(i, err))
		return -1;
	if (!instance_load(i, &cfg, err) && !add_services(cfg, only, err) &&
	    !instance_commit(i, cfg, &change, err) && !balancer_resolve(i, cfg, err)) {
		load(i);
		fade(i, cfg);
		rc = 0;
	}
	config_free(cfg);
	instance_unlock(i);
	return rc;
}

int balancer_open(struct balancer *b, struct poise_error *err)
{
	struct instance_where where = {.name = b->name};
	struct config *cfg = config_new();
	char pin[512];
	bool created;
	int rc;

	*b = (struct balancer){.prog_fd = -1};
	remove_dead();
	snprintf(b->name, sizeof(b->name), PREFIX "%d", getpid());
	cfg->has_limits = true;
	cfg->limits.flow_slots = BALANCER_FLOW_SLOTS;
	rc = attach_load(&b->instance, &where, cfg, &created, err);
	config_free(cfg);
	if (rc)
		return -1;
	snprintf(pin, sizeof(pin), "%s/" PIN_XDP, b->instance->dir);
	b->prog_fd = bpf_obj_get(pin);
	if (b->prog_fd < 0) {
		rc = poise_fail_errno(err, "cannot open %s", pin);
		goto fail;
	}
	rc = balancer_configure(b->instance, NULL, err);
	if (!rc)
		return 0;
fail:
	balancer_close(b);
	return rc;
}

int balancer_forget(struct balancer *b, struct poise_error *err)
{
	struct poise_sweep sweep = {
		.count = b->instance->meta->flow_buckets,
		.kind = POISE_SWEEP_FORCE,
	};

	return instance_sweep_range(b->instance, &sweep, err);
}

long balancer_words(struct balancer *b)
{
	long used = 0;

	for (__u32 n = 0; n < b->instance->meta->flow_buckets; n++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++)
			used += instance_bucket(b->instance, n)->word[w] != 0;
	return used;
}

void balancer_close(struct balancer *b)
{
	struct instance_where where = {.name = b->name};

	if (b->prog_fd >= 0)
		close(b->prog_fd);
	if (b->instance)
		instance_close(b->instance);
	b->instance = NULL;
	attach_reset(&where, NULL);
}
