// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who serves when not everybody is up, in words: the ladder as it is shown and told. */
#include <stdio.h>

#include "ladder.h"

const char *ladder_rung_word(enum poise_rank rung)
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

	return rung < POISE_RANK_NEVER ? words[rung] : "?";
}

/* That its minimum is not met, and who serves then. */
static const char *below(const struct ladder *l, char *buf, size_t size)
{
	bool sorry = ladder_rung(l) == POISE_RANK_SORRY;

	snprintf(buf, size, "%u of %u backends up, fewer than %u (min-up): %s",
		 l->at[POISE_RANK_UP], l->takers, ladder_enough(l),
		 sorry ? "the sorry ones serve" : "they serve all the same");
	return buf;
}

static const char *up(const struct ladder *l, char *buf, size_t size)
{
	if (ladder_below(l))
		return below(l, buf, size);
	if (ladder_pardons(l))
		snprintf(buf, size, "no backend is up but the %u ejected: they serve all the same",
			 l->ejected);
	else if (ladder_panics(l))
		snprintf(buf, size,
			 "%u of %u backends up, fewer than panic %u%%: all of them serve",
			 l->at[POISE_RANK_UP], l->takers, l->conf->panic);
	else
		snprintf(buf, size, "%u of %u backends up: they serve", l->at[POISE_RANK_UP],
			 l->takers);
	return buf;
}

static const char *failed(const struct ladder *l, char *buf, size_t size)
{
	if (l->at[POISE_RANK_FAILED] == 1)
		return "no backend is up: the one whose check failed is tried (on-none-up try)";
	snprintf(buf, size,
		 "no backend is up: the %u whose check failed are tried (on-none-up try)",
		 l->at[POISE_RANK_FAILED]);
	return buf;
}

static const char *nobody(const struct ladder *l)
{
	if (l->conf->on_nobody == POISE_NOBODY_DROP)
		return l->at[POISE_RANK_FAILED]
			       ? "no backend is up: new flows are dropped (on-none-up refuse, "
				 "on-nobody drop)"
			       : "no backend may be chosen: new flows are dropped (on-nobody drop)";
	return l->at[POISE_RANK_FAILED]
		       ? "no backend is up: new flows are refused (on-none-up refuse)"
		       : "no backend may be chosen: new flows are refused";
}

const char *ladder_says(const struct ladder *l, char *buf, size_t size)
{
	switch (ladder_rung(l)) {
	case POISE_RANK_UP: return up(l, buf, size);
	case POISE_RANK_CHECKING: return "no backend is up: those not yet checked serve";
	case POISE_RANK_DRAINING: return "no other backend is left: those that drain serve on";
	case POISE_RANK_SORRY:
		return l->at[POISE_RANK_UP] ? below(l, buf, size)
					    : "no other backend is left: the sorry ones serve";
	case POISE_RANK_SORRY_DRAINING:
		return "no other backend is left: the sorry ones that drain serve on";
	case POISE_RANK_FAILED: return failed(l, buf, size);
	default: return nobody(l);
	}
}
