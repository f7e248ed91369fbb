// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The grace period: after it no packet is left that began before it.
 *
 * XDP runs inside an RCU read-side section, and MEMBARRIER_CMD_GLOBAL waits for one RCU grace
 * period (membarrier(2); about 10 ms), needs no privilege and no map.
 */
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "store.h"

/* With nohz_full the kernel refuses (EINVAL). A packet takes microseconds; a tenth of a second is
 * longer than any program run that the host did not suspend altogether. */
#define WITHOUT_MEMBARRIER_NS 100000000

void grace_wait(const struct instance *i)
{
	struct timespec wait = {.tv_nsec = WITHOUT_MEMBARRIER_NS};

	if (!i->anonymous && syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&wait, NULL);
}

void instance_grace(struct instance *i)
{
	grace_wait(i);
	store64(&i->meta->graced, store_stamp(i));
}
