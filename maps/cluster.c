// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The map `cluster`: one writer, any readers, no lock. */
#include <string.h>

#include "clock.h"
#include "instance.h"

#define TRIES 8 /* it is written a few times a second at most */

void instance_set_cluster(struct instance *i, const struct poise_cluster *now)
{
	__atomic_store_n(&i->cluster->at, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* nothing that follows is seen before */
	memcpy((char *)i->cluster + sizeof(now->at), (const char *)now + sizeof(now->at),
	       sizeof(*now) - sizeof(now->at));
	__atomic_store_n(&i->cluster->at, clock_realtime(), __ATOMIC_RELEASE);
}

/* Whatever stands in the map is a text. */
static void end(char *text, size_t size)
{
	text[size - 1] = '\0';
}

void instance_cluster(const struct instance *i, struct poise_cluster *out)
{
	for (int k = 0; k < TRIES; k++) {
		__u64 at = __atomic_load_n(&i->cluster->at, __ATOMIC_ACQUIRE);

		*out = *i->cluster;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (at && at == __atomic_load_n(&i->cluster->at, __ATOMIC_RELAXED)) {
			out->at = at;
			end(out->server, sizeof(out->server));
			end(out->node, sizeof(out->node));
			end(out->leader, sizeof(out->leader));
			end(out->error, sizeof(out->error));
			end(out->finding, sizeof(out->finding));
			return;
		}
	}
	memset(out, 0, sizeof(*out));
}
