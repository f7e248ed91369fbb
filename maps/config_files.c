// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The files that a service names: certificates and keys of its checks, and programs that are run.
 * They may come later and are read when they are needed, so one that is missing is no fault of the
 * configuration; but whoever names it should hear of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_priv.h"
#include "split.h"

struct looker {
	const struct config_service *svc;
	const struct config_member *member; /* NULL: it is the service's own */
	config_file_say say;
	void *ctx;
};

/* NULL: nothing is wrong with it. */
static const char *obstacle(const char *path, bool program)
{
	struct stat st;
	int fd;

	if (path[0] != '/')
		return "not a path from / on: poised looks where it was started";
	if (program)
		return access(path, X_OK) ? strerror(errno) : NULL;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		errno = EISDIR;
	else
		errno = 0;
	close(fd);
	return errno ? strerror(errno) : NULL;
}

static void look(const struct looker *l, const char *key, const char *path, bool program)
{
	const char *why = path[0] ? obstacle(path, program) : NULL;

	if (why)
		l->say(l->ctx, l->svc, l->member, key, path, why);
}

/* What is looked for in PATH is not looked for here. */
static void look_for_program(const struct looker *l, const char *key, const char *command)
{
	char *text = strdup(command), **words = NULL;

	if (!text)
		abort();
	if (split_words(text, &words, NULL) > 0 && strchr(words[0], '/'))
		look(l, key, words[0], true);
	free(words);
	free(text);
}

static void look_for_check(const struct looker *l, const struct poise_health_conf *h)
{
	look(l, "ca", h->ca, false);
	look(l, "cert", h->cert, false);
	look(l, "key", h->key, false);
	look_for_program(l, "command", h->command);
}

void config_files(const struct config_service *svc, config_file_say say, void *ctx)
{
	struct looker l = {.svc = svc, .say = say, .ctx = ctx};
	struct poise_health_conf own;

	look_for_program(&l, "notify", svc->conf.notify);
	look_for_check(&l, &svc->conf.health);
	for (size_t m = 0; m < svc->members; m++) {
		l.member = &svc->member[m];
		if (!config_member_leaving(l.member) && config_check_own(l.member, &own))
			look_for_check(&l, &own);
	}
}
