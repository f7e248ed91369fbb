/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "side.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const char *program, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* it removes its instance even so */
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execl(program, program, (char *)NULL);
	perror(program);
	_exit(127);
}

bool side_start(struct side *s, const char *program)
{
	int orders[2], answers[2];
	const char *said;

	*s = (struct side){.program = program, .pid = -1};
	/* Closed by exec: the other side must not hold this one's stdin open. */
	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC)) {
		perror("compare");
		return false;
	}
	s->pid = fork();
	if (!s->pid)
		become(program, orders[0], answers[1]);
	close(orders[0]);
	close(answers[1]);
	s->to = fdopen(orders[1], "w");
	s->from = fdopen(answers[0], "r");
	if (s->pid < 0 || !s->to || !s->from) {
		perror("compare");
		return false;
	}
	said = side_ask(s, NULL, NULL);
	return said && !strcmp(said, "ready");
}

const char *side_ask(struct side *s, const char *order, const char *row)
{
	static char answer[SIDE_ANSWER];

	if (order && (fprintf(s->to, "%s %s\n", order, row ?: "") < 0 || fflush(s->to)))
		return NULL;
	if (!fgets(answer, sizeof(answer), s->from))
		return NULL;
	answer[strcspn(answer, "\n")] = '\0';
	return answer;
}

double side_run(struct side *s, const char *row)
{
	const char *said = side_ask(s, "run", row);
	char *end;
	double ns;

	if (!said)
		return NAN;
	ns = strtod(said, &end);
	return end != said && !*end ? ns : NAN;
}

void side_stop(struct side *s)
{
	if (s->to)
		fclose(s->to);
	if (s->from)
		fclose(s->from);
	if (s->pid > 0)
		waitpid(s->pid, NULL, 0);
	*s = (struct side){.program = s->program, .pid = -1};
}
