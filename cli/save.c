// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise save: what is in force, as a file that apply turns back into it. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attached.h"
#include "json.h"

#define FILE_MODE                                                                                  \
	0600 /* the hash-key is a secret: whoever has it can aim floods at one backend             \
	      */

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			text += n;
			left -= (size_t)n;
		}
	}
	return 0;
}

/* Makes the change of name durable, too; a directory that cannot be synced is no reason to fail. */
static void sync_directory(const char *path)
{
	char copy[300];
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

/* A new file in place of the old one by one rename: whoever reads finds one or the other whole. */
static int replace_file(const char *path, const char *text, struct poise_error *err)
{
	char aside[300], copy[300];
	int fd, status = -1;

	snprintf(copy, sizeof(copy), "%s", path);
	mkdir(dirname(copy), 0755); /* that it exists is the usual case */
	snprintf(aside, sizeof(aside), "%s.new-%d", path, getpid());
	fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return poise_fail_errno(err, "%s cannot be written", path);
	if (write_all(fd, text) || fsync(fd))
		poise_fail_errno(err, "%s cannot be written", path);
	else if (rename(aside, path))
		poise_fail_errno(err, "%s cannot be replaced", path);
	else
		status = 0;
	close(fd);
	if (status)
		unlink(aside);
	else
		sync_directory(path);
	return status;
}

static int save_boot(struct cli *c, const char *text)
{
	char path[256];

	cli_boot_file(c, path, sizeof(path));
	if (replace_file(path, text, &c->error))
		return -1;
	cli_say(c, "%s written: %zu service%s; it is applied when the maps are next created.", path,
		c->config->services, c->config->services == 1 ? "" : "s");
	cli_print_change(c);
	return CLI_OK;
}

int cmd_save(struct cli *c)
{
	unsigned int flags = (c->args.set[OPT_ALL] ? CONFIG_SAVE_ALL : 0) |
			     (c->args.set[OPT_NO_SECRETS] ? CONFIG_SAVE_NO_SECRETS : 0);
	int status = CLI_OK;
	char *text;

	if (cli_no_more(c) || cli_read(c) || attach_interfaces(c))
		return -1;
	text = config_save(c->config, flags);
	if (c->args.set[OPT_BOOT]) {
		status = save_boot(c, text);
	} else if (c->json) {
		struct json_object *o = json_answer(c);

		json_add_known(o, "yaml", text);
		json_print(c, o);
	} else {
		fputs(text, c->out);
	}
	free(text);
	return status;
}
