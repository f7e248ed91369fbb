/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command line: words (what a thing is) and --options (how a command behaves, anywhere on the
 * line). CLI_OPTIONS is the one table of options: parsing, help, manual and completion come from
 * it. KEYs are another table, maps/option.h.
 */
#ifndef POISE_CLI_ARGS_H
#define POISE_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "../maps/error.h"

enum cli_arity {
	ARITY_NONE,
	ARITY_MAY, /* --wait or --wait=5m; the next word too if it reads as a duration */
	ARITY_NEED,
};

/* O(SYMBOL, "name", letter or 0, arity, "ARGUMENT" or NULL, "one sentence") */
#define CLI_OPTIONS(O)                                                                             \
	O(JSON, "json", 'j', NONE, NULL, "Print one JSON object; errors too, on standard error.")  \
	O(QUIET, "quiet", 'q', NONE, NULL, "Print nothing when a change is done.")                 \
	O(HELP, "help", 'h', NONE, NULL,                                                           \
	  "Print what a command does and takes, and change nothing.")                              \
	O(INSTANCE, "instance", 0, NEED, "NAME",                                                   \
	  "The balancer to talk to, if several run on a host; default when not said.")             \
	O(PIN, "pin", 0, NEED, "DIR",                                                              \
	  "Where instances are pinned; /sys/fs/bpf/poise when not said.")                          \
	O(WAIT, "wait", 0, MAY, "DURATION",                                                        \
	  "Return when the change has taken full effect; exit status 3 if it has not after "       \
	  "DURATION (5m).")                                                                        \
	O(FOLLOW, "follow", 'f', NONE, NULL, "Go on: print what happens as it happens, until ^C.") \
	O(WATCH, "watch", 0, MAY, "DURATION", "Show again every DURATION (2s), until ^C.")         \
	O(COLUMNS, "columns", 0, NEED, "A,B", "Show these columns only.")                          \
	O(NO_HEADER, "no-header", 0, NONE, NULL, "Leave out the line of headings.")                \
	O(EXACT, "exact", 0, NONE, NULL, "Plain numbers: 12345 instead of 12.3k.")                 \
	O(COUNT, "count", 0, NONE, NULL, "Only say how many there are.")                           \
	O(RAW, "raw", 0, NONE, NULL, "Bytes in hexadecimal instead of fields.")                    \
	O(NOW, "now", 0, NONE, NULL, "Do not wait for flows to end: cut them.")                    \
	O(DRY_RUN, "dry-run", 0, NONE, NULL, "Say what would change; change nothing.")             \
	O(MERGE, "merge", 0, NONE, NULL, "Add and change what the file has; remove nothing.")      \
	O(ALLOW_EMPTY, "allow-empty", 0, NONE, NULL,                                               \
	  "Let a file without services remove every service that came from a file.")               \
	O(BOOT, "boot", 0, NONE, NULL, "Write the boot file instead of standard output.")          \
	O(ALL, "all", 0, NONE, NULL, "Every key, also those at their default.")                    \
	O(NO_SECRETS, "no-secrets", 0, NONE, NULL, "Leave out the hash-key.")

enum cli_option_id {
#define CLI_OPTION_ENUM(sym, ...) OPT_##sym,
	CLI_OPTIONS(CLI_OPTION_ENUM) CLI_OPTION_COUNT
};

#define OPT_BIT(sym) (1u << OPT_##sym)
/* Those that every command takes. */
#define CLI_OPTIONS_COMMON                                                                         \
	(OPT_BIT(JSON) | OPT_BIT(QUIET) | OPT_BIT(HELP) | OPT_BIT(INSTANCE) | OPT_BIT(PIN))

struct cli_option {
	const char *name;
	char letter; /* 0 none */
	enum cli_arity arity;
	const char *argument;
	const char *help;
};

extern const struct cli_option cli_options[CLI_OPTION_COUNT];

struct cli_args {
	const char **word; /* borrowed strings, owned array */
	size_t words;
	size_t next; /* first word not yet taken */
	bool set[CLI_OPTION_COUNT];
	const char *value[CLI_OPTION_COUNT]; /* NULL: said without an argument */
};

/* Takes argv[0..argc) apart. abbreviate: options may be shortened. Usage errors. */
int args_parse(struct cli_args *a, int argc, const char *const *argv, bool abbreviate,
	       struct poise_error *err);
void args_free(struct cli_args *a);

/* The next word, taken or only looked at; NULL at the end. */
const char *args_take(struct cli_args *a);
const char *args_peek(const struct cli_args *a);
size_t args_left(const struct cli_args *a);

/* The place of text in word[n]: exact, or an unambiguous prefix if
 * abbreviate. -1 with a usage error that names what was being looked for and the nearest word. */
int args_match(const char *what, const char *text, const char *const *word, size_t n,
	       bool abbreviate, struct poise_error *err);

#endif
