// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kube.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

const char *kube_server_path(const struct kube_server *s, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", s->dir, name);
	return path;
}

static void run(const struct kube_server *s, const char *options, int out)
{
	char command[1024];

	snprintf(command, sizeof(command), "exec tests/kube/apiserver --dir %s %s", s->dir,
		 options);
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* a test that fails leaves none behind */
	dup2(out, STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(127);
}

static void connect_control(struct kube_server *s)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s/control", s->dir);
	cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0, "%s: %m", to.sun_path);
	s->control = fdopen(fd, "r");
	cr_assert(s->control);
}

void kube_server_up(struct kube_server *s, const char *options)
{
	char line[64];
	FILE *said;
	int ends[2];

	memset(s, 0, sizeof(*s));
	snprintf(s->dir, sizeof(s->dir), "/tmp/poise-kube-XXXXXX");
	cr_assert(mkdtemp(s->dir));
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	s->pid = fork();
	cr_assert_geq(s->pid, 0);
	if (!s->pid)
		run(s, options, ends[1]);
	close(ends[1]);
	said = fdopen(ends[0], "r");
	do
		cr_assert(fgets(line, sizeof(line), said), "the API server did not start");
	while (strncmp(line, "ready", 5) != 0);
	fclose(said);
	connect_control(s);
}

void kube_server_down(struct kube_server *s)
{
	char command[128];

	if (s->control)
		fclose(s->control);
	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -r %s", s->dir);
	cr_expect_eq(system(command), 0); /* NOLINT(cert-env33-c): a path of ours */
	free(s->said);
}

const char *kube_server_do(struct kube_server *s, const char *fmt, ...)
{
	char *line = NULL;
	size_t room = 0, used = 0;
	va_list args;

	va_start(args, fmt);
	vdprintf(fileno(s->control), fmt, args);
	va_end(args);
	dprintf(fileno(s->control), "\n");
	s->said = realloc(s->said, 1);
	s->said[0] = '\0';
	for (;;) {
		ssize_t n = getline(&line, &room, s->control);

		cr_assert_gt(n, 0, "the API server ended: %s", fmt);
		cr_assert(strncmp(line, "error: ", 7) != 0, "%s: %s", fmt, line);
		if (!strcmp(line, "ok\n"))
			break;
		s->said = realloc(s->said, used + (size_t)n + 1);
		memcpy(s->said + used, line, (size_t)n + 1);
		used += (size_t)n;
	}
	free(line);
	return s->said;
}
