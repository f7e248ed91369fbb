/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A configuration in memory: read from an instance or a file, changed by commands, compared,
 * saved, committed. Pure data: nothing here touches a map. A change that returns an error has
 * changed nothing. Errors of functions that take a service or a configuration are complete: they
 * name the service and the backend; option_set's want poise_error_about(err, "service \"%s\"").
 */
#ifndef POISE_CONFIG_H
#define POISE_CONFIG_H

#include <net/if.h>

#include "abi.h"
#include "error.h"
#include "ranges.h"

enum attach_mode {
	ATTACH_AUTO = 0,
	ATTACH_NATIVE,
	ATTACH_GENERIC,
	ATTACH_INSIDE, /* generic, where containers send: their checksums are unfinished */
};

struct config_interface {
	char device[IF_NAMESIZE];
	__u8 mode;   /* enum attach_mode */
	__u8 shared; /* through libxdp's dispatcher */
	int line;    /* in config.file; 0 none */
};

/* An address that poise keeps on a device of this host, or that was told something: its keys. */
struct config_address {
	int line; /* in config.file; 0 none */
	struct poise_address_conf conf;
};

#define CONFIG_IDS_MAX 65535 /* services, and backends of all: ids are 16 bits, 0 is never used */

struct config_limits {
	__u32 services;	   /* 4096 */
	__u32 backends;	   /* 32768 (of all services together; at most 65535) */
	__u32 listeners;   /* 65536 */
	__u32 flow_slots;  /* 4M: 32 MiB */
	__u32 table_slots; /* 32M: 128 MiB; 4096 services of size auto need half of it */
	__u32 paths;	   /* 1024 */
	__u32 ranges;	   /* 16384: 3.7 MiB */
	__u32 nat_groups;  /* 4: 28 MiB */
	__u32 nat_low;	   /* 1024 */
	__u32 nat_high;	   /* 65535 */
	__u32 reset_rate;  /* 1000 */
	__u32 icmp_rate;   /* 1000 */
};

/* Members of one service: what POISE_EXTENTS extents hold, the first of POISE_EXTENT_MIN and each
 * doubling the sum. */
#define CONFIG_MEMBERS_MAX (POISE_EXTENT_MIN << (POISE_EXTENTS - 1))

struct config_member {
	__u16 id;	 /* 0: none yet; commit gives it one */
	bool admin_said; /* the file says `admin`; else apply leaves the member's as it is */
	int line;	 /* in config.file; 0 none */
	struct poise_member_conf conf;
};

struct config_service {
	struct poise_service_conf conf; /* first: option.h */
	struct ranges allow, deny;	/* commit says in conf where they are kept */
	__u16 id;			/* 0: none yet */
	int line;			/* in config.file; 0 none */
	int health_line;		/* likewise, of its check */
	struct config_member *member;	/* sorted by address, port */
	/* What commit need no longer keep of the past (aging.c). */
	struct {
		bool base;	/* the separate base table */
		__u8 untracked; /* POISE_UNTRACKED_* */
	} over;
	size_t members;
	size_t room;
};

struct config {
	__u64 generation; /* of the instance when read */
	char file[256];	  /* whose lines the services and members name; empty none */
	bool has_hash_key;
	__u64 hash_key[2];
	bool has_limits; /* a file's limits count only when the maps are created */
	struct config_limits limits;
	struct config_interface *interface;
	size_t interfaces;
	struct config_address *address; /* sorted by address */
	size_t addresses;
	size_t address_room;
	struct config_service **service; /* sorted by name */
	size_t services;
	size_t room;
	bool part; /* some services; what is not in it stays (instance_load_services) */
	struct config_index *index; /* of listeners; made when needed, NULL when stale */
};

struct config *config_new(void); /* never NULL: aborts when memory is out, as all config_* do */
struct config *config_clone(const struct config *cfg);
void config_free(struct config *cfg);

/* text: a name, or a listener as typed. NULL with an error (did you mean) if there is none. */
struct config_service *config_service_find(const struct config *cfg, const char *text,
					   struct poise_error *err);
struct config_service *config_service_named(const struct config *cfg, const char *name);
/* By the ids of the instance that cfg was read from; NULL: there is none any more. */
struct config_service *config_service_by_id(const struct config *cfg, __u16 id);
struct config_member *config_member_by_id(const struct config_service *svc, __u16 id);
/* Adds an empty service with every option at its default. */
struct config_service *config_service_add(struct config *cfg, const char *name,
					  enum poise_owner owner, struct poise_error *err);
void config_service_del(struct config *cfg, struct config_service *svc);
/* Out of a configuration, to be put into another or freed. There nobody asks whether its name and
 * listeners are free: whoever puts it does. */
void config_service_take(struct config *cfg, struct config_service *svc);
void config_service_put(struct config *cfg, struct config_service *svc);
void config_service_free(struct config_service *svc);
int config_service_rename(struct config *cfg, struct config_service *svc, const char *name,
			  struct poise_error *err);
/* A listener belongs to at most one service. */
int config_listen(struct config *cfg, struct config_service *svc,
		  const struct poise_listener_conf *l, struct poise_error *err);
/* Its place in svc->conf.listener, -1 if the service does not listen there. */
int config_listener_at(const struct config_service *svc, const struct poise_listener_conf *l);
int config_unlisten(struct config_service *svc, const struct poise_listener_conf *l,
		    struct poise_error *err);

/*
 * text: ADDR[:PORT] or a name. An address without a port finds the one member that has it.
 * A pointer to a member is good until the service's next member is added or deleted.
 */
struct config_member *config_member_find(const struct config_service *svc, const char *text,
					 struct poise_error *err);
struct config_member *config_member_at(const struct config_service *svc,
				       const union poise_addr *addr, __u16 port);
/* Adds a member with every option at its default. One that is leaving comes back: its id and flows
 * stay, its options are the defaults. */
struct config_member *config_member_add(struct config_service *svc, const union poise_addr *addr,
					__u16 port, struct poise_error *err);
void config_member_del(struct config_service *svc, struct config_member *m);
/* Out of selection at once, gone when idle or after the service's drain-timeout. One that was never
 * committed is deleted. `now` is CLOCK_REALTIME in ns. */
void config_member_leave(struct config_service *svc, struct config_member *m, __u64 now);
/* Sets the admin state; draining ends `timeout` ms from now at the latest (0: the service's
 * drain-timeout). */
void config_member_admin(const struct config_service *svc, struct config_member *m,
			 enum poise_admin admin, __u64 timeout, __u64 now);
/* It is not ejected any more, and has not been. */
void config_member_pardon(struct config_member *m);
/* Its drain has ended with its deadline: nothing goes there any more. */
bool config_drain_ended(const struct config_member *m);
static inline bool config_member_leaving(const struct config_member *m)
{
	return m->conf.r.state == POISE_REC_LEAVING;
}

/* ---- addresses --------------------------------------------------------------------------------*/

/* NULL: neither claimed nor told anything. A pointer is good until the next one is added or
 * deleted. */
struct config_address *config_address_at(const struct config *cfg, const union poise_addr *addr);
/* As above from text, and one that is being released is none: an error. */
struct config_address *config_address_find(const struct config *cfg, const char *text,
					   struct poise_error *err);
/* Adds one by hand with every option at its default and no device. One that is being released is
 * taken back, as new. */
struct config_address *config_address_add(struct config *cfg, const union poise_addr *addr,
					  struct poise_error *err);
/* Whether a service listens on it. */
bool config_address_serves(const struct config *cfg, const union poise_addr *addr);
/* Whether it is claimed or an option is not at its default: else its record says nothing. */
bool config_address_says(const struct config_address *a);
/* The device it is to be on, by name, empty: on none; whether there is one of this name is not
 * asked. */
int config_address_device(struct config_address *a, const char *device, struct poise_error *err);
/* No longer claimed: it goes from the configuration once it is off its device. */
void config_address_leave(struct config_address *a);
void config_address_del(struct config *cfg, struct config_address *a);
static inline bool config_address_leaving(const struct config_address *a)
{
	return a->conf.r.state == POISE_REC_LEAVING;
}
/* It is on its device only while a service on it can serve (loader/net/gate.h). */
bool config_address_gated(const struct config_address *a);
static inline bool config_address_withdrawn(const struct config_address *a)
{
	return a->conf.announced >= POISE_WITHDRAWN;
}
/* Why, by the record's enum poise_announced: as a word, and as a clause. */
const char *config_address_why_word(__u8 announced);
const char *config_address_why(__u8 announced);

/*
 * What single keys cannot say: a port other than the listener's only with nat and
 * local, at least one listener, table size against members, names and listeners unique, no backend
 * on its own listener's address, limits. The first fault. l2 and ipip carry either family to
 * backends of either: l2 needs only the neighbour's MAC, ipip has all four pairs.
 */
int config_validate(const struct config *cfg, struct poise_error *err);
/* Members that are not leaving: those that a file lists and that `auto` counts. */
size_t config_members_in(const struct config_service *svc);
/* The forward mode in force for a member: its own, else its service's. */
enum poise_mode config_mode(const struct config_service *svc, const struct config_member *m);
/* Modes that translate: flows are found by `links`, so a service's backends are all of such modes
 * or none is. They change ports. */
static inline bool config_translates(enum poise_mode mode)
{
	return mode == POISE_NAT || mode == POISE_LOCAL;
}
/* Does a hash of its packets find a flow's backend again? */
static inline bool config_by_hash(const struct poise_service_conf *conf)
{
	return conf->policy == POISE_MAGLEV || conf->policy == POISE_SOURCE_HASH;
}

/* Live flows that a member may have; 0: any number. */
static inline __u32 config_max_conns(const struct poise_service_conf *conf,
				     const struct poise_member_conf *m)
{
	return m->max_conns_set ? m->max_conns : conf->max_conns;
}

/* Has any member such a limit? Commit notes it in the service's record. Who leaves gets no more
 * flows, limit or not. */
bool config_limited(const struct config_service *svc);

/* The key for whose sake every flow is recorded whatever `track` says: a backend that no hash finds
 * again is known from the flow's record alone, and what is not recorded is neither new nor counted.
 * NULL: none. */
static inline const char *config_record_key(const struct poise_service_conf *conf)
{
	if (config_translates(conf->forward))
		return conf->forward == POISE_NAT ? "forward nat" : "forward local";
	if (!config_by_hash(conf))
		return "policy";
	if (conf->affinity || conf->rate)
		return conf->affinity ? "affinity" : "rate";
	if (conf->limited)
		return "max-conns";
	/* A reset is for nobody but whoever is known to have a flow there; of UDP only the record
	 * tells a flow that goes on from one that begins. */
	if (conf->on_down == POISE_ON_DOWN_RESET)
		return "on-down";
	return conf->on_down_udp == POISE_UDP_KEEP ? "on-down-udp" : NULL;
}

/* Is every flow recorded? */
static inline bool config_records_all(const struct poise_service_conf *conf)
{
	return conf->track == POISE_TRACK_ALWAYS || config_record_key(conf);
}

/* Is latency taken from clients' packets (bpf/watch.h)? Where it decides, and answers do not come
 * back this way. */
static inline bool config_watches(const struct poise_service_conf *conf)
{
	return (conf->policy == POISE_P2C || conf->policy == POISE_LATENCY_AWARE) &&
	       conf->forward < POISE_NAT;
}

#define CONFIG_FADE_AUTO_MS 10000

/* How long members fade in, in ms; 0: not at all. Left to the policy: where load or latency decides
 * a newcomer would be flooded; under a hash balancers would fade by clocks of their own. */
static inline __u32 config_fade_in(const struct poise_service_conf *conf)
{
	if (conf->fade_in != POISE_FADE_AUTO)
		return conf->fade_in;
	return conf->policy == POISE_LEAST_CONN || conf->policy == POISE_P2C ||
			       conf->policy == POISE_LATENCY_AWARE
		       ? CONFIG_FADE_AUTO_MS
		       : 0;
}

/* Why backends of such a service are not judged by their flows, whatever `passive` says, in words;
 * NULL: they are. */
const char *config_passive_obstacle(const struct poise_service_conf *conf);
/* Why a backend is ejected, in at most CONFIG_EJECT_TEXT bytes. */
char *config_eject_words(const struct poise_member_conf *m, char *buf, size_t size);
#define CONFIG_EJECT_TEXT 96
/* Whether a command splits into words, of which there is one. */
int config_command_check(const char *command, struct poise_error *err);
/* Every key of a service's check at its default. */
void config_health_init(struct poise_health_conf *h);
/* Forgets what checks found of members that are not checked any more. */
void config_health_forget(struct config_service *svc);
/* The same of one. */
void config_health_forget_one(const struct config_service *svc, struct config_member *m);
/* How a member is checked: as its service says, but for its own keys. Type NONE: it is not. */
void config_check_of(const struct config_service *svc, const struct config_member *m,
		     struct poise_health_conf *h);
bool config_is_checked(const struct config_service *svc, const struct config_member *m);
/* A member's own keys alone, but for its type, all else at its default; false: it has none. */
bool config_check_own(const struct config_member *m, struct poise_health_conf *own);
/* Whether a member's own keys go with those of its service. */
int config_check_validate(const struct config_service *svc, const struct config_member *m,
			  struct poise_error *err);
/* Whether a member's checks take clients' way, and then to which virtual address. They do not where
 * that was said, the mode has no way of its own (nat, local), or a command is run; for another
 * reason, *why says which; else it is NULL. */
bool config_check_path(const struct config_service *svc, const struct config_member *m,
		       union poise_addr *address, const char **why);
/* Whether a check's keys go together. said: h itself, or those of its keys that were said beside
 * others, of which what these make idle is not blamed. */
int config_health_validate(const struct poise_health_conf *h, const struct poise_health_conf *said,
			   struct poise_error *err);
/* Whether each of its texts is one of its kind, whatever its type looks at. */
int config_health_texts(const struct poise_health_conf *h, struct poise_error *err);
/* The type of check that is made: `auto` is tcp or none. */
enum poise_check config_check_type(const struct config_service *svc);
/* The port that is asked of a member (NULL: of one without a port of its own), host order; 0: the
 * service listens on all. */
__u16 config_check_port(const struct config_service *svc, const struct config_member *m);
/* Whether a check of this type has a port to ask (config_check_port), if it needs one. */
int config_health_port(enum poise_check type, __u16 port, struct poise_error *err);
/* Every key that its type has no use for to its default. */
void config_health_fit(struct poise_health_conf *h);

/* Tells of each file that the service, or a member of its (m; else NULL), names and that this
 * process cannot read, or run, now: key of its check, or notify; why, in words. */
typedef void (*config_file_say)(void *ctx, const struct config_service *svc,
				const struct config_member *m, const char *key, const char *path,
				const char *why);
void config_files(const struct config_service *svc, config_file_say say, void *ctx);

/* The table's size in slots: explicit, or by the number of configured members. */
__u32 config_table_size(const struct config_service *svc);

/* ---- the file ---------------------------------------------------------------------------------*/

#define CONFIG_FILE_MAX (32 << 20) /* bytes: 65535 services and backends take a third of it */

/* Parses YAML and validates. file is the name for messages, text its content. Unknown keys are
 * errors with "did you mean"; every error has file and line. Returns a new config, all owned by
 * POISE_OWNER_FILE. An empty file is a configuration of nothing: config_apply minds. */
struct config *config_parse(const char *file, const char *text, size_t length,
			    struct poise_error *err);
/* The same from a path, "-" standard input. */
struct config *config_read(const char *path, struct poise_error *err);

#define CONFIG_SAVE_ALL	       0x1 /* keys at their default too */
#define CONFIG_SAVE_NO_SECRETS 0x2 /* no hash-key */
/* YAML of cfg, byte-stable, malloc'ed. */
char *config_save(const struct config *cfg, unsigned int flags);

/*
 * Makes live what file says: replaces what owner `file` owns in live. A service made by hand that
 * the file names becomes the file's; what others own and the file does not name stays as it is;
 * what Kubernetes owns and the file names is a conflict. Runtime fields (ids, health, since, base,
 * and `admin` where the file does not say it) of what stays are kept. A member missing from the
 * file is marked LEAVING at once, a service missing from it goes. One pass, all or nothing. Limits
 * are not applied: they count when the maps are created. No interfaces in the file: live's stay.
 */
#define CONFIG_APPLY_MERGE 0x1 /* remove nothing */
#define CONFIG_APPLY_EMPTY 0x2 /* a file without services may remove all of them */
struct config_summary {
	unsigned int services_added, services_changed, services_removed;
	unsigned int backends_added, backends_changed, backends_removed;
	unsigned int addresses_added, addresses_changed, addresses_removed;
	unsigned int adopted; /* services that were hand's and are the file's now: no change to
			       * traffic, but live must be committed for it to last */
};
int config_apply(struct config *live, const struct config *file, unsigned int flags,
		 struct config_summary *sum, struct poise_error *err);
/* The same for what another owner wants: it takes over nothing of others, whose services of the
 * same name are a conflict. Of a part of live (instance_load_services), file is those services. */
int config_apply_as(struct config *live, const struct config *file, __u8 owner, unsigned int flags,
		    struct config_summary *sum, struct poise_error *err);

/*
 * Line-wise difference in words, a line a difference, through emit (may be NULL); returns their
 * number. `to` says nothing about hash-key, limits and interfaces that it does not have. What an
 * apply would do is the difference between live and a clone of it that the file was applied to.
 *   + service web forward l2      - backend web 10.0.0.1      ~ service web policy maglev -> p2c
 *   + allow web 192.0.2.0/24      - deny web 2001:db8::/32
 *   + listener web 192.0.2.10:80  + interface eth0            ~ backend web 10.0.0.2 weight 1 -> 2
 */
typedef void (*config_emit)(void *ctx, char sign, const char *line);
int config_diff(const struct config *from, const struct config *to, config_emit emit, void *ctx);

#endif
