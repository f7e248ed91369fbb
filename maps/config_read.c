// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The bytes of a configuration file: from a path, a pipe or standard input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_priv.h"

#define FIRST_READ 65536

/* Reads to the end, at most one byte over CONFIG_FILE_MAX, which config_parse then refuses. */
static int read_all(int fd, char **text, size_t *length)
{
	size_t room = FIRST_READ;

	*text = memory_alloc(room);
	*length = 0;
	for (;;) {
		ssize_t n = read(fd, *text + *length, room - *length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		*length += (size_t)n;
		if (!n || *length > CONFIG_FILE_MAX)
			return 0;
		if (*length == room) {
			room *= 2;
			*text = memory_realloc(*text, room);
		}
	}
}

struct config *config_read(const char *path, struct poise_error *err)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct config *cfg = NULL;
	char *text = NULL;
	size_t length;

	if (fd < 0 || read_all(fd, &text, &length))
		poise_fail_errno(err, "cannot read %s", standard ? "standard input" : path);
	else
		cfg = config_parse(standard ? "standard input" : path, text, length, err);
	free(text);
	if (fd >= 0 && !standard)
		close(fd);
	return cfg;
}
