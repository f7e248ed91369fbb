// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A host for the command; see host.h. */
#include "host.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char network[] =
	"set -e; ip link set lo up; ip link add e0 type veth peer name p0; "
	"ip address add 10.0.0.254/24 dev e0; ip link set e0 up; ip link set p0 up; "
	"for n in 1 2 3 4 5 6 7 8 9; do "
	"ip neigh add 10.0.0.$n lladdr 02:00:00:00:00:0$n dev e0 nud permanent; done";

/* The commands that were built are the first that a shell finds. */
static void find_commands(const struct host *h)
{
	const char *build = getenv("B") ? getenv("B") : "build";
	char path[8192], *absolute = realpath(build, NULL);

	cr_assert_not_null(absolute, "%s", build);
	snprintf(path, sizeof(path), "%s:%s", absolute, getenv("PATH"));
	setenv("PATH", path, 1);
	setenv("I", h->instance, 1);
	unsetenv("NO_COLOR");
	free(absolute);
}

void host_up(struct host *h)
{
	if (geteuid())
		cr_skip_test("needs root: it makes a network namespace and attaches to it");
	memset(h, 0, sizeof(*h));
	snprintf(h->instance, sizeof(h->instance), "t%d", getpid());
	snprintf(h->dir, sizeof(h->dir), "/tmp/poise-test-XXXXXX");
	cr_assert_not_null(mkdtemp(h->dir));
	find_commands(h);
	cr_assert_eq(unshare(CLONE_NEWNET), 0, "%s", strerror(errno));
	cr_assert_eq(host_run(h, "%s", network), 0, "%s", h->err);
	host_poise(h, "reset"); /* what one that was killed may have left, of a number used again */
}

void host_web(struct host *h)
{
	host_must(h, "attach e0");
	host_must(h, "service add web 192.0.2.10:80 '[2001:db8::10]:80' forward l2 track always");
	host_must(h, "backend add web 10.0.0.1 10.0.0.2 10.0.0.3");
}

void host_down(struct host *h)
{
	host_poise(h, "reset");
	host_run(h, "rm -rf %s", h->dir);
	free(h->out);
	free(h->err);
}

/* Reads both channels to their end. */
static void collect(int fd[2], char *text[2])
{
	struct pollfd p[2] = {{.fd = fd[0], .events = POLLIN}, {.fd = fd[1], .events = POLLIN}};
	size_t used[2] = {0, 0};

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		cr_assert(poll(p, 2, -1) > 0 || errno == EINTR);
		for (int i = 0; i < 2; i++) {
			ssize_t n;

			if (p[i].fd < 0 || !p[i].revents)
				continue;
			n = read(fd[i], text[i] + used[i], HOST_OUTPUT - 1 - used[i]);
			if (n > 0)
				used[i] += (size_t)n;
			else
				p[i].fd = -1;
			cr_assert_lt(used[i], HOST_OUTPUT - 1, "more output than is kept");
		}
	}
	text[0][used[0]] = 0;
	text[1][used[1]] = 0;
}

static int run(struct host *h, const char *line)
{
	int out[2], err[2], status;
	char *text[2];
	pid_t pid;

	free(h->out);
	free(h->err);
	h->out = text[0] = calloc(1, HOST_OUTPUT);
	h->err = text[1] = calloc(1, HOST_OUTPUT);
	cr_assert(text[0] && text[1] && !pipe(out) && !pipe(err));
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		close(out[0]);
		close(out[1]);
		close(err[0]);
		close(err[1]);
		dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
		execl("/bin/bash", "bash", "-c", line, NULL);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	collect((int[]){out[0], err[0]}, text);
	close(out[0]);
	close(err[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	h->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return h->status;
}

int host_run(struct host *h, const char *fmt, ...)
{
	char *line;
	va_list ap;
	int status;

	va_start(ap, fmt);
	cr_assert(vasprintf(&line, fmt, ap) >= 0);
	va_end(ap);
	status = run(h, line);
	free(line);
	return status;
}

static int run_poise(struct host *h, const char *fmt, va_list ap)
{
	char *words, *line;
	int status;

	cr_assert(vasprintf(&words, fmt, ap) >= 0);
	cr_assert(asprintf(&line, "poise --instance %s %s", h->instance, words) >= 0);
	status = run(h, line);
	free(line);
	free(words);
	return status;
}

int host_poise(struct host *h, const char *fmt, ...)
{
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = run_poise(h, fmt, ap);
	va_end(ap);
	return status;
}

const char *host_must(struct host *h, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	run_poise(h, fmt, ap);
	va_end(ap);
	cr_assert_eq(h->status, 0, "poise %s: exit status %d\n%s%s", fmt, h->status, h->out,
		     h->err);
	return h->out;
}

const char *host_file(struct host *h, const char *name, const char *content)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", h->dir, name);
	f = fopen(path, "w");
	cr_assert_not_null(f);
	fputs(content, f);
	cr_assert_eq(fclose(f), 0);
	return path;
}
