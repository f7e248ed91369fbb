/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An instance: the pinned maps of one balancer, and the only way to change them.
 *
 * Writers: instance_lock (which finishes what an interrupted writer left), instance_load, change
 * the config, instance_commit, instance_unlock. Readers need no lock: instance_load retries by the
 * sequence count until it has a consistent snapshot.
 */
#ifndef POISE_INSTANCE_H
#define POISE_INSTANCE_H

#include "abi.h"
#include "config.h"
#include "error.h"
#include "ladder.h"

#define POISE_PIN_ROOT	       "/sys/fs/bpf/poise"
#define POISE_DEFAULT_INSTANCE "default"
#define POISE_BOOT_DIR	       "/etc/poise"

struct instance_where {
	const char *root; /* NULL: POISE_PIN_ROOT; --pin */
	const char *name; /* NULL: default; --instance */
};

/* The maps, mapped. Opaque but for maps/, tests and the daemon's hot loops. */
struct instance {
	char dir[256]; /* <root>/<name>/v<POISE_ABI> */
	int lock_fd;   /* of the pin directory; flock */
	bool locked;
	struct poise_meta *meta;
	struct poise_service_slot *service_conf;
	struct poise_member_slot *member_conf;
	struct poise_listener *listeners;
	__u32 *listener_seeds;
	struct poise_service *services;
	struct poise_member *members;
	__u32 *table;		       /* by instance_table(), table.h */
	struct mapping *table_windows; /* what of it is mapped; NULL: all */
	struct poise_path *paths;
	struct poise_bucket *flows;	   /* by instance_bucket() */
	struct poise_bucket *flows_beside; /* while the flow table is resized; else NULL */
	struct mapping *flow_windows, *beside_windows;
	__u32 flow_buckets, beside_buckets; /* mapped of either */
	__u32 flow_stage;		    /* meta's when they were mapped ... */
	__u32 swept_stage;		    /* ... and when the sweep under way began */
	struct poise_counter *counters;
	struct poise_loads *loads;
	struct poise_rate *rates;
	struct poise_check_result *checks;
	struct poise_event *events;
	struct poise_address_slot *address_conf;
	struct poise_server_ids *server_ids;
	struct poise_bucket *fragments;
	poise_load *held;
	struct poise_range *range_conf;
	struct poise_bound *bounds;
	struct poise_probe *probes;
	struct poise_slot *slots; /* POISE_PORTS of each of meta.groups; by instance_slots() */
	struct mapping *slot_windows;
	struct poise_way *ways; /* by instance_ways(), table.h */
	struct mapping *way_windows;
	struct poise_bucket *links; /* by instance_links(), table.h */
	struct mapping *link_windows;
	struct poise_bucket *ports;
	struct poise_latency *latencies; /* by instance_latency(), table.h */
	struct mapping *latency_windows;
	struct poise_cluster *cluster;
	int devmap_fd;
	int drops_fd;
	const struct poise_drops *drops; /* tests: what stands for that map; else NULL */
	int sweep_fd;			 /* pinned program prog_sweep; -1 if absent (unit tests) */
	bool anonymous;		    /* tests: maps are plain memory, no grace periods, no locks */
	struct poise_meta identity; /* meta's first part as it was when opened: the true sizes */
};

static inline struct poise_loads *instance_loads(const struct instance *i, __u32 cpu, __u32 member)
{
	return &i->loads[(size_t)cpu * poise_loads_row(i->meta->members) + member];
}

/* Buckets are counted through: those of the table in force, those of one beside it, then slots of
 * mode nat, eight to a bucket. */
static inline __u32 instance_table_buckets(const struct instance *i)
{
	return i->flow_buckets + i->beside_buckets;
}

static inline __u32 instance_buckets(const struct instance *i)
{
	return instance_table_buckets(i) + i->meta->groups * (POISE_PORTS / POISE_BUCKET_WORDS);
}

/* Of the first two. */
struct poise_bucket *instance_bucket(const struct instance *i, __u32 bucket);

/* The slot that number n of a bucket is; 0: it is a word. */
static inline __u32 instance_slot(const struct instance *i, __u32 bucket, int n)
{
	if (bucket < instance_table_buckets(i))
		return 0;
	return (bucket - instance_table_buckets(i)) * POISE_BUCKET_WORDS + (__u32)n;
}

/* A flow's word, or the head of its slot; 0: there is none. */
__u64 instance_word(const struct instance *i, __u32 bucket, int n);

/* The pin of the flow table in force, or of the other one, at this stage (meta.flow_stage). */
static inline const char *instance_flows_pin(__u32 stage, bool other)
{
	return POISE_FLOWS_PIN(stage) == other ? "flows" : POISE_FLOWS_OTHER;
}

/* Opens the pins. A handle is one thread's; what it maps, all handles of a process share
 * (mapping.h). Errors: no bpffs, no instance (remedy: start poised, or poise attach DEV), ABI
 * newer or older than ours, no privileges. */
int instance_open(struct instance **out, const struct instance_where *where,
		  struct poise_error *err);
void instance_close(struct instance *i);

/* The file that is applied when the instance's maps are created, unless one is named: poise.yaml
 * of the default instance, NAME.yaml of another. Into buf; returns buf. */
char *instance_boot_file(const struct instance_where *where, char *buf, size_t size);

/* An instance of plain memory with these limits: unit tests, fuzzing, benchmarks of maps/. */
struct instance *instance_anonymous(const struct config_limits *limits);
/* The same for so many CPUs, not two. */
struct instance *instance_anonymous_on(const struct config_limits *limits, __u32 cpus);

/* Writes identity and limits into fresh maps; called once by attach/ while it holds the lock. Only
 * meta and members need be mapped. */
void instance_format(struct instance *i, const char *name, const struct config_limits *limits,
		     const __u64 hash_key[2]);
/* Map sizes that limits ask for, for attach/ to set before it creates the maps. Order and names
 * as POISE_MAPS. */
__u32 instance_map_entries(const char *map, const struct config_limits *limits, __u32 cpus);

/* Waits for the lock (release by close or unlock; death releases it). Finishes or scrubs an
 * interrupted transaction before it returns. */
int instance_lock(struct instance *i, struct poise_error *err);
/* The same without waiting: 1, 0 if somebody else holds it, or -1. */
int instance_try_lock(struct instance *i, struct poise_error *err);
void instance_unlock(struct instance *i);

/* The configuration in force: services and members, limits, hash key; interfaces are attach/'s. */
int instance_load(struct instance *i, struct config **cfg, struct poise_error *err);

/* Whether any address is claimed or was told something: quicker than loading. */
bool instance_has_addresses(const struct instance *i);

/* Only the service named by `text` (its name or a listener of it), for a change of its options or
 * members, not of its name or listeners: with thousands of services beside it that is a quarter of
 * the work. All of them if there is none such. The lock is held. */
int instance_load_service(struct instance *i, const char *text, struct config **cfg,
			  struct poise_error *err);
/* The same for n services by name, a few. All of the configuration if one of them is not there. */
int instance_load_services(struct instance *i, const char *const *name, size_t n,
			   struct config **cfg, struct poise_error *err);

struct instance_change {
	unsigned int services; /* records written */
	unsigned int members;
	unsigned int addresses;
	unsigned int tables; /* rebuilt */
	__u64 flows;	     /* live flows of members that left or were cut */
};

/* Makes cfg the configuration in force: validates, gives ids, writes the other copies, commits,
 * derives. The lock must be held since before instance_load. All or nothing. */
int instance_commit(struct instance *i, struct config *cfg, struct instance_change *change,
		    struct poise_error *err);

/* What a check found out of a member; nothing happens if that is another one by now, or is not
 * checked any more. */
struct instance_health {
	__u16 member;  /* id */
	__u16 service; /* id */
	__u8 health;   /* enum poise_health */
};

/* n of them, n > 0, in one transaction. Lock held. */
int instance_set_health(struct instance *i, const struct instance_health *change, size_t n,
			struct poise_error *err);

/* A member that is ejected, and why; or, with fault 0, not any more. */
struct instance_ejection {
	__u16 member;  /* id */
	__u16 service; /* id */
	__u8 fault;    /* enum poise_fault */
	__u8 bad;      /* percent of its flows, ... */
	__u8 median;   /* and of the pool's median */
	__u32 flows;   /* of so many */
	__u32 time;    /* ms */
	__u64 until;   /* CLOCK_REALTIME ns */
};

/* n of them in one transaction; who is another one by now stays as it is. Lock held. */
int instance_set_ejected(struct instance *i, const struct instance_ejection *change, size_t n,
			 struct poise_error *err);

/* Waits until every packet that could have seen an earlier state is done (membarrier GLOBAL), and
 * says so in meta.graced. About 10 ms. Lock held. */
void instance_grace(struct instance *i);

/* Time passing: drains and leavers that are idle or past their deadline go. Lock held. Returns the
 * number of members changed, and commits. */
int instance_tick(struct instance *i, __u64 now_realtime_ns, struct poise_error *err);

/* A full sweep of the flow table through the pinned program; updates meta.flows_*, and frees ids
 * that turned to ashes before a grace period before it. Lock held. */
int instance_sweep(struct instance *i, struct poise_error *err);
/* Part of a sweep: buckets [first, first + count) of instance_buckets, any count. */
int instance_sweep_range(struct instance *i, struct poise_sweep *io, struct poise_error *err);
/* The same as instance_sweep without the lock but for its end, for a sweep that is spread over
 * time: begin (waits for a grace period if ids wait to be free; what it returns is for end), every
 * bucket by instance_sweep_range, then end with the lock held. */
__u64 instance_sweep_begin(struct instance *i);
void instance_sweep_end(struct instance *i, __u64 generation, __u64 live, __u64 used);

/* Compares every map with what the configuration in force asks for; report gets a sentence a
 * difference. Returns their number, 0 if none. Takes no lock; call it under the lock to be exact
 * while others write. */
typedef void (*instance_report)(void *ctx, const char *map, const char *sentence);
int instance_check(struct instance *i, instance_report report, void *ctx, struct poise_error *err);

/* Test hook: called before every single store to a map, with a running number; may _exit. */
extern void (*instance_step)(unsigned long n);

/* ---- next hops: written by poised, or by the CLI when it does not run. Lock held for both.
 * -----*/

/* The index of a path equal to *want (ifindex, smac, mtu, vlans, sources), made if need be.
 * 0 and an error if paths are exhausted. */
__u16 instance_path(struct instance *i, const struct poise_path *want, struct poise_error *err);
/* The first of a chain of such paths, one for each of these sources (at most POISE_SOURCES, all of
 * one family); of fewer than two, of *want alone as it is. */
__u16 instance_path_chain(struct instance *i, const struct poise_path *want,
			  const union poise_addr *source, __u32 sources, struct poise_error *err);
#define INSTANCE_NEXTHOP(mac, path)                                                                \
	((__u64)(mac)[0] | (__u64)(mac)[1] << 8 | (__u64)(mac)[2] << 16 | (__u64)(mac)[3] << 24 |  \
	 (__u64)(mac)[4] << 32 | (__u64)(mac)[5] << 40 | (__u64)(path) << 48)
void instance_set_nexthop(struct instance *i, __u16 member, __u64 nexthop);

/* ---- what is going on -------------------------------------------------------------------------*/
struct instance_stats {
	__s64 flows; /* live */
	__u64 packets, bytes, opened, closed;
	bool has_rates;
	double new_flows[2], packets_rate[2], bytes_rate[2]; /* per second, over 1 s and 60 s */
	__u32 signal[POISE_SIGNALS];			     /* modulo 2^32 */
};

void instance_member_stats(const struct instance *i, __u16 member, struct instance_stats *s);
/* Reasons and events of a service (0: of none), summed over CPUs. */
int instance_drops(const struct instance *i, __u16 service, __u64 count[POISE_REASON_SLOTS],
		   struct poise_error *err);
/* Fraction of new flows that the service's table gives each member, in the order of svc->member;
 * those without a next hop have none, unless nobody has one. */
void instance_shares(const struct instance *i, const struct config_service *svc, double *share);
/* True if poised folded within the last second. */
bool instance_daemon_runs(const struct instance *i);

/* The effective state in the words of `show`: up sorry checking full draining drained leaving down
 * disabled. nexthop-less members are "unresolved". */
const char *instance_member_state(const struct instance *i, const struct config_service *svc,
				  const struct config_member *m);
/* Where the service stands, as its members' records have it. */
struct ladder instance_ladder(const struct instance *i, const struct config_service *svc);
/* How a service stood when it was derived last: POISE_STANDS_*; 0 if it never was. */
__u8 instance_standing(const struct instance *i, __u16 service);
/* Whether a service is below its minimum (min-up), as packets have it. */
bool instance_below(const struct instance *i, const struct config_service *svc);

/* What the last check of a member found; at 0: it was not checked. */
void instance_check_result(const struct instance *i, __u16 member, struct poise_check_result *r);

/* What poised knows of its cluster; at 0: of none. And poised's to say so; `at` is filled in. */
void instance_cluster(const struct instance *i, struct poise_cluster *out);
void instance_set_cluster(struct instance *i, const struct poise_cluster *now);

/* Whether a new flow would find a backend: one with a next hop that is up, not yet checked,
 * draining or a sorry one. Those that a failed check leaves to be tried (on-none-up) do not count,
 * for what asks can send clients where there are better ones; nor does anybody of a service that is
 * below its minimum. As packets see it this moment. */
bool instance_usable(const struct instance *i, const struct config_service *svc);

/* ---- fade-in: kept up by poised, a few times a second, without the lock (fade.h) -------------*/

/* Moves the shares of members that fade in on to this time, `second` by the stamps' clock, and ends
 * what is over. cfg must be what is in force. True if somebody still fades. */
bool instance_fade(struct instance *i, const struct config *cfg, __u64 now_realtime_ns,
		   __u32 second);
/* Whether a member fades in, and with which part of its share; 1: it is catching up. */
bool instance_member_fades(const struct instance *i, const struct config_service *svc,
			   const struct config_member *m, __u64 now_realtime_ns, __u32 second,
			   double *ratio);

/* Calls one(word) for every used flow word; stops when it returns false. Reads shared memory: no
 * packet waits for it. */
void instance_flows(const struct instance *i, bool (*one)(void *ctx, __u64 word), void *ctx);
/* The same, with the slot of a flow of mode nat; 0: it has none. */
void instance_flows_at(const struct instance *i, bool (*one)(void *ctx, __u64 word, __u32 slot),
		       void *ctx);
/* Seconds on the stamps' clock now, and how long before that a word was stamped. */
__u32 instance_stamp_now(const struct instance *i);
__u32 instance_word_age(__u64 word, __u32 now);
/* Seconds until a word is over if its flow stays silent. */
__u32 instance_word_left(const struct instance *i, __u64 word, __u32 now);

/* A client's flow: its word, and the ports that it was found by, in network order. */
struct instance_client_flow {
	__u64 word;
	__u16 client_port;
	__u16 port;
	__u32 slot; /* of mode nat; 0: none */
};

/*
 * Slots say whose they are. Words hold no addresses, but are where the hash of theirs says: calls
 * one() for every flow of client to listener l of the service, that is of TCP or UDP as l says, in
 * the order of client ports. A listener of one port is tried with each of the 65,536 ports that the
 * client can have; of every port (port 0), each word of the service is asked whether it can be this
 * client's, which fails with POISE_E_FULL, before anything is found, if there are too many. Chance
 * makes one in some four thousand searches of a full table find a flow that is another's.
 */
int instance_client_flows(const struct instance *i, const union poise_addr *client,
			  const struct poise_listener_conf *l, __u16 service,
			  bool (*one)(void *ctx, const struct instance_client_flow *flow),
			  void *ctx, struct poise_error *err);

#endif
