/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "lab.h"
#include "evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "maps/clock.h"

#define WORDS_MAX 64
#define COMMAND	  4096

/* What a command that does nothing takes on a node of two CPUs that have nothing else to do, some
 * 15 ms, and a third more. */
#define LOOK_SECONDS 0.02
#define LOOKS	     5

static char output[LAB_OUTPUT];

static double now(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

/* In the child: our programs come first, wherever the build is. */
static void set_path(void)
{
	char path[8192], *build = realpath(getenv("B") ?: "build", NULL);

	if (!build)
		return;
	snprintf(path, sizeof(path), "%s:%s/tests/lab:%s", build, build, getenv("PATH"));
	setenv("PATH", path, 1);
	setenv("POISE_BUILD", build, 1);
	free(build);
}

static pid_t spawn(char *const argv[], int out)
{
	pid_t pid = fork();

	cr_assert(pid >= 0, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	set_path();
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* To its end: a command that leaves a daemon behind leaves the pipe open, so the output goes
 * through a file. */
static int run(char *const argv[])
{
	FILE *file = tmpfile();
	int status;
	size_t len;
	pid_t pid;

	cr_assert(file, "tmpfile: %s", strerror(errno));
	pid = spawn(argv, fileno(file));
	cr_assert(waitpid(pid, &status, 0) == pid);
	rewind(file);
	len = fread(output, 1, sizeof(output) - 1, file);
	output[len] = '\0';
	fclose(file);
	return exit_status(status);
}

static int run_on(const struct lab *l, const char *node, const char *command)
{
	char *argv[] = {
		"tests/lab/lab", "exec", "--name", (char *)l->name, (char *)node, "sh", "-c",
		(char *)command, NULL};

	return run(argv);
}

/* ---- public -----------------------------------------------------------------------------------*/

int lab_host(const char **out, const char *fmt, ...)
{
	char command[COMMAND], *argv[] = {"sh", "-c", command, NULL};
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	status = run(argv);
	if (out)
		*out = output;
	return status;
}

void lab_up(struct lab *l, const char *options)
{
	static unsigned int labs;
	int status;

	if (geteuid())
		cr_skip_test("needs root: it makes network namespaces");
	snprintf(l->name, sizeof(l->name), "t%d.%u", getpid(), labs++);
	snprintf(l->log, sizeof(l->log), "/tmp/poise-test.%s", l->name);
	status = lab_host(NULL, "tests/lab/lab up --name %s --owner %d %s", l->name, getpid(),
			  options);
	cr_assert(status == 0, "lab up %s: %s", options, output);
	evidence_begin(l);
}

void lab_down(struct lab *l)
{
	if (!l->name[0])
		return;
	evidence_end(l);
	lab_host(NULL, "tests/lab/lab down --name %s; rm -rf %s.*", l->name, l->log);
	l->name[0] = '\0';
}

int lab_run(const struct lab *l, const char *node, const char **out, const char *fmt, ...)
{
	char command[COMMAND];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	status = run_on(l, node, command);
	if (out)
		*out = output;
	return status;
}

const char *lab_must(const struct lab *l, const char *node, const char *fmt, ...)
{
	char command[COMMAND];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	status = run_on(l, node, command);
	cr_assert(status == 0, "%s# %s\nexit status %d\n%s", node, command, status, output);
	return output;
}

/* Again and again until it succeeds or so many seconds have passed since then. */
static bool tried_until(const struct lab *l, const char *node, const char *command, double begin,
			double seconds)
{
	while (run_on(l, node, command)) {
		if (now() > begin + seconds)
			return false;
		nap();
	}
	return true;
}

void lab_until(const struct lab *l, const char *node, int seconds, const char *fmt, ...)
{
	char command[COMMAND];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (seconds < LAB_SOON)
		seconds = LAB_SOON;
	cr_assert(tried_until(l, node, command, now(), seconds), "%s# %s\nnot within %d s\n%s",
		  node, command, seconds, output);
}

double lab_slowness(const struct lab *l)
{
	double begin = now(), times;

	for (int n = 0; n < LOOKS; n++)
		run_on(l, "router", "true");
	times = (now() - begin) / LOOKS / LOOK_SECONDS;
	return times > 1 ? times : 1;
}

void lab_within(const struct lab *l, const char *node, double seconds, const char *fmt, ...)
{
	double begin = now(), times = 1;
	char command[COMMAND];
	bool done;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	done = tried_until(l, node, command, begin, seconds);
	if (!done) {
		times = lab_slowness(l);
		done = tried_until(l, node, command, begin, seconds * times);
	}
	cr_assert(done, "%s# %s\nnot within %.1f s, %.1f times as slow as it may be\n%s", node,
		  command, seconds, times, output);
}

static pid_t start(const struct lab *l, const char *node, char *command, const char *log)
{
	char *argv[WORDS_MAX] = {"tests/lab/lab", "exec", "--name", (char *)l->name, (char *)node};
	int n = 5, out;
	pid_t pid;

	for (char *word = strtok(command, " "); word; word = strtok(NULL, " ")) {
		cr_assert(n < WORDS_MAX - 1);
		argv[n++] = word;
	}
	out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	cr_assert(out >= 0, "%s: %s", log, strerror(errno));
	/* `lab exec` ends in exec, so this is the program's own pid. */
	pid = spawn(argv, out);
	close(out);
	return pid;
}

pid_t lab_start(const struct lab *l, const char *node, const char *fmt, ...)
{
	char command[COMMAND], log[96];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	snprintf(log, sizeof(log), "%s.%s", l->log, node);
	return start(l, node, command, log);
}

/* Starts it with a log of its own and waits until that has the word "ready". */
static pid_t start_ready(const struct lab *l, const char *node, char *command)
{
	static unsigned int starts;
	double deadline = now() + LAB_SOON;
	char log[96], shown[64];
	pid_t pid;

	snprintf(log, sizeof(log), "%s.%s.%u", l->log, node, starts++);
	snprintf(shown, sizeof(shown), "%s", command);
	pid = start(l, node, command, log);
	while (lab_host(NULL, "grep -q ready %s", log)) {
		int status = 0;
		bool lives = waitpid(pid, &status, WNOHANG) == 0;

		lab_host(NULL, "cat %s", log);
		cr_assert(lives && now() < deadline, "%s# %s\n%s (wait status %#x)\n%s", node,
			  shown, lives ? "does not get ready" : "ended", status, output);
		nap();
	}
	return pid;
}

pid_t lab_serve(const struct lab *l, const char *node, const char *fmt, ...)
{
	char command[COMMAND];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return start_ready(l, node, command);
}

int lab_stop(pid_t pid, int sig)
{
	kill(pid, sig);
	return lab_wait(pid);
}

int lab_wait(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	return exit_status(status);
}

pid_t lab_poised(const struct lab *l, const char *node, const char *options)
{
	char command[COMMAND];

	snprintf(command, sizeof(command), "poised %s", options);
	return start_ready(l, node, command);
}
