// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A balancer in plain memory (native.h).
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "maps/clock.h"
#include "maps/text.h"
#include "native.h"

#define HEADROOM 128
#define TAILROOM 64
#define POISON	 0xa5
#define ALIGN	 4 /* headers behind Ethernet's 14 bytes are aligned, as drivers see to */

static void must(int rc, const char *what, const struct poise_error *err)
{
	char text[1024];

	cr_assert(!rc, "%s: %s; %s", what, poise_error_text(err, text, sizeof(text)), err->remedy);
}

/* ---- configuration ----------------------------------------------------------------------------*/

static void set_nexthop(struct native *n, const struct config_service *svc,
			const struct config_member *m)
{
	const union poise_addr *source =
		poise_addr_is4(&m->conf.addr) ? svc->conf.source4 : svc->conf.source6;
	__u32 sources = 0;
	struct poise_path path = {.ifindex = NATIVE_DEVICE, .mtu = NATIVE_MTU};
	struct poise_error err = {0};
	__u8 mac[6];
	__u16 index;

	if (config_mode(svc, m) == POISE_LOCAL ||
	    (poise_addr_is4(&m->conf.addr) && m->conf.addr.b[13] == 9))
		return;
	if (poise_addr_is4(&m->conf.addr) && m->conf.addr.b[13] == 4)
		path = (struct poise_path){
			.ifindex = NATIVE_DEVICE + 1,
			.mtu = NATIVE_MTU,
			.vlans = 2,
			.vlan = {htons(202), htons(203)},
			.tpid = {htons(0x88a8), htons(0x8100)},
		};
	frame_mac("lb", path.smac);
	inet_pton(AF_INET, "10.3.0.254", &path.src4);
	inet_pton(AF_INET6, "fd03::fe", &path.src6);
	while (sources < POISE_SOURCES && !poise_addr_is_zero(&source[sources]))
		sources++;
	index = instance_path_chain(n->i, &path, source, sources, &err);
	must(!index, "path", &err);
	frame_mac("b1", mac);
	mac[5] = m->conf.addr.b[15];
	instance_set_nexthop(n->i, m->id, INSTANCE_NEXTHOP(mac, index));
}

__u16 native_open_web(struct native *n, const char *yaml, __u32 flow_slots)
{
	native_open(n, yaml, flow_slots);
	run_set_seconds(NATIVE_T0);
	return native_service(n, "web");
}

struct config_service *native_web(const struct native *n)
{
	return config_service_named(n->cfg, "web");
}

void native_commit(struct native *n)
{
	struct poise_error err = {0};

	must(instance_commit(n->i, n->cfg, NULL, &err), "commit", &err);
	for (size_t s = 0; s < n->cfg->services; s++)
		for (size_t m = 0; m < n->cfg->service[s]->members; m++)
			set_nexthop(n, n->cfg->service[s], &n->cfg->service[s]->member[m]);
}

void native_open_groups(struct native *n, const char *yaml, __u32 flow_slots, __u32 groups)
{
	struct config_limits limits = {
		.services = NATIVE_SERVICES,
		.backends = NATIVE_BACKENDS,
		.listeners = 64,
		.flow_slots = flow_slots,
		.table_slots = 1 << 18,
		.paths = 8,
		.ranges = 1024,
		.nat_groups = groups,
		.nat_low = NATIVE_PORT_LOW,
		.nat_high = NATIVE_PORT_HIGH,
	};
	struct poise_error err = {0};
	struct config *file = config_parse("native.yaml", yaml, strlen(yaml), &err);

	must(!file, "configuration", &err);
	n->i = instance_anonymous(&limits);
	must(instance_lock(n->i, &err), "lock", &err);
	must(instance_load(n->i, &n->cfg, &err), "load", &err);
	must(config_apply(n->cfg, file, 0, NULL, &err), "apply", &err);
	config_free(file);
	native_commit(n);
	run_use(n->i);
	run_set_seconds(1);
	run_set_cpu(0);
}

void native_open(struct native *n, const char *yaml, __u32 flow_slots)
{
	native_open_groups(n, yaml, flow_slots, 1);
}

void native_close(struct native *n)
{
	run_use(NULL);
	config_free(n->cfg);
	instance_close(n->i);
}

__u16 native_member(const struct native *n, const char *address)
{
	struct poise_error err = {0};
	union poise_addr a;

	must(poise_parse_addr(address, &a, &err), address, &err);
	for (size_t s = 0; s < n->cfg->services; s++)
		for (size_t m = 0; m < n->cfg->service[s]->members; m++)
			if (!poise_addr_cmp(&n->cfg->service[s]->member[m].conf.addr, &a))
				return n->cfg->service[s]->member[m].id;
	cr_assert_fail("there is no member %s", address);
	return 0;
}

__u16 native_service(const struct native *n, const char *name)
{
	struct config_service *s = config_service_named(n->cfg, name);

	cr_assert(s, "there is no service %s", name);
	return s->id;
}

struct poise_service_rec *native_record(const struct native *n, __u16 service)
{
	struct poise_service *s = &n->i->services[service];

	return &s->rec[s->active & 1];
}

/* ---- packets ----------------------------------------------------------------------------------*/

/* Through the pipeline, or, if it leaves, the program that is there. */
static int put_through(struct frame *f, bool leaves)
{
	size_t size = HEADROOM + f->length + TAILROOM;
	/* Ethernet's two odd bytes: what follows its header is then aligned. */
	__u8 *buffer = malloc(size + ALIGN), *start = buffer + ALIGN / 2;
	struct run_frame r = {
		.start = start,
		.data = start + HEADROOM,
		.end = start + HEADROOM + f->length,
		.limit = start + HEADROOM + f->length,
	};
	int verdict;

	cr_assert(buffer);
	memset(start, POISON, size);
	memcpy(r.data, f->byte, f->length);
	verdict = leaves ? run_leave(&r) : run_xdp(&r, NATIVE_DEVICE);
	f->length = (size_t)(r.end - r.data);
	memcpy(f->byte, r.data, f->length);
	free(buffer);
	return verdict;
}

int native_run(const struct native *n, struct frame *f)
{
	(void)n;
	return put_through(f, false);
}

int native_leave(const struct native *n, struct frame *out, const char *words)
{
	(void)n;
	frame_build(out, words);
	return put_through(out, true);
}

int native_send(const struct native *n, struct frame *out, const char *words)
{
	struct frame f;
	int verdict;

	frame_build(&f, words);
	verdict = native_run(n, &f);
	if (out)
		*out = f;
	return verdict;
}

__u16 native_to(const struct native *n, const char *words)
{
	__u64 before[NATIVE_BACKENDS + 1];
	__u16 to = 0;

	for (unsigned int m = 0; m < n->i->meta->members; m++)
		before[m] = native_counts(n, m).packets;
	native_send(n, NULL, words);
	for (unsigned int m = 0; m < n->i->meta->members; m++)
		if (native_counts(n, m).packets != before[m])
			to = m;
	return to;
}

/* Nobody looks at checksums. */
__u16 native_nth(const struct native *n, const char *protocol, __u32 k, const char *flags)
{
	char words[96];

	snprintf(words, sizeof(words), "ip4 10.%u.%u.%u > 10.2.0.1 | %s 1234 > %s %s",
		 1 + (k >> 16 & 63), k >> 8 & 255, k & 255, protocol,
		 *protocol == 't' ? "80" : "53", flags);
	return native_to(n, words);
}

__u8 native_flow(const struct frame *f, __u32 k, __u8 flags)
{
	static __u8 buffer[HEADROOM + FRAME_MAX + ALIGN] __attribute__((aligned(8)));
	__u8 *at = buffer + ALIGN / 2 + HEADROOM, *ip = at + ETH_HLEN, *tcp = ip + 20;
	struct run_frame r = {buffer, at, at + f->length, buffer + sizeof(buffer)};

	memcpy(at, f->byte, f->length);
	ip[13] = (__u8)(k >> 22);
	ip[14] = (__u8)(k >> 14);
	ip[15] = (__u8)(k >> 6);
	tcp[0] = (__u8)(4 + (k & 63)); /* of the source port */
	tcp[13] = flags;
	return run_xdp(&r, NATIVE_DEVICE) == XDP_TX ? r.data[5] : 0;
}

void native_beat(const struct native *n, bool runs)
{
	n->i->meta->heartbeat = runs ? clock_monotonic() : 0;
	n->i->meta->daemon_pid = (__u32)getpid();
}

#define NO_TAG 2 /* watch_tag's are odd */

void native_watch_others(const struct native *n)
{
	for (__u32 id = 1; id < n->i->meta->members; id++)
		if (n->i->members[id].flags & POISE_F_WATCHED)
			n->i->members[id].watched = NO_TAG;
}

/* ---- counts -----------------------------------------------------------------------------------*/

struct poise_counter native_counts(const struct native *n, __u16 member)
{
	const struct poise_meta *meta = n->i->meta;
	struct poise_counter sum = {0};

	for (__u32 cpu = 0; cpu < meta->cpus; cpu++) {
		const struct poise_counter *c = &n->i->counters[cpu * meta->members + member];

		sum.packets += c->packets;
		sum.bytes += c->bytes;
		sum.opened += POISE_COUNT(c->opened);
		sum.closed += POISE_COUNT(c->closed);
		for (int k = 0; k < POISE_SIGNALS; k++)
			sum.signal[k] += c->signal[k];
	}
	return sum;
}

__s64 native_gauge(const struct native *n, __u16 member)
{
	const struct poise_meta *meta = n->i->meta;
	struct poise_counter c = native_counts(n, member);
	__s64 own = 0;

	for (__u32 cpu = 0; cpu < meta->cpus; cpu++)
		own += instance_loads(n->i, cpu, member)->own;
	cr_assert_eq(own, (__s64)(c.opened - c.closed), "own of member %u", member);
	cr_assert_eq(n->i->held[member], n->i->members[member].max_conns ? own : 0,
		     "member %u: %d held, of %lld", member, n->i->held[member], own);
	return own;
}

__s64 native_live(const struct native *n, __u16 member)
{
	__s64 live = 0;

	for (__u32 b = 0; b < n->i->meta->flow_buckets; b++)
		for (int k = 0; k < POISE_BUCKET_WORDS; k++) {
			__u64 w = n->i->flows[b].word[k];
			__u32 state = POISE_WORD_STATE(w);

			live += POISE_WORD_MEMBER(w) == member && state >= POISE_FLOW_NEW &&
				state <= POISE_FLOW_EST;
		}
	return live;
}

__u64 *native_word(const struct native *n)
{
	__u64 *found = NULL;

	for (__u32 b = 0; b < n->i->meta->flow_buckets; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++) {
			if (!n->i->flows[b].word[w])
				continue;
			cr_assert(!found, "more than one flow word");
			found = &n->i->flows[b].word[w];
		}
	return found;
}

void native_sweep(const struct native *n, struct poise_sweep *io)
{
	const __u32 buckets[] = {
		[POISE_SWEEP_FLOWS] = n->i->flow_buckets,
		[POISE_SWEEP_SLOTS] = n->i->meta->groups * POISE_PORTS / POISE_BUCKET_WORDS,
	};
	struct poise_sweep sum = *io;

	for (unsigned int table = 0; table < sizeof(buckets) / sizeof(buckets[0]); table++)
		for (__u32 at = 0; at < buckets[table]; at += POISE_SWEEP_BUCKETS) {
			struct poise_sweep some = *io;

			some.beside = (__u8)table;
			some.first = at;
			some.count = POISE_SWEEP_BUCKETS;
			run_sweep(&some);
			sum.freed += some.freed;
			sum.live += some.live;
			sum.used += some.used;
		}
	*io = sum;
}
