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

struct came {
	const struct config_service *svc;
	const struct config_member *member;
};

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
	int line;   /* of it, for what is found to be wrong only at the end; else 0 */
	struct instance_change change;
	struct came *came; /* resolve.c: backends that must be reached now; point into config */
	size_t cames;
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
	 * s service, b backend of the service, d device, a claimed address, v that or a service's,
	 * f file, m map, k KEY VALUE, c command, h shell, - nothing we know */
	const char *complete;
	unsigned int options; /* OPT_BIT()s beside the common ones */
	int keys;	      /* enum option_scope or CLI_NO_KEYS */
	unsigned int flags;
};

extern const struct cli_command cli_commands[];
extern const size_t cli_command_count;

/* ---- dispatch.c ---------------------------------------------------------------------------*/

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

/* ---- say.c --------------------------------------------------------------------------------*/

/* The one sentence of a change. */
void cli_say(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What to do next, or to be warned of: a line each after the sentence. */
void cli_note(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints sentence and notes, or the JSON object, and forgets them. */
void cli_print_change(struct cli *c);
void cli_forget(struct cli *c);
void cli_print_error(const struct cli *c);

/* ---- the commands -------------------------------------------------------------------------*/
int cmd_status(struct cli *c);
int cmd_show(struct cli *c);
int cmd_stats(struct cli *c);
int cmd_events(struct cli *c);
int cmd_flows(struct cli *c);
int cmd_flows_client(struct cli *c);
int cmd_flows_drop(struct cli *c);
int cmd_map_list(struct cli *c);
int cmd_map_show(struct cli *c);
int cmd_map_check(struct cli *c);
int cmd_map_resize(struct cli *c);
int cmd_attach(struct cli *c);
int cmd_detach(struct cli *c);
int cmd_service_add(struct cli *c);
int cmd_service_set(struct cli *c);
int cmd_service_listen(struct cli *c);
int cmd_service_unlisten(struct cli *c);
int cmd_service_rename(struct cli *c);
int cmd_service_drain(struct cli *c);
int cmd_service_del(struct cli *c);
int cmd_service_list(struct cli *c);
int cmd_backend_add(struct cli *c);
int cmd_backend_set(struct cli *c);
int cmd_backend_drain(struct cli *c);
int cmd_backend_enable(struct cli *c);
int cmd_backend_disable(struct cli *c);
int cmd_backend_del(struct cli *c);
int cmd_address_list(struct cli *c);
int cmd_address_claim(struct cli *c);
int cmd_address_set(struct cli *c);
int cmd_health_set(struct cli *c);
int cmd_health_off(struct cli *c);
int cmd_health_test(struct cli *c);
int cmd_address_release(struct cli *c);
int cmd_batch(struct cli *c);
int cmd_apply(struct cli *c);
int cmd_diff(struct cli *c);
int cmd_save(struct cli *c);
int cmd_decap_attach(struct cli *c);
int cmd_decap_detach(struct cli *c);
int cmd_decap_show(struct cli *c);
int cmd_decap_check(struct cli *c);
int cmd_reset(struct cli *c);
int cmd_help(struct cli *c);
int cmd_version(struct cli *c);
int cmd_completion(struct cli *c);
int cmd_complete(struct cli *c);

#endif
