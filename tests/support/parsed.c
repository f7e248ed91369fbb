// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "parsed.h"

#include <criterion/criterion.h>
#include <string.h>

const char *said(const struct poise_error *err)
{
	static char text[1024];

	return poise_error_text(err, text, sizeof(text));
}

struct config *parsed(const char *text)
{
	struct poise_error err = {0};
	struct config *cfg = config_parse("f.yaml", text, strlen(text), &err);

	cr_assert_not_null(cfg, "%s", said(&err));
	return cfg;
}
