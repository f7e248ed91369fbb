/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The daemon's command line: one table gives parsing and --help. */
#ifndef POISED_OPTIONS_H
#define POISED_OPTIONS_H

#include "../maps/instance.h"
#include "kube/kube.h"
#include "log.h"

#define POISED_STATE "/var/lib/poise"

struct options {
	const char *config;
	bool config_given;    /* by name: then its absence is a fault */
	char config_own[128]; /* what config points to when it was not given */
	const char *state;    /* directory of the last good state */
	struct instance_where where;
	int log_level;
	const char *notify; /* a command that is told of every event; NULL: none */
	struct kube_settings kube;
	enum { OPTIONS_RUN, OPTIONS_CHECK, OPTIONS_WITHDRAW, OPTIONS_HELP, OPTIONS_VERSION } what;
};

/* 0, or -1 with an error of code USAGE. */
int options_parse(struct options *o, int argc, char **argv, struct poise_error *err);
void options_help(void);

#endif
