/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the backends of a service are checked, part of its configuration record, and what the last
 * check of each found. Texts end with a NUL; an empty one is not set. Durations are milliseconds.
 */
#ifndef POISE_HEALTH_H
#define POISE_HEALTH_H

#include <linux/types.h>

enum poise_check {
	POISE_CHECK_NONE = 0,
	POISE_CHECK_TCP,
	POISE_CHECK_HTTP,
	POISE_CHECK_HTTPS,
	POISE_CHECK_UDP,
	POISE_CHECK_DNS,
	POISE_CHECK_ICMP,
	POISE_CHECK_GRPC,
	POISE_CHECK_EXEC,
	POISE_CHECK_AUTO, /* tcp, if the service has such a listener; else none */
	POISE_CHECKS,
};

enum poise_method {
	POISE_METHOD_GET = 0,
	POISE_METHOD_HEAD,
	POISE_METHOD_OPTIONS,
};

/* Types of records that a DNS check asks for, by their numbers (RFC 1035, 3596). */
enum poise_query {
	POISE_QUERY_A = 1,
	POISE_QUERY_NS = 2,
	POISE_QUERY_SOA = 6,
	POISE_QUERY_AAAA = 28,
};

/* Which way a probe takes to the backend: that of clients' packets, or the host's own. */
enum poise_via {
	POISE_VIA_PATH = 0,
	POISE_VIA_DIRECT,
};

#define POISE_CHECK_WORDS  128 /* a host name, a certificate's path, what is sent or expected */
#define POISE_CHECK_PATH   256 /* of a URL; a command with its arguments */
#define POISE_CHECK_OWN	   192 /* the keys that one backend has instead: in its record */
#define POISE_CHECK_STATUS 48  /* "200-399,404" */

struct poise_health_conf {
	__u8 type;   /* enum poise_check */
	__u8 verify; /* https: the certificate is checked */
	__u8 http2;
	__u8 method; /* enum poise_method */
	__u8 rise;
	__u8 fall;
	__u8 jitter;	 /* percent */
	__u8 query_type; /* enum poise_query */
	__u16 port;	 /* host order; 0: the backend's, else the service's first listener's */
	__u8 tls;	 /* grpc */
	__u8 via;	 /* enum poise_via */
	__u32 interval;
	__u32 fast_interval;
	__u32 timeout;
	__u32 hold_down;
	__u32 hold_max;
	char status[POISE_CHECK_STATUS];
	char path[POISE_CHECK_PATH];
	char host[POISE_CHECK_WORDS]; /* Host header and SNI; empty: the address */
	char body[POISE_CHECK_WORDS]; /* part of the body */
	char regex[POISE_CHECK_WORDS];
	char ca[POISE_CHECK_WORDS]; /* path of a file; empty: the system's */
	char cert[POISE_CHECK_WORDS];
	char key[POISE_CHECK_WORDS];
	char send[POISE_CHECK_WORDS]; /* with \r \n \t \\ \xHH */
	char expect[POISE_CHECK_WORDS];
	char query[POISE_CHECK_WORDS]; /* dns: a name; grpc: a service */
	char command[POISE_CHECK_PATH];
	__u8 spare[80];
};

/* checks[member]: what the last check of a backend found, written by poised. */
#define POISE_CHECK_TEXT 96 /* bytes of an answer in words, with its NUL: a line of poise show */

struct poise_check_result {
	__u64 at; /* CLOCK_REALTIME ns; 0: never checked, or being written */
	__u32 us; /* how long it took */
	__u8 good;
	__u8 type;    /* enum poise_check */
	__u8 by_path; /* it took clients' way */
	__u8 spare0;
	__u32 in_a_row; /* results like this one */
	__u32 hold;	/* ms that its last fall held it down; 0: forgotten */
	char words[POISE_CHECK_TEXT];
	__u64 held_until; /* CLOCK_REALTIME ns: good results make it up no sooner; 0: not held */
};

#endif
