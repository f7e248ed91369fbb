// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who serves when not everybody is up (maps/ladder.h), as `show` has it. */
#include "show.h"

const char *shown_rung(const struct cli *c, const struct config_service *svc, char *buf,
		       size_t size)
{
	struct ladder ladder = instance_ladder(c->instance, svc);
	enum poise_rank rung = ladder_rung(&ladder);

	if (rung == POISE_RANK_UP && !ladder_panics(&ladder) && !ladder_pardons(&ladder) &&
	    !ladder_below(&ladder))
		return NULL;
	/* Nobody to choose is no news where nobody was added. */
	if (rung == POISE_RANK_NOBODY && !svc->members)
		return NULL;
	return ladder_says(&ladder, buf, size);
}
