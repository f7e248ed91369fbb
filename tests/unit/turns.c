// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Exact turns of round-robin: on one CPU all members of a service get the same number of flows,
 * whatever else comes in between: SYNs sent again, packets that go on, ends, ports that clients use
 * again. Every CPU goes through the turns by itself, so beyond that each adds one at most.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/native.h"

#define BACKENDS 4
#define FLOWS	 800 /* that begin: 200 for each */

#define SERVICE(mode)                                                                              \
	"services: [ { name: web, listen: [ '10.2.0.1:80' ], forward: " mode                       \
	", policy: round-robin, backends: [ 10.3.0.1, 10.3.0.2, 10.3.0.3, 10.3.0.4 ] } ]\n"

static struct native n;

/* The last byte of the MAC address that it leaves for, which is that of the member's address. */
static int sends(__u32 client, const char *flags)
{
	struct frame out;
	char words[128];

	snprintf(words, sizeof(words), "ip4 10.1.%u.%u > 10.2.0.1 | tcp 1234 > 80 %s", client / 200,
		 client % 200 + 1, flags);
	cr_assert_eq(native_send(&n, &out, words), XDP_TX, "%s", words);
	return out.byte[5];
}

/* A flow begins and ends, and its client repeats itself; whom it went to. */
static int flow(__u32 client)
{
	int to = sends(client, "S");

	cr_assert_eq(sends(client, "S"), to, "client %u: the SYN again", client);
	cr_assert_eq(sends(client, "A"), to, "client %u: what goes on", client);
	cr_assert_eq(sends(client, "FA"), to, "client %u: the end", client);
	cr_assert_eq(sends(client, "R"), to, "client %u: the reset", client);
	return to;
}

/* cpu_of says which CPU a client's packets come to. */
static void turns(const char *yaml, __u32 (*cpu_of)(__u32 client), int off)
{
	int got[256] = {0};

	native_open_web(&n, yaml, 4096);
	for (__u32 client = 0; client < FLOWS; client++) {
		run_set_cpu(cpu_of(client));
		/* Its own port again, at once: the flow before it was reset. */
		if (client % 8 == 7)
			got[flow(client - 1)]++;
		else
			got[flow(client)]++;
	}
	for (int b = 1; b <= BACKENDS; b++)
		cr_expect(got[b] >= FLOWS / BACKENDS - off && got[b] <= FLOWS / BACKENDS + off,
			  "backend %d got %d flows of %d", b, got[b], FLOWS);
	native_close(&n);
}

static __u32 one(__u32 client)
{
	(void)client;
	return 0;
}

/* Not in turn: a CPU that gets every fourth flow would give them all to one. */
static __u32 two(__u32 client)
{
	return client * 2654435761u >> 31;
}

Test(turns, one_cpu_in_nat)
{
	turns(SERVICE("nat"), one, 0);
}

Test(turns, one_cpu_in_l2)
{
	turns(SERVICE("l2"), one, 0);
}

Test(turns, two_cpus)
{
	turns(SERVICE("nat"), two, 2);
}
