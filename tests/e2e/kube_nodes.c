// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two nodes of a cluster with pods behind veths, a client outside, and an API server that drives
 * both (tests/kube): rolling updates as pods really leave, policy Local, and a server that is away
 * and comes back in a bad mood, under load. One node speaks HTTP/1.1, the other HTTP/2.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/lab.h"

#define PODS	    10
#define RATE	    100
#define WEB	    "192.0.2.10"
#define ONE	    "192.0.2.11"
#define HEALTH_PORT "32001"

/* Seconds that the API server is away after that was told, unless POISE_OUTAGE says others; with
 * POISE_FULL set as many as were promised, and then how soon after its return all is known is a
 * claim as well. */
#define OUTAGE	    0
#define OUTAGE_FULL 60
#define RETURN	    2.0

struct cluster {
	struct lab lab;
	char dir[80]; /* the API server's state */
};

static struct cluster c;

static const char *pod_address(int n)
{
	static char address[16];

	snprintf(address, sizeof(address), "10.%d.%d.%d", n % 2 ? 7 : 8, n > 2 ? 2 : 1, n);
	return address;
}

static const char *node_name(int n)
{
	return n == 1 ? "lb1" : "lb2";
}

static const char *pod_name(int n)
{
	static char name[8];

	snprintf(name, sizeof(name), "p%d", n);
	return name;
}

/* A command to the API server. */
static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	lab_must(&c.lab, "router", "tests/kube/ctl %s %s", c.dir, command);
}

/* `poise WHAT` has a line like that on each node, or comes to; or comes to have none. */
static void both_say(const char *what, const char *pattern)
{
	for (int n = 1; n <= 2; n++)
		lab_until(&c.lab, node_name(n), LAB_SOON, "poise %s | grep -E '%s'", what, pattern);
}

static void neither_says(const char *what, const char *pattern)
{
	for (int n = 1; n <= 2; n++)
		lab_until(&c.lab, node_name(n), LAB_SOON,
			  "poise %s >/run/said && ! grep -E '%s' /run/said", what, pattern);
}

static void node_up(int n)
{
	lab_must(&c.lab, node_name(n),
		 "echo 'interfaces: [ { device: eth0 } ]' > /etc/poise/poise.yaml");
	lab_start(&c.lab, node_name(n),
		  "poised --kubernetes --kubeconfig %s/kubeconfig%s.poise --node-name node-%d",
		  c.dir, n == 1 ? "" : "-http2", n);
}

static void up(void)
{
	lab_up(&c.lab, "--balancers 2 --backends 0 --nodes 2 --pods 10");
	snprintf(c.dir, sizeof(c.dir), "%s.kube", c.lab.log);
	lab_serve(&c.lab, "router",
		  "tests/kube/apiserver --dir %s --listen 10.0.0.254:6443 --http2 10.0.0.254:6444 "
		  "--objects tests/kube/objects/nodes.yaml",
		  c.dir);
	for (int n = 1; n <= PODS; n++)
		lab_must(&c.lab, pod_name(n), "nginx");
	node_up(1);
	node_up(2);
	both_say("show default.web", "10\\.8\\.2\\.4:80 +up");
	both_say("show default.one", ONE);
}

static void down(void)
{
	lab_down(&c.lab);
}

TestSuite(kube_nodes, .init = up, .fini = down, .timeout = TEST_LONGEST);

/* From now on c1 comes by way of this node. */
static void by_way_of(int n)
{
	lab_must(&c.lab, "router",
		 "ip route replace " WEB " via 10.0.0.10%d && "
		 "ip route replace " ONE " via 10.0.0.10%d",
		 n, n);
}

static pid_t load(const char *vip)
{
	return lab_start(&c.lab, "c1", "load http %s:80 --rate %d --timeout 30s", vip, RATE);
}

/* Ends a load: it asked, and all was answered. */
static void all_answered(pid_t pid, const char *what)
{
	int status = lab_stop(pid, SIGINT);
	const char *said = lab_must(&c.lab, "c1", "tail -n 20 %s.c1", c.lab.log);

	cr_assert(!status && strstr(said, " requests, 0 failed"), "%s: %s", what, said);
}

/* A new pod takes the place of an old one, whose server goes on until both nodes know and nobody is
 * connected any more, and ends before they are told that it is gone. */
static void replace(const char *service, int old, int new)
{
	char show[32], pattern[64];

	snprintf(show, sizeof(show), "show default.%s", service);
	tell("come %s %s node=node-%d ready=0.1", service, pod_address(new), new % 2 ? 1 : 2);
	snprintf(pattern, sizeof(pattern), "%s:80 +up", pod_address(new));
	both_say(show, pattern);
	tell("pod %s %s leaving", service, pod_address(old));
	snprintf(pattern, sizeof(pattern), "%s:80 +drain", pod_address(old));
	both_say(show, pattern);
	lab_until(&c.lab, pod_name(old), LAB_SOON,
		  "! ss -Htn state established state syn-recv 'sport = :80' | grep .");
	lab_must(&c.lab, pod_name(old), "nginx -s quit");
	tell("pod %s %s ending", service, pod_address(old));
	tell("pod %s %s gone", service, pod_address(old));
	neither_says(show, pod_address(old));
}

/* Pods are replaced, one after the other, while c1 asks by way of a node. It stays with that: what
 * has begun at one node is not known at another. */
static void update(int node, const char *service, const char *vip, const int (*pods)[2], int n)
{
	pid_t pid;

	by_way_of(node);
	pid = load(vip);
	for (int k = 0; k < n; k++)
		replace(service, pods[k][0], pods[k][1]);
	all_answered(pid, service);
}

/* Of the only pod of a Service, there and back, and of four. */
static void rolling_updates(void)
{
	static const int web[][2] = {{1, 5}, {2, 6}, {3, 7}, {4, 8}};

	update(1, "one", ONE, (const int[][2]){{9, 10}}, 1);
	lab_must(&c.lab, "p9", "nginx");
	update(2, "one", ONE, (const int[][2]){{10, 9}}, 1);
	update(2, "web", WEB, web, 2);
	update(1, "web", WEB, web + 2, 2);
}

/* ---- an API server that is away ---------------------------------------------------------------*/

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned int outage_seconds(void)
{
	const char *said = getenv("POISE_OUTAGE");

	if (said)
		return (unsigned int)strtoul(said, NULL, 10);
	return getenv("POISE_FULL") ? OUTAGE_FULL : OUTAGE;
}

/* Until both nodes do without that pod: how many seconds that takes, from now. */
static double both_forget(const char *pod)
{
	double begin = now();

	for (int n = 1; n <= 2; n++) {
		const char *node = node_name(n);

		if (getenv("POISE_FULL"))
			lab_within(&c.lab, node, RETURN - (now() - begin),
				   "poise save >/run/said && ! grep -F '%s' /run/said", pod);
		else
			lab_until(&c.lab, node, LAB_SOON,
				  "poise save >/run/said && ! grep -F '%s' /run/said", pod);
	}
	return now() - begin;
}

/* A server that is away changes nothing. Nor does one that is there again and answers with errors,
 * and has forgotten what was before; but what changed meanwhile is known once it is well. */
static void outage(void)
{
	unsigned int seconds = outage_seconds();
	char before[LAB_OUTPUT];
	double took;
	pid_t web;

	by_way_of(1);
	snprintf(before, sizeof(before), "%s", lab_must(&c.lab, "lb1", "poise save"));
	web = load(WEB);
	tell("down");
	tell("pod web %s gone", pod_address(8));
	tell("compact");
	both_say("status", "degraded");
	sleep(seconds);
	tell("answer 500");
	tell("up");
	both_say("status", "answered 500");
	cr_assert_str_eq(lab_must(&c.lab, "lb1", "poise save"), before);
	tell("heal");
	took = both_forget(pod_address(8));
	fprintf(stderr, "kube_nodes: %u s without an API server, known %.2f s after its return\n",
		seconds, took);
	all_answered(web, "the API server was away");
	both_say("save", pod_address(7));
}

Test(kube_nodes, updates_and_outages_lose_no_request)
{
	rolling_updates();
	outage();
}

/* What a balancer in front of the cluster is told by a node, which has so many pods. */
static void health_says(int n, int code, int pods)
{
	lab_until(&c.lab, "c1", LAB_SOON,
		  "curl -s -m 5 -w ' %%{http_code}' http://10.0.0.10%d:" HEALTH_PORT
		  " | tee /run/said | grep '\"localEndpoints\":%d.* %d$'",
		  n, pods, code);
}

#define ELSEWHERE "203.0.113.77" /* a router leads it here; the way there is by that router */
#define POD	  "10.7.1.1"	 /* somebody else's */
#define EVIL                                                                                       \
	"'{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"evil\"},\"spec\":{" \
	"\"externalIPs\":[\"" ELSEWHERE "\",\"" POD "\"],\"ports\":[{\"port\":81}]}}'"

/* Whoever may write a Service may name any address: the other node is not cut off from a pod by
 * that, and what is for no Service does not go round. */
Test(kube_nodes, external_ips_take_ports_and_no_more)
{
	tell("apply " EVIL);
	both_say("show default.evil", POD);
	lab_must(&c.lab, "router", "ip route replace " ELSEWHERE " via 10.0.0.101");
	lab_until(&c.lab, "c1", LAB_SOON, "probe tcp " ELSEWHERE ":82 | grep refused");
	lab_must(&c.lab, "lb2", "curl -sf -m 30 http://" POD "/who && ping -c 1 -W 10 " POD);
}

Test(kube_nodes, local_keeps_the_address_and_refuses_elsewhere)
{
	const char *out;

	/* whoever may write a Service must not cut the nodes off from an address */
	lab_must(&c.lab, "lb1",
		 "ip route get " WEB " && ! ip route show type unreachable | grep .");
	tell("merge services/default/web '{\"spec\":{\"externalTrafficPolicy\":\"Local\","
	     "\"healthCheckNodePort\":" HEALTH_PORT "}}'");
	tell("pod web %s gone", pod_address(2));
	tell("pod web %s gone", pod_address(4));
	neither_says("show default.web", "10\\.8\\.");
	lab_until(&c.lab, "lb2", LAB_SOON, "! poise show default.web | grep 10.7.");
	health_says(1, 200, 2);
	health_says(2, 503, 0);
	by_way_of(1);
	out = lab_must(&c.lab, "c1", "curl -s -m 30 http://" WEB "/who");
	cr_assert_str_eq(out, "198.51.100.1\n");
	by_way_of(2);
	out = lab_must(&c.lab, "c1", "probe tcp " WEB ":80 || true");
	cr_assert(strstr(out, "nothing"), "%s", out);
	tell("delete nodes/node-2");
	lab_until(&c.lab, "lb2", LAB_SOON, "poise status | grep 'has no Node node-2'");
}
