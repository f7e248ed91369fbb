/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the configuration to what packets read. Deriving is repeatable at every step: it compares
 * what stands with what should stand, and stores the difference, in an order in which a packet
 * never finds less than it could have before.
 */
#ifndef POISE_DERIVE_H
#define POISE_DERIVE_H

#include "cycle.h"
#include "ladder.h"
#include "store.h"

/* `deadline` of a drain that has ended; a time of 1 ns after the epoch is always past. */
#define DERIVE_ENDED 1

/* No member: in a table, where a slot has nobody. Never an ordinal, extents are smaller. */
#define DERIVE_NOBODY POISE_ORDINAL_MAX

/* The members of one service, from the records in force. */
struct derive_members {
	const struct poise_member_conf *conf;
	__u16 id;
};

/* A service's derivation under way. */
struct derived {
	__u16 id;
	const struct poise_service_conf *conf;
	struct derive_members *member;
	size_t members;
	struct ladder ladder;
	bool keeps;    /* some member keeps its flows, chosen or not */
	__u64 weights; /* of those that are up */
	struct poise_service_rec rec;
	__u16 *table;		   /* [conf->table_slots] ordinals: `current` */
	__u32 *cycle;		   /* [derive_cycle_slots(conf)] */
	__u8 *present;		   /* [rec.members] by ordinal */
	struct poise_bound *bound; /* [rec.bounds & POISE_BOUNDS_COUNT], at rec.bounds_at */
};

/* What the cycle takes of the pool. */
static inline __u32 derive_cycle_slots(const struct poise_service_conf *conf)
{
	return conf->cycle_slots * POISE_CYCLE_WIDTH(conf->policy);
}

/* Collects, ranks and fills: everything that needs no store. */
void derived_make(const struct instance *i, __u16 id, struct derived *d);
void derived_free(struct derived *d);
/* What member m of d looks like to packets; nexthop is left 0, fade as it were if it began now (0:
 * it does not), and its flag unset. */
void derived_member(const struct derived *d, size_t m, struct poise_member *out);
/* The entry that stands for slot s when `old` stood there before. */
__u32 derived_entry(const struct derived *d, __u32 s, __u32 old);
/* What a cycle has of a member that may be chosen. */
struct cycle_member derive_cycle_member(const struct poise_member_conf *m, __u16 id);

/* tick.c: true if no flow is left on a member that is leaving or draining. */
bool instance_idle(const struct instance *i, const struct config_member *m,
		   const struct instance_stats *stats, __u64 now_realtime_ns);

/* sweep.c: one call of the sweeper's program. */
int sweep_run(struct instance *i, struct poise_sweep *io, struct poise_error *err);

/* held.c: whether the member's flows are counted in held[]. Repeatable. */
bool held_is(const struct instance *i, __u16 id);
void held_set(struct instance *i, __u16 id, bool holds);

/* derive_member.c */
void derive_member_use(struct instance *i, __u16 id, const struct poise_member *want);
void derive_member_void(struct instance *i, __u16 id);

/* derive_service.c */
void derive_service(struct instance *i, __u16 id);
void derive_service_gone(struct instance *i, __u16 id);

struct derive_list {
	__u16 *service; /* ids whose record or whose members changed */
	size_t services;
	__u16 *member; /* ids whose record changed */
	size_t members;
	bool addresses; /* records of addresses changed */
};

/* derive.c: makes the maps show these records, then says so in meta.applied. */
void derive(struct instance *i, const struct derive_list *dirty);
/* The same for every record newer than meta.applied, after a writer that did not finish. */
void derive_rest(struct instance *i);

/* The id of an ordinal; 0 if the extents do not reach so far. */
__u16 derive_id(const struct poise_extent *extent, int extents, __u32 ordinal);

#endif
