/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slots of translated flows (maps/nat.h): which ports are free, who has one, and how it goes.
 *
 * A slot is taken by its bit in the group's bitmap, filled while nobody can find it, and published
 * by a swap of its head, which also counts the flow. Ports are handed out in turn, each CPU from
 * where it stopped, so the one that has been free for longest comes first. A flow that is over
 * leaves a slot that rests: the backend may still have the old connection in TIME_WAIT. Only the
 * sweeper takes it back; a resting slot is filled anew only when its group has no other, and only
 * if neither end can hold the old connection half open: it was reset, or the last FIN was
 * acknowledged. A new flow is rather refused than sent into an old one.
 *
 * At most SLOT_WORDS words of the bitmap are looked at in turn. When these are full so is most of
 * the group, and its summary says which word may have a port: a bit that says so wrongly costs one
 * look, one that does not say so where there is one cannot be, for whoever clears it looks again.
 */
#ifndef POISE_BPF_SLOTS_H
#define POISE_BPF_SLOTS_H

#include "flow.h"
#include "scratch.h"

#define SLOT_WORDS  16 /* of the bitmap, in turn: 1,024 ports */
#define SLOT_YIELD  2  /* seconds after which a reset flow may lose its port */
#define SLOT_SILENT 1  /* seconds without a packet: what was under way has come */
#define SLOT_TRIES  4  /* lost races before nothing is done */

/* Slots looked at for one that rests: those next to the rotor, the oldest as a rule; then some that
 * lie evenly in all of the range, so that a long run of ports that others have, or that are barred,
 * is no end. First for one whose last flow was the same backend's and has been silent for a while:
 * a slot knows of no other backend what that has in TIME_WAIT. Then for any. */
#define SLOT_NEAR  32
#define SLOT_FAR   32
#define SLOT_ROUND (SLOT_NEAR + SLOT_FAR)

/* Where each CPU goes on: [cpu * poise_groups + group], a port. Not pinned: any will do. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} rotors SEC(".maps");

static __always_inline struct poise_slot *slot_get(__u32 at)
{
	return bpf_map_lookup_elem(&slots, &at);
}

static __always_inline struct poise_way *way_get(__u32 at)
{
	return bpf_map_lookup_elem(&ways, &at);
}

static __always_inline bool slot_found(__u64 head)
{
	__u32 state = POISE_WORD_STATE(head);

	return state >= POISE_FLOW_NEW && state <= POISE_FLOW_RST;
}

/* Over for both ends: nothing more is due but what is repeated. */
static __always_inline bool slot_closed(__u64 head)
{
	__u32 state = POISE_WORD_STATE(head);

	return state == POISE_SLOT_REST ||
	       (state == POISE_FLOW_FIN && (head & POISE_SLOT_FINS) == POISE_SLOT_FINS);
}

/* Can no end hold it half open, once it is closed? */
static __always_inline bool slot_over(__u64 head, __u32 seconds)
{
	return head & POISE_SLOT_ENDED || flow_is_udp(head) ||
	       (POISE_WORD_STATE(head) == POISE_FLOW_RST && stamp_age(head, seconds) >= SLOT_YIELD);
}

/* The head as a packet leaves it when both ends have sent their FIN: one that is no FIN is the last
 * acknowledgement, and a FIN once more asks for that again. */
static __always_inline __u64 slot_ending(__u64 head, bool fin)
{
	if ((head & POISE_SLOT_FINS) != POISE_SLOT_FINS)
		return head;
	return fin ? head & ~POISE_SLOT_ENDED : head | POISE_SLOT_ENDED;
}

/* Seconds of silence after which the port is free. */
static __always_inline __u32 slot_timeout(const struct poise_service_rec *rec, __u64 head)
{
	return slot_closed(head) ? POISE_REST_SECONDS
				 : stamp_timeout(rec, POISE_WORD_STATE(head), flow_is_udp(head));
}

/* The head with another state, stamped now. */
static __always_inline __u64 slot_moved(__u64 head, __u32 state, __u32 timeout, __u32 seconds)
{
	return (head & ~0xffffull) | stamp_low(state, timeout, seconds);
}

/* ---- bits -------------------------------------------------------------------------------------*/

/* The number of the lowest bit of a word that is not 0; without branches, of which there would be
 * 64 ways through for the verifier. */
static __always_inline __u32 bit_lowest(__u64 word)
{
	__u64 below = (word & -word) - 1;

	below -= below >> 1 & 0x5555555555555555ull;
	below = (below & 0x3333333333333333ull) + (below >> 2 & 0x3333333333333333ull);
	below = (below + (below >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return below * 0x0101010101010101ull >> 56;
}

/* Word `word` of a group: its bitmap, then its summary. */
static __always_inline __u64 *ports_word(__u32 group, __u32 word)
{
	__u32 at = group * POISE_PORT_VALUES + word / POISE_BUCKET_WORDS;
	struct poise_bucket *values = bpf_map_lookup_elem(&ports, &at);

	return values ? &values->word[word % POISE_BUCKET_WORDS] : NULL;
}

/* Is the port one that no slot may have? */
static __always_inline bool ports_barred(__u32 port)
{
	__u64 *word = ports_word(poise_groups + POISE_PORTS_BARRED, port / 64);

	return !word || ONCE(*word) >> (port % 64) & 1;
}

/* Notes whether a word may have a free port. */
static __always_inline void ports_summary(__u32 group, __u32 word, bool may)
{
	__u64 *sum = ports_word(group, POISE_PORT_WORDS + word / 64), bit = 1ull << (word % 64);

	if (!sum || !(ONCE(*sum) & bit) == !may)
		return;
	if (may)
		__sync_fetch_and_or(sum, bit);
	else
		__sync_fetch_and_and(sum, ~bit);
}

/* The word is full, or was a moment ago. */
static __always_inline void ports_full(__u32 group, __u32 word, const __u64 *bits)
{
	ports_summary(group, word, false);
	if (~ONCE(*bits))
		ports_summary(group, word, true);
}

/* Takes a port of this word, from bit `from` on: its bit's number, or -1. */
static __always_inline int ports_take(__u32 group, __u32 word, __u32 from)
{
	__u64 *bits = ports_word(group, word), free, bit, old;

	if (!bits)
		return -1;
	free = ~ONCE(*bits) & ~0ull << (from & 63);
	for (int i = 0; i < SLOT_TRIES && free; i++) {
		bit = free & -free;
		old = __sync_fetch_and_or(bits, bit);
		if ((old | bit) == ~0ull)
			ports_full(group, word, bits);
		if (!(old & bit))
			return (int)bit_lowest(bit);
		free &= ~old & ~bit;
	}
	return -1;
}

static __always_inline void ports_give(__u32 group, __u32 port)
{
	__u64 *bits = ports_word(group, port / 64), bit = 1ull << (port % 64);

	if (!bits || ports_barred(port))
		return;
	__sync_fetch_and_and(bits, ~bit);
	if (UNLIKELY(ports_barred(port))) /* since just now */
		__sync_fetch_and_or(bits, bit);
	else
		ports_summary(group, port / 64, true);
}

/* ---- taking -----------------------------------------------------------------------------------*/

static __always_inline __u32 slot_range(void)
{
	__u32 zero = 0;
	struct poise_meta *m = bpf_map_lookup_elem(&meta, &zero);

	return m ? ONCE(m->nat_ports) : 0;
}

/* A port of the words from the rotor's on; -1 if none of these has one. */
static __always_inline int slot_in_turn(__u32 group, __u32 rotor, __u32 low, __u32 high)
{
	__u32 word = rotor / 64, from = rotor % 64;

	for (int i = 0; i < SLOT_WORDS; i++) {
		int bit;

		BOUND(word, POISE_PORT_WORDS - 1);
		bit = ports_take(group, word, from);
		if (bit >= 0)
			return (int)(word * 64) + bit;
		word = word < high / 64 ? word + 1 : low / 64;
		from = 0;
	}
	return -1;
}

/* A port of a word that the summary names; -1 if it names none that has one. */
static __always_inline int slot_by_summary(__u32 group, __u32 rotor)
{
	__u32 at = rotor / 64 / 64;

	for (int i = 0; i <= POISE_PORT_SUMMARY; i++, at++) {
		__u64 *sum, names;
		__u32 word;
		int bit;

		BOUND(at, POISE_PORT_SUMMARY - 1);
		sum = ports_word(group, POISE_PORT_WORDS + at);
		names = sum ? ONCE(*sum) : 0;
		if (!names)
			continue;
		word = at * 64 + bit_lowest(names);
		BOUND(word, POISE_PORT_WORDS - 1);
		bit = ports_take(group, word, 0);
		if (bit >= 0)
			return (int)(word * 64) + bit;
		sum = ports_word(group, word);
		if (sum)
			ports_full(group, word, sum);
	}
	return -1;
}

/* Does the backend take this SYN for a new connection while it has the slot's last one in
 * TIME_WAIT? If it is newer by its timestamp, or else by its number (RFC 6191). */
static __always_inline bool slot_welcomes(const struct poise_slot *s, __u64 head,
					  const struct birth *b)
{
	if (flow_is_udp(head))
		return true;
	if (b->stamped && head & POISE_SLOT_STAMPED)
		return (__s32)(b->stamp - s->stamp) > 0;
	return (__s32)(b->seq - s->seq) > 0;
}

/* Is it of those that are had first? */
static __always_inline bool slot_suits(__u64 head, const struct birth *b)
{
	return POISE_WORD_MEMBER(head) == b->member && stamp_age(head, b->seconds) >= SLOT_SILENT;
}

/* May its port be had before it has rested? */
static __always_inline bool slot_yields(const struct poise_slot *s, __u64 head,
					const struct birth *b)
{
	if (!slot_over(head, b->seconds))
		return false;
	return POISE_WORD_STATE(head) == POISE_FLOW_RST ||
	       (slot_closed(head) && slot_welcomes(s, head, b));
}

/* The head of a slot that is being filled: whose it was can still be told. */
static __always_inline __u64 slot_filling(__u64 head)
{
	return ((head & ~(POISE_SLOT_FILLED - 1)) + POISE_SLOT_FILLED) |
	       (head & ((__u64)POISE_TAG_UDP << POISE_WORD_TAG_SHIFT |
			0xffffull << POISE_WORD_MEMBER_SHIFT)) |
	       POISE_SLOT_FILLING << POISE_WORD_STATE_SHIFT;
}

/* Takes the port if its flow is over, and it suits or any will do. */
static __always_inline bool slot_seize(__u32 group, __u32 port, const struct birth *b, bool any)
{
	struct poise_slot *s;
	__u64 head;

	if (ports_barred(port))
		return false;
	s = slot_get(group * POISE_PORTS + port);
	if (!s)
		return false;
	head = ONCE(s->head);
	return (any || slot_suits(head, b)) && slot_yields(s, head, b) &&
	       __sync_bool_compare_and_swap(&s->head, head, slot_filling(head));
}

/* A port whose flow is over; -1 if none that is looked at is one. */
static __always_inline int slot_that_rests(__u32 group, __u32 rotor, __u32 range,
					   const struct birth *b)
{
	__u32 low = range & 0xffff, high = range >> 16, stride = (high - low) / SLOT_FAR + 1;
	__u32 port = rotor;

	for (int i = 0; i < 2 * SLOT_ROUND; i++) {
		if (i == SLOT_ROUND)
			port = rotor;
		BOUND(port, POISE_PORTS - 1);
		if (slot_seize(group, port, b, i >= SLOT_ROUND))
			return (int)port;
		port += i % SLOT_ROUND < SLOT_NEAR ? 1 : stride;
		if (port > high)
			port -= high - low + 1;
	}
	return -1;
}

static __always_inline void ports_refused(__u32 group)
{
	__u64 *count = ports_word(poise_groups + POISE_PORTS_REFUSED, group);

	if (count)
		__sync_fetch_and_add(count, 1);
}

/* Beside a slot's place: it was another flow's a moment ago, whose link may still lead there. */
#define SLOT_ANEW 0x40000000u

/* Takes a slot of the group to be filled, which nobody finds until then: a free one, or with
 * `rests` one whose flow is over. Its place, or 0: there is none. */
__noinline __u32 slot_take(__u32 group, struct birth *b, bool rests)
{
	__u32 at = bpf_get_smp_processor_id() * poise_groups + group, range = slot_range(), start;
	__u32 anew = 0;
	__u32 *rotor = bpf_map_lookup_elem(&rotors, &at);
	struct poise_slot *s;
	int port;

	if (!b || !rotor || !range || group >= poise_groups)
		return 0;
	start = ONCE(*rotor);
	if (start < (range & 0xffff) || start > range >> 16)
		start = range & 0xffff;
	if (UNLIKELY(rests)) {
		port = slot_that_rests(group, start, range, b);
		anew = SLOT_ANEW;
	} else {
		port = slot_in_turn(group, start, range & 0xffff, range >> 16);
		if (UNLIKELY(port < 0))
			port = slot_by_summary(group, start);
	}
	if (port < 0) {
		if (rests)
			*rotor = start + SLOT_NEAR;
		return 0;
	}
	if (LIKELY(!anew)) {
		s = slot_get(group * POISE_PORTS + (__u32)port);
		if (!s)
			return 0;
		s->head = slot_filling(ONCE(s->head));
	}
	*rotor = (__u32)port + 1;
	return (group * POISE_PORTS + (__u32)port) | anew;
}

/* What was taken will not do: it rests, so that another is taken next. */
static __always_inline void slot_unused(__u32 at, __u32 seconds)
{
	struct poise_slot *s = slot_get(at);

	if (s)
		s->head = slot_moved(ONCE(s->head), POISE_SLOT_REST, POISE_REST_SECONDS, seconds);
}

/* ---- going ------------------------------------------------------------------------------------*/

/* The flow is over, and whoever sends for it is a stranger: its port rests. */
__noinline int slot_rest(__u32 at, __u32 seconds)
{
	struct poise_slot *s = slot_get(at);

	for (int i = 0; s && i < SLOT_TRIES; i++) {
		__u64 head = ONCE(s->head), to = head;

		if (!slot_found(head))
			return 0;
		if (slot_over(head, seconds))
			to |= POISE_SLOT_ENDED;
		to = slot_moved(to, POISE_SLOT_REST, POISE_REST_SECONDS, seconds);
		if (flow_swap(&s->head, head, to, 0))
			return 1;
	}
	return 0;
}

/* Frees a slot that has this head, but for its port: nobody finds it any more. */
static __always_inline bool slot_free(struct poise_slot *s, __u64 head)
{
	/* The count stays: what had seen the old flow must not take the next for it. */
	return flow_swap(&s->head, head, head & ~(POISE_SLOT_FILLED - 1), 0);
}

#endif
