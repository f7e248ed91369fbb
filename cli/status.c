// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise status: is all well? What is attached and how, whether poised runs, how full the maps are,
 * whether the boot file still says what is in force. Problems make it "degraded" and the exit
 * status 3; notes do not.
 */
#include "status.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../loader/net/gate.h"
#include "attached.h"
#include "../maps/aging.h"
#include "../maps/clock.h"
#include "../maps/hash.h"
#include "../maps/ports.h"

#define FULL_AT 0.8 /* of a limit: time to think about a larger one */

#define PRESSED_LATELY 60 /* seconds: what is over for longer is history, which stats tells */

void remark(struct remarks *r, const char *fmt, ...)
{
	va_list ap;

	if (r->n == REMARKS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(r->text[r->n++], sizeof(r->text[0]), fmt, ap);
	va_end(ap);
}

static void gather_usage(const struct cli *c, struct status *s)
{
	const struct poise_meta *m = c->instance->meta;

	s->services = (struct usage){"services", c->config->services, m->services - 1};
	s->backends = (struct usage){"backends", 0, m->members - 1};
	s->table = (struct usage){"table slots", 0, m->table_slots};
	s->flows = (struct usage){"flow slots", m->flows_used,
				  (__u64)m->flow_buckets * POISE_BUCKET_WORDS};
	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];
		const struct poise_service *live = &c->instance->services[svc->id];

		s->backends.used += svc->members;
		s->table.used += live->rec[live->active & 1].table_size +
				 live->rec[live->active & 1].base_size;
	}
}

/* Backends have a group of ports each: how full all of them are together says little. */
static void gather_ports(const struct cli *c, struct status *s)
{
	const struct instance *i = c->instance;

	s->translates = i->meta->nat_ports;
	if (!s->translates)
		return;
	s->ports = (struct usage){"nat ports", 0, instance_ports_free(i)};
	for (__u32 group = 0; group < i->meta->groups; group++) {
		struct port_use use = instance_port_use(i, group);

		s->ports_refused += use.refused;
		if (use.used <= s->ports.used)
			continue;
		s->ports.used = use.used;
		s->group = group;
	}
}

static __u64 words_beside(const struct instance *i)
{
	__u64 words = 0;

	for (__u32 b = i->flow_buckets; b < instance_table_buckets(i); b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++)
			words += instance_bucket(i, b)->word[w] != 0;
	return words;
}

static void gather_tracking(const struct cli *c, struct status *s)
{
	const struct poise_meta *m = c->instance->meta;
	__u64 beside;

	for (size_t i = 0; i < c->config->services; i++) {
		struct aging_counts n;

		aging_count(c->instance, c->config->service[i]->id, &n);
		if (config_records_all(&c->config->service[i]->conf))
			continue;
		s->slots += n.base ? n.slots : n.differing + n.mixed;
		s->unsettled += n.base || n.differing || n.mixed;
	}
	beside = words_beside(c->instance);
	if (c->instance->beside_buckets)
		remark(&s->notes,
		       "the flow table is being resized: %llu flow%s not moved from the old one",
		       beside, beside == 1 ? " has" : "s have");
	s->pressed_ago = instance_stamp_now(c->instance) - m->pressure;
	s->pressed = m->pressure && s->pressed_ago <= PRESSED_LATELY;
	if (s->pressed)
		remark(&s->notes,
		       "new flows lost their records for want of flow slots, %u s ago at last "
		       "(poise stats: flow-evicted)",
		       s->pressed_ago);
}

static void judge_usage(struct status *s, const struct usage *u)
{
	if (u->limit && (double)u->used >= FULL_AT * (double)u->limit)
		remark(&s->problems, "%s: %llu of %llu in use (%s)", u->what, u->used, u->limit,
		       u == &s->flows ? "poise map resize flows N"
		       : u == &s->ports
			       ? "by flows of one group (poise stats); another source "
				 "address, or more backends, have others"
			       : "limits in the boot file count when the maps are created");
}

#define NAMED_SERVICES 5 /* problems of one kind that are told one by one */

static void judge_services(const struct cli *c, struct status *s)
{
	size_t unresolved = 0, ejected = 0, without = 0;

	for (size_t i = 0; i < c->config->services; i++) {
		const struct config_service *svc = c->config->service[i];
		struct ladder ladder = instance_ladder(c->instance, svc);
		size_t up = 0;

		for (size_t k = 0; k < svc->members; k++) {
			const char *state =
				instance_member_state(c->instance, svc, &svc->member[k]);

			up += !strncmp(state, "up", 2);
			unresolved += !strncmp(state, "unresolved", 10);
			ejected += !strcmp(state, "ejected");
		}
		if (ladder_panics(&ladder))
			remark(&s->problems,
			       "service %s: panic, too few of its backends are up "
			       "(poise show %s)",
			       svc->conf.name, svc->conf.name);
		if (ladder_below(&ladder))
			remark(&s->problems,
			       "service %s: below its minimum, %u up of the %u that it needs "
			       "(poise show %s)",
			       svc->conf.name, ladder.at[POISE_RANK_UP], ladder_enough(&ladder),
			       svc->conf.name);
		if (!up && config_members_in(svc) && without++ < NAMED_SERVICES)
			remark(&s->problems,
			       "service %s: none of its backends is up (poise show %s)",
			       svc->conf.name, svc->conf.name);
	}
	if (without > NAMED_SERVICES)
		remark(&s->problems, "and of %zu more services", without - NAMED_SERVICES);
	if (ejected)
		remark(&s->notes, "%zu backend%s ejected (poise show)", ejected,
		       ejected == 1 ? " is" : "s are");
	if (unresolved)
		remark(&s->notes, "%zu backend%s no next hop (poise show)", unresolved,
		       unresolved == 1 ? " has" : "s have");
}

#define NAMED_ADDRESSES 3 /* mostly one cause withdraws them all */

/* No problem in itself: other balancers have them, and what caused it is told as such. */
static void judge_addresses(const struct cli *c, struct status *s)
{
	char text[POISE_ADDR_TEXT], age[32];
	__u64 now = cli_now();

	for (size_t i = 0; i < c->config->addresses; i++) {
		const struct config_address *a = &c->config->address[i];
		__u64 since = a->conf.announced_since;

		if (config_address_leaving(a) || !a->conf.device[0])
			continue;
		s->claimed++;
		if (!config_address_withdrawn(a) || s->withdrawn++ >= NAMED_ADDRESSES)
			continue;
		remark(&s->notes, "address %s has been withdrawn from %s for %s: %s",
		       poise_format_addr(&a->conf.addr, text, sizeof(text)), a->conf.device,
		       poise_format_age(now > since ? (now - since) / NS_PER_S : 0, age,
					sizeof(age)),
		       config_address_why(a->conf.announced));
	}
	if (s->withdrawn > NAMED_ADDRESSES)
		remark(&s->notes, "and %zu more addresses (poise address list)",
		       s->withdrawn - NAMED_ADDRESSES);
}

/* What applying the boot file would change: somebody changed by hand what came from it. */
static void count_difference(void *ctx, char sign, const char *line)
{
	/* A device attached by hand is no drift: apply would leave it. */
	if (sign != '-' || strncmp(line, "interface ", 10))
		(*(size_t *)ctx)++;
}

static void judge_boot_file(const struct cli *c, struct status *s)
{
	const struct poise_meta *m = c->instance->meta;
	struct poise_error err = {0};
	struct config *file, *after;
	char text[600];

	cli_boot_file(c, s->boot_file, sizeof(s->boot_file));
	s->boot_applied = m->boot_applied;
	snprintf(s->boot_error, sizeof(s->boot_error), "%s", (const char *)m->boot_error);
	if (s->boot_error[0])
		remark(&s->problems, "the boot file could not be applied: %s", s->boot_error);
	if (access(s->boot_file, R_OK))
		return;
	file = config_read(s->boot_file, &err);
	after = file ? config_clone(c->config) : NULL;
	if (!file || config_apply(after, file, 0, NULL, &err)) {
		remark(&s->problems, "the boot file is wrong: %s",
		       poise_error_text(&err, text, sizeof(text)));
	} else {
		s->boot_read = true;
		config_diff(c->config, after, count_difference, &s->drift);
	}
	for (size_t i = 0; file && i < c->config->services; i++)
		s->by_hand += c->config->service[i]->conf.r.owner == POISE_OWNER_HAND &&
			      !config_service_named(file, c->config->service[i]->conf.name);
	if (s->drift || s->by_hand)
		remark(&s->notes, "what is in force differs from the boot file (poise diff)");
	config_free(after);
	config_free(file);
}

static void judge_gone(void *ctx, const char *device)
{
	struct status *s = ctx;

	remark(&s->problems, "%s: poise was attached to it, and it is gone (poise detach %s)",
	       device, device);
}

struct uncut {
	struct status *s;
	bool counted; /* XDP knows, and drops them */
};

static void judge_uncut(void *ctx, const char *device)
{
	const struct uncut *u = ctx;

	remark(&u->s->problems,
	       "%s: TC ingress lacks the program that cuts packets in two: IPv4 packets too big "
	       "for "
	       "the path, without DF, are %s (tc filter show dev %s ingress)",
	       device, u->counted ? "dropped as too-big" : "lost and not counted", device);
}

static void judge_cuts(const struct cli *c, struct status *s)
{
	struct uncut u = {s, !attach_filters_all(c->instance, ATTACH_CUT)};

	if (attach_filters_lacking(c->instance, ATTACH_CUT, judge_uncut, &u) < 0)
		remark(&s->notes, "this kernel does not run the program that cuts packets in two: "
				  "IPv4 packets too big for the path are dropped");
}

static void judge_unprobed(void *ctx, const char *device)
{
	struct status *s = ctx;

	remark(&s->problems,
	       "%s: TC lacks the programs that health checks take clients' way by: they go the "
	       "host's own way (tc filter show dev %s egress, ingress)",
	       device, device);
}

static void judge_probes(const struct cli *c, struct status *s)
{
	if (attach_filters_lacking(c->instance, ATTACH_PROBE, judge_unprobed, s) < 0)
		remark(&s->notes, "this kernel does not run the programs that health checks take "
				  "clients' way by: they go the host's own way");
}

/* Whether the kernel gives such ports to whoever asks for any: the range of a sysctl, or none. */
static bool takes_probe_ports(void)
{
	FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
	FILE *reserved = fopen("/proc/sys/net/ipv4/ip_local_reserved_ports", "re");
	unsigned int first = 0, last = 0, from, to;
	bool takes;

	takes = range && fscanf(range, "%u %u", &first, &last) == 2 && last >= POISE_PROBE_PORT;
	while (takes && reserved && fscanf(reserved, "%u-%u", &from, &to) == 2) {
		takes = from > POISE_PROBE_PORT || to < last;
		fgetc(reserved); /* a comma */
	}
	if (range)
		fclose(range);
	if (reserved)
		fclose(reserved);
	return takes;
}

static bool checks_by_path(const struct config_service *svc)
{
	union poise_addr address;
	const char *why;

	for (size_t m = 0; m < svc->members; m++)
		if (config_check_path(svc, &svc->member[m], &address, &why))
			return true;
	return false;
}

static void judge_ports(const struct cli *c, struct status *s)
{
	const unsigned int last = POISE_PROBE_PORT + POISE_PROBE_PORTS - 1;

	for (size_t k = 0; k < c->config->services; k++) {
		if (!checks_by_path(c->config->service[k]))
			continue;
		if (takes_probe_ports())
			remark(&s->notes,
			       "ports %u to %u, which health checks are sent from, are also given "
			       "to "
			       "others (net.ipv4.ip_local_port_range): sysctl -w "
			       "net.ipv4.ip_local_reserved_ports=%u-%u",
			       POISE_PROBE_PORT, last, POISE_PROBE_PORT, last);
		return;
	}
}

static void judge_devices(const struct cli *c, struct status *s)
{
	for (int i = 0; i < s->devices; i++) {
		if (s->device[i].warning[0])
			remark(&s->notes, "%s: %s", s->device[i].device, s->device[i].warning);
	}
	attach_gone(c->instance, judge_gone, s);
	judge_cuts(c, s);
	judge_probes(c, s);
	judge_stack(c, s);
	judge_ports(c, s);
	if (s->devices)
		return;
	if (c->config->services)
		remark(&s->problems, "attached to no device: no packet is balanced (poise attach "
				     "DEV)");
	else
		remark(&s->notes, "attached to no device yet (poise attach DEV)");
}

/* Enough to tell two balancers' keys apart, far too little to find the key from it. */
static void fingerprint(const struct poise_meta *m, char text[16])
{
	__u64 mixed = poise_mix(poise_mix(m->hash_key[0] ^ POISE_GOLD) + m->hash_key[1]);

	snprintf(text, 16, "%08x", (unsigned int)(mixed >> 32));
}

static int gather(struct cli *c, struct status *s)
{
	const struct poise_meta *m;

	memset(s, 0, sizeof(*s));
	if (cli_read(c) || attach_interfaces(c))
		return -1;
	m = c->instance->meta;
	s->devices = attach_list(c->instance, &s->device, &c->error);
	if (s->devices < 0)
		return -1;
	s->daemon = instance_daemon_runs(c->instance);
	s->pid = m->daemon_pid;
	s->daemon_since = m->daemon_since;
	fingerprint(m, s->fingerprint);
	gather_usage(c, s);
	gather_ports(c, s);
	gather_stack(c, s);
	gather_tracking(c, s);
	if (!s->daemon)
		remark(&s->problems, "poised is not running: next hops and rates are not kept "
				     "(systemctl start poised)");
	judge_devices(c, s);
	judge_services(c, s);
	judge_addresses(c, s);
	judge_usage(s, &s->services);
	judge_usage(s, &s->backends);
	judge_usage(s, &s->table);
	judge_usage(s, &s->flows);
	judge_usage(s, &s->ports);
	judge_boot_file(c, s);
	status_cluster(c, s);
	return 0;
}

int cmd_status(struct cli *c)
{
	struct status *s = calloc(1, sizeof(*s));
	int status = -1;

	if (!s)
		abort();
	if (!cli_no_more(c) && !gather(c, s)) {
		if (c->json)
			status_json(c, s);
		else
			status_text(c, s);
		status = s->problems.n ? CLI_NO : CLI_OK;
	}
	free(s->device);
	free(s);
	return status;
}
