// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* poise version */
#include "cli.h"
#include "json.h"

int cmd_version(struct cli *c)
{
	if (cli_no_more(c))
		return -1;
	if (c->json)
		json_print(c, json_answer(c));
	else
		fprintf(c->out, "poise %s, ABI %d\n", POISE_VERSION, POISE_ABI);
	return CLI_OK;
}
