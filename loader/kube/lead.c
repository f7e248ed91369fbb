// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "lead.h"

#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "apply.h"
#include "event.h"
#include "lease.h"
#include "loader/log.h"
#include "maps/clock.h"
#include "maps/instance.h"
#include "maps/memory.h"
#include "publish.h"

#define END_MS	    1000  /* for giving the Lease up: others can wait for its end as well */
#define LOOK_MS	    50	  /* changes that come sooner after one another are looked at together */
#define FINDINGS_MS 60000 /* between looks at findings that did not change */

struct kube_lead {
	struct kube_http *http;
	const struct kube_cache *cache;
	const struct kube_options *options;
	struct kube_lead_settings settings;
	const struct kube_findings *amiss;
	struct kube_findings found; /* of the pool */
	struct kube_lease lease;
	struct kube_publish *publish;
	struct kube_events *events;
	struct kube_pool_claim *claim; /* of the look under way ... */
	struct kube_pool_port *port;
	size_t claims, ports; /* ... and how many of each it has taken */
	bool changed;
	bool led;
	__u64 looked;			 /* ms: at all Services */
	__u64 told;			 /* ms: events */
	struct poise_error fault, write; /* of the Lease, of statuses: told once */
};

/* ---- addresses --------------------------------------------------------------------------------*/

static bool is_candidate(const struct kube_lead *l, const struct kube_service *s)
{
	return l->settings.pool && kube_class_ours(s, l->options) &&
	       !kube_left_alone(s, l->options);
}

static void need(struct kube_pool_claim *c, const struct kube_service *s)
{
	enum kube_pool_need second = s->likes_both ? KUBE_POOL_LIKED : KUBE_POOL_NEEDED;

	if (s->families & KUBE_IPV4)
		c->need[0] = s->prefers6 ? second : KUBE_POOL_NEEDED;
	if (s->families & KUBE_IPV6)
		c->need[1] = s->prefers6 || !(s->families & KUBE_IPV4) ? KUBE_POOL_NEEDED : second;
}

static void claim_of(struct kube_lead *l, const struct kube_service *s)
{
	struct kube_pool_claim *c = &l->claim[l->claims++];

	*c = (struct kube_pool_claim){
		.about = {KUBE_SERVICE, s->o.ns, s->o.name, s->o.uid},
		.created = s->o.created,
		.have = s->ingress,
		.haves = s->ingresses,
		.want = s->want,
		.wants = s->wants,
		.share = kube_service_note(s, KUBE_SHARE),
		.port = l->port + l->ports,
		.ports = s->ports,
	};
	need(c, s);
	for (size_t k = 0; k < s->ports; k++)
		l->port[l->ports++] = (struct kube_pool_port){s->port[k].port, s->port[k].proto};
}

static void publish(struct kube_lead *l, const struct kube_service *s,
		    const struct kube_pool_claim *c)
{
	kube_publish_put(l->publish, &(struct kube_publish_item){
					     .name_space = s->o.ns,
					     .name = s->o.name,
					     .version = s->o.version,
					     .is = s->ingress,
					     .iss = s->ingresses,
					     .is_other = s->ingress_other,
					     .is_ours = s->ingress_ours,
					     .want = c ? c->got : NULL,
					     .wants = c ? c->gots : 0,
				     });
}

/* Addresses that are no Service's: our Node's, and the API server's, the way to which must not
 * lead here. To be freed. */
static union poise_addr *reserve(const struct kube_lead *l, size_t *n)
{
	const struct kube_node *node = kube_cache_node(l->cache);
	size_t of_node = node ? node->addrs : 0;
	union poise_addr *list = memory_alloc((of_node + 1) * sizeof(*list));

	for (*n = 0; *n < of_node; ++*n)
		list[*n] = node->addr[*n];
	if (l->options->server_port)
		list[(*n)++] = l->options->server;
	return list;
}

static void assign(struct kube_lead *l, struct kube_findings *found)
{
	union poise_addr *reserved;
	size_t n;

	if (!l->settings.pool)
		return;
	reserved = reserve(l, &n);
	kube_pool_assign(l->settings.pool, l->claim, l->claims, reserved, n, found);
	free(reserved);
}

/* All Services there are: who gets what, and whose status is to be written. */
static void look(struct kube_lead *l)
{
	struct kube_findings found = {0};
	const struct kube_entry **entry;
	size_t n, ports = 0, c = 0;

	entry = kube_cache_services(l->cache, &n);
	for (size_t k = 0; k < n; k++)
		ports += entry[k]->service->ports;
	l->claim = memory_alloc(n * sizeof(*l->claim));
	l->port = memory_alloc(ports * sizeof(*l->port));
	l->claims = l->ports = 0;
	for (size_t k = 0; k < n; k++)
		if (is_candidate(l, entry[k]->service))
			claim_of(l, entry[k]->service);
	assign(l, &found);
	kube_publish_begin(l->publish);
	for (size_t k = 0; k < n; k++)
		publish(l, entry[k]->service,
			is_candidate(l, entry[k]->service) ? &l->claim[c++] : NULL);
	kube_publish_end(l->publish);
	kube_findings_sort(&found);
	kube_apply_tell_findings(&l->found, &found);
	kube_findings_free(&l->found);
	l->found = found;
	free(entry);
	free(l->claim);
	free(l->port);
}

/* ---- events -----------------------------------------------------------------------------------*/

static void tell(struct kube_lead *l, __u64 now)
{
	struct kube_findings all = {0};

	kube_findings_add(&all, l->amiss);
	kube_findings_add(&all, &l->found);
	kube_findings_sort(&all);
	kube_events_tell(l->events, &all, now);
	kube_findings_free(&all);
	l->told = now;
}

/* ---- who leads --------------------------------------------------------------------------------*/

/* A machine that was suspended has not led meanwhile. */
static __u64 lease_time(void)
{
	return clock_ns(CLOCK_BOOTTIME) / NS_PER_MS;
}

static void on_lease(void *ctx, const struct kube_answer *answer)
{
	struct kube_lead *l = ctx;
	bool expected = kube_answer_good(answer) || answer->status == KUBE_LEASE_MISSING ||
			answer->status == KUBE_LEASE_CONFLICT;

	kube_lease_answer(&l->lease, lease_time(), answer->status, answer->body);
	if (expected) {
		l->fault = (struct poise_error){0};
	} else if (strcmp(l->fault.message, answer->err.message) != 0) {
		l->fault = answer->err;
		log_line(LOG_LEVEL_WARNING, "kubernetes: Lease %s/%s: %s", l->lease.name_space,
			 l->lease.name, answer->err.message);
	}
}

static struct kube_request lease_request(struct kube_lead *l, const struct kube_lease_ask *ask)
{
	return (struct kube_request){
		.verb = ask->verb,
		.path = ask->path,
		.body = ask->body,
		.timeout = KUBE_LEASE_ANSWER_MS,
		.done = on_lease,
		.ctx = l,
	};
}

static __u32 lease_tick(struct kube_lead *l)
{
	struct kube_lease_ask ask;
	struct kube_request request;
	__u32 wait, chance = 0;

	(void)!getrandom(&chance, sizeof(chance), GRND_NONBLOCK);
	if (kube_lease_next(&l->lease, lease_time(), clock_realtime(), chance, &ask, &wait)) {
		request = lease_request(l, &ask);
		kube_http_send(l->http, &request);
	}
	return wait;
}

static void say_who_leads(struct kube_lead *l, bool leads)
{
	if (leads == l->led)
		return;
	l->led = leads;
	l->changed = true;
	log_line(LOG_LEVEL_NOTICE, "kubernetes: %s",
		 leads ? "we lead: addresses and Events of Services are written here"
		       : "we lead no more");
}

static void say_faults(struct kube_lead *l)
{
	const struct poise_error *fault = kube_publish_fault(l->publish);
	char text[sizeof(fault->object) + sizeof(fault->message)];

	if (fault->code == POISE_E_NONE || !strcmp(fault->message, l->write.message)) {
		if (fault->code == POISE_E_NONE)
			l->write = *fault;
		return;
	}
	l->write = *fault;
	log_line(LOG_LEVEL_WARNING, "kubernetes: %s", poise_error_text(fault, text, sizeof(text)));
}

static __u32 sooner(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

__u32 kube_lead_tick(struct kube_lead *l, __u64 now)
{
	__u32 wait = lease_tick(l);
	bool leads = kube_lease_leads(&l->lease, lease_time());

	say_who_leads(l, leads);
	if (!kube_cache_whole(l->cache))
		return wait;
	if (leads && l->changed && now < l->looked + LOOK_MS) {
		wait = sooner(wait, (__u32)(l->looked + LOOK_MS - now));
	} else if (leads && l->changed) {
		look(l);
		tell(l, now);
		l->changed = false;
		l->looked = now;
	} else if (leads && now - l->told > FINDINGS_MS) {
		tell(l, now);
	}
	wait = sooner(wait, kube_publish_tick(l->publish, now, leads));
	wait = sooner(wait, kube_events_tick(l->events, now, leads));
	say_faults(l);
	return wait;
}

void kube_lead_changed(struct kube_lead *l, const struct kube_findings *amiss)
{
	l->amiss = amiss;
	l->changed = true;
}

void kube_lead_end(struct kube_lead *l)
{
	struct kube_answer answer = {0};
	struct kube_lease_ask ask;
	struct kube_request request;
	__u32 wait;

	kube_lease_end(&l->lease);
	if (!kube_lease_next(&l->lease, lease_time(), clock_realtime(), 0, &ask, &wait))
		return;
	request = lease_request(l, &ask);
	request.done = NULL;
	request.timeout = END_MS;
	kube_http_do(l->http, &request, &answer);
	kube_lease_answer(&l->lease, lease_time(), answer.status, answer.body);
	json_object_put(answer.body);
}

bool kube_lead_leads(const struct kube_lead *l)
{
	return kube_lease_leads(&l->lease, lease_time());
}

const char *kube_lead_leader(const struct kube_lead *l)
{
	return kube_lease_leader(&l->lease);
}

/* ---- begin and end ----------------------------------------------------------------------------*/

struct kube_lead *kube_lead_new(struct kube_http *http, const struct kube_cache *cache,
				const struct kube_options *options,
				const struct kube_lead_settings *settings, struct poise_error *err)
{
	const char *instance = settings->instance;
	bool other = instance && strcmp(instance, POISE_DEFAULT_INSTANCE) != 0;
	struct kube_lead *l = memory_alloc(sizeof(*l));
	char name[KUBE_NAME + 1];

	snprintf(name, sizeof(name), KUBE_LEASE "%s%s", other ? "-" : "", other ? instance : "");
	if (kube_lease_open(&l->lease, settings->name_space, name, settings->node, err)) {
		free(l);
		return NULL;
	}
	l->http = http;
	l->cache = cache;
	l->options = options;
	l->settings = *settings;
	l->publish = kube_publish_new(http);
	l->events = kube_events_new(http, settings->node);
	l->changed = true;
	return l;
}

void kube_lead_free(struct kube_lead *l)
{
	if (!l)
		return;
	kube_publish_free(l->publish);
	kube_events_free(l->events);
	kube_lease_close(&l->lease);
	kube_findings_free(&l->found);
	free(l);
}
