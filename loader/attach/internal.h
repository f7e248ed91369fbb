/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of attach/ share. One file, one step: layout.c knows the directories and the lock,
 * pin.c what a pin's name says, maps.c and load.c the object, device.c and its helpers a device.
 *
 * Nothing here is looked up by id (that would need CAP_SYS_ADMIN): everything is found by its pin.
 */
#ifndef POISE_ATTACH_INTERNAL_H
#define POISE_ATTACH_INTERNAL_H

#include <limits.h>
#include <net/if.h>

#include "attach.h"

/* ---- layout.c ---------------------------------------------------------------------------------*/

#define ATTACH_PIN_PROGRAM "prog_xdp"
#define ATTACH_PIN_SWEEP   "prog_sweep"
/* A pin is replaced by pinning under this name and renaming: a kill leaves the old or the new. */
#define ATTACH_PIN_NEW	  "new"
#define ATTACH_PIN_SHARED "shared_progs"

struct attach_dir {
	char base[PATH_MAX]; /* <root>/<instance> */
	char path[PATH_MAX]; /* <base>/v<POISE_ABI>, or <base>/decap */
	int fd;		     /* holds the lock; -1 closed */
};

/* Makes <root>/<instance>/<leaf> if need be and locks it; waits for other writers. leaf NULL: this
 * ABI's. create false: POISE_E_NO_INSTANCE if it is not there. */
int attach_dir_open(struct attach_dir *d, const struct instance_where *where, const char *leaf,
		    bool create, struct poise_error *err);
void attach_dir_close(struct attach_dir *d);
/* Refuses if a newer poise has made pins of a newer ABI beside ours. */
int attach_dir_abi(const struct attach_dir *d, struct poise_error *err);
/* path/name into buf. */
char *attach_path(char *buf, size_t size, const char *dir, const char *name);
/* Calls one(ctx, name) for every entry until it returns non-zero, and returns that; -1 with an
 * error if the directory cannot be read. */
int attach_dir_each(const char *path, int (*one)(void *ctx, const char *name), void *ctx,
		    struct poise_error *err);
/* Unlinks every entry and the directory. */
int attach_dir_remove(const char *path, struct poise_error *err);
/* Missing capabilities are said by name before anything is touched. */
int attach_privileges(struct poise_error *err);

/* ---- pin.c: names say what must outlive the process -------------------------------------------*/

#define ATTACH_OFFLOAD_RXVLAN 0x1
#define ATTACH_OFFLOAD_LRO    0x2

/* A device's pin: link_<wanted>_<offloads>_<why>_<device>, or shared_... likewise. */
struct attach_pin {
	bool shared; /* libxdp's dispatcher calls us; else a bpf_link of our own */
	enum attach_mode wanted;
	unsigned int offloads; /* ATTACH_OFFLOAD_*: what attach turned off and detach restores */
	int why;	       /* errno that native mode was refused with; 0 none */
	char device[IF_NAMESIZE];
};

#define ATTACH_PIN_NAME 64 /* the longest: shared_generic_vl_4095_<15 of device> and NUL */

/* Device names may have dots, names on bpffs may not; in place. */
char *attach_pin_escape(char *name);
char *attach_pin_unescape(char *device);
char *attach_pin_name(const struct attach_pin *p, char *buf, size_t size);
bool attach_pin_parse(const char *name, struct attach_pin *p);
/* The pin of a device in dir, if any. */
bool attach_pin_find(const char *dir, const char *device, struct attach_pin *p);
/* Pins fd as dir/name by way of a temporary name, replacing what was there. */
int attach_pin_replace(int fd, const char *dir, const char *name, struct poise_error *err);
/* Undoes what a process killed in attach_pin_replace left. Call it once the lock is held. */
void attach_pin_leftover(const char *dir);
/* Renames a device's pin when what it says has changed. */
int attach_pin_rename(const char *dir, const struct attach_pin *from, const struct attach_pin *to,
		      struct poise_error *err);

/* ---- log.c: libbpf's own words ----------------------------------------------------------------*/

/* Silences libbpf and libxdp on stderr and forgets what they said so far. */
void attach_log_start(void);
/* The last thing worth quoting that they said since; empty if nothing. */
const char *attach_log_said(void);

/* ---- clock.c, maps.c --------------------------------------------------------------------------*/

struct poise;

/* Makes the object use d's pinned maps, of which none may be missing or of another shape; the flow
 * tables as meta.flow_stage says. */
int attach_maps_reuse(struct poise *skel, const struct attach_dir *d, __u32 stage,
		      struct poise_error *err);
/* Sizes maps that are to be made. */
int attach_maps_size(struct poise *skel, const struct config_limits *limits,
		     struct poise_error *err);
int attach_maps_pin(struct poise *skel, const struct attach_dir *d, struct poise_error *err);
void attach_maps_unpin(const struct attach_dir *d);
/* *complete: an earlier creation came to its end, only then does meta carry the magic number. The
 * hash key and the stage of a resize are copied out then. */
int attach_maps_complete(const struct attach_dir *d, bool *complete, __u64 hash_key[2],
			 __u32 *flow_stage, struct poise_error *err);

/* load.c: with the lock held, loads the program over the maps that are there, as meta.flow_stage
 * says, and has every device run it. */
int attach_load_anew(const struct attach_dir *d, struct poise_error *err);
/* ---- beside.c: the flow table that a resize leaves --------------------------------------------*/

struct attach_beside {
	__u32 buckets;
	__u64 left;	/* words */
	__u32 seconds;	/* until all of them are over, if their flows are silent */
	bool takes_all; /* it is the smaller one, and has room for what is in both */
};

/* With the lock held, in stage MOVING: brings over from it what can be, and says what is left. */
int attach_beside_empty(const struct instance_where *where, struct attach_beside *beside,
			struct poise_error *err);

/* poise_jiffies_mult: 2^32 / HZ, measured. */
int attach_clock(__u32 *mult, struct poise_error *err);

/* ---- device.c ---------------------------------------------------------------------------------*/

/* POISE_E_NO_DEVICE with its remedy; -1. */
int attach_no_device(struct poise_error *err);
/* Makes every device attached in dir run the program; forgets devices that are gone. */
int attach_replace_all(const char *dir, int prog_fd, struct poise_error *err);
/* Detaches p's device and removes its pin. */
int attach_remove(const char *dir, const struct attach_pin *p, struct poise_error *err);
/* What is to be told of a device: *state is filled from its pin. */
void attach_describe(const struct attach_pin *p, unsigned int ifindex, struct attach_state *state);
/* The interface that p holds, 0 if its device is gone. */
unsigned int attach_pinned_ifindex(const char *dir, const struct attach_pin *p);

/* ---- link.c, offload.c ------------------------------------------------------------------------*/

/* Attaches natively or generically as p->wanted asks; sets p->why and *mode; returns the link's fd
 * or -1. */
int attach_link_create(int prog_fd, unsigned int ifindex, struct attach_pin *p,
		       enum attach_mode *mode, struct poise_error *err);
/* The interface a pinned link is attached to, 0 if its device is gone. */
unsigned int attach_link_ifindex(int link_fd);
/* Why native mode was refused, in words. */
char *attach_link_why(int why, const char *device, char *buf, size_t size);
/* How the program that is on a device is attached. */
enum attach_mode attach_link_mode(unsigned int ifindex);

/* Turns off what hides tags from the program or merges segments before it; returns what was turned
 * off (ATTACH_OFFLOAD_*). */
unsigned int attach_offload_off(const char *device);
void attach_offload_restore(const char *device, unsigned int off);
/* True, and a sentence with the remedy, if such an offload is on still. */
bool attach_offload_warn(const char *device, char *buf, size_t size);
/* The driver's name; empty if unknown. */
char *attach_driver(const char *device, char *buf, size_t size);
unsigned int attach_mtu(const char *device); /* 0: unknown */

/* ---- tc.c -------------------------------------------------------------------------------------*/

/* Where programs of ours stand among the filters of TC: at ingress, but for those that say out. */
enum attach_tc_place {
	ATTACH_TC_DECAP = 1, /* before all others: they are to see what is inside */
	ATTACH_TC_CUT,
	ATTACH_TC_PROBE_OUT,
	ATTACH_TC_PROBE_IN,
	ATTACH_TC_LOCAL_OUT,
	ATTACH_TC_LOCAL_IN,
};

/* Attaches the program, or replaces what is in its place. */
int attach_tc(unsigned int ifindex, enum attach_tc_place place, int prog_fd,
	      struct poise_error *err);
enum attach_tc_found {
	ATTACH_TC_NOTHING, /* nor may there be any: another's qdisc */
	ATTACH_TC_OURS,
	ATTACH_TC_OTHER, /* another program in this place */
};

/* What is in that place of a device; ours is the program of that id. */
enum attach_tc_found attach_tc_look(unsigned int ifindex, enum attach_tc_place place,
				    __u32 prog_id);
/* It may be gone already. */
int attach_tc_remove(unsigned int ifindex, enum attach_tc_place place, struct poise_error *err);

/* ---- filters.c: the programs at TC beside the pipeline ----------------------------------------*/

/* Loads them over skel's maps and pins them; what this kernel refuses has no pin. */
void attach_filters_load(const struct poise *skel, const char *dir);
void attach_filters_unpin(const char *dir);
/* Has them run on every device attached in dir; meta says whether they do: not where there is no
 * pin. */
void attach_filters_everywhere(const char *dir, struct poise_meta *meta);
/* Takes them off a device. */
void attach_filters_remove(unsigned int ifindex);

/* ---- shared.c: through libxdp's dispatcher ----------------------------------------------------*/

/* As attach_link_create, beside other programs; returns a descriptor to pin. */
int attach_shared_create(const char *dir, int prog_fd, unsigned int ifindex, struct attach_pin *p,
			 enum attach_mode *mode, struct poise_error *err);
/* Takes the program pinned at path off its device. */
int attach_shared_remove(const char *path, unsigned int ifindex, struct poise_error *err);
/* Has every dispatcher call prog_fd from the next packet on. */
int attach_shared_update(const char *dir, int prog_fd, struct poise_error *err);

/* ---- dispatcher.c ----------------------------------------------------------------------------*/

/* Has libxdp take our dispatcher until attach_dispatcher_return. False: there is none to lend. */
bool attach_dispatcher_lend(void);
void attach_dispatcher_return(void);

#endif
