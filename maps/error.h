/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Errors as users read them: what, which, why, where, and what to do. Every function that can fail
 * for a reason a user can mend takes a struct poise_error and returns 0 or -1.
 *
 * Printed as  poise: service "web": backend 10.0.0.300: not an IPv4 or IPv6 address (web.yaml:14)
 * and with --json as {"error":{"code","message","object","file","line","remedy"}}.
 */
#ifndef POISE_ERROR_H
#define POISE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* C(SYMBOL, "code", exit status): the stable words of JSON's "code" */
#define POISE_CODES(C)                                                                             \
	C(USAGE, "usage", 2)   /* the command line itself */                                       \
	C(SYNTAX, "syntax", 1) /* a file that cannot be read as YAML */                            \
	C(UNKNOWN_KEY, "unknown-key", 1)                                                           \
	C(BAD_VALUE, "bad-value", 1)                                                               \
	C(NOT_FOUND, "not-found", 1)                                                               \
	C(EXISTS, "exists", 1)	   /* duplicate name or listener */                                \
	C(FULL, "full", 1)	   /* a limit of the instance */                                   \
	C(CONFLICT, "conflict", 1) /* keys or states that contradict */                            \
	C(IN_USE, "in-use", 1)	   /* live flows */                                                \
	C(NO_INSTANCE, "no-instance", 1)                                                           \
	C(ABI, "abi", 1) /* made by a newer or other poise */                                      \
	C(PERMISSION, "permission", 1)                                                             \
	C(NO_BPFFS, "no-bpffs", 1)                                                                 \
	C(NO_DEVICE, "no-device", 1)                                                               \
	C(ATTACH, "attach", 1)                                                                     \
	C(UNSUPPORTED, "unsupported", 1) /* this kernel, device or build */                        \
	C(BUSY, "busy", 1)                                                                         \
	C(CORRUPT, "corrupt", 1)                                                                   \
	C(SYSTEM, "system", 1) /* a system call, with its reason */

enum poise_code {
	POISE_E_NONE = 0,
#define POISE_CODE_ENUM(sym, word, status) POISE_E_##sym,
	POISE_CODES(POISE_CODE_ENUM)
};

struct poise_error {
	enum poise_code code;
	int line;	   /* in file; 0 none */
	char file[256];	   /* as the user named it; empty none */
	char object[192];  /* e.g. service "web": backend 10.0.0.1; empty none */
	char message[512]; /* why */
	char remedy[1024]; /* what to do; empty none */
};

/* Sets code and message, clears the rest except file and line; returns -1, so that callers can
 * `return poise_fail(...)`. err may be NULL. */
int poise_fail(struct poise_error *err, enum poise_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with errno's text appended; keeps errno. EPERM and EACCES become POISE_E_PERMISSION. */
int poise_fail_errno(struct poise_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for a text that cannot be read: the text, quoted if it has odd characters, becomes the
 * object, so that poise_error_of(err, "backend") makes it  backend 10.0.0.300: not an IPv4 ... */
int poise_fail_text(struct poise_error *err, enum poise_code code, const char *text,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Adds what an error is about, outermost last: prefixes "what: " to object. Returns -1. */
int poise_error_about(struct poise_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same with "what " and no colon: what the offending text should have been, such as its key. */
int poise_error_of(struct poise_error *err, const char *what);

/* Text as messages may show it: as it is if it is a plain word, else in double quotes with control
 * characters and bytes that are no UTF-8 as \xNN; cut to fit size with "..." at the end. */
char *poise_quote(const char *text, char *buf, size_t size);

/* Whether it is UTF-8 without control characters: what a file can hold and a terminal show. */
bool poise_is_printable(const char *text);
/* What others wrote, in place: each byte that is none of a printable UTF-8 character becomes '?',
 * so that no terminal, log or JSON is harmed by it. Returns text. */
char *poise_printable(char *text);

/* Sets the remedy. Returns -1. */
int poise_error_remedy(struct poise_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "object: message (file:line)" into buf; returns buf. The remedy is a line of its own. */
char *poise_error_text(const struct poise_error *err, char *buf, size_t size);

const char *poise_code_word(enum poise_code code);
int poise_code_status(enum poise_code code);

#endif
