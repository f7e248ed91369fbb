/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * load http|udp ADDR:PORT [--rate 100] [--seconds S | --count N] [--timeout 3] [--path /]
 *		[--log FILE] [--epoch] [--status FILE]
 *
 * An open-loop load: request k is due k/rate seconds after the start whether or not those before it
 * were answered, and its time counts from when it was due. So a stall of the path, or of this
 * program, shows in full and cannot hide by slowing the questions down.
 *
 * Every request is a connection, or a UDP socket, of its own: a new flow each. http asks for a page
 * and reads until the server closes; udp sends a datagram and waits for its echo. The first word of
 * the answer's body names who answered. The log's times count from the start, with --epoch from
 * 1970. Ends by itself, or on SIGINT and SIGTERM; then waits for what is under way. Exit 0: every
 * request was answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "endpoint.h"
#include "tally.h"

#define ANSWER_MAX   1024 /* bytes kept of an answer: its head and a name */
#define EVENTS	     256
#define BREATH	     32	    /* requests begun before answers are looked at */
#define LOOK_EVERY   10000  /* us at most between looks at the clock, for timeouts */
#define STATUS_EVERY 200000 /* us between status lines */
#define FILES	     16384  /* sockets at once; a second's load at ten thousand a second */

struct request {
	struct request *next; /* in order of their start, which is that of their timeouts */
	uint64_t due, connected;
	int fd; /* -1: finished, only waiting to leave the queue */
	bool sent;
	size_t got;
	char answer[ANSWER_MAX + 1];
};

struct load {
	struct endpoint target;
	bool udp;
	double rate;
	uint64_t seconds, count, timeout; /* timeout in us */
	char question[256];
	int epoll;
	uint64_t begin; /* us */
	struct request *oldest, **newest;
	unsigned long open;
	struct tally tally;
};

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static uint64_t clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

static uint64_t now_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

/* ---- one request ------------------------------------------------------------------------------*/

static void finish(struct load *l, struct request *r, int status, const char *who,
		   const char *error)
{
	tally_add(&l->tally, &(struct tally_result){
				     .due = r->due - l->begin,
				     .connect = r->connected ? r->connected - r->due : 0,
				     .total = now_us() - r->due,
				     .status = status,
				     .backend = who,
				     .error = error,
			     });
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	l->open--;
}

static const char *error_word(int error)
{
	switch (error) {
	case ECONNREFUSED: return "refused";
	case ECONNRESET: return "reset";
	case ETIMEDOUT: return "timed-out";
	case EHOSTUNREACH: return "host-unreachable";
	case ENETUNREACH: return "network-unreachable";
	case EMFILE: return "out-of-sockets";
	case EADDRNOTAVAIL: return "out-of-ports";
	default: return "failed";
	}
}

static void begin_request(struct load *l, uint64_t due)
{
	struct request *r = calloc(1, sizeof(*r));
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = r};
	int type = l->udp ? SOCK_DGRAM : SOCK_STREAM;

	if (!r)
		abort();
	r->due = due;
	*l->newest = r;
	l->newest = &r->next;
	l->open++;
	l->tally.sent++;
	r->fd = socket(l->target.addr.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (r->fd < 0 ||
	    (connect(r->fd, (struct sockaddr *)&l->target.addr, l->target.len) &&
	     errno != EINPROGRESS) ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, r->fd, &ev))
		finish(l, r, 0, NULL, error_word(errno));
}

/* "HTTP/1.1 200 ...", a blank line, and a body that begins with a name. */
static void finish_http(struct load *l, struct request *r)
{
	const char *body = strstr(r->answer, "\r\n\r\n");
	char who[TALLY_NAME];
	int status = 0;

	if (sscanf(r->answer, "HTTP/%*s %d", &status) != 1 || !body)
		finish(l, r, status, NULL, r->got ? "cut-short" : "closed");
	else if (status != 200)
		finish(l, r, status, NULL, "status");
	else if (sscanf(body, " %31s", who) != 1)
		finish(l, r, status, NULL, "no-name");
	else
		finish(l, r, status, who, NULL);
}

/* A name, a space, and the question. */
static void finish_udp(struct load *l, struct request *r)
{
	char *space = strchr(r->answer, ' ');

	if (!space || strcmp(space + 1, l->question)) {
		finish(l, r, 0, NULL, "wrong-answer");
		return;
	}
	*space = '\0';
	r->answer[TALLY_NAME - 1] = '\0';
	finish(l, r, 0, r->answer, NULL);
}

static void ask(struct load *l, struct request *r)
{
	size_t len = strlen(l->question);

	r->connected = now_us();
	r->sent = true;
	if (send(r->fd, l->question, len, MSG_NOSIGNAL) != (ssize_t)len)
		finish(l, r, 0, NULL, error_word(errno));
}

static void receive(struct load *l, struct request *r)
{
	char spill[4096];

	for (;;) {
		size_t room = ANSWER_MAX - r->got;
		ssize_t n = room ? recv(r->fd, r->answer + r->got, room, 0)
				 : recv(r->fd, spill, sizeof(spill), 0);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			finish(l, r, 0, NULL, error_word(errno));
			return;
		}
		r->got += room ? n : 0;
		if (l->udp) {
			finish_udp(l, r);
			return;
		}
		if (!n) {
			finish_http(l, r);
			return;
		}
	}
}

static void handle(struct load *l, struct request *r, uint32_t events)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (events & EPOLLERR) {
		getsockopt(r->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		finish(l, r, 0, NULL, error_word(error));
		return;
	}
	if (!r->sent && (events & EPOLLOUT))
		ask(l, r);
	if (r->fd >= 0 && r->sent && (events & (EPOLLIN | EPOLLHUP)))
		receive(l, r);
}

/* ---- the schedule -----------------------------------------------------------------------------*/

static void expire(struct load *l, uint64_t now)
{
	struct request *r;

	while ((r = l->oldest)) {
		if (r->fd >= 0) {
			if (now - r->due < l->timeout)
				return;
			finish(l, r, 0, NULL, r->connected ? "no-answer" : "no-connection");
		}
		l->oldest = r->next;
		if (!l->oldest)
			l->newest = &l->oldest;
		free(r);
	}
}

static bool due_ends(const struct load *l, uint64_t now)
{
	return stopped || (l->count && l->tally.sent >= l->count) ||
	       (l->seconds && now - l->begin >= l->seconds * 1000000);
}

/* When the next request is due. */
static uint64_t next_due(const struct load *l)
{
	return l->begin + llrint(l->tally.sent * 1e6 / l->rate);
}

/* Begins what is due. Late ones are asked at once, but not all in one breath: no ring or queue on
 * the way is made for that. */
static void begin_due(struct load *l, uint64_t now)
{
	for (int n = 0; n < BREATH && next_due(l) <= now && !due_ends(l, now); n++)
		begin_request(l, next_due(l));
}

/* How long nothing will be due. */
static struct timespec idle_time(const struct load *l, uint64_t now)
{
	uint64_t next = next_due(l), wait = LOOK_EVERY;

	if (!due_ends(l, now) && next < now + wait)
		wait = next > now ? next - now : 0;
	return (struct timespec){.tv_nsec = wait * 1000};
}

static void run(struct load *l)
{
	uint64_t now = l->begin, status_at = l->begin;
	struct epoll_event ev[EVENTS];

	while (!due_ends(l, now) || l->open) {
		struct timespec wait;
		int n;

		begin_due(l, now);
		if (now >= status_at) {
			tally_status(&l->tally, false);
			status_at = now + STATUS_EVERY;
		}
		wait = idle_time(l, now_us());
		n = epoll_pwait2(l->epoll, ev, EVENTS, &wait, NULL);
		for (int i = 0; i < n; i++)
			handle(l, ev[i].data.ptr, ev[i].events);
		now = now_us();
		expire(l, now);
	}
}

/* ---- the command line -------------------------------------------------------------------------*/

static int usage(void)
{
	fprintf(stderr, "usage: load http|udp ADDR:PORT [--rate 100] [--seconds S | --count N]\n"
			"\t[--timeout 3] [--path /] [--log FILE] [--epoch] [--status FILE]\n");
	return 2;
}

static bool open_files(struct load *l, const char *log, const char *status)
{
	if (log && !(l->tally.log = fopen(log, "we"))) {
		fprintf(stderr, "load: %s: %s\n", log, strerror(errno));
		return false;
	}
	if (!status)
		return true;
	l->tally.status_fd = open(status, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (l->tally.status_fd < 0)
		fprintf(stderr, "load: %s: %s\n", status, strerror(errno));
	return l->tally.status_fd >= 0;
}

static bool parse_options(struct load *l, int argc, char **argv)
{
	static const struct option options[] = {
		{"rate", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{"count", required_argument, NULL, 'c'},
		{"timeout", required_argument, NULL, 't'},
		{"path", required_argument, NULL, 'p'},
		{"log", required_argument, NULL, 'l'},
		{"status", required_argument, NULL, 'S'},
		{"epoch", no_argument, NULL, 'e'},
		{},
	};
	const char *path = "/", *log = NULL, *status = NULL;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'r': l->rate = strtod(optarg, NULL); break;
		case 's': l->seconds = strtoul(optarg, NULL, 10); break;
		case 'c': l->count = strtoul(optarg, NULL, 10); break;
		case 't': l->timeout = llrint(strtod(optarg, NULL) * 1e6); break;
		case 'p': path = optarg; break;
		case 'l': log = optarg; break;
		case 'S': status = optarg; break;
		case 'e': l->tally.begun = clock_us(CLOCK_REALTIME); break;
		default: return false;
		}
	}
	if (argc - optind != 2 || l->rate <= 0 || !endpoint_parse(argv[optind + 1], &l->target))
		return false;
	l->udp = !strcmp(argv[optind], "udp");
	if (!l->udp && strcmp(argv[optind], "http"))
		return false;
	if (l->udp)
		snprintf(l->question, sizeof(l->question), "anybody there?");
	else
		snprintf(l->question, sizeof(l->question),
			 "GET %s HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n", path);
	return open_files(l, log, status);
}

int main(int argc, char **argv)
{
	struct load l = {.rate = 100, .timeout = 3000000, .tally.status_fd = -1};
	struct rlimit files = {.rlim_cur = FILES, .rlim_max = FILES};
	struct sigaction end = {.sa_handler = stop};

	l.newest = &l.oldest;
	if (!parse_options(&l, argc, argv))
		return usage();
	setrlimit(RLIMIT_NOFILE, &files);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	l.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l.epoll < 0)
		return 1;
	l.begin = now_us();
	run(&l);
	tally_status(&l.tally, true);
	tally_summary(&l.tally, stdout);
	return l.tally.failed || !l.tally.done;
}
