// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poise map check: every map against what the configuration in force asks for.
 *
 * What means something and can be known is compared byte by byte. What cannot be judged:
 *  - what the network decides: a next hop's MAC, a path's device, MAC, MTU, tags and sources
 *    (poised compares those with the kernel all the time);
 *  - what packets write: tag and stamp of a flow word, packets, bytes and samples of a counter,
 *    drops, which connection of a member is watched; what the daemon writes: others, rates, checks,
 *    probes, cluster, its part of meta; events; and in meta also `created`, `cuts`, `probes`,
 *    `generic_mtu`, `returns`, `overlay` and the limit of listeners; of a slot of mode nat, how it
 *    goes (state, stamp, flags) and where its client's frames come from;
 *  - what nobody reads: the copy of a service record that is not active, retired listener
 *    entries, slots of the table that belong to nobody, addresses of removed members;
 *  - history: which member a base entry names while flows may be recorded there.
 */
#include <stdarg.h>
#include <stdio.h>

#include "check.h"

void check_say(struct check *c, const char *map, const char *fmt, ...)
{
	char sentence[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	c->differences++;
	if (c->report)
		c->report(c->ctx, map, sentence);
}

bool check_zero(struct check *c, const char *map, __u32 index, const void *bytes, size_t size,
		const char *what)
{
	const __u8 *b = bytes;

	for (size_t n = 0; n < size; n++)
		if (b[n]) {
			check_say(c, map, "entry %u: %s: byte %zu is 0x%02x, not 0", index, what, n,
				  b[n]);
			return false;
		}
	return true;
}

bool check_stamp(struct check *c, const char *map, __u32 index, __u32 retired)
{
	if (!retired || (__s32)(retired - store_stamp32(c->i)) <= 0)
		return true;
	check_say(c, map, "entry %u: retired at %u, which is yet to come", index, retired);
	return false;
}

int instance_check(struct instance *i, instance_report report, void *ctx, struct poise_error *err)
{
	struct check c = {.i = i, .report = report, .ctx = ctx};

	(void)err;
	if (!check_meta(&c) || !check_records(&c))
		return c.differences;
	check_services(&c);
	check_members(&c);
	check_listeners(&c);
	check_server_ids(&c);
	check_paths(&c);
	check_flows(&c);
	check_ports(&c);
	check_slots(&c);
	return c.differences;
}
