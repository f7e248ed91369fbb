// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checking mode nat: of every port, its slot and its bit say the same; a slot in use is where
 * answers to its flow are looked for, and one link leads its client's packets there; every link
 * leads to the slot of a flow that has it; no flow has two.
 *
 * Packets go on meanwhile, and change these one after the other: a port is taken before its slot is
 * filled, and found before its link is there. So whatever looks wrong is looked at again, and told
 * if it is wrong each time: no packet is on its way for so long.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "hash.h"
#include "memory.h"
#include "ports.h"
#include "table.h"
#include "text.h"

#define LOOKS	   10	      /* in all, ... */
#define LOOK_APART 10000000ul /* ... so many ns apart: a virtual CPU may be held up for long */

/* Something that has looked wrong so far. */
struct suspect {
	/* What is wrong with entry `at`, as the rest of a sentence; NULL: nothing. */
	const char *(*wrong)(const struct instance *i, __u32 at);
	__u32 at;
};

struct suspects {
	struct suspect *s;
	size_t n, room;
};

/* ---- slots ------------------------------------------------------------------------------------*/

static __u64 head_of(const struct instance *i, __u32 at)
{
	return __atomic_load_n(&instance_slots(i, at, 1)->head, __ATOMIC_ACQUIRE);
}

static bool is_found(__u64 head)
{
	return POISE_WORD_STATE(head) >= POISE_FLOW_NEW && POISE_WORD_STATE(head) <= POISE_FLOW_RST;
}

static __u64 ports_of(const struct instance *i, __u32 map, __u32 word)
{
	return __atomic_load_n(instance_ports_word(i, map, word), __ATOMIC_ACQUIRE);
}

static bool has_bit(const struct instance *i, __u32 map, __u32 port)
{
	return ports_of(i, map, port / 64) >> (port % 64) & 1;
}

static __u8 proto_of(__u64 head)
{
	return POISE_WORD_TAG(head) & POISE_TAG_UDP ? IPPROTO_UDP : IPPROTO_TCP;
}

/* Of the flow that the slot has or had. */
static __u64 hash_of(const struct instance *i, __u32 at, __u64 head)
{
	const struct poise_slot *s = instance_slots(i, at, 1);
	const __u64 *key = i->meta->hash_key;

	return poise_flow_hash(&s->client, &s->address, s->ports, proto_of(head), key[0], key[1]);
}

static __u32 bucket_of(const struct instance *i, __u64 hash)
{
	return (__u32)hash & (POISE_LINK_BUCKETS(i->meta->groups) - 1);
}

static __u64 link_at(const struct instance *i, __u32 at)
{
	return __atomic_load_n(&i->links[at / POISE_BUCKET_WORDS].word[at % POISE_BUCKET_WORDS],
			       __ATOMIC_ACQUIRE);
}

/* Does it go by the host's stack (bpf/sent.h), and its answers are found by a link? */
static bool is_local(const struct instance *i, __u32 at, __u64 head)
{
	const union poise_addr *source = &instance_ways(i, at, 1)->source;
	const struct poise_slot *s = instance_slots(i, at, 1);
	__u32 id = POISE_WORD_MEMBER(head);

	if (id >= i->meta->members)
		return false;
	if (i->members[id].mode == POISE_LOCAL)
		return memcmp(source, &s->address, sizeof(*source)) != 0;
	return poise_addr_is_zero(source) || !memcmp(source, &s->client, sizeof(*source));
}

/* Of what its packets become: answers of mode local are found by that. */
static __u64 sent_hash_of(const struct instance *i, __u32 at, __u64 head)
{
	const struct poise_member *m = &i->members[POISE_WORD_MEMBER(head)];
	__u16 port = m->port ? m->port : (__u16)(instance_slots(i, at, 1)->ports >> 16);
	const __u64 *key = i->meta->hash_key;
	union poise_addr source;
	__u16 from = instance_slot_source(i, at, &source);

	return poise_flow_hash(&source, &m->addr, from | (__u32)port << 16, proto_of(head), key[0],
			       key[1]);
}

static bool has_link(const struct instance *i, __u32 at, __u64 hash)
{
	__u32 first = bucket_of(i, hash) * POISE_BUCKET_WORDS;

	for (__u32 k = 0; k < POISE_BUCKET_WORDS; k++)
		if (link_at(i, first + k) == POISE_LINK(hash, at))
			return true;
	return false;
}

/* Where answers of the backend are looked for. */
static __u32 group_of(const struct instance *i, __u32 at, __u64 head)
{
	const struct poise_member *m = &i->members[POISE_WORD_MEMBER(head)];
	__u16 port = m->port ? m->port : (__u16)(instance_slots(i, at, 1)->ports >> 16);
	const __u64 *key = i->meta->hash_key;

	return poise_port_group(&m->addr, port, proto_of(head), &instance_ways(i, at, 1)->source,
				i->meta->groups, key[0], key[1]);
}

/* Of a flow whose backend is gone the next sweep takes care; one that never was, check_flows.c
 * tells of. */
static const char *flow_wrong(const struct instance *i, __u32 at, __u64 head)
{
	__u32 id = POISE_WORD_MEMBER(head);

	if (id < i->meta->members && i->members[id].service) {
		if (i->members[id].service != instance_slots(i, at, 1)->service)
			return "has a flow of another service than its backend's";
		if (is_local(i, at, head)) {
			if (!has_link(i, at, sent_hash_of(i, at, head)))
				return "has a flow whose answers no link leads to it";
		} else if (group_of(i, at, head) != at / POISE_PORTS) {
			return "has a flow whose answers are looked for in another group";
		}
	}
	return has_link(i, at, hash_of(i, at, head)) ? NULL : "has a flow that no link leads to";
}

static const char *slot_wrong(const struct instance *i, __u32 at)
{
	bool taken = has_bit(i, at / POISE_PORTS, at % POISE_PORTS);
	bool barred = has_bit(i, i->meta->groups + POISE_PORTS_BARRED, at % POISE_PORTS);
	__u64 head = head_of(i, at);
	__u32 state = POISE_WORD_STATE(head);

	if (!taken && barred)
		return "is barred, but counts as free";
	if (state == POISE_FLOW_FREE)
		return taken && !barred ? "counts as taken, but has no flow" : NULL;
	if (!taken)
		return "has a flow, but counts as free";
	if (state == POISE_SLOT_FILLING)
		return "was taken for a flow that has not begun";
	return is_found(head) ? flow_wrong(i, at, head) : NULL;
}

/* Of the ports of a word: group * POISE_PORT_WORDS + word. */
static const char *summary_wrong(const struct instance *i, __u32 at)
{
	__u32 group = at / POISE_PORT_WORDS, word = at % POISE_PORT_WORDS;
	__u64 sum = ports_of(i, group, POISE_PORT_WORDS + word / 64);

	return ~ports_of(i, group, word) && !(sum >> (word % 64) & 1)
		       ? "are not all taken, but the summary says so"
		       : NULL;
}

/* ---- links ------------------------------------------------------------------------------------*/

static bool same_flow(const struct instance *i, __u32 a, __u32 b)
{
	const struct poise_slot *x = instance_slots(i, a, 1), *y = instance_slots(i, b, 1);
	__u64 one = head_of(i, a), other = head_of(i, b);

	return is_found(one) && is_found(other) && proto_of(one) == proto_of(other) &&
	       x->ports == y->ports && !memcmp(&x->client, &y->client, sizeof(x->client)) &&
	       !memcmp(&x->address, &y->address, sizeof(x->address));
}

/* Against those before it in its bucket, where all links are that its flow's packets could go by.
 * The two of a flow of mode local are here both if chance will have it: they differ by their tags.
 */
static const char *twin_wrong(const struct instance *i, __u32 at, __u64 link)
{
	__u32 slot = POISE_LINK_SLOT(link);

	for (__u32 k = at - at % POISE_BUCKET_WORDS; k < at; k++) {
		__u64 other = link_at(i, k);
		__u32 its = POISE_LINK_SLOT(other);

		if (!other || its >= i->meta->groups * POISE_PORTS)
			continue;
		if (other == link)
			return "leads where another link leads";
		if (its != slot && same_flow(i, its, slot))
			return "leads to a flow that has another slot";
	}
	return NULL;
}

static bool leads(const struct instance *i, __u32 at, __u64 link, __u64 hash)
{
	return bucket_of(i, hash) == at / POISE_BUCKET_WORDS &&
	       POISE_LINK_TAG(hash) == POISE_LINK_TAG(link);
}

static const char *link_wrong(const struct instance *i, __u32 at)
{
	__u64 link = link_at(i, at), head;
	__u32 slot = POISE_LINK_SLOT(link);

	if (!link)
		return NULL;
	if (slot >= i->meta->groups * POISE_PORTS)
		return "leads to no slot";
	head = head_of(i, slot);
	/* One that rests is still its last flow's, whose client may go on sending. */
	if (!is_found(head) && POISE_WORD_STATE(head) != POISE_SLOT_REST)
		return "leads to a port that has no flow";
	if (!leads(i, at, link, hash_of(i, slot, head)) &&
	    !(is_local(i, slot, head) && leads(i, at, link, sent_hash_of(i, slot, head))))
		return "leads to the port of another flow";
	return twin_wrong(i, at, link);
}

/* ---- all --------------------------------------------------------------------------------------*/

static void look(const struct instance *i, struct suspects *all,
		 const char *(*wrong)(const struct instance *i, __u32 at), __u32 entries)
{
	for (__u32 at = 0; at < entries; at++) {
		if (!wrong(i, at))
			continue;
		all->s = memory_grow(all->s, all->n, &all->room, sizeof(*all->s));
		all->s[all->n++] = (struct suspect){wrong, at};
	}
}

/* Acquits those that are right now. */
static void look_again(const struct instance *i, struct suspects *all)
{
	const struct timespec apart = {.tv_nsec = LOOK_APART};
	size_t left = 0;

	nanosleep(&apart, NULL);
	for (size_t k = 0; k < all->n; k++)
		if (all->s[k].wrong(i, all->s[k].at))
			all->s[left++] = all->s[k];
	all->n = left;
}

static void tell(struct check *c, const struct suspect *s)
{
	const char *why = s->wrong(c->i, s->at);
	__u32 word = s->at % POISE_PORT_WORDS;
	__u64 link;

	if (!why)
		return;
	if (s->wrong == slot_wrong) {
		check_say(c, "slots", "port %u of group %u %s", s->at % POISE_PORTS,
			  s->at / POISE_PORTS, why);
	} else if (s->wrong == summary_wrong) {
		check_say(c, "ports", "ports %u to %u of group %u %s", word * 64, word * 64 + 63,
			  s->at / POISE_PORT_WORDS, why);
	} else {
		link = link_at(c->i, s->at);
		check_say(c, "links", "word %u of bucket %u, for port %u of group %u, %s",
			  s->at % POISE_BUCKET_WORDS, s->at / POISE_BUCKET_WORDS,
			  POISE_LINK_SLOT(link) % POISE_PORTS, POISE_LINK_SLOT(link) / POISE_PORTS,
			  why);
	}
}

void check_slots(struct check *c)
{
	const struct instance *i = c->i;
	__u32 groups = i->meta->groups;
	struct suspects all = {0};

	if (!instance_links(i))
		return;
	look(i, &all, slot_wrong, groups * POISE_PORTS);
	look(i, &all, link_wrong, POISE_LINK_BUCKETS(groups) * POISE_BUCKET_WORDS);
	if (i->meta->nat_ports) /* till then no port was free, and none was asked for */
		look(i, &all, summary_wrong, groups * POISE_PORT_WORDS);
	/* An anonymous instance has no packets but those of whoever calls. */
	for (int n = 1; n < LOOKS && all.n && !i->anonymous; n++)
		look_again(i, &all);
	for (size_t k = 0; k < all.n; k++)
		tell(c, &all.s[k]);
	free(all.s);
}
