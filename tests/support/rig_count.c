// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What packets left in a rig's maps (rig.h): counts, flows; and the maps without it. */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "maps/ports.h"
#include "maps/table.h"
#include "rig.h"

void rig_count(const struct rig *r, struct rig_counts *c)
{
	const struct poise_meta *meta = r->i->meta;
	struct poise_error err = {0};

	memset(c, 0, sizeof(*c));
	for (__u32 cpu = 0; cpu < meta->cpus; cpu++)
		for (__u32 m = 0; m < meta->members; m++) {
			const struct poise_counter *from = &r->i->counters[cpu * meta->members + m];

			c->member[m].packets += from->packets;
			c->member[m].bytes += from->bytes;
			c->member[m].opened += POISE_COUNT(from->opened);
			c->member[m].closed += POISE_COUNT(from->closed);
			for (int k = 0; k < POISE_SIGNALS; k++)
				c->member[m].signal[k] += from->signal[k];
		}
	for (__u32 s = 0; s < meta->services && s <= r->services; s++)
		place_must(instance_drops(r->i, (__u16)s, c->service[s].count, &err), "drops",
			   &err);
}

static bool count_live(void *ctx, __u64 word)
{
	__u32 state = POISE_WORD_STATE(word);
	long long *live = ctx;

	cr_assert(POISE_WORD_MEMBER(word) <= RIG_BACKENDS);
	live[POISE_WORD_MEMBER(word)] += state >= POISE_FLOW_NEW && state <= POISE_FLOW_EST;
	return true;
}

void rig_expect_recount(const struct rig *r, const char *when)
{
	static long long live[RIG_BACKENDS + 1];
	static struct rig_counts c;
	const struct poise_meta *meta = r->i->meta;

	memset(live, 0, sizeof(live));
	instance_flows(r->i, count_live, live);
	rig_count(r, &c);
	for (__u32 m = 1; m < meta->members; m++) {
		long long gauge = (long long)(c.member[m].opened - c.member[m].closed), own = 0;
		long long held = r->i->members[m].max_conns ? live[m] : 0;

		for (__u32 cpu = 0; cpu < meta->cpus; cpu++)
			own += instance_loads(r->i, cpu, m)->own;
		cr_expect(gauge == live[m], "%s: member %u: gauge %lld, recount %lld", when, m,
			  gauge, live[m]);
		cr_expect(own == live[m], "%s: member %u: own %lld, recount %lld", when, m, own,
			  live[m]);
		cr_expect(r->i->held[m] == held, "%s: member %u: held %d, not %lld", when, m,
			  r->i->held[m], held);
	}
}

void rig_refill(const struct rig *r)
{
	__u32 key = 0;

	cr_assert(!bpf_map_update_elem(r->limits, &key, r->rest, BPF_ANY), "%s", strerror(errno));
}

/* Every port that slots may have is free again; only those are looked at, for millions are not
 * nothing. */
static void forget_slots(struct instance *i)
{
	const struct poise_bucket *barred = &i->ports[i->meta->groups * POISE_PORT_VALUES];

	for (__u32 group = 0; group < i->meta->groups; group++) {
		struct poise_bucket *bits = &i->ports[group * POISE_PORT_VALUES];

		memcpy(bits, barred, POISE_PORTS / 8);
		for (__u32 w = 0; w < POISE_PORT_WORDS; w++)
			if (~*instance_ports_word(i, group, w))
				*instance_ports_word(i, group, POISE_PORT_WORDS + w / 64) |=
					1ull << (w % 64);
		for (__u32 p = i->meta->nat_low; p <= i->meta->nat_high; p++)
			i->slots[group * POISE_PORTS + p].head = 0;
	}
	if (i->meta->groups)
		memset(i->links, 0, POISE_LINK_BUCKETS(i->meta->groups) * sizeof(*i->links));
}

void rig_forget(struct rig *r)
{
	instance_map_all(r->i);
	memset(r->i->flows, 0, r->i->flow_buckets * sizeof(struct poise_bucket));
	memset(r->i->fragments, 0, POISE_FRAGMENT_BUCKETS * sizeof(struct poise_bucket));
	forget_slots(r->i);
}

__u64 *rig_word(const struct rig *r)
{
	__u64 *found = NULL;

	for (__u32 b = 0; b < r->i->flow_buckets; b++)
		for (int w = 0; w < POISE_BUCKET_WORDS; w++) {
			__u64 *word = &instance_bucket(r->i, b)->word[w];

			if (!*word)
				continue;
			cr_assert(!found, "more than one flow word");
			found = word;
		}
	return found;
}
