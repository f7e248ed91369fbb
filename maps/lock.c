// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The writers' lock: flock on the pin directory, which every sharer of the bpffs sees and death
 * releases. Whoever gets it first finishes or undoes what its last holder left.
 */
#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "derive.h"
#include "flow_table.h"
#include "path.h"

/* `poise reset` may have removed the directory, and somebody made another, while we waited. */
static bool still_there(const struct instance *i)
{
	struct stat held, named;

	return !fstat(i->lock_fd, &held) && !stat(i->dir, &named) && held.st_ino == named.st_ino &&
	       held.st_dev == named.st_dev;
}

static void recover(struct instance *i)
{
	struct poise_meta *meta = i->meta;
	bool odd = meta->sequence & 1;

	if (meta->opened > meta->committed) {
		store_scrub(i);
		store64(&meta->opened, meta->committed);
	}
	if (odd)
		path_recount(i);
	if (meta->applied != meta->committed || odd) {
		derive_rest(i);
		store_end(i, odd);
	}
}

int instance_lock(struct instance *i, struct poise_error *err)
{
	if (!i->anonymous) {
		while (flock(i->lock_fd, LOCK_EX))
			if (errno != EINTR)
				return poise_fail_errno(err, "cannot lock %s", i->dir);
		if (!still_there(i)) {
			flock(i->lock_fd, LOCK_UN);
			return poise_fail(err, POISE_E_NO_INSTANCE,
					  "the instance was removed meanwhile");
		}
	}
	i->locked = true;
	if (flow_table_refresh(i, err)) {
		instance_unlock(i);
		return -1;
	}
	recover(i);
	return 0;
}

/* flock is of the open file, so that instance_lock finds it held. */
int instance_try_lock(struct instance *i, struct poise_error *err)
{
	if (flock(i->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : poise_fail_errno(err, "cannot lock %s", i->dir);
	return instance_lock(i, err) < 0 ? -1 : 1;
}

void instance_unlock(struct instance *i)
{
	if (!i->anonymous && i->locked)
		flock(i->lock_fd, LOCK_UN);
	i->locked = false;
}
