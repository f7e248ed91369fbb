// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of commands. Dispatch, help, manual and completion are generated from it: a command is
 * an entry here and a function, nothing else.
 */
#include "cli.h"

#define ALSO "Also"

const struct cli_command cli_commands[] = {
	{ALSO, "help", cmd_help, "[COMMAND]", "What a command does and takes.", NULL, "c", 0,
	 CLI_NO_KEYS, 0},
	{ALSO, "version", cmd_version, "", "Version of poise and of its kernel interface.", NULL,
	 "", 0, CLI_NO_KEYS, 0},
};

const size_t cli_command_count = sizeof(cli_commands) / sizeof(cli_commands[0]);
