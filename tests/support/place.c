// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A place for a test to make instances in (place.h).
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/attach/attach.h"
#include "place.h"

#define PLACE_NAME "test-rig-%d" /* of this process */

/* What place_cleanup removes, if it has a name. A copy: the test's own may be gone by then. */
static char opened[POISE_NAME_MAX];

const struct config place_small = {.has_limits = true,
				   .limits = {.services = 15,
					      .backends = 63,
					      .listeners = 64,
					      .flow_slots = 1024,
					      .table_slots = 1 << 16,
					      .paths = 15}};

void place_must(int rc, const char *what, const struct poise_error *err)
{
	char text[1024];

	cr_assert(!rc, "%s: %s; %s", what, poise_error_text(err, text, sizeof(text)), err->remedy);
}

/* What tests that were killed have left. */
static void remove_stale(void)
{
	struct instance_where where = {0};
	DIR *dir = opendir(POISE_PIN_ROOT);
	struct dirent *entry;
	int pid;

	while (dir && (entry = readdir(dir))) {
		where.name = entry->d_name;
		if (sscanf(entry->d_name, PLACE_NAME, &pid) == 1 && kill(pid, 0) && errno == ESRCH)
			attach_reset(&where, NULL);
	}
	if (dir)
		closedir(dir);
}

bool place_emulated(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "QEMU TCG");
	if (f)
		fclose(f);
	return found;
}

static void set_name(struct place *p, const char *name)
{
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->where.name = p->name;
	snprintf(p->dir, sizeof(p->dir), "%s/%s/v%d", POISE_PIN_ROOT, p->name, POISE_ABI);
}

void place_open(struct place *p)
{
	char name[POISE_NAME_MAX];

	memset(p, 0, sizeof(*p));
	remove_stale();
	snprintf(name, sizeof(name), PLACE_NAME, getpid());
	set_name(p, name);
	cr_assert(!unshare(CLONE_NEWNET), "cannot make a network namespace: %s", strerror(errno));
	cr_assert(!system("ip link set lo up && ip link add out type veth peer name outpeer && "
			  "ip link set out up && ip link set outpeer up"));
	p->lo = if_nametoindex("lo");
	p->out = if_nametoindex("out");
	snprintf(opened, sizeof(opened), "%s", name);
}

void place_keep(struct place *p, const char *name)
{
	set_name(p, name);
	opened[0] = '\0';
}

void place_cleanup(void)
{
	struct instance_where where = {.name = opened};

	if (opened[0])
		attach_reset(&where, NULL);
	opened[0] = '\0';
}
