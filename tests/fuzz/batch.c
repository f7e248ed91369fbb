// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any text as a batch of commands: it is refused with one error that names its line, or it makes a
 * configuration, and if that is valid, then the file that save prints of it reads back to the same.
 */
#include <stdio.h>
#include <string.h>

#include "cli/transact.h"
#include "tests/support/fuzz.h"

static struct instance *instance(void)
{
	static const struct config_limits limits = {
		.services = 16,
		.backends = 256,
		.listeners = 128,
		.flow_slots = 1024,
		.table_slots = 8192,
		.paths = 8,
	};
	static struct instance *i;

	if (!i)
		i = instance_anonymous(&limits);
	return i;
}

/* A service to change, so that short inputs find something. */
static struct config *start(void)
{
	static const char text[] =
		"services: [ { name: web, listen: [ '192.0.2.10:80' ], forward: ipip, backends: [ "
		"{ address: 10.0.0.1 }, { address: 10.0.0.2, name: two } ] } ]";

	return config_parse("start", text, sizeof(text) - 1, NULL);
}

static void check_saved(const struct config *cfg)
{
	char *text = config_save(cfg, 0);
	struct poise_error err = {0};
	struct config *again = config_parse("saved", text, strlen(text), &err);

	if (!again)
		fprintf(stderr, "%s: %s\n%s", err.object, err.message, text);
	fuzz_require(again);
	fuzz_require(!config_diff(cfg, again, NULL, NULL));
	config_free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cli c = {.instance = instance(), .config = start(), .out = stdout, .err = stderr};
	FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;
	int n;

	if (in) {
		n = cli_batch(&c, in, "input");
		fclose(in);
		if (n < 0)
			fuzz_require(c.error.code && c.error.message[0] && c.error.line > 0);
		else if (!config_validate(c.config, NULL))
			check_saved(c.config);
	}
	cli_forget(&c);
	config_free(c.config);
	return 0;
}

FUZZ_TARGET(batch)
