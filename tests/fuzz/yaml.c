// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes as a configuration file: either an error with a place and a reason, or a configuration
 * that survives being saved and read, and being applied.
 */
#include <string.h>

#include "maps/config.h"
#include "tests/support/fuzz.h"

static struct config *parse(const char *text, size_t length, struct poise_error *err)
{
	return config_parse("fuzz.yaml", text, length, err);
}

static void check_error(const struct poise_error *err)
{
	char text[sizeof(*err)];

	fuzz_require(err->code != POISE_E_NONE);
	fuzz_require(err->message[0]);
	fuzz_require(!strcmp(err->file, "fuzz.yaml"));
	fuzz_require(strstr(poise_error_text(err, text, sizeof(text)), "fuzz.yaml"));
	/* Only what is about the file as a whole has no line. */
	fuzz_require(err->line > 0 || err->code == POISE_E_FULL);
}

static void check_save(const struct config *cfg, unsigned int flags)
{
	char *first = config_save(cfg, flags), *second;
	struct poise_error err = {0};
	struct config *again = parse(first, strlen(first), &err);

	if (!again)
		fprintf(stderr, "%s (line %d) in:\n%s", err.message, err.line, first);
	fuzz_require(again);
	fuzz_require(config_diff(cfg, again, NULL, NULL) == 0);
	second = config_save(again, flags);
	fuzz_require(!strcmp(first, second));
	config_free(again);
	free(first);
	free(second);
}

static void check_apply(const struct config *cfg)
{
	struct config *live = config_new();
	struct config_summary sum;

	fuzz_require(config_apply(live, cfg, 0, &sum, NULL) == 0);
	fuzz_require(sum.services_added == cfg->services);
	fuzz_require(config_diff(live, cfg, NULL, NULL) == 0);
	fuzz_require(config_apply(live, cfg, 0, &sum, NULL) == 0);
	fuzz_require(!sum.services_added && !sum.services_changed && !sum.services_removed);
	fuzz_require(!sum.backends_added && !sum.backends_changed && !sum.backends_removed);
	config_free(live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct poise_error err = {0};
	struct config *cfg = parse((const char *)data, size, &err);

	if (!cfg) {
		check_error(&err);
		return 0;
	}
	check_save(cfg, 0);
	check_save(cfg, CONFIG_SAVE_ALL);
	check_apply(cfg);
	config_free(cfg);
	return 0;
}

FUZZ_TARGET(yaml)
