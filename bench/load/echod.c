/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * echod NAME ADDR:PORT... [--delay 5ms] [--work 2ms] [--workers N] [--speed 0.5]
 *		[--stall 500ms/5s] [--group N] [--log FILE]
 *
 * A server that takes its time (service.h) over TCP and UDP (wire.h). One thread and epoll: a slow
 * question holds up no other. Of each question it keeps how long it took, from its last byte's
 * arrival to the answer's being handed to the kernel, so that a latency reported elsewhere can be
 * compared with the truth.
 *
 * The log has a line for each: ns of CLOCK_MONOTONIC when it had arrived, us since it was sent,
 * us it took. On stdout stands "stall" and when it began (seconds since 1970) for each stall, and
 *on SIGTERM or SIGINT one line of JSON sums up.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/sample.h"
#include "duration.h"
#include "service.h"
#include "tests/lab/endpoint.h"
#include "wire.h"

#define EVENTS	      256
#define FILES	      65536
#define ADDRESSES_MAX 32
#define DATAGRAMS     64	  /* read in a row before others are looked at */
#define KEPT_MAX      (64u << 20) /* service times kept: 256 MB */

enum source_kind {
	SOURCE_LISTENER,
	SOURCE_UDP,
	SOURCE_CONNECTION,
};

/* What epoll speaks of. */
struct source {
	enum source_kind kind;
	int fd;
};

struct job; /* a question whose answer is due */

struct connection {
	struct source source;
	struct job *job;
	size_t got;  /* bytes of the question */
	size_t left; /* bytes of the answer to be sent */
	struct wire question;
};

struct job {
	struct job *next; /* in order of their answers, which is that of their arrival */
	uint64_t arrived, due;
	struct connection *connection; /* NULL: a datagram, or the client is gone */
	int udp_fd;
	struct endpoint from;
	struct wire question;
};

static struct echo {
	const char *name;
	size_t name_len; /* with its space */
	char answer[WIRE_NAME + WIRE_BYTES_MAX];
	uint32_t group;
	struct service service;
	struct source sources[2 * ADDRESSES_MAX];
	unsigned int count;
	int epoll;
	uint64_t begin;
	struct job *first, **last;
	FILE *log;
	uint32_t *took; /* us */
	size_t answered, room;
} echo;

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* ---- answers ----------------------------------------------------------------------------------*/

static void note(const struct job *job)
{
	uint64_t now = wire_now();
	uint32_t took = (uint32_t)((now - job->arrived) / 1000);

	if (echo.log)
		fprintf(echo.log, "%llu %lld %u\n", (unsigned long long)job->arrived,
			(long long)(job->arrived - job->question.sent) / 1000, took);
	if (echo.answered == echo.room && echo.room < KEPT_MAX) {
		size_t room = echo.room ? 2 * echo.room : 65536;
		uint32_t *more = realloc(echo.took, room * sizeof(*more));

		if (!more)
			abort();
		echo.took = more;
		echo.room = room;
	}
	if (echo.answered < echo.room)
		echo.took[echo.answered] = took;
	echo.answered++;
}

/* Writes the answer's head before its filling; its bytes. */
static size_t compose(const struct wire *question)
{
	struct wire said = *question;

	said.group = echo.group;
	memcpy(echo.answer + echo.name_len, &said, sizeof(said));
	return echo.name_len + wire_answer_bytes(question);
}

static void connection_close(struct connection *c)
{
	if (c->job)
		c->job->connection = NULL;
	close(c->source.fd);
	free(c);
}

/* Sends what is left; false: the connection is closed. */
static bool connection_send(struct connection *c)
{
	size_t size = compose(&c->question);
	ssize_t n = send(c->source.fd, echo.answer + size - c->left, c->left, MSG_NOSIGNAL);

	if (n >= 0)
		c->left -= (size_t)n;
	if ((n < 0 && errno != EAGAIN) || (!c->left && (c->question.flags & WIRE_LAST))) {
		connection_close(c);
		return false;
	}
	return true;
}

/* ---- questions --------------------------------------------------------------------------------*/

static bool is_question(const struct wire *w)
{
	return w->magic == WIRE_MAGIC && w->question_bytes >= sizeof(*w) &&
	       w->question_bytes <= WIRE_BYTES_MAX && w->answer_bytes <= WIRE_BYTES_MAX;
}

static struct job *take(const struct wire *question)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		abort();
	job->arrived = wire_now();
	job->due = service_take(&echo.service, job->arrived);
	job->question = *question;
	job->udp_fd = -1;
	*echo.last = job;
	echo.last = &job->next;
	return job;
}

static void read_datagrams(int fd)
{
	static char datagram[WIRE_BYTES_MAX];

	for (int n = 0; n < DATAGRAMS; n++) {
		struct endpoint from = {.len = sizeof(from.addr)};
		ssize_t got = recvfrom(fd, datagram, sizeof(datagram), MSG_DONTWAIT,
				       (struct sockaddr *)&from.addr, &from.len);
		struct wire question;
		struct job *job;

		if (got < 0)
			return;
		if ((size_t)got < sizeof(question))
			continue;
		memcpy(&question, datagram, sizeof(question));
		if (!is_question(&question))
			continue;
		job = take(&question);
		job->udp_fd = fd;
		job->from = from;
	}
}

/* Reads of the present question what is there; -1: the connection is over, 0: no more for now. */
static ssize_t read_some(struct connection *c)
{
	static char filling[65536];
	size_t head = sizeof(c->question), size = c->got < head ? head : c->question.question_bytes;
	size_t want = size - c->got;
	ssize_t n;

	if (c->got < head)
		n = recv(c->source.fd, (char *)&c->question + c->got, want, 0);
	else
		n = recv(c->source.fd, filling, want < sizeof(filling) ? want : sizeof(filling), 0);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (!n)
		return -1;
	c->got += (size_t)n;
	return c->got == head && !is_question(&c->question) ? -1 : n;
}

static void read_connection(struct connection *c)
{
	ssize_t n;

	while (!c->job && !c->left) {
		n = read_some(c);
		if (n < 0)
			connection_close(c);
		if (n <= 0)
			return;
		if (c->got >= sizeof(c->question) && c->got == c->question.question_bytes) {
			c->job = take(&c->question);
			c->job->connection = c;
		}
	}
}

static void answer(struct job *job)
{
	struct connection *c = job->connection;

	if (c) {
		c->job = NULL;
		c->got = 0;
		c->left = compose(&job->question);
		if (connection_send(c) && !c->left)
			read_connection(c);
	} else if (job->udp_fd >= 0) {
		sendto(job->udp_fd, echo.answer, compose(&job->question), 0,
		       (struct sockaddr *)&job->from.addr, job->from.len);
	}
	note(job);
}

static void answer_due(void)
{
	struct job *job;

	while ((job = echo.first) && job->due <= wire_now()) {
		echo.first = job->next;
		if (!echo.first)
			echo.last = &echo.first;
		answer(job);
		free(job);
	}
}

static void accept_all(int listener)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *c;
		struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};

		if (fd < 0)
			return;
		c = calloc(1, sizeof(*c));
		if (!c)
			abort();
		c->source = (struct source){.kind = SOURCE_CONNECTION, .fd = fd};
		ev.data.ptr = c;
		if (epoll_ctl(echo.epoll, EPOLL_CTL_ADD, fd, &ev))
			connection_close(c);
	}
}

static void hear(struct source *source, uint32_t events)
{
	struct connection *c = (struct connection *)source;

	switch (source->kind) {
	case SOURCE_LISTENER: accept_all(source->fd); return;
	case SOURCE_UDP: read_datagrams(source->fd); return;
	case SOURCE_CONNECTION: break;
	}
	if (events & (EPOLLERR | EPOLLHUP)) {
		connection_close(c);
		return;
	}
	if (c->left && !connection_send(c))
		return;
	read_connection(c);
}

static void stall(void)
{
	uint64_t until = service_stalls_until(&echo.service, wire_now() - echo.begin) + echo.begin;
	struct timespec at = {.tv_sec = (time_t)(until / 1000000000),
			      .tv_nsec = (long)(until % 1000000000)};
	uint64_t ago;

	if (until == echo.begin)
		return;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	/* For who asks how long clients went on being sent here. */
	ago = wire_now() - until + echo.service.stall;
	printf("stall %.6f\n", (double)(wire_clock(CLOCK_REALTIME) - ago) / 1e9);
	fflush(stdout);
}

static void run(void)
{
	struct epoll_event ev[EVENTS];

	while (!stopped) {
		struct timespec wait = {};
		int n;

		if (echo.first) {
			uint64_t now = wire_now();
			uint64_t left = echo.first->due > now ? echo.first->due - now : 0;

			wait.tv_sec = (time_t)(left / 1000000000);
			wait.tv_nsec = (long)(left % 1000000000);
		}
		n = epoll_pwait2(echo.epoll, ev, EVENTS, echo.first ? &wait : NULL, NULL);
		stall();
		for (int i = 0; i < n; i++)
			hear(ev[i].data.ptr, ev[i].events);
		answer_due();
	}
}

/* ---- the command line -------------------------------------------------------------------------*/

static void put_percentile(struct json_object *to, const char *key, size_t n, double percent)
{
	json_object_object_add(to, key,
			       json_object_new_int64(sample_percentile(echo.took, n, percent)));
}

static void sum_up(void)
{
	struct json_object *root = json_object_new_object(), *times = json_object_new_object();
	size_t n = echo.answered < echo.room ? echo.answered : echo.room;
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	sample_sort(echo.took, n);
	put_percentile(times, "p50", n, 50);
	put_percentile(times, "p90", n, 90);
	put_percentile(times, "p99", n, 99);
	put_percentile(times, "p999", n, 99.9);
	put_percentile(times, "max", n, 100);
	json_object_object_add(root, "server", json_object_new_string(echo.name));
	json_object_object_add(root, "answered", json_object_new_uint64(echo.answered));
	json_object_object_add(root, "service_us", times);
	json_object_object_add(
		root, "cpu_seconds",
		json_object_new_double((double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
				       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) /
					       1e6));
	printf("%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
	json_object_put(root);
}

static bool parse_stall(const char *text)
{
	const char *slash;

	return duration_parse(text, "/", &echo.service.stall, &slash) && *slash &&
	       duration_parse(slash + 1, "", &echo.service.stall_period, NULL) &&
	       echo.service.stall && echo.service.stall < echo.service.stall_period;
}

static bool parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{"delay", required_argument, NULL, 'd'},   {"work", required_argument, NULL, 'w'},
		{"workers", required_argument, NULL, 'n'}, {"speed", required_argument, NULL, 's'},
		{"stall", required_argument, NULL, 'S'},   {"group", required_argument, NULL, 'g'},
		{"log", required_argument, NULL, 'l'},	   {},
	};
	bool right = true;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'd': right &= duration_parse(optarg, "", &echo.service.delay, NULL); break;
		case 'w': right &= duration_parse(optarg, "", &echo.service.work, NULL); break;
		case 'n': echo.service.workers = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 's': echo.service.speed = strtod(optarg, NULL); break;
		case 'S': right &= parse_stall(optarg); break;
		case 'g': echo.group = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 'l': right &= (echo.log = fopen(optarg, "we")) != NULL; break;
		default: return false;
		}
	}
	return right && argc - optind >= 2 && argc - optind <= ADDRESSES_MAX + 1 &&
	       strlen(argv[optind]) < WIRE_NAME && echo.service.speed > 0 &&
	       echo.service.workers <= SERVICE_WORKERS;
}

static bool listen_at(const char *text)
{
	static const int type[] = {SOCK_STREAM, SOCK_DGRAM};
	static const enum source_kind kind[] = {SOURCE_LISTENER, SOURCE_UDP};
	struct endpoint e;

	if (!endpoint_parse(text, &e)) {
		fprintf(stderr, "echod: %s: not ADDR:PORT\n", text);
		return false;
	}
	for (int i = 0; i < 2; i++) {
		struct source *source = &echo.sources[echo.count++];
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = source};

		*source = (struct source){.kind = kind[i], .fd = endpoint_bind(&e, type[i])};
		if (source->fd < 0 || fcntl(source->fd, F_SETFL, O_NONBLOCK) ||
		    epoll_ctl(echo.epoll, EPOLL_CTL_ADD, source->fd, &ev)) {
			fprintf(stderr, "echod: %s: %s\n", text, strerror(errno));
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	struct rlimit files = {.rlim_cur = FILES, .rlim_max = FILES};
	struct sigaction end = {.sa_handler = stop};

	echo.service.speed = 1;
	echo.last = &echo.first;
	if (!parse_options(argc, argv)) {
		fprintf(stderr, "usage: echod NAME ADDR:PORT... [--delay 5ms] [--work 2ms] "
				"[--workers N] [--speed 0.5]\n"
				"\t[--stall 500ms/5s] [--group N] [--log FILE]\n");
		return 2;
	}
	setrlimit(RLIMIT_NOFILE, &files);
	prctl(PR_SET_TIMERSLACK, 1UL); /* a delay ends when it is said to */
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	echo.name_len = (size_t)sprintf(echo.answer, "%s ", argv[optind]);
	echo.name = argv[optind];
	echo.epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = optind + 1; i < argc; i++)
		if (!listen_at(argv[i]))
			return 1;
	/* Whoever started us may wait for this line: every address is bound. */
	printf("ready\n");
	fflush(stdout);
	echo.begin = wire_now();
	run();
	sum_up();
	return echo.log && fclose(echo.log);
}
