// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is answered to whom: pure. */
#include <stdio.h>
#include <string.h>

#include "healthport.h"
#include "json.h"
#include "maps/clock.h"

#define GOOD	    200
#define MISSING	    404
#define UNAVAILABLE 503
#define TYPE_TEXT   "text/plain; charset=utf-8"

static __u64 since(__u64 now, __u64 then)
{
	return now > then ? now - then : 0; /* it was just now, in another thread */
}

/* Why we are not alive; "" we are. */
static const char *trouble(const struct kube_signs *s, __u64 now)
{
	__u64 loop = s->loop ? __atomic_load_n(s->loop, __ATOMIC_RELAXED) / NS_PER_MS : now;

	if (since(now, loop) > KUBE_LOOP_MS)
		return "the loop that keeps next hops and loads hangs";
	if (since(now, s->thread) > KUBE_THREAD_MS)
		return "the thread that follows the API server hangs";
	return "";
}

void kube_health_reply_port(struct kube_reply *r, const struct kube_health_port *port,
			    const struct kube_signs *s, __u64 now)
{
	bool healthy = s->ready && !*trouble(s, now);
	struct json_object *o = json_object_new_object(), *service = kube_json_put(o, "service");

	r->type = "application/json";
	r->status = port && port->local && healthy ? GOOD : UNAVAILABLE;
	kube_json_put_text(service, "namespace", port ? port->ns : "");
	kube_json_put_text(service, "name", port ? port->name : "");
	json_object_object_add(o, "localEndpoints",
			       json_object_new_int64(port ? (int64_t)port->local : 0));
	json_object_object_add(o, "serviceProxyHealthy", json_object_new_boolean(healthy));
	snprintf(r->body, sizeof(r->body), "%s",
		 json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

void kube_health_reply_probe(struct kube_reply *r, const char *path, const struct kube_signs *s,
			     __u64 now)
{
	const char *why = trouble(s, now);

	r->type = TYPE_TEXT;
	r->status = UNAVAILABLE;
	if (strcmp(path, "/livez") != 0 && strcmp(path, "/readyz") != 0) {
		r->status = MISSING;
		why = "there are /livez and /readyz";
	} else if (!*why && !strcmp(path, "/readyz") && !s->ready) {
		why = "the cluster's objects are not yet known and applied";
	} else if (!*why) {
		r->status = GOOD;
		why = "ok";
	}
	snprintf(r->body, sizeof(r->body), "%s\n", why);
}
