/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/sample.h"

/* ---- figures ----------------------------------------------------------------------------------*/

static bool answered(const struct outcome *one)
{
	return one->fault == FAULT_NONE;
}

static bool connected(const struct outcome *one)
{
	return answered(one) && one->connect;
}

static bool any(const struct outcome *one)
{
	(void)one;
	return true;
}

/* Sorts the values. */
static struct report_times times_of(uint32_t *v, size_t n)
{
	sample_sort(v, n);
	return (struct report_times){
		.n = n,
		.p50 = sample_percentile(v, n, 50),
		.p90 = sample_percentile(v, n, 90),
		.p99 = sample_percentile(v, n, 99),
		.p999 = sample_percentile(v, n, 99.9),
		.max = sample_percentile(v, n, 100),
	};
}

/* Of one member of the outcomes that count. */
static struct report_times gather(const struct outcomes *o, size_t offset,
				  bool (*counts)(const struct outcome *))
{
	uint32_t *v = malloc((o->done ?: 1) * sizeof(*v));
	struct report_times times;
	size_t n = 0;

	if (!v)
		abort();
	for (size_t i = 0; i < o->done; i++)
		if (counts(&o->all[i]))
			memcpy(&v[n++], (const char *)&o->all[i] + offset, sizeof(*v));
	times = times_of(v, n);
	free(v);
	return times;
}

struct report_times report_total(const struct outcomes *o)
{
	return gather(o, offsetof(struct outcome, total), answered);
}

struct report_times report_connect(const struct outcomes *o)
{
	return gather(o, offsetof(struct outcome, connect), connected);
}

struct report_times report_lag(const struct outcomes *o)
{
	return gather(o, offsetof(struct outcome, lag), any);
}

/* ---- clients, each by its own -----------------------------------------------------------------*/

/* The outcomes of one client, of those sorted by client. */
struct own {
	const struct outcome *one;
	size_t n;
};

static bool is_served(struct own own, const struct report_promise *promise, uint32_t *p99)
{
	uint32_t *v = malloc(2 * own.n * sizeof(*v)), *connect = v + own.n;
	size_t totals = 0, connects = 0, misdirected = 0, failed;
	bool served = false;

	if (!v)
		abort();
	for (size_t i = 0; i < own.n; i++) {
		misdirected += own.one[i].fault == FAULT_MISDIRECTED;
		if (answered(&own.one[i]))
			v[totals++] = own.one[i].total;
		if (connected(&own.one[i]))
			connect[connects++] = own.one[i].connect;
	}
	failed = own.n - totals;
	*p99 = times_of(v, totals).p99;
	served = totals && !misdirected && (double)failed <= promise->failures * (double)own.n &&
		 *p99 <= promise->p99 && times_of(connect, connects).p99 <= promise->p99;
	free(v);
	return served;
}

static int by_client(const void *a, const void *b)
{
	const struct outcome *x = a, *y = b;

	return (x->client > y->client) - (x->client < y->client);
}

struct report_clients report_clients(const struct outcomes *o, uint32_t clients,
				     const struct report_promise *promise)
{
	struct outcome *sorted = malloc((o->done ?: 1) * sizeof(*sorted));
	struct report_clients sum = {};
	size_t at = 0;

	if (!sorted)
		abort();
	if (o->done)
		memcpy(sorted, o->all, o->done * sizeof(*sorted));
	qsort(sorted, o->done, sizeof(*sorted), by_client);
	for (uint32_t c = 0; c < clients; c++) {
		struct own own = {.one = sorted + at};
		uint32_t p99;

		while (at < o->done && sorted[at].client == c)
			at++, own.n++;
		if (!own.n)
			continue;
		sum.judged++;
		sum.served += is_served(own, promise, &p99);
		if (p99 > sum.worst_p99)
			sum.worst_p99 = p99;
	}
	free(sorted);
	return sum;
}

/* ---- text -------------------------------------------------------------------------------------*/

/* Indices of the servers, by name. */
static void order(const struct outcomes *o, unsigned int by_name[OUTCOME_SERVERS])
{
	for (unsigned int i = 0; i < o->servers; i++) {
		unsigned int at = i;

		for (; at && strcmp(o->server[by_name[at - 1]], o->server[i]) > 0; at--)
			by_name[at] = by_name[at - 1];
		by_name[at] = i;
	}
}

void report_text(const struct outcomes *o, FILE *out)
{
	struct report_times total = report_total(o);
	unsigned int by_name[OUTCOME_SERVERS] = {};

	fprintf(out, "%zu requests, %zu failed, p50 %.1f ms, p99 %.1f ms, longest %.1f ms\n",
		o->done, o->failed, total.p50 / 1e3, total.p99 / 1e3, total.max / 1e3);
	order(o, by_name);
	for (unsigned int i = 0; i < o->servers; i++)
		if (o->served[by_name[i]])
			fprintf(out, "%-12s %8zu  %4.1f %%\n", o->server[by_name[i]],
				o->served[by_name[i]],
				100.0 * (double)o->served[by_name[i]] / (double)o->done);
}

/* ---- JSON -------------------------------------------------------------------------------------*/

static void put_integer(struct json_object *to, const char *key, uint64_t value)
{
	json_object_object_add(to, key, json_object_new_uint64(value));
}

static void put_times(struct json_object *to, const char *key, struct report_times times)
{
	struct json_object *t = json_object_new_object();

	put_integer(t, "count", times.n);
	if (times.n) {
		put_integer(t, "p50", times.p50);
		put_integer(t, "p90", times.p90);
		put_integer(t, "p99", times.p99);
		put_integer(t, "p999", times.p999);
		put_integer(t, "max", times.max);
	}
	json_object_object_add(to, key, t);
}

static void put_load(struct json_object *to, const struct report_load *load)
{
	json_object_object_add(to, "kinds", json_object_new_string(load->kinds));
	json_object_object_add(to, "target", json_object_new_string(load->target));
	json_object_object_add(to, "rate", json_object_new_double(load->rate));
	json_object_object_add(to, "schedule",
			       json_object_new_string(load->poisson ? "poisson" : "uniform"));
	put_integer(to, "seed", load->seed);
	put_integer(to, "question_bytes", load->question_bytes);
	put_integer(to, "answer_bytes", load->answer_bytes);
}

static void put_counts(struct json_object *to, const struct outcomes *o)
{
	struct json_object *failed = json_object_new_object(), *by = json_object_new_object();
	unsigned int by_name[OUTCOME_SERVERS] = {};

	put_integer(to, "sent", o->sent);
	put_integer(to, "succeeded", o->done - o->failed);
	for (unsigned int f = FAULT_NONE + 1; f < FAULTS; f++)
		if (o->faults[f])
			put_integer(failed, fault_word(f), o->faults[f]);
	json_object_object_add(to, "failed", failed);
	put_integer(to, "warm_up_sent", o->warm_sent);
	put_integer(to, "warm_up_failed", o->warm_failed);
	order(o, by_name);
	for (unsigned int i = 0; i < o->servers; i++)
		put_integer(by, o->server[by_name[i]], o->served[by_name[i]]);
	json_object_object_add(to, "served_by", by);
}

static void put_clients(struct json_object *to, const struct outcomes *o,
			const struct report_load *load)
{
	struct report_clients c = report_clients(o, load->clients, &load->promise);

	put_integer(to, "clients", load->clients);
	put_integer(to, "clients_judged", c.judged);
	put_integer(to, "clients_served", c.served);
	put_integer(to, "worst_client_p99_us", c.worst_p99);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static size_t lags_over(const struct outcomes *o, uint64_t limit)
{
	size_t over = 0;

	for (size_t i = 0; limit && i < o->done; i++)
		over += o->all[i].lag > limit;
	return over;
}

void report_json(const struct outcomes *o, const struct report_load *load, FILE *out)
{
	struct json_object *root = json_object_new_object();
	struct report_times lag = report_lag(o);
	struct rusage used;

	put_load(root, load);
	put_counts(root, o);
	put_clients(root, o, load);
	put_times(root, "total_us", report_total(o));
	put_times(root, "connect_us", report_connect(o));
	put_times(root, "lag_us", lag);
	put_integer(root, "lag_over", lags_over(o, load->lag_limit));
	json_object_object_add(
		root, "void",
		json_object_new_boolean(load->lag_limit && lag.max > load->lag_limit));
	getrusage(RUSAGE_SELF, &used);
	json_object_object_add(
		root, "cpu_seconds",
		json_object_new_double(seconds(used.ru_utime) + seconds(used.ru_stime)));
	fprintf(out, "%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN));
	json_object_put(root);
}
