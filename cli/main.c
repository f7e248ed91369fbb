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
	/* A full disk or a closed pipe under our output is a failure, too; but not one that has
	 * changed nothing. */
	if ((fflush(stdout) || ferror(stdout)) && !status) {
		bool changed = c.change.services || c.change.members;

		fprintf(stderr, "poise: standard output cannot be written%s\n",
			changed ? "; the change is done" : "");
		status = changed ? CLI_NO : 1;
	}
	return status;
}
