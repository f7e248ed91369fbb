// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who serves when not everybody is up, in words: the ladder (maps/ladder.h) as it is shown. */
#include "show.h"

const char *shown_rung_word(const struct config_service *svc)
{
	static const char *const words[POISE_RANK_NEVER] = {
		[POISE_RANK_UP] = "up",
		[POISE_RANK_CHECKING] = "checking",
		[POISE_RANK_DRAINING] = "draining",
		[POISE_RANK_SORRY] = "sorry",
		[POISE_RANK_SORRY_DRAINING] = "sorry draining",
		[POISE_RANK_FAILED] = "failed",
		[POISE_RANK_NOBODY] = "nobody",
	};
	struct ladder ladder = instance_ladder(svc);

	return words[ladder_rung(&ladder)];
}

/* Nobody to choose is no news where nobody was added. */
static const char *nobody(const struct config_service *svc, const struct ladder *l)
{
	if (!svc->members)
		return NULL;
	return l->at[POISE_RANK_FAILED]
		       ? "no backend is up: new flows are refused (on-none-up refuse)"
		       : "no backend may be chosen: new flows are refused";
}

const char *shown_rung(const struct config_service *svc, char *buf, size_t size)
{
	struct ladder ladder = instance_ladder(svc);
	const struct ladder *l = &ladder;

	switch (ladder_rung(l)) {
	case POISE_RANK_UP:
		if (!ladder_panics(l))
			return NULL;
		snprintf(buf, size,
			 "%u of %u backends up, fewer than panic %u%%: all of them serve",
			 l->at[POISE_RANK_UP], l->takers, svc->conf.panic);
		return buf;
	case POISE_RANK_CHECKING: return "no backend is up: those not yet checked serve";
	case POISE_RANK_DRAINING: return "no other backend is left: those that drain serve on";
	case POISE_RANK_SORRY: return "no other backend is left: the sorry ones serve";
	case POISE_RANK_SORRY_DRAINING:
		return "no other backend is left: the sorry ones that drain serve on";
	case POISE_RANK_FAILED:
		snprintf(buf, size,
			 "no backend is up: the %u whose check failed are tried "
			 "(on-none-up try)",
			 l->at[POISE_RANK_FAILED]);
		return buf;
	default: return nobody(svc, l);
	}
}
