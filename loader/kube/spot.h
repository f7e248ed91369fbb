/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A place in an object's JSON: what is there, and the way to it, so that whatever is wrong there
 * can be named. Each spot_* looks at one field: absent and null are the same and no fault, another
 * type than is wanted is a finding and then as if it were absent.
 */
#ifndef POISE_KUBE_SPOT_H
#define POISE_KUBE_SPOT_H

#include <json-c/json.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "finding.h"
#include "maps/abi.h"

/* Of one object: what it is, and where its findings go. */
struct reader {
	struct kube_about about;
	struct kube_findings *faults;
};

struct spot {
	const struct spot *up; /* NULL: the object itself */
	const char *key;       /* NULL: an entry of an array */
	size_t index;
	struct json_object *json; /* NULL: nothing there */
};

/* The field in an object that may be nothing itself. They return whether there is one. */
bool spot_object(struct reader *r, const struct spot *in, const char *key, struct spot *out);
/* *n: entries of the array, at most `most`; more are a finding. */
bool spot_array(struct reader *r, const struct spot *in, const char *key, size_t most,
		struct spot *out, size_t *n);
/* *text stays what it was if it is absent or wrong; it is the JSON's. */
bool spot_text(struct reader *r, const struct spot *in, const char *key, const char **text);
/* Within min and max, else a finding. */
bool spot_number(struct reader *r, const struct spot *in, const char *key, __s64 min, __s64 max,
		 __s64 *value);
enum spot_truth {
	SPOT_ABSENT,
	SPOT_FALSE,
	SPOT_TRUE,
	SPOT_WRONG,
};
enum spot_truth spot_truth(struct reader *r, const struct spot *in, const char *key);

/* Entry i of an array: an object, or a text. */
bool spot_entry(struct reader *r, const struct spot *array, size_t i, struct spot *out);
bool spot_entry_text(struct reader *r, const struct spot *array, size_t i, struct spot *out,
		     const char **text);
/* What stands at a place, if it is a text. */
bool spot_is_text(struct reader *r, const struct spot *at, const char **text);

/* A host's address there, of a family in `families` (KUBE_IPV4 ...); IPv4 in IPv6's form is IPv4.
 */
bool spot_addr(struct reader *r, const struct spot *at, __u8 families, union poise_addr *addr);

/* A finding about a place. */
void spot_fault(struct reader *r, const struct spot *at, enum kube_reason reason, const char *fmt,
		...) __attribute__((format(printf, 4, 5)));
/* The same about a field that is a text, an address or the like and wrong: it is quoted. */
void spot_wrong(struct reader *r, const struct spot *at, const char *text, const char *why);

#endif
