/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files that decode one kind each share (object_*.c).
 */
#ifndef POISE_KUBE_DECODE_H
#define POISE_KUBE_DECODE_H

#include "object.h"
#include "spot.h"

struct decoder {
	struct reader r;
	struct spot root, meta, labels; /* of metadata */
	struct arena *memory;		/* the object's */
	const char *node;		/* our own name */
};

void kube_service_decode(struct decoder *d, struct kube_service *s);
void kube_slice_decode(struct decoder *d, struct kube_slice *s);
void kube_node_decode(struct decoder *d, struct kube_node *n);

/* A copy of a label's value; absent: NULL. */
char *decode_label(struct decoder *d, const char *key);
/* All zero, n of this size; at least one, so that none is no special case. */
void *decode_array(struct decoder *d, size_t n, size_t size);
/* TCP, UDP; 0: SCTP, or none that there is (a finding). Absent is TCP. */
__u8 decode_proto(struct decoder *d, const struct spot *port);
/* Whether a port's name is one: a DNS label, or empty. Else a finding. */
bool decode_port_name(struct decoder *d, const struct spot *port, const char *name);

#endif
