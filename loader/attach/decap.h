/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two halves of the backend side share: decap.c attaches, decap-list.c knows the pins.
 */
#ifndef POISE_ATTACH_DECAP_H
#define POISE_ATTACH_DECAP_H

#include "internal.h"

#define DECAP_DIR	"decap"
#define DECAP_ADDRESSES "addresses"
#define DECAP_PORTS	"ports"
#define DECAP_COUNTS	"counts"
#define DECAP_LINK	"link"
#define DECAP_TC	"tc"

/* A device's attachment as its pin's name tells it. */
struct decap_pin {
	bool tc;
	int why; /* errno that native XDP was refused with */
	char device[IF_NAMESIZE];
};

/* <kind>_<device>, fit for bpffs. */
char *attach_decap_pin(const char *kind, const char *device, char *buf, size_t size);
bool attach_decap_parse(const char *name, struct decap_pin *p);
bool attach_decap_find(const char *dir, const char *device, struct decap_pin *p);
/* The interface it is attached to, 0 if that is gone. */
unsigned int attach_decap_ifindex(const char *dir, const struct decap_pin *p);
/* The pinned map (or link) of a device; a descriptor or -1. */
int attach_decap_open_map(const char *dir, const char *kind, const char *device);
/* Removes all pins of a device. */
void attach_decap_unlink(const char *dir, const struct decap_pin *p);
/* Detaches, then removes the pins. */
int attach_decap_remove(const char *dir, const struct decap_pin *p, struct poise_error *err);
int attach_decap_describe(const char *dir, const struct decap_pin *p, struct attach_decap *state,
			  struct poise_error *err);

#endif
