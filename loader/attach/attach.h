/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attach/: opens the object, creates or re-uses the pinned maps, loads, pins, attaches, replaces.
 * Used by poised and by the CLI; with maps/ the only code that calls bpf_*.
 */
#ifndef POISE_ATTACH_H
#define POISE_ATTACH_H

#include "../../maps/config.h"
#include "../../maps/instance.h"

struct attach_state {
	char device[IF_NAMESIZE];
	unsigned int ifindex;
	enum attach_mode mode; /* what it is: NATIVE or GENERIC */
	enum attach_mode wanted;
	bool shared;
	char warning[192]; /* e.g. why generic; empty none */
};

/* 0 if a directory of this name is, or would be, on a BPF file system; else the error. */
int attach_on_bpffs(const char *root, struct poise_error *err);

/* Creates the instance if its maps are not there (limits, hash key from cfg, else defaults and a
 * random key), loads the program over them, pins it, and replaces it on every device attached
 * before. *created says whether the maps are new (then the boot file is due). */
int attach_load(struct instance **out, const struct instance_where *where, const struct config *cfg,
		bool *created, struct poise_error *err);

/* Attaches the loaded program to dev; already attached: replaces. Remembers wanted mode in the
 * pin's name. A device that cannot do native XDP: generic with a warning under AUTO, an error with
 * remedy under NATIVE. */
int attach_device(struct instance *i, const struct config_interface *want,
		  struct attach_state *state, struct poise_error *err);
int attach_detach(struct instance *i, const char *device, struct poise_error *err);
/* What is attached, malloc'ed; returns the number or -1. */
int attach_list(struct instance *i, struct attach_state **list, struct poise_error *err);
/* Those that were attached and are no more on this host; forgotten by attach_detach, or when poised
 * starts. */
int attach_gone(struct instance *i, void (*one)(void *ctx, const char *device), void *ctx);

/* Notes in meta what the MTU of devices in generic mode is: they may change it. */
void attach_note_generic(struct instance *i);

/* Programs at TC beside the pipeline, by what they are for. */
enum attach_filter {
	ATTACH_CUT,   /* cuts in two what is too big */
	ATTACH_LOCAL, /* gives answers of mode local the service's address, at egress; and, at
		       * ingress, marks what the stack is to translate */
	ATTACH_PROBE, /* sends health checks by clients' way: a program at egress, one at ingress */
};

/* The number of attached devices, each told to one (NULL: nobody), that lack such a program of
 * ours; -1: there is none, this kernel cannot run it. */
int attach_filters_lacking(struct instance *i, enum attach_filter kind,
			   void (*one)(void *ctx, const char *device), void *ctx);
/* With the lock held, gives it back to those where nobody else has its place; whether none lacks it
 * now, as meta says from then on. */
bool attach_filters_mend(struct instance *i, enum attach_filter kind);
/* What meta says. */
bool attach_filters_all(const struct instance *i, enum attach_filter kind);

/*
 * Puts a flow table of `buckets` (a power of two) in force while packets run; its flows move as
 * their packets come. Returns 0 with the words left in the old table in *left: once there are none,
 * attach_resize_go_on removes it. An old one that is not empty yet refuses another resize, but
 * back to its size, or if it is the smaller one and has room for what is in both. Killed anywhere,
 * no flow is lost, and whoever goes on finishes.
 */
int attach_resize(const struct instance_where *where, __u32 buckets, __u64 *left,
		  struct poise_error *err);
/* Finishes what can be finished of a resize; nothing if there is none. */
int attach_resize_go_on(const struct instance_where *where, __u64 *left, struct poise_error *err);
/* Test hook: called before each step of a resize, with a running number; may _exit. */
extern void (*attach_resize_step)(unsigned int n);

/* Removes everything of an instance: links, programs, maps, directory. */
int attach_reset(const struct instance_where *where, struct poise_error *err);

/* ---- backend side -----------------------------------------------------------------------------*/
struct attach_decap {
	char device[IF_NAMESIZE];
	bool tc;	   /* XDP would not go: TC */
	char warning[192]; /* why TC; empty none */
	struct poise_decap_counts counts;
	size_t addresses, ports;
	union poise_addr *address; /* virtual addresses it strips for; malloc'ed */
	__u16 *port;		   /* at which it takes mode gue, ascending; malloc'ed */
};

/* What to strip: for which virtual addresses, and at which UDP ports mode gue's headers too. */
struct attach_decap_want {
	const union poise_addr *address;
	size_t addresses;
	const __u16 *port; /* host order */
	size_t ports;
};

/* Strips encapsulation for what is wanted, and nothing else, from what comes in on device.
 * Attached already: replaces program, addresses and ports without losing a packet. *state, if not
 * NULL, is filled; free it with attach_decap_free. */
int attach_decap(const struct instance_where *where, const char *device,
		 const struct attach_decap_want *want, struct attach_decap *state,
		 struct poise_error *err);
int attach_decap_detach(const struct instance_where *where, const char *device,
			struct poise_error *err);
/* What is attached, malloc'ed, by device; returns the number or -1. */
int attach_decap_list(const struct instance_where *where, struct attach_decap **list,
		      struct poise_error *err);
/* Frees what the n entries own, not the entries. */
void attach_decap_free(struct attach_decap *list, size_t n);

#endif
