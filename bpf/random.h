/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policy random: whoever stands at a random place of the service's table, which has places in
 * proportion to weights. Who may not take the flow is drawn again.
 */
#ifndef POISE_RANDOM_H
#define POISE_RANDOM_H

#include "table.h"
#include "turn.h"

#define RANDOM_TRIES 8 /* with half of the members unable, one flow in 256 goes by its hash */

__noinline answer_t random_choose(struct flow *f)
{
	struct poise_service_rec *rec;
	struct turn *turn;

	if (!turn_begin(f, &rec, &turn))
		return DROP(BROKEN);
	for (int k = 0; k < RANDOM_TRIES; k++) {
		__u64 place = turn_draw(turn, f);
		__u32 id = table_current(rec, table_entry(rec->table_at, rec->table_size, place));

		if (admitted(f, rec, id, member_get(id), 0))
			return id;
	}
	return 0;
}

#endif
