// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mapping the flow table (flow_table.h). Its size is the map's own: meta says which pin it is.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "flow_table.h"
#include "mapping.h"
#include "store.h"

#define PIN_SWEEP "prog_sweep"
#define TRIES	  8 /* a resize may go on while we look: its stages are milliseconds apart */

static size_t bytes(__u32 buckets)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = buckets * sizeof(struct poise_bucket);

	return (size + page - 1) / page * page;
}

static int open_pin(const struct instance *i, const char *name)
{
	char path[sizeof(i->dir) + 32];

	snprintf(path, sizeof(path), "%s/%s", i->dir, name);
	return bpf_obj_get(path);
}

/* -1 with errno. */
static int map_one(const struct instance *i, const char *pin, struct poise_bucket **table,
		   struct mapping **windows, __u32 *buckets)
{
	struct bpf_map_info info = {0};
	__u32 size = sizeof(info);
	int fd = open_pin(i, pin), error = 0;

	if (fd < 0)
		return -1;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		error = errno;
	else if (info.value_size != sizeof(**table) || !info.max_entries ||
		 info.max_entries & (info.max_entries - 1))
		error = EINVAL;
	if (error) {
		close(fd);
		errno = error;
		return -1;
	}
	*table = mapping_take(fd, bytes(info.max_entries), windows);
	*buckets = info.max_entries;
	return *table ? 0 : -1;
}

void flow_table_close(struct instance *i)
{
	mapping_release(i->flows);
	mapping_release(i->flows_beside);
	i->flows = i->flows_beside = NULL;
	i->flow_windows = i->beside_windows = NULL;
	i->flow_buckets = i->beside_buckets = 0;
}

static int open_at(struct instance *i, __u32 stage)
{
	i->flow_stage = stage;
	if (map_one(i, instance_flows_pin(stage, false), &i->flows, &i->flow_windows,
		    &i->flow_buckets))
		return -1;
	if (POISE_FLOWS_STAGE(stage) == POISE_FLOWS_ALONE)
		return 0;
	return map_one(i, instance_flows_pin(stage, true), &i->flows_beside, &i->beside_windows,
		       &i->beside_buckets);
}

int flow_table_open(struct instance *i, struct poise_error *err)
{
	for (int attempt = 0; attempt < TRIES; attempt++) {
		__u32 stage = __atomic_load_n(&i->meta->flow_stage, __ATOMIC_ACQUIRE);
		int rc = open_at(i, stage), error = errno;

		if (stage == __atomic_load_n(&i->meta->flow_stage, __ATOMIC_ACQUIRE) && !rc)
			return 0;
		flow_table_close(i);
		errno = error;
	}
	poise_fail_errno(err, "cannot open the flow table in %s", i->dir);
	return poise_error_remedy(err, "poise reset, then apply the configuration anew");
}

int flow_table_refresh(struct instance *i, struct poise_error *err)
{
	int sweep;

	if (i->anonymous ||
	    i->flow_stage == __atomic_load_n(&i->meta->flow_stage, __ATOMIC_ACQUIRE))
		return 0;
	flow_table_close(i);
	if (flow_table_open(i, err))
		return -1;
	i->identity.flow_buckets = i->meta->flow_buckets;
	i->identity.flow_stage = i->meta->flow_stage;
	sweep = open_pin(i, PIN_SWEEP);
	if (sweep < 0)
		return 0;
	if (i->sweep_fd >= 0)
		close(i->sweep_fd);
	i->sweep_fd = sweep;
	return 0;
}
