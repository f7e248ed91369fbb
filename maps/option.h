/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one table of what a thing is: every KEY of services, backends, interfaces, addresses and
 * limits, once. Command line, file, JSON, --help, man page, completion and save are generated from
 * it, and a test fails if one of them lacks an option.
 */
#ifndef POISE_OPTION_H
#define POISE_OPTION_H

#include "abi.h"
#include "error.h"
#include "ranges.h"
#include "text.h"

enum option_scope {
	OPTION_SERVICE,	  /* field of struct config_service, which begins with its conf */
	OPTION_BACKEND,	  /* field of struct poise_member_conf */
	OPTION_INTERFACE, /* field of struct config_interface */
	OPTION_ADDRESS,	  /* field of struct poise_address_conf */
	OPTION_HEALTH,	  /* field of struct poise_health_conf */
	OPTION_LIMIT,	  /* field of struct config_limits, set when the maps are created */
	OPTION_SCOPES,
};

enum option_type {
	OPTION_ENUM, /* __u8, words[] */
	OPTION_BOOL, /* __u8, yes|no */
	OPTION_U8,
	OPTION_U16,
	OPTION_U32,
	OPTION_SIZE,	   /* __u32, 64k 4M */
	OPTION_DURATION,   /* __u32 ms */
	OPTION_PERCENT,	   /* __u8, 10% */
	OPTION_HUNDREDTHS, /* __u16, 0.5 1 2.25 */
	OPTION_ADDRS, /* union poise_addr[POISE_SOURCES] of family min (4 or 6), zero at the end;
			 none: `auto` */
	OPTION_NAME,  /* char[POISE_NAME_MAX] */
	OPTION_PART,  /* __u16: a number, or percent with POISE_PART_PERCENT: 3, 30% */
	OPTION_TABLE_SIZE, /* __u32, `auto` (0) or a size */
	OPTION_RANGES,	   /* struct ranges; empty: `none` */
	OPTION_STRING,	   /* char[max + 1], any text of a line; empty: not set */
	OPTION_OWN,	   /* what a health key (option_owned) is for one backend: pairs.h */
};

struct option_word {
	const char *word;
	int value;
	bool alias; /* accepted, never shown: IPVS names */
};

struct option {
	enum option_scope scope;
	const char *key; /* as in poise.yaml; JSON has _ for - */
	enum option_type type;
	size_t offset;
	size_t set_offset;		 /* __u8 that says "set here" (backend overrides); 0 none */
	const char *fallback;		 /* the default, as typed */
	const char *zero;		 /* the word for a stored 0 that is no number: none */
	const char *ones;		 /* the word for all bits set: as other options have it */
	bool always_saved;		 /* save prints it even when it is the default */
	__u64 min, max;			 /* in the unit stored */
	__u64 step;			 /* values are multiples of it; 0: any */
	const struct option_word *words; /* ends with a NULL word */
	const char *argument;		 /* how help writes the value: DURATION, l2|ipip */
	const char *help;		 /* one sentence */
};

extern const struct option poise_options[];
extern const size_t poise_options_count;

const struct option *option_find(enum option_scope scope, const char *key);
/* As above, but an unknown key is an error with "did you mean", and one of a later version is an
 * error that says so. */
const struct option *option_need(enum option_scope scope, const char *key, struct poise_error *err);
/* The same error for a place that takes the scope's keys and these n more. Returns -1. */
int option_unknown(enum option_scope scope, const char *key, const char *const *more, size_t n,
		   struct poise_error *err);
/* Sets from text; "default" resets. obj is the structure of the option's scope; it owns its lists.
 */
int option_set(const struct option *o, void *obj, const char *text, struct poise_error *err);
/* The value as it can be typed back; of a list, as much as has room (ranges_format). */
char *option_format(const struct option *o, const void *obj, char *buf, size_t size);
bool option_is_default(const struct option *o, const void *obj);
/* Every option of scope to its default; what was there is not looked at. */
void option_defaults(enum option_scope scope, void *obj);
/* Whether two objects of the option's scope have the same value. */
bool option_equal(const struct option *o, const void *a, const void *b);
/* Copies the value from one object of the option's scope to another. */
void option_copy(const struct option *o, void *to, const void *from);
/* The stored number of any option but addresses and names: milliseconds, slots, enum values. */
__u64 option_number(const struct option *o, const void *obj);
/* The word of an enum value, e.g. for messages; "?" if out of range. */
const char *option_word(const struct option *o, int value);
/* service, backend, interface, address, limits. */
const char *option_scope_word(enum option_scope scope);

/* Of an option of type OPTION_OWN: the health key that it stands in for, and the value that it has
 * there into *h. False: it is not set. */
const struct option *option_owned(const struct option *o);
bool option_own(const struct option *o, const void *obj, struct poise_health_conf *h);

/* In order of the table: for (o = option_first(scope); o; o = option_next(o)). */
const struct option *option_first(enum option_scope scope);
const struct option *option_next(const struct option *o);

/* Bytes that hold any formatted value but a list of ranges; POISE_CHECK_PATH are fewer. */
#define OPTION_TEXT (POISE_SOURCES * POISE_ADDR_TEXT)

static inline const struct ranges *option_list_const(const struct option *o, const void *obj)
{
	return (const struct ranges *)(const void *)((const char *)obj + o->offset);
}

/* The list that an option of type OPTION_RANGES is. */
static inline struct ranges *option_list(const struct option *o, void *obj)
{
	return (struct ranges *)(void *)((char *)obj + o->offset);
}

#endif
