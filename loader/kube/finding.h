/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is amiss with an object of the cluster, for an Event and the log: which object, which field,
 * why, and so what. A finding never stops anything but the field that it is about.
 */
#ifndef POISE_KUBE_FINDING_H
#define POISE_KUBE_FINDING_H

#include <stdbool.h>
#include <stddef.h>

enum kube_kind {
	KUBE_SERVICE,
	KUBE_SLICE,
	KUBE_NODE,
	KUBE_KINDS,
};

#define KUBE_NAME_MAX	   253 /* of any object: a DNS subdomain (RFC 1123) */
#define KUBE_MESSAGE	   384 /* bytes of a message with its NUL; an Event's note takes 1024 */
#define KUBE_FINDINGS_EACH 8   /* of one object; the last says that there are more */

/* R(SYMBOL, "Reason"): why, in the word that an Event has for it. */
#define KUBE_REASONS(R)                                                                            \
	R(INVALID, "InvalidField")	    /* of a type or value that the API does not have */    \
	R(UNSUPPORTED, "Unsupported")	    /* right, but nothing that can be served: SCTP */      \
	R(ANNOTATION, "InvalidAnnotation")  /* an annotation poise.dev/... */                      \
	R(CONFLICT, "AddressPortConflict")  /* somebody else has that address and port */          \
	R(NAME, "NameConflict")		    /* somebody else has a poise service of that name */   \
	R(FULL, "TooManyBackends")	    /* a limit of this instance */                         \
	R(REFUSED, "ConfigurationRefused")  /* values that do not go together */                   \
	R(POOL_OUTSIDE, "AddressNotInPool") /* asked for, as the next: pool.h */                   \
	R(POOL_TAKEN, "AddressTaken")	    /* another has it, or nobody may */                    \
	R(POOL_FAMILY, "AddressFamilyMissing")	  /* of the pool, or of the Service */             \
	R(POOL_EXHAUSTED, "AddressPoolExhausted") /* none is free */                               \
	R(SERVER, "APIServerAddress")		  /* where we reach the API server */

enum kube_reason {
#define KUBE_REASON_ENUM(sym, word) KUBE_R_##sym,
	KUBE_REASONS(KUBE_REASON_ENUM)
};

struct kube_finding {
	enum kube_kind kind;
	enum kube_reason reason;
	char *ns, *name, *uid; /* ns empty: a Node; each empty: not known */
	char *field;	       /* spec.ports[3].protocol; printable */
	char *message;	       /* printable, without ns, name and field */
};

struct kube_findings {
	struct kube_finding *finding;
	size_t n, room;
};

/* What a finding is about; texts are copied, and what cannot be printed in them is not. */
struct kube_about {
	enum kube_kind kind;
	const char *ns, *name, *uid;
};

/* Adds one, unless it is there already or its object has KUBE_FINDINGS_EACH. list may be NULL. */
void kube_find(struct kube_findings *list, const struct kube_about *about, enum kube_reason reason,
	       const char *field, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Adds all of others. */
void kube_findings_add(struct kube_findings *list, const struct kube_findings *others);
void kube_findings_free(struct kube_findings *list);
/* What it owns, not it. */
void kube_finding_free(struct kube_finding *f);
/* By kind, ns, name, reason, field, message: one order whatever the history. */
void kube_findings_sort(struct kube_findings *list);
int kube_finding_cmp(const struct kube_finding *a, const struct kube_finding *b);

/* The word of an Event; and the finding as a line: Service ns/name: field: message */
const char *kube_reason_word(enum kube_reason reason);
const char *kube_kind_word(enum kube_kind kind);
char *kube_finding_text(const struct kube_finding *f, char *buf, size_t size);

#endif
