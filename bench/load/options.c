/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command line of load. What is wrong with it is said before anything is sent, and room is made
 * for all that will be kept, so that nothing but the load happens while it runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "load.h"

#define CLIENTS_MAX 65536
#define SHARES_MAX  1000 /* of kinds, together */
#define RATE_MAX    1000000
/* Room made beforehand for a load that does not say when it ends. */
#define EXPECT_ENDLESS 100000

static const char usage[] =
	"usage: load KIND ADDR:PORT [OPTION...]       KIND: http|tcp|kept|udp, or shares: "
	"tcp:7,kept:3\n"
	"when   --rate 100 (a second, of all clients)  --poisson  --seed 1  --seconds S | --count "
	"N\n"
	"who    --clients 1 (each judged by itself)  --from ADDR:0[,ADDR:0...]\n"
	"what   --question BYTES  --answer BYTES  --group N  --path /  --timeout 3s\n"
	"       --client-closes (of kind tcp; else the server does)\n"
	"judged --warm-up 0s  --lag-limit DURATION (exceeded: void, ends with status 3)\n"
	"       --promise-p99 5ms  --promise-failures 0.1%\n"
	"out    --log FILE (times from the start; --epoch: from 1970)  --status FILE  --json "
	"FILE\n";

enum option_id {
	RATE,
	POISSON,
	SEED,
	SECONDS,
	COUNT,
	CLIENTS,
	FROM,
	QUESTION,
	ANSWER,
	GROUP,
	CLIENT_CLOSES,
	PAGE,
	TIMEOUT,
	WARM_UP,
	LAG_LIMIT,
	PROMISE_P99,
	PROMISE_FAILURES,
	LOG,
	EPOCH,
	STATUS,
	JSON,
};

static const struct option options[] = {
	{"rate", required_argument, NULL, RATE},
	{"poisson", no_argument, NULL, POISSON},
	{"seed", required_argument, NULL, SEED},
	{"seconds", required_argument, NULL, SECONDS},
	{"count", required_argument, NULL, COUNT},
	{"clients", required_argument, NULL, CLIENTS},
	{"from", required_argument, NULL, FROM},
	{"question", required_argument, NULL, QUESTION},
	{"answer", required_argument, NULL, ANSWER},
	{"group", required_argument, NULL, GROUP},
	{"client-closes", no_argument, NULL, CLIENT_CLOSES},
	{"path", required_argument, NULL, PAGE},
	{"timeout", required_argument, NULL, TIMEOUT},
	{"warm-up", required_argument, NULL, WARM_UP},
	{"lag-limit", required_argument, NULL, LAG_LIMIT},
	{"promise-p99", required_argument, NULL, PROMISE_P99},
	{"promise-failures", required_argument, NULL, PROMISE_FAILURES},
	{"log", required_argument, NULL, LOG},
	{"epoch", no_argument, NULL, EPOCH},
	{"status", required_argument, NULL, STATUS},
	{"json", required_argument, NULL, JSON},
	{},
};

static bool integer(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && end != text && !*end && *text != '-' && *value >= least && *value <= most;
}

static bool integer32(const char *text, uint64_t least, uint64_t most, uint32_t *value)
{
	uint64_t wide;

	if (!integer(text, least, most, &wide))
		return false;
	*value = (uint32_t)wide;
	return true;
}

static bool duration(const char *text, uint64_t unit, uint64_t *value)
{
	if (!duration_parse(text, "", value, NULL))
		return false;
	*value /= unit;
	return true;
}

static bool percentage(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end) / 100;
	return end != text && (!*end || !strcmp(end, "%")) && *value >= 0 && *value <= 1;
}

static bool rate(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && *value > 0 && *value <= RATE_MAX;
}

static bool froms(struct ask *a, char *text)
{
	for (char *one = strtok(text, ","); one; one = strtok(NULL, ",")) {
		if (a->froms == ASK_FROM_MAX || !endpoint_parse(one, &a->from[a->froms]))
			return false;
		a->froms++;
	}
	return a->froms > 0;
}

static bool open_stream(const char *path, FILE **file)
{
	*file = strcmp(path, "-") != 0 ? fopen(path, "we") : stdout;
	return *file != NULL;
}

static bool open_status(const char *path, int *fd)
{
	*fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return *fd >= 0;
}

static bool set_page(struct load *l, const char *path)
{
	int len = snprintf(l->page, sizeof(l->page),
			   "GET %s HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n", path);

	l->ask.page = l->page;
	return len > 0 && (size_t)len < sizeof(l->page);
}

static bool set(struct load *l, enum option_id id, char *value)
{
	struct report_load *told = &l->told;

	switch (id) {
	case RATE: return rate(value, &told->rate);
	case POISSON: return told->poisson = true;
	case SEED: return integer(value, 0, UINT64_MAX, &told->seed);
	case SECONDS: return duration(value, 1, &l->duration);
	case COUNT: return integer(value, 0, OUTCOMES_MAX, &l->count);
	case CLIENTS: return integer32(value, 1, CLIENTS_MAX, &told->clients);
	case FROM: return froms(&l->ask, value);
	case QUESTION:
		return integer32(value, sizeof(struct wire), WIRE_BYTES_MAX,
				 &l->ask.question_bytes);
	case ANSWER: return integer32(value, 0, WIRE_BYTES_MAX, &l->ask.answer_bytes);
	case GROUP: return integer32(value, 0, UINT32_MAX, &l->ask.group);
	case CLIENT_CLOSES: return l->ask.client_closes = true;
	case PAGE: return set_page(l, value);
	case TIMEOUT: return duration(value, 1, &l->ask.timeout);
	case WARM_UP: return duration(value, 1, &l->outcomes.warm_up);
	case LAG_LIMIT: return duration(value, US, &told->lag_limit);
	case PROMISE_P99: return duration(value, US, &told->promise.p99);
	case PROMISE_FAILURES: return percentage(value, &told->promise.failures);
	case LOG: return open_stream(value, &l->outcomes.log);
	case EPOCH: return (l->outcomes.begun = wire_clock(CLOCK_REALTIME)) != 0;
	case STATUS: return open_status(value, &l->outcomes.status_fd);
	case JSON: return open_stream(value, &l->json);
	}
	return false;
}

/* Gives each client its kind, so that the first few of them have about the shares of all. */
static bool set_kinds(struct load *l, const char *text)
{
	enum ask_kind turn[SHARES_MAX];
	uint32_t turns = 0;

	do {
		size_t len = strcspn(text, ":,");
		enum ask_kind kind = ask_kind_of(text, len);
		unsigned long share = 1;
		char *end = (char *)text + len;

		if (*end == ':')
			share = strtoul(end + 1, &end, 10);
		if (kind == ASK_KINDS || !share || share > SHARES_MAX - turns ||
		    (*end && *end != ','))
			return false;
		if (kind == ASK_UDP &&
		    (l->ask.question_bytes > WIRE_UDP_MAX || l->ask.answer_bytes > WIRE_UDP_MAX))
			return false;
		while (share--)
			turn[turns++] = kind;
		text = *end ? end + 1 : end;
	} while (*text);
	for (uint32_t c = 0; c < l->told.clients; c++)
		l->ask.clients[c].kind = turn[c % turns];
	return true;
}

static uint64_t expected(const struct load *l)
{
	double n = l->duration ? l->told.rate * (double)l->duration / 1e9 + 1 : EXPECT_ENDLESS;

	return l->count && (!l->duration || (double)l->count < n) ? l->count : (uint64_t)n;
}

static bool read_words(struct load *l, int argc, char **argv)
{
	int id, index;

	while ((id = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (id == '?') {
			fprintf(stderr, "%s", usage);
			return false;
		}
		errno = 0;
		if (set(l, (enum option_id)id, optarg))
			continue;
		fprintf(stderr, "load: --%s %s: %s\n", options[index].name, optarg ?: "",
			errno && errno != ERANGE ? strerror(errno)
						 : "out of range, or no such value");
		return false;
	}
	if (argc - optind == 2)
		return true;
	fprintf(stderr, "%s", usage);
	return false;
}

bool load_open(struct load *l, int argc, char **argv)
{
	*l = (struct load){
		.ask = {.timeout = 3000000000, .question_bytes = sizeof(struct wire)},
		.told = {.rate = 100, .clients = 1, .seed = 1, .promise = {0.001, 5000}},
		.outcomes.status_fd = -1,
	};
	set_page(l, "/");
	if (!read_words(l, argc, argv))
		return false;
	l->ask.outcomes = &l->outcomes;
	l->told.kinds = argv[optind];
	l->told.target = argv[optind + 1];
	l->told.question_bytes = l->ask.question_bytes;
	l->told.answer_bytes = l->ask.answer_bytes ?: l->ask.question_bytes;
	if (!endpoint_parse(l->told.target, &l->ask.target)) {
		fprintf(stderr, "load: %s: not ADDR:PORT\n", l->told.target);
		return false;
	}
	if (!ask_open(&l->ask, l->told.clients) || !outcomes_open(&l->outcomes, expected(l)) ||
	    !schedule_open(&l->schedule, l->told.clients, l->told.rate, l->told.poisson,
			   l->told.seed)) {
		fprintf(stderr, "load: %s\n", strerror(errno));
		return false;
	}
	if (set_kinds(l, l->told.kinds))
		return true;
	fprintf(stderr,
		"load: %s: no kinds with shares of together %d at most, or too long for udp\n",
		l->told.kinds, SHARES_MAX);
	return false;
}

void load_close(struct load *l)
{
	ask_close(&l->ask, l->told.clients);
	schedule_close(&l->schedule);
	outcomes_close(&l->outcomes);
	if (l->outcomes.log)
		fclose(l->outcomes.log);
	if (l->json)
		fclose(l->json);
	if (l->outcomes.status_fd >= 0)
		close(l->outcomes.status_fd);
}
