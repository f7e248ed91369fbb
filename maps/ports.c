// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ports of mode nat. What is wanted is stored aside; the sweeper's program, which alone changes
 * bits that packets take, then brings it into force word by word (bpf/sweep.h).
 */
#include <arpa/inet.h>
#include <string.h>

#include "check.h"
#include "derive.h"
#include "ports.h"
#include "sizes.h"
#include "store.h"
#include "table.h"

__u64 *instance_ports_word(const struct instance *i, __u32 map, __u32 word)
{
	return &i->ports[map * POISE_PORT_VALUES + word / POISE_BUCKET_WORDS]
			.word[word % POISE_BUCKET_WORDS];
}

static __u64 *bitmap(const struct instance *i, enum poise_ports which, __u32 word)
{
	return instance_ports_word(i, i->meta->groups + which, word);
}

static void bar(__u64 wanted[POISE_PORT_WORDS], __u32 port)
{
	wanted[port / 64] |= 1ull << (port % 64);
}

/* What is to be barred; the number of services that translate. */
static __u32 ports_wanted(const struct instance *i, __u64 wanted[POISE_PORT_WORDS])
{
	const struct poise_meta *meta = i->meta;
	__u32 services = 0;

	for (__u32 w = 0; w < POISE_PORT_WORDS; w++)
		wanted[w] = *bitmap(i, POISE_PORTS_HOST, w);
	for (__u32 port = 0; port < POISE_PORTS; port++)
		if (port < meta->nat_low || port > meta->nat_high)
			bar(wanted, port);
	/* Of a flow from there an answer could not be told from that to a health check. */
	for (__u32 n = 0; n < POISE_PROBE_PORTS; n++)
		bar(wanted, POISE_PROBE_PORT + n);
	for (__u32 id = 1; id < meta->services; id++) {
		const struct poise_service_conf *conf = store_service(i, id);

		if (conf->r.state != POISE_REC_USED)
			continue;
		services += config_translates(conf->forward);
		for (int l = 0; l < conf->listeners; l++)
			bar(wanted, ntohs(conf->listener[l].port));
	}
	return services;
}

/* As bpf/sweep.h, where nobody takes ports meanwhile. */
static void settle_memory(struct instance *i)
{
	for (__u32 w = 0; w < POISE_PORT_WORDS; w++) {
		__u64 *barred = bitmap(i, POISE_PORTS_BARRED, w), was = *barred;

		*barred = *bitmap(i, POISE_PORTS_WANTED, w);
		for (__u32 group = 0; group < i->meta->groups; group++) {
			const struct poise_slot *slot = &i->slots[group * POISE_PORTS + w * 64];
			__u64 *bits = instance_ports_word(i, group, w);
			__u64 *sum = instance_ports_word(i, group, POISE_PORT_WORDS + w / 64);

			*bits |= *barred;
			for (int k = 0; k < 64; k++)
				if ((was & ~*barred) >> k & 1 && !POISE_WORD_STATE(slot[k].head))
					*bits &= ~(1ull << k);
			*sum = (*sum & ~(1ull << (w % 64))) | (__u64)(*bits != ~0ull) << (w % 64);
		}
	}
}

static void settle(struct instance *i)
{
	struct poise_sweep io = {.count = POISE_PORT_WORDS, .kind = POISE_SWEEP_PORTS};

	/* Without the sweeper `map check` says what is not in force. */
	if (i->anonymous)
		settle_memory(i);
	else
		sweep_run(i, &io, NULL);
}

static bool differs(const struct instance *i, enum poise_ports which,
		    const __u64 wanted[POISE_PORT_WORDS])
{
	for (__u32 w = 0; w < POISE_PORT_WORDS; w++)
		if (*bitmap(i, which, w) != wanted[w])
			return true;
	return false;
}

/* How many backends are of mode local. */
static __u32 locals(const struct instance *i)
{
	__u32 n = 0;

	for (__u32 id = 1; id < i->meta->members; id++) {
		const struct poise_member_conf *m = store_member(i, id);

		if (m->r.state != POISE_REC_USED && m->r.state != POISE_REC_LEAVING)
			continue;
		n += (m->forward_set ? m->forward : store_service(i, m->service)->forward) ==
		     POISE_LOCAL;
	}
	return n;
}

/* To count them, all backends are looked at, which takes milliseconds: only where there are some,
 * or what was changed may have brought the first. */
static bool has_locals(const struct instance *i, const struct derive_list *dirty)
{
	bool has = i->meta->locals;

	for (size_t s = 0; s < dirty->services && !has; s++)
		has = store_service(i, dirty->service[s])->forward == POISE_LOCAL;
	for (size_t m = 0; m < dirty->members && !has; m++) {
		const struct poise_member_conf *conf = store_member(i, dirty->member[m]);

		has = conf->forward_set && conf->forward == POISE_LOCAL;
	}
	return has;
}

void derive_ports(struct instance *i, const struct derive_list *dirty)
{
	__u64 wanted[POISE_PORT_WORDS];
	__u32 services;

	if (!i->meta->groups)
		return;
	services = ports_wanted(i, wanted);
	if (services && differs(i, POISE_PORTS_BARRED, wanted)) {
		for (__u32 w = 0; w < POISE_PORT_WORDS; w++)
			store64(bitmap(i, POISE_PORTS_WANTED, w), wanted[w]);
		settle(i);
	}
	if (has_locals(i, dirty))
		store32(&i->meta->locals, locals(i));
	store32(&i->meta->nat_ports,
		services ? POISE_PORT_RANGE(i->meta->nat_low, i->meta->nat_high) : 0);
}

void instance_host_ports(struct instance *i, const __u64 used[POISE_PORT_WORDS])
{
	bool began;

	if (!i->meta->groups || !differs(i, POISE_PORTS_HOST, used))
		return;
	began = store_begin(i);
	for (__u32 w = 0; w < POISE_PORT_WORDS; w++)
		store64(bitmap(i, POISE_PORTS_HOST, w), used[w]);
	derive_ports(i, &(struct derive_list){0});
	store_end(i, began);
}

__u32 instance_ports_free(const struct instance *i)
{
	__u32 n = 0;

	for (__u32 w = 0; i->meta->groups && w < POISE_PORT_WORDS; w++)
		n += (__u32)__builtin_popcountll(~*bitmap(i, POISE_PORTS_BARRED, w));
	return n;
}

/* As slot_closed (bpf/slots.h): over for both ends, or reset. */
static bool is_over(__u64 head)
{
	__u32 state = POISE_WORD_STATE(head);

	return state == POISE_SLOT_REST || state == POISE_FLOW_RST ||
	       (state == POISE_FLOW_FIN && (head & POISE_SLOT_FINS) == POISE_SLOT_FINS);
}

struct port_use instance_port_use(const struct instance *i, __u32 group)
{
	struct port_use use = {
		.refused = *bitmap(i, POISE_PORTS_REFUSED, group),
	};

	for (__u32 w = 0; w < POISE_PORT_WORDS; w++) {
		__u64 taken =
			*instance_ports_word(i, group, w) & ~*bitmap(i, POISE_PORTS_BARRED, w);

		for (; taken; taken &= taken - 1) {
			__u32 port = w * 64 + (__u32)__builtin_ctzll(taken);

			if (is_over(instance_slots(i, group * POISE_PORTS + port, 1)->head))
				use.resting++;
			else
				use.used++;
		}
	}
	return use;
}

void check_ports(struct check *c)
{
	__u64 wanted[POISE_PORT_WORDS];
	const struct poise_meta *meta = c->i->meta;
	__u32 services = meta->groups ? ports_wanted(c->i, wanted) : 0;
	__u32 range = services ? POISE_PORT_RANGE(meta->nat_low, meta->nat_high) : 0;
	__u32 local = meta->groups ? locals(c->i) : 0;

	if (meta->locals != local)
		check_say(c, "meta", "backends of mode local are %u, not %u", meta->locals, local);
	if (meta->nat_ports != range)
		check_say(c, "meta", "ports of mode nat are 0x%08x, not 0x%08x", meta->nat_ports,
			  range);
	for (__u32 w = 0; services && w < POISE_PORT_WORDS; w++)
		if (*bitmap(c->i, POISE_PORTS_BARRED, w) != wanted[w])
			check_say(c, "ports",
				  "ports %u to %u: not those that slots may have are "
				  "barred",
				  w * 64, w * 64 + 63);
}
