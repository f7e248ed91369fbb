// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise: the command. The table of what it can do is in table.c, the way there in dispatch.c. */
#include <stdlib.h>
#include <unistd.h>

#include "transact.h"

int main(int argc, char **argv)
{
	bool out = isatty(STDOUT_FILENO);
	struct cli c = {
		.out = stdout,
		.err = stderr,
		.abbreviate = out || isatty(STDIN_FILENO),
		.colour = out && !getenv("NO_COLOR"),
	};
	int status = cli_main(&c, argc - 1, (const char *const *)argv + 1);

	cli_close(&c);
	/* A full disk or a closed pipe under our output is a failure, too. */
	if (fflush(stdout) && !status) {
		perror("poise: standard output");
		status = 1;
	}
	return status;
}
