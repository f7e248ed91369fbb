// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The thread: reflectors fill the cache, what the cache wants is applied. One thread does all of
 * it, so nothing here is shared but the instance.
 */
#include "kube_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/log.h"
#include "maps/clock.h"
#include "maps/memory.h"
#include "maps/text.h"

#define TURN_MS 1000 /* the longest wait: a sign of life */

/* ---- reflectors fill the cache ----------------------------------------------------------------*/

static void on_relist_begin(void *ctx)
{
	struct follower *f = ctx;

	kube_cache_relist_begin(f->kube->cache, f->kind);
}

static void on_object(void *ctx, struct json_object *obj)
{
	struct follower *f = ctx;

	kube_cache_object(f->kube->cache, f->kind, obj);
}

static void on_deleted(void *ctx, struct json_object *obj)
{
	struct follower *f = ctx;

	kube_cache_deleted(f->kube->cache, f->kind, obj);
}

static void on_relist_end(void *ctx)
{
	struct follower *f = ctx;

	kube_cache_relist_end(f->kube->cache, f->kind);
}

static void on_relist_abort(void *ctx)
{
	struct follower *f = ctx;

	kube_cache_relist_abort(f->kube->cache, f->kind);
}

/* Of Nodes, ours alone. */
static int follow(struct kube *k, enum kube_kind kind, struct poise_error *err)
{
	static const struct {
		const char *name;
		enum kube_right right;
	} kinds[KUBE_KINDS] = {
		[KUBE_SERVICE] = {"services", KUBE_RIGHT_SERVICES},
		[KUBE_SLICE] = {"endpointslices", KUBE_RIGHT_SLICES},
		[KUBE_NODE] = {"nodes", KUBE_RIGHT_NODES},
	};
	struct follower *f = &k->follower[kind];

	if (!kube_right_path(kinds[kind].right, NULL, NULL, f->path))
		return poise_fail(err, POISE_E_SYSTEM, "no path to %s", kinds[kind].name);
	snprintf(f->field, sizeof(f->field), "metadata.name=%s", k->node);
	f->kube = k;
	f->kind = kind;
	f->what = (struct kube_resource){
		.name = kinds[kind].name,
		.path = f->path,
		.field = kind == KUBE_NODE ? f->field : NULL,
	};
	f->handler = (struct kube_handler){
		.ctx = f,
		.relist_begin = on_relist_begin,
		.object = on_object,
		.deleted = on_deleted,
		.relist_end = on_relist_end,
		.relist_abort = on_relist_abort,
	};
	f->reflector = kube_reflector_new(k->http, &f->what, &f->handler, NULL);
	return 0;
}

/* ---- the thread -------------------------------------------------------------------------------*/

static __u32 sooner(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

/* Who finds the server there again tells the others. */
static void share_news(struct kube *k)
{
	bool news = false;

	for (int n = 0; n < KUBE_KINDS; n++) {
		struct follower *f = &k->follower[n];
		bool connected = kube_reflector_connected(f->reflector);

		news |= connected && !f->connected;
		f->connected = connected;
	}
	for (int n = 0; n < KUBE_KINDS && news; n++)
		kube_reflector_hurry(k->follower[n].reflector);
}

/* Who leads is told what Services want, and load balancers who has endpoints here. */
static void tell_others(struct kube *k)
{
	const struct kube_desired *d = k->apply.desired;
	__u64 changes = kube_cache_changes(k->cache);

	kube_health_beat(k->health, d != NULL);
	if (k->changes != changes || k->led != k->apply.anew)
		kube_lead_changed(k->lead, d ? &d->findings : NULL);
	if (d && k->served != k->apply.made)
		kube_health_ports(k->health, d->health, d->healths);
	k->changes = changes;
	k->led = k->apply.anew;
	k->served = k->apply.made;
}

static void *kube_thread(void *arg)
{
	struct kube *k = arg;

	while (!__atomic_load_n(&k->stop, __ATOMIC_ACQUIRE)) {
		__u64 now = clock_monotonic() / NS_PER_MS;
		__u32 wait = TURN_MS;

		share_news(k);
		for (int n = 0; n < KUBE_KINDS; n++)
			wait = sooner(wait, kube_reflector_tick(k->follower[n].reflector, now));
		wait = sooner(wait, kube_apply_tick(&k->apply, now));
		tell_others(k);
		wait = sooner(wait, kube_lead_tick(k->lead, now));
		wait = sooner(wait, kube_state_tick(k, now));
		kube_http_turn(k->http, (int)wait);
	}
	return NULL;
}

/* ---- start and end ----------------------------------------------------------------------------*/

static int name_node(struct kube *k, struct poise_error *err)
{
	const char *name = k->settings.node ? k->settings.node : getenv("NODE_NAME");
	char host[POISE_CLUSTER_NAME] = "";

	/* The kubelet's default is the host's name in small letters. */
	if (!name || !name[0]) {
		gethostname(host, sizeof(host) - 1);
		for (char *c = host; *c; c++)
			if (*c >= 'A' && *c <= 'Z')
				*c += 'a' - 'A';
		name = host;
	}
	if (!name[0] || strlen(name) > KUBE_NAME_MAX ||
	    name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.")]) {
		poise_fail_text(err, POISE_E_BAD_VALUE, name, "not the name of a Node");
		return poise_error_remedy(err, "--node-name NAME, as kubectl get nodes has it");
	}
	snprintf(k->node, sizeof(k->node), "%s", name);
	return 0;
}

static void kube_free(struct kube *k)
{
	kube_health_close(k->health);
	for (int n = 0; n < KUBE_KINDS; n++)
		kube_reflector_free(k->follower[n].reflector);
	kube_lead_free(k->lead);
	kube_http_free(k->http);
	kube_access_free(k->access);
	kube_apply_free(&k->apply);
	kube_cache_free(k->cache);
	instance_close(k->instance);
	free(k);
}

/* What a kubeconfig may say, and somebody should know that it does. */
static void tell_risks(const struct kube_access *a)
{
	union poise_addr addr;
	__u16 port;

	if (a->insecure)
		log_line(LOG_LEVEL_WARNING,
			 "kubernetes: %s may be anybody: insecure-skip-tls-verify; whoever stands "
			 "in its place learns our token and says what is served",
			 a->server);
	else if (!strncmp(a->server, "http://", strlen("http://")) &&
		 !(kube_access_where(a->server, &addr, &port) && poise_addr_is_loopback(&addr)))
		log_line(LOG_LEVEL_WARNING,
			 "kubernetes: %s is asked without TLS: whoever is on the way learns our "
			 "token and says what is served",
			 a->server);
}

static int open_others(struct kube *k, const struct instance_where *where, struct poise_error *err)
{
	const struct kube_settings *s = &k->settings;

	if (s->pool && kube_pool_parse(&k->pool, s->pool, err))
		return poise_error_about(err, "--address-pool");
	k->lead = kube_lead_new(k->http, k->cache, &k->apply.options,
				&(struct kube_lead_settings){
					.name_space = k->access->name_space,
					.node = k->node,
					.instance = where->name,
					.pool = s->pool ? &k->pool : NULL,
				},
				err);
	if (!k->lead)
		return -1;
	k->health = kube_health_open(s->health, &k->instance->meta->heartbeat, err);
	return k->health ? 0 : -1;
}

static int kube_open(struct kube *k, const struct instance_where *where, struct poise_error *err)
{
	const struct kube_settings *s = &k->settings;

	if (name_node(k, err) < 0)
		return -1;
	k->access =
		s->kubeconfig ? kube_access_file(s->kubeconfig, err) : kube_access_pod(NULL, err);
	if (!k->access || instance_open(&k->instance, where, err) < 0)
		return -1;
	tell_risks(k->access);
	k->http = kube_http_new(k->access);
	k->cache = kube_cache_new(k->node);
	for (int kind = 0; kind < KUBE_KINDS; kind++)
		if (follow(k, (enum kube_kind)kind, err) < 0)
			return -1;
	k->apply.instance = k->instance;
	k->apply.cache = k->cache;
	k->apply.options = (struct kube_options){
		.lb_class = s->lb_class,
		.classless = s->classless,
		.no_external_ips = s->no_external_ips,
		.claim = s->claim,
	};
	if (!kube_access_where(k->access->server, &k->apply.options.server,
			       &k->apply.options.server_port))
		k->apply.options.server_port = 0;
	if (s->node_ports &&
	    kube_node_ports(&k->apply.options, s->node_ports, k->node_ports, err) < 0)
		return -1;
	return open_others(k, where, err);
}

int kube_start(struct kube **out, const struct instance_where *where,
	       const struct kube_settings *settings, struct poise_error *err)
{
	struct kube *k = memory_alloc(sizeof(*k));
	int rc;

	*out = NULL;
	k->settings = *settings;
	if (kube_open(k, where, err) < 0)
		goto fail;
	rc = pthread_create(&k->thread, NULL, kube_thread, k);
	if (rc) {
		errno = rc;
		poise_fail_errno(err, "cannot start a thread");
		goto fail;
	}
	*out = k;
	return 0;
fail:
	kube_free(k);
	return poise_error_about(err, "--kubernetes");
}

void kube_stop(struct kube *k)
{
	if (!k)
		return;
	__atomic_store_n(&k->stop, true, __ATOMIC_RELEASE);
	kube_http_wake(k->http);
	pthread_join(k->thread, NULL);
	kube_lead_end(k->lead);
	kube_state_clear(k->instance);
	kube_free(k);
}
