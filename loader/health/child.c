// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "maps/split.h"

#define CLOSE_RANGE                                                                                \
	436 /* the system call's number, one for all machines; glibc has it from 2.34              \
	     */

/* In the child, between fork and exec: system calls alone. */
static void become(int out)
{
	const struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {{0}};
	int null = open("/dev/null", O_RDWR);
	sigset_t signals;

	setpgid(0, 0);
	sigemptyset(&signals);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (out < 0)
		out = null;
	if (dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(out, STDERR_FILENO) < 0 || syscall(CLOSE_RANGE, 3, ~0u, 0))
		_exit(CHILD_FAILED);
	/* Without new privileges root's exec gets back none of what is given up here. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &head, none))
		_exit(CHILD_FAILED);
}

/* PATH, then the variables; malloc'ed, the texts are not. */
static char **environment(char *const *variables)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char **all;
	size_t n = 0;

	while (variables[n])
		n++;
	all = calloc(n + 2, sizeof(*all));
	if (!all)
		abort();
	all[0] = path;
	memcpy(all + 1, variables, n * sizeof(*all));
	return all;
}

pid_t child_start(const char *command, char *const *variables, int out)
{
	char *text = strdup(command), **words = NULL, **all = environment(variables);
	pid_t pid = -1;

	if (!text)
		abort();
	errno = EINVAL;
	if (split_words(text, &words, NULL) > 0)
		pid = fork();
	if (!pid) {
		become(out);
		execvpe(words[0], words, all);
		dprintf(STDOUT_FILENO, "%s: %s\n", words[0], strerror(errno));
		_exit(CHILD_FAILED);
	}
	if (pid > 0)
		setpgid(pid, pid); /* both do: neither can know who comes first */
	free(words);
	free(text);
	free(all);
	return pid;
}

void child_end(pid_t pid)
{
	kill(-pid, SIGKILL);
}
