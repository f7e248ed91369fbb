// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ground.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "balancer.h"
#include "inside.h"
#include "maps/memory.h"

#define BACKENDS 4096
#define LINE	 64 /* bytes of YAML a backend, at most */

struct ground ground;

static int configure(const char *yaml, struct poise_error *err)
{
	struct config *file = config_parse("bench.yaml", yaml, strlen(yaml), err);
	const struct config_service *svc;
	int rc = -1;

	if (!file)
		return -1;
	if (!instance_lock(ground.i, err) && !instance_load(ground.i, &ground.cfg, err) &&
	    !config_apply(ground.cfg, file, 0, NULL, err) &&
	    !instance_commit(ground.i, ground.cfg, NULL, err))
		rc = balancer_resolve(ground.i, ground.cfg, err);
	config_free(file);
	if (rc)
		return -1;
	svc = config_service_named(ground.cfg, GROUND_SERVICE);
	ground.service = svc ? svc->id : 0;
	return 0;
}

static int open_with(const struct config_limits *limits, const char *yaml, unsigned int cpus,
		     struct poise_error *err)
{
	ground = (struct ground){.i = instance_anonymous_on(limits, cpus > 2 ? cpus : 2)};
	if (configure(yaml, err)) {
		ground_close();
		return -1;
	}
	run_use(ground.i);
	run_set_seconds(GROUND_SECONDS);
	run_set_cpu(0);
	return 0;
}

int ground_open(const char *yaml, unsigned int cpus, __u32 flow_slots, struct poise_error *err)
{
	const struct config_limits limits = {
		.services = 64,
		.backends = BACKENDS,
		.listeners = 128,
		.flow_slots = flow_slots,
		.table_slots = 1 << 20,
		.paths = 8,
		.ranges = 64,
		.nat_groups = 1,
		.icmp_rate = 1u << 30,
		.reset_rate = 1u << 30,
	};

	return open_with(&limits, yaml, cpus, err);
}

int ground_open_many(const char *yaml, unsigned int services, unsigned int cpus,
		     struct poise_error *err)
{
	const struct config_limits limits = {
		.services = services,
		/* Ids come in extents of powers of two. */
		.backends = 2 * services * POISE_EXTENT_MIN,
		.listeners = services,
		.flow_slots = 1 << 16,
		/* Two tables of each, for one that is replaced stays for a while. */
		.table_slots = 2 * services * (1 << 13),
		.paths = 8,
		.ranges = 64,
		.nat_groups = 1,
	};

	return open_with(&limits, yaml, cpus, err);
}

void ground_close(void)
{
	run_use(NULL);
	config_free(ground.cfg);
	if (ground.i)
		instance_close(ground.i);
	ground = (struct ground){0};
}

const char *ground_yaml(const char *keys, unsigned int backends)
{
	static char yaml[LINE * (BACKENDS + 4)];
	char *at = yaml;

	at += sprintf(at,
		      "services:\n  - { name: " GROUND_SERVICE ", listen: '10.2.0.1:80', %s,\n"
		      "      backends: [ ",
		      keys);
	for (unsigned int n = 1; n <= backends; n++)
		at += sprintf(at, "%s{ address: 10.3.%u.%u }", n > 1 ? ",\n" : "", n >> 8,
			      n & 0xff);
	sprintf(at, " ] }\n");
	return yaml;
}

char *ground_many(unsigned int services)
{
	size_t size = (size_t)(services + 1) * (GROUND_MANY_BACKENDS + 2) * LINE;
	char *yaml = memory_alloc(size), *at = yaml;

	at += sprintf(at, "services:\n");
	for (unsigned int s = 0; s < services; s++) {
		at += sprintf(at,
			      "  - name: web%u\n    listen: '10.%u.%u.1:80'\n    forward: l2\n"
			      "    backends:\n",
			      s, 16 + (s >> 8), s & 0xff);
		for (unsigned int n = 1; n <= GROUND_MANY_BACKENDS; n++)
			at += sprintf(at, "      - address: 10.%u.%u.%u\n", 64 + (s >> 8), s & 0xff,
				      n);
	}
	return yaml;
}
