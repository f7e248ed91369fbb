/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything poised asks of an API server, in one table: paths are built from it, and the roles of
 * deploy/kubernetes grant what it says and nothing besides (tests/unit/kube_rights.c).
 */
#ifndef POISE_KUBE_RIGHTS_H
#define POISE_KUBE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/* R(SYMBOL, "group", "resource", "verbs", own namespace only) */
#define KUBE_RIGHTS(R)                                                                             \
	R(SERVICES, "", "services", "list watch", false)                                           \
	R(SLICES, "discovery.k8s.io", "endpointslices", "list watch", false)                       \
	R(NODES, "", "nodes", "list watch", false)                                                 \
	R(STATUS, "", "services/status", "patch", false)                                           \
	R(EVENTS, "", "events", "create patch", false)                                             \
	R(LEASES, "coordination.k8s.io", "leases", "get create update", true)

enum kube_right {
#define KUBE_RIGHT_ENUM(sym, group, resource, verbs, own) KUBE_RIGHT_##sym,
	KUBE_RIGHTS(KUBE_RIGHT_ENUM)
};

#define KUBE_NAME 253 /* bytes of an object's name (RFC 1123 subdomain), without NUL */
/* Of a path without its query: group, namespace, resource, name. */
#define KUBE_RIGHT_PATH (2 * KUBE_NAME + 128)

/*
 * The path of all objects of a kind, or of those of a namespace (not NULL), or of one of them (name
 * not NULL). Returns buf; NULL if a name is none that an API server can have: nothing that others
 * wrote may lead a request elsewhere.
 */
char *kube_right_path(enum kube_right right, const char *name_space, const char *name,
		      char buf[KUBE_RIGHT_PATH]);

#endif
