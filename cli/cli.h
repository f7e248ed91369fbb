/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command `poise`: what its files share.
 *
 * main.c hands a line to dispatch.c, which finds it in the table of commands (table.c) and calls
 * the command's function, one file per noun. A function reads its words from c->args, and returns
 * CLI_OK, CLI_NO, or -1 with c->error set. A change goes
 *
 *	cli_begin (lock, load) -> change the config in memory -> cli_end (commit, one sentence)
 *
 * and is the same function in `batch`, where begin and end hand on the one transaction.
 */
#ifndef POISE_CLI_H
#define POISE_CLI_H

#include <stdio.h>

#include "../maps/config.h"
#include "../maps/instance.h"
#include "../maps/option.h"
#include "../maps/text.h"
#include "args.h"

#define CLI_OK	  0
#define CLI_USAGE 2
#define CLI_NO	  3 /* done, but the answer is no: differs, degraded, deadline passed */

#define CLI_NOTES 16 /* next steps and warnings of one command; more would not be read */

struct cli_command;

struct cli {
	struct cli_args args;
	const struct cli_command *command;
	struct instance_where where;
	bool json, quiet, exact, colour;
	bool abbreviate; /* on a terminal: words may be shortened */
	FILE *out;	 /* standard output, but for tests and --watch */
	FILE *err;	 /* standard error */

	/* the transaction in hand */
	struct instance *instance; /* NULL: not opened */
	struct config *config;
	bool batch; /* cli_end leaves the commit to `batch` */
	struct instance_change change;
	bool reach; /* backends came: without poised, wait for their neighbours to answer */
	const struct config_service *focus; /* the service this is about; NULL any */
	struct reach *network; /* resolve.c: the network as the kernel knows it, when needed */

	/* what a change has to say */
	char *sentence;
	char *note[CLI_NOTES];
	size_t notes;

	struct poise_error error;
};

#define CLI_CHANGE 0x1 /* changes the configuration in one transaction: may stand in a batch */
#define CLI_HIDDEN 0x2 /* not in help */

/* Which KEYs a command takes. */
#define CLI_NO_KEYS (-1)

struct cli_command {
	const char *section; /* heading in help and manual */
	const char *name;    /* "service add" */
	int (*run)(struct cli *c);
	const char *usage; /* what follows the name */
	const char *help;  /* one sentence */
	const char *about; /* more for the manual, or NULL */
	/* What completes its words, a letter a word, the last one for all that follow:
	 * s service, b backend of the service, d device, f file, m map, k KEY VALUE,
	 * c command, h shell, - nothing we know */
	const char *complete;
	unsigned int options; /* OPT_BIT()s beside the common ones */
	int keys;	      /* enum option_scope or CLI_NO_KEYS */
	unsigned int flags;
};

extern const struct cli_command cli_commands[];
extern const size_t cli_command_count;

/* ---- dispatch.c
 * --------------------------------------------------------------------------------*/

/* Runs the command line argv[0..argc) (without "poise"); prints what went wrong; the exit status.
 */
int cli_main(struct cli *c, int argc, const char *const *argv);
/* Finds the command the words begin with and takes them; NULL with a usage error. */
const struct cli_command *cli_find(struct cli_args *a, bool abbreviate, struct poise_error *err);
/* -1 and a usage error if an option was said that the command does not take. */
int cli_check_options(struct cli *c);
/* A usage error that shows the command's usage; -1. */
int cli_usage(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The next word, which must be there; what names it in the error. */
const char *cli_need(struct cli *c, const char *what);
/* -1 and a usage error if words are left over. */
int cli_no_more(struct cli *c);

/* ---- say.c
 * -------------------------------------------------------------------------------------*/

/* The one sentence of a change. */
void cli_say(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What to do next, or to be warned of: a line each after the sentence. */
void cli_note(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints sentence and notes, or the JSON object, and forgets them. */
void cli_print_change(struct cli *c);
void cli_forget(struct cli *c);
void cli_print_error(const struct cli *c);

/* ---- the commands
 * ------------------------------------------------------------------------------*/
#define CLI_FUNCTIONS(F)                                                                           \
	F(status)                                                                                  \
	F(show)                                                                                    \
	F(stats)                                                                                   \
	F(flows)                                                                                   \
	F(map_list)                                                                                \
	F(map_show)                                                                                \
	F(map_check)                                                                               \
	F(attach) F(detach) F(service_add) F(service_set) F(service_listen) F(service_unlisten)    \
		F(service_rename) F(service_drain) F(service_del) F(service_list) F(backend_add)   \
			F(backend_set) F(backend_drain) F(backend_enable) F(backend_disable)       \
				F(backend_del) F(batch) F(apply) F(diff) F(save) F(decap_attach)   \
					F(decap_detach) F(decap_show) F(decap_check) F(reset)      \
						F(help) F(version) F(completion) F(complete)
#define CLI_FUNCTION(name) int cmd_##name(struct cli *c);
CLI_FUNCTIONS(CLI_FUNCTION)

#endif
