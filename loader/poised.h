/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The daemon's parts. Threads: the loop (fold, heartbeat, rates, next hops, signals), which never
 * waits for the lock, and the keeper (sweep, drains, ids, last good state), which may; health
 * checks; and with --kubernetes what follows a cluster. Each has its own handle on the instance,
 * for a handle's lock is its own; the memory behind them is mapped once (maps/mapping.h).
 */
#ifndef POISED_H
#define POISED_H

#include <pthread.h>
#include <uv.h>

#include "attach/attach.h"
#include "boot.h"
#include "eject.h"
#include "favour.h"
#include "fold.h"
#include "health/checker.h"
#include "net/gate.h"
#include "net/overlay.h"
#include "../maps/aging.h"
#include "../maps/events.h"
#include "notify.h"
#include "options.h"
#include "rate.h"

/* ---- follow: what the CLI and the network change ----------------------------------------------*/
#define FOLLOW_DEVICES 64 /* attached devices of one instance; more are not followed */

struct follow {
	struct instance *instance;
	struct config *cfg; /* in force when last looked */
	struct net *net;
	struct net_plan plan;
	bool pending;  /* the plan's changes are to be stored */
	__u64 news;    /* counts what may move a next hop */
	__u64 planned; /* news that the pass under way has seen ... */
	__u64 done;    /* ... and the last one that was finished */
	unsigned int attached[FOLLOW_DEVICES];
	size_t devices;
	bool told_fault; /* a fault that lasts is told once */
};

int follow_open(struct follow *f, struct instance *i, struct poise_error *err);
void follow_close(struct follow *f);
/* The netlink socket is readable. */
void follow_network(struct follow *f);
/* Every few milliseconds: cheap while nothing changed. True if f->cfg is another one now. */
bool follow_tick(struct follow *f);
/* Looks at which devices are attached; true if that changed. */
bool follow_devices(struct follow *f);

/* ---- settle: claimed addresses on their devices, while they can be served ---------------------*/
#define SETTLE_DEVICES 64 /* with claimed addresses; on more they are not announced again */

struct settle_device {
	unsigned int ifindex;
	bool up;
	bool tell;	   /* in this look */
	unsigned int left; /* announcements to come */
};

struct settle {
	struct settle_device device[SETTLE_DEVICES];
	size_t devices;
	__u64 generation, news; /* of follow, when last looked */
	unsigned int faults;	/* of that look */
	bool told_fault;
	bool routes_due;   /* a look at routes was put off */
	__u64 routes_next; /* CLOCK_MONOTONIC ns: not before this, unless there is a generation */
	struct gate gate;
};

/* Several times a second: cheap while nothing is claimed or nothing changed. */
void settle_tick(struct settle *s, struct follow *f);
/* The instance was removed, programs and all: withdraws what is announced while it can be served.
 */
void settle_removed(struct settle *s, struct follow *f);
void settle_close(struct settle *s);

/* ---- withdraw: what is left to do when poised has ended ---------------------------------------*/
/* Takes off the addresses that are announced only while they can be served, if no device has the
 * program any more; for systemd, to run when the service has stopped. */
int withdraw_detached(const struct options *o, struct poise_error *err);

/* ---- devices: interfaces that the file names --------------------------------------------------*/
struct devices {
	struct config_interface *want;
	unsigned int *ifindex; /* at the last try; 0: it was not there */
	size_t count;
};

/* Attaches every interface of cfg; what fails is logged and tried again when the device appears. */
void devices_take(struct devices *d, struct instance *i, const struct config *cfg);
/* Attaches those that appeared since. What was detached by hand stays so. */
void devices_look(struct devices *d, struct instance *i);
/* Puts the programs at TC back where somebody removed them (attach/filters.c); while that fails,
 * what would be cut is dropped and counted, and health checks go the host's own way. */
void devices_filters(struct instance *i);
void devices_free(struct devices *d);

/* ---- keeper: what may wait for the lock -------------------------------------------------------*/
struct keeper {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	bool running;
	bool stop;
	const struct options *options;
	struct instance *instance; /* its own handle */
	struct aging *aging;
	struct ejector *ejector;
	__u64 saved; /* generation of the last good state */
	__u32 turns;
	bool told_fault;
};

int keeper_start(struct keeper *k, const struct options *o, struct poise_error *err);
void keeper_stop(struct keeper *k);

/* ---- herald: what happens, to the log and to commands -----------------------------------------*/
struct herald {
	struct instance *instance;
	const char *command; /* told of every event; NULL: none */
	struct events_reader reader;
	struct notify notify;
};

/* Of what happens from now on. */
void herald_open(struct herald *h, struct instance *i, const char *command);
/* cfg is in force, for the services' keys; NULL: not known. */
void herald_tick(struct herald *h, const struct config *cfg);
void herald_close(struct herald *h, const struct config *cfg);

/* ---- drained: backends whose last flow is gone ------------------------------------------------*/
struct drained {
	__u64 *known; /* [meta.members] when the drain began that was last seen to end */
	bool begun;
};

/* Once a second, and when poised begins: who is drained by then was so before. cfg is in force, or
 * NULL. */
void drained_look(struct drained *d, struct instance *i, const struct config *cfg);
void drained_free(struct drained *d);

/* ---- loop -------------------------------------------------------------------------------------*/
struct poised {
	struct options options;
	int sole; /* sole.h */
	struct instance *instance;
	struct follow follow;
	struct settle settle;
	struct devices devices;
	struct keeper keeper;
	struct checker *checker;
	struct kube *kube;
	struct herald herald;
	struct drained drained;
	struct overlay overlay;
	bool told_overlay; /* that its table failed: told once, until it stands */
	struct fold fold;
	struct rate_window *rates; /* [meta.members] */
	__u64 faded;		   /* generation that on_fade has seen */
	bool fading;		   /* somebody fades in */

	uv_loop_t loop;
	uv_timer_t fold_timer;
	uv_timer_t second_timer;
	uv_timer_t devices_timer;
	uv_timer_t fade_timer;
	uv_timer_t alive_timer;
	uv_poll_t network;
	uv_signal_t hup, term, interrupt;
};

/* Runs until SIGTERM, SIGINT, or the instance is removed. */
int loop_run(struct poised *p, struct poise_error *err);

#endif
