/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables of packets: in, verdict, out, and what is counted. Each packet also goes through cut short
 * at every length.
 */
#ifndef POISE_TEST_CASES_H
#define POISE_TEST_CASES_H

#include <linux/bpf.h>

#include "rig.h"

struct packet_case {
	const char *name;
	const char *in;	    /* words of frame.h */
	int verdict;	    /* XDP_* */
	const char *out;    /* words; NULL: as it came */
	const char *member; /* that counts one packet and its bytes; NULL: none does */
	const char *drop;   /* "SERVICE REASON..." that count one each; NULL: none. SERVICE none:
			     * what is of no service */
};

/* Not for a service: passed on, byte-identical, and nothing counted. */
#define CASE_PASS(name, in)                                                                        \
	{                                                                                          \
		name, in, XDP_PASS, NULL, NULL, NULL                                               \
	}
#define CASE_DROP(name, in, drop)                                                                  \
	{                                                                                          \
		name, in, XDP_DROP, NULL, NULL, drop                                               \
	}
/* Goes back to its sender as something else. */
#define CASE_ANSWER(name, in, drop, out)                                                           \
	{                                                                                          \
		name, in, XDP_TX, out, NULL, drop                                                  \
	}
#define CASE_TX(name, in, member, out)                                                             \
	{                                                                                          \
		name, in, XDP_TX, out, member, NULL                                                \
	}
#define CASE_REDIRECT(name, in, member, out)                                                       \
	{                                                                                          \
		name, in, XDP_REDIRECT, out, member, NULL                                          \
	}

/* Runs all; prints what differs; fails the test if anything did. */
void cases_run(struct rig *r, const struct packet_case *c, size_t n);

#define CASES_RUN(r, table) cases_run(r, table, sizeof(table) / sizeof((table)[0]))

#endif
