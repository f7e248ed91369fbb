/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where one port of a Service leads: its endpoints, of all slices, as kube-proxy selects them
 * (KEP-1669, KEP-1672), put into the states of poise's backends:
 *
 *   ready                     enabled
 *   serving and terminating   draining: flows stay, new ones come only while nobody is ready
 *   neither                   disabled: flows stay as long as the endpoint is listed, none come
 *
 * That the ladder prefers whoever is up to whoever drains is what kube-proxy does about pods that
 * terminate, and it does so from the very next packet.
 */
#ifndef POISE_KUBE_TARGETS_H
#define POISE_KUBE_TARGETS_H

#include "cache.h"
#include "maps/abi.h"

struct target {
	union poise_addr addr;
	__u16 port; /* host order */
	__u8 admin; /* enum poise_admin */
	bool local; /* on our node */
};

struct targets {
	struct target *target; /* by address, then port; none twice */
	size_t n;
	size_t seen;   /* endpoints that were looked at for that */
	bool anywhere; /* an endpoint on some node may take new flows */
};

/* Those of one family (KUBE_IPV4 or KUBE_IPV6) and port. `local`: of our node alone. zone: ours,
 * empty if it is not known. */
void targets_of(const struct kube_entry *e, const struct kube_port *port, __u8 family, bool local,
		const char *zone, struct targets *out);
void targets_free(struct targets *t);
bool targets_equal(const struct targets *a, const struct targets *b);

/* Ready endpoints on our node, by address, of every port: what healthCheckNodePort counts. */
size_t targets_local(const struct kube_entry *e);

#endif
