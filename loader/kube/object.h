/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Services, EndpointSlices and Nodes as the API server gives them, decoded from JSON into what
 * poise needs of them. Nothing in an object is trusted: a field of a wrong type or value is left
 * out, or, where that would open what should be closed, closes it, and is a finding; all of the
 * object that is right counts. Decoding depends on the object alone, so whatever the history the
 * same object is decoded to the same.
 *
 * An object and its texts and arrays lie in one arena: a hundred endpoints take 4 KiB.
 */
#ifndef POISE_KUBE_OBJECT_H
#define POISE_KUBE_OBJECT_H

#include <json-c/json.h>
#include <linux/types.h>

#include "arena.h"
#include "finding.h"
#include "maps/abi.h"

#define KUBE_ANNOTATION "poise.dev/" /* in front of a key */
#define KUBE_WANTED	"addresses"  /* the pool's addresses that a Service asks for, commas */
#define KUBE_SHARE	"share"	     /* Services that say the same word may share an address */
#define KUBE_PORTS_MAX	1000	     /* of a Service; kube-apiserver has no limit, etcd has */
#define KUBE_ADDRS_MAX	64	     /* external IPs, ingress addresses; of a node */
#define KUBE_NOTES_MAX	64	     /* annotations for us */
#define KUBE_SLICE_MAX	1000	     /* endpoints; kube-apiserver allows no more */
#define KUBE_HINTS_MAX	8	     /* of a kind, of one endpoint; kube-apiserver allows no more */

/* Bits of families. */
#define KUBE_IPV4 0x1
#define KUBE_IPV6 0x2

/* What every object has. */
struct kube_object {
	struct arena memory; /* all of it, this too */
	enum kube_kind kind;
	char *ns, *name, *uid;	      /* never NULL */
	char *version;		      /* resourceVersion: only to see whether it is another one */
	__s64 created;		      /* seconds since 1970; INT64_MAX: not said */
	struct kube_findings *faults; /* of decoding; NULL: none */
};

enum kube_type {
	KUBE_CLUSTER_IP = 0,
	KUBE_NODE_PORT,
	KUBE_LOAD_BALANCER,
	KUBE_EXTERNAL_NAME,
	KUBE_TYPE_UNKNOWN, /* left alone */
};

struct kube_port {
	char *name;	 /* empty: the only one */
	char *target;	 /* targetPort as text, a number or a name; empty: the port */
	__u16 port;	 /* host order, as the next */
	__u16 node_port; /* 0: none */
	__u8 proto;	 /* IPPROTO_TCP, IPPROTO_UDP; 0: another one, not served */
	__u16 at;	 /* in spec.ports, for messages */
};

struct kube_note {
	char *key;   /* without poise.dev/ */
	char *value; /* of any bytes but NUL */
};

struct kube_service {
	struct kube_object o; /* first */
	enum kube_type type;
	bool headless;	    /* clusterIP None, or the label service.kubernetes.io/headless */
	char *proxy;	    /* label service.kubernetes.io/service-proxy-name; NULL: none */
	char *lb_class;	    /* spec.loadBalancerClass; NULL: unset */
	bool local;	    /* externalTrafficPolicy Local */
	bool affinity;	    /* sessionAffinity ClientIP, ... */
	__u32 affinity_for; /* ... for so many seconds */
	bool ranged;	    /* loadBalancerSourceRanges are said: who is in none is denied */
	__u8 families;	    /* KUBE_IPV4, KUBE_IPV6 */
	bool prefers6;	    /* the first of ipFamilies is IPv6 */
	bool likes_both;    /* ipFamilyPolicy PreferDualStack */
	__u16 health_port;  /* healthCheckNodePort, host order; 0: none */
	struct kube_port *port;
	size_t ports;
	union poise_addr *external; /* externalIPs */
	size_t externals;
	union poise_addr *ingress; /* of status, without those of ipMode Proxy */
	size_t ingresses;
	bool ingress_other;	/* the status has host names, too */
	bool ingress_ours;	/* we were the last to write it: kube_publish_wrote() */
	union poise_addr *want; /* loadBalancerIP, and annotation KUBE_WANTED */
	size_t wants;
	struct poise_range *range;
	size_t ranges;
	struct kube_note *note; /* annotations poise.dev/..., by key */
	size_t notes;
};

#define KUBE_READY	 0x1
#define KUBE_SERVING	 0x2
#define KUBE_TERMINATING 0x4
#define KUBE_LOCAL	 0x8  /* on our node */
#define KUBE_FOR_NODES	 0x10 /* hints: for some nodes (forNodes), ... */
#define KUBE_FOR_OURS	 0x20 /* ... ours among them */

struct kube_endpoint {
	union poise_addr addr;
	__u64 pod;   /* a hash of targetRef; 0: it has none */
	__u8 is;     /* KUBE_READY ... */
	__u16 zones; /* hints: an index of the slice's zones (forZones); 0: for none */
};

struct kube_slice_port {
	char *name; /* empty: none */
	__u16 port; /* host order */
	__u8 proto;
};

struct kube_slice {
	struct kube_object o; /* first */
	char *service;	      /* label kubernetes.io/service-name; empty: nobody's */
	struct kube_slice_port *port;
	size_t ports;
	struct kube_endpoint *endpoint; /* those whose address is right, of one family */
	size_t endpoints;
	char **zones; /* [0] is NULL; else names with a newline before and after each */
	size_t zone_sets;
};

struct kube_node {
	struct kube_object o;	/* first; ns is empty */
	union poise_addr *addr; /* InternalIP and ExternalIP of its status */
	size_t addrs;
	char *zone;    /* label topology.kubernetes.io/zone; empty: none */
	bool excluded; /* label node.kubernetes.io/exclude-from-external-load-balancers */
};

/* An object of this kind, to be freed by kube_object_free. node: our own name, for endpoints.
 * NULL if it cannot even be named; why is then in `lost` (may be NULL), else in its `faults`. */
struct kube_object *kube_object_decode(enum kube_kind kind, struct json_object *json,
				       const char *node, struct kube_findings *lost);
void kube_object_free(struct kube_object *o);

/* Namespace and name alone, each at most KUBE_NAME_MAX bytes; false: it has no right ones. The
 * texts are the JSON's. */
bool kube_object_name(enum kube_kind kind, struct json_object *json, const char **ns,
		      const char **name);

/* The value of annotation poise.dev/KEY; NULL: it has none. */
const char *kube_service_note(const struct kube_service *s, const char *key);
/* Whether an endpoint's hints are for this zone. */
bool kube_slice_hints(const struct kube_slice *s, const struct kube_endpoint *e, const char *zone);

#endif
