/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the types of probes share: the probe itself, its end, and a socket to its backend.
 */
#ifndef POISE_HEALTH_PROBE_PRIV_H
#define POISE_HEALTH_PROBE_PRIV_H

#include <curl/curl.h>
#include <sys/socket.h>

#include "probe.h"

#define EXEC_MAX   16 /* commands at once: a process each, on a machine that has better to do */
#define EXEC_STUCK 32 /* and that were killed but do not end: the kernel keeps them */

struct prober {
	uv_loop_t *loop;
	const struct instance *instance; /* NULL: no probe goes by clients' way */
	__u32 turn;			 /* of entries in its map of probes */
	uv_idle_t idle;			 /* active while probes wait to begin */
	struct probe *begin, **end;	 /* those */
	int handles;			 /* open handles of the loop */
	CURLM *multi;
	uv_timer_t curl_timer;
	int running;	     /* commands of type exec, with those killed of late */
	struct exec_killed { /* and not yet reaped */
		pid_t pid;   /* 0: none */
		bool stuck;  /* for so long that it is not counted as running */
		__u64 since; /* uv_now */
	} killed[EXEC_MAX + EXEC_STUCK];
	int stuck;
	uv_timer_t reaper;	    /* active while there are any */
	char late[64];		    /* what exec_late says */
	struct probe *first, *last; /* those that wait for their turn */
};

/* What a type does. */
struct probe_kind {
	/* Begins, or ends at once (probe_end). */
	void (*open)(struct probe *p);
	/* The socket can be read or written; for types with one. */
	void (*ready)(struct probe *p, int events);
	/* Gives back what open took, but for the socket; NULL: nothing. */
	void (*close)(struct probe *p);
	/* What the time-out interrupted; NULL: what p->doing says. */
	const char *(*late)(struct probe *p);
};

struct probe {
	struct prober *prober;
	const struct probe_kind *kind;
	struct probe_want want;
	probe_done done;
	void *ctx;
	__u64 began; /* uv_hrtime */
	struct probe_result result;
	bool begun, ended;
	bool looked;	   /* in vain, when the time was over */
	bool portless;	   /* it goes directly, for want of a port for clients' way */
	const char *doing; /* what the time-out would interrupt: "connect" */
	uv_timer_t timer;
	int handles;		   /* open handles of the loop; the probe goes with the last */
	struct poise_probe *entry; /* of one by clients' way; NULL: it goes the host's own */
	struct why *why;	   /* there is no answer, and this asks why (why.c) */
	/* types with a socket of their own */
	int fd;
	uv_poll_t poll;
	__u16 id; /* icmp, dns: which answer is ours */
	/* http, grpc */
	CURL *easy;
	int socket; /* libcurl's */
	void (*transfer_end)(struct probe *p, CURLcode code);
	struct curl_slist *headers, *connect;
	char *body;
	size_t length; /* of body */
	size_t head;   /* bytes of headers */
	char error[CURL_ERROR_SIZE];
	int grpc_status; /* -1: none came */
	/* exec */
	pid_t pid;
	int out;	    /* what the command prints */
	uv_poll_t out_poll; /* .data NULL: not watched */
	bool waits, ran;
	struct probe *next; /* that waits, to begin or as a command */
};

/* The answer, in words; later ones are ignored. Nothing of p may be touched after it returned to
 * the loop. */
void probe_end(struct probe *p, bool good, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A socket of this type, connected (or being connected) to the backend, watched for `events`.
 * Returns -1 after an answer was given. */
int probe_socket(struct probe *p, int type, int protocol, int events);
/* Where to, for the kernel; port in host order. Returns its length. */
socklen_t probe_sockaddr(const union poise_addr *addr, __u16 port, struct sockaddr_storage *out);
/* The address that a probe by clients' way must be sent from; that of nobody, of the backend's
 * family: the kernel's choice is right. */
void probe_source(const struct probe_want *want, union poise_addr *source);
/* Puts the socket, not yet connected, on the way that its probe is to take (way.c). */
void probe_way(struct probe *p, int fd, int protocol);
/* After the socket is closed. */
void probe_way_end(struct probe *p);

/* The answer is late: asks by other ways, in the time that is left. False: there are none. */
bool why_ask(struct probe *p);
/* What came of it, to be put behind p's words; empty: nothing. */
const char *why_words(const struct probe *p);
/* Ends it. */
void why_end(struct probe *p);

/* A handle of p's that uv_close was told to close is closed. */
void probe_closed(uv_handle_t *handle);
/* Watches p->fd. */
void probe_watch_fd(struct probe *p, int events);
/* The time-out begins anew. */
void probe_time(struct probe *p);
/* The error that a socket has been found with, in one word or a few: "refused". */
const char *probe_errno(int error);

/* Bytes as the configuration writes them (\r \n \t \0 \\ \xHH); their number, at most `size`. */
size_t probe_unescape(const char *text, void *out, size_t size);

/* What answers say, for any bytes: see the files of their types. */
enum probe_said { PROBE_NOT_OURS, PROBE_BAD, PROBE_GOOD };
enum probe_said probe_dns_said(const void *answer, size_t length, __u16 id,
			       char words[PROBE_WORDS]);
enum probe_said probe_grpc_said(const void *answer, size_t length, char words[PROBE_WORDS]);
/* Puts a line in place of what a command printed, without what a terminal would act on. */
void probe_exec_line(char *text, size_t length);

int prober_curl_open(struct prober *r);
void prober_curl_close(struct prober *r);
/* A handle of r's is closed: r goes with the last. */
void prober_closed(uv_handle_t *handle);
/* A transfer of curl's has come to its end. */
void probe_transfer_end(struct probe *p, CURLcode code);

void prober_exec_open(struct prober *r);
void prober_exec_close(struct prober *r);

extern const struct probe_kind probe_tcp, probe_udp, probe_dns, probe_icmp, probe_http, probe_grpc,
	probe_exec;

#endif
