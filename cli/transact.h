/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a command reads and changes an instance. A change is lock, load, change the config in memory,
 * commit; in a batch all commands share one.
 */
#ifndef POISE_CLI_TRANSACT_H
#define POISE_CLI_TRANSACT_H

#include "cli.h"

/* Opens the instance and loads what is in force into c->config; again: a newer state. No lock. */
int cli_read(struct cli *c);
/* Opens, locks and loads; in a batch, the config in hand. NULL with c->error. */
struct config *cli_begin(struct cli *c);
/* The same for a change of one service's options or members, which the next word names (`all`:
 * of any): there may be no other service in the config. */
struct config *cli_begin_service(struct cli *c);
/* Commits c->config, resolves next hops once if poised does not, prints the sentence. */
int cli_end(struct cli *c);
/* The parts of cli_end, for commands with more to say after: commit, resolve, wait; no print. */
int cli_commit(struct cli *c);
/* Runs the lines of in on the config in hand, without commit; file is their name in errors. The
 * number of commands, or -1. */
int cli_batch(struct cli *c, FILE *in, const char *file);
/* Tells, as an event, that this command changed what is in force. */
void cli_tell_change(struct cli *c);
/* Unlocks, closes, frees; harmless when nothing is open. */
void cli_close(struct cli *c);

/* Before a commit: notes which addresses the host has by itself. */
void cli_note_own(struct cli *c);
/* Puts claimed addresses on their devices and takes released ones off; the lock is held. Never
 * fails the command: what cannot be done is noted, and poised tries again. */
void cli_settle(struct cli *c);
/* The same when poised does not run, and the lock is not held: by what is in force now, since next
 * hops may have been found that decide whether an address is announced. */
void cli_settle_alone(struct cli *c);
/* Takes every claimed address off its device, as far as that can be done: nobody will know of them
 * any more. */
void cli_release_all(struct cli *c);
/* Notes which members of c->config are new (before the commit gives them ids), or all of them, as
 * those that cli_reach waits for. */
void cli_came(struct cli *c, bool all);
/* Without poised: finds next hops of every member once. The lock is held. Never fails the command,
 * leaves a note; false if there was nothing to look at. */
bool cli_resolve(struct cli *c);
/* Waits about a second at most until those who came have next hops; notes who stays without, and
 * why. The lock is not held: poised, or others, may want it. */
void cli_reach(struct cli *c, bool daemon);
/* Why a member has no next hop, in words; empty if that cannot be told. */
void cli_unreachable(struct cli *c, const struct config_service *svc, const struct config_member *m,
		     char *buf, size_t size);
void cli_network_close(struct cli *c);

/* Does the change, before its commit, end the flows of this backend? What a mode that translates
 * has made of a flow no other mode goes on with, nor the reverse. */
bool cli_cuts(const struct cli *c, const struct config_service *svc, const struct config_member *m);
#define CLI_CUTS "established flows are cut: what one mode has begun this one cannot go on with"

/* CLOCK_REALTIME in ns. */
__u64 cli_now(void);

/* ---- what is in force, as commands ask for it ---------------------------------------------*/

/* The next word as a service, or as backends of svc; NULL or -1 with c->error. */
struct config_service *cli_service(struct cli *c);
/* True if word is a KEY of scope: exactly, or as an unambiguous prefix where those are allowed. */
const struct option *cli_key(const struct cli *c, int scope, const char *word);
/* Sets KEY VALUE words up to the end in obj; at least one pair if `some`. */
int cli_keys(struct cli *c, enum option_scope scope, void *obj, bool some);

/* Whether the service's gauges count every live flow: hash policies record only what needs it. */
bool cli_flows_known(const struct config_service *svc);
/* Live flows of a member, of a service. */
__u64 cli_member_flows(const struct cli *c, const struct config_member *m);
__u64 cli_service_flows(const struct cli *c, const struct config_service *svc);
/* "88 flows", or that nobody counts them. */
const char *cli_flows_text(bool known, __u64 n, char *buf, size_t size);
/* The name by which people know a member: its name, else ADDR[:PORT]. */
const char *cli_member_name(const struct config_member *m, char buf[POISE_NAME_MAX]);
/* A value in the words of the file. */
const char *cli_word(enum option_scope scope, const char *key, const void *obj, char *buf,
		     size_t size);
const char *cli_owner(int owner);
/* "policy is now maglev": the KEY that word is and the value it has, as shown. */
const char *cli_now_is(const struct cli *c, enum option_scope scope, const char *word,
		       const void *obj, char *buf, size_t size);

/* Notes: that the next apply undoes a change; that it leaves what was added; that nothing leads to
 * an address. */
void cli_note_owner(struct cli *c, const struct config_service *svc);
void cli_note_added(struct cli *c, const struct config_service *svc);
void cli_note_addresses(struct cli *c, const struct config_service *svc);
/* Notes which files that it names cannot be read now; svc NULL: which of those that stand in the
 * file or batch that c->config has the lines of. */
void cli_note_files(struct cli *c, const struct config_service *svc);

/* The file applied when this instance's maps are created. */
const char *cli_boot_file(const struct cli *c, char *buf, size_t size);

#endif
