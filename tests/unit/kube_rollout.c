// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A Service's pods come and go as real ones do, seen from its clients: objects in, packets out. No
 * packet may be lost or refused while anybody can take it, and connections stay where they are for
 * as long as their pod is there.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "loader/kube/desired.h"
#include "tests/support/natted.h"

#define PODS 8

/* Clients of natted's first kinds, IPv4 to IPv4. */
#define BY_TCP(n) (8 * (n))
#define BY_UDP(n) (8 * (n) + 1)

enum phase {
	ABSENT,
	STARTING, /* not ready */
	READY,
	LEAVING, /* terminating, still serving */
	ENDING,	 /* terminating, serves no more */
};

static struct native n;
static struct frame out;
static struct kube_cache *cache;
static enum phase pod[PODS + 1]; /* 10.3.0.1 and up */
static int clients;		 /* until now */

/* ---- the cluster ------------------------------------------------------------------------------*/

static void tell(enum kube_kind kind, const char *text)
{
	struct json_object *obj = json_tokener_parse(text);

	cr_assert_not_null(obj, "%s", text);
	kube_cache_object(cache, kind, obj);
	json_object_put(obj);
}

static void begin(const char *policy)
{
	char text[1024];

	native_open(&n, "", 1024);
	run_set_seconds(NATIVE_T0);
	cache = kube_cache_new("node-a");
	memset(pod, 0, sizeof(pod));
	clients = 0;
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"web\"},\"spec\":{"
		 "\"type\":\"LoadBalancer\",\"loadBalancerClass\":\"poise.dev/xdp\","
		 "\"externalTrafficPolicy\":\"%s\",\"ports\":["
		 "{\"name\":\"a\",\"port\":80,\"targetPort\":8080},"
		 "{\"name\":\"b\",\"port\":53,\"targetPort\":8080,\"protocol\":\"UDP\"}]},"
		 "\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"10.2.0.1\"}]}}}",
		 policy);
	tell(KUBE_SERVICE, text);
}

static void end(void)
{
	native_close(&n);
	kube_cache_free(cache);
}

/* What the control plane says of the pods as they are now, and poised applies. */
static void publish(void)
{
	static const char *const conditions[] = {
		[STARTING] = "\"ready\":false,\"serving\":false,\"terminating\":false",
		[READY] = "\"ready\":true,\"serving\":true,\"terminating\":false",
		[LEAVING] = "\"ready\":false,\"serving\":true,\"terminating\":true",
		[ENDING] = "\"ready\":false,\"serving\":false,\"terminating\":true",
	};
	const struct kube_options options = {.no_node_ports = true};
	struct poise_error err = {0};
	struct kube_desired *d;
	char text[4096];
	size_t used;
	int some = 0;

	used = (size_t)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"namespace\":\"shop\",\"name\":\"web-1\","
		"\"labels\":{\"kubernetes.io/service-name\":\"web\"}},"
		"\"addressType\":\"IPv4\",\"ports\":[{\"name\":\"a\",\"port\":8080},"
		"{\"name\":\"b\",\"port\":8080,\"protocol\":\"UDP\"}],"
		"\"endpoints\":[");
	for (int p = 1; p <= PODS; p++)
		if (pod[p] != ABSENT)
			used += (size_t)snprintf(
				text + used, sizeof(text) - used,
				"%s{\"addresses\":[\"10.3.0.%d\"],\"nodeName\":\"node-b\","
				"\"conditions\":{%s},\"targetRef\":{\"kind\":\"Pod\",\"name\":\"p%"
				"d\"}}",
				some++ ? "," : "", p, conditions[pod[p]], p);
	snprintf(text + used, sizeof(text) - used, "]}");
	tell(KUBE_SLICE, text);
	d = kube_desired(cache, &options, NULL);
	cr_assert_eq(d->findings.n, 0);
	cr_assert_eq(config_apply_as(n.cfg, d->cfg, POISE_OWNER_KUBERNETES, CONFIG_APPLY_EMPTY,
				     NULL, &err),
		     0, "%s: %s", err.object, err.message);
	native_commit(&n);
	cr_assert_eq(instance_check(n.i, NULL, NULL, NULL), 0, "map check differs");
	kube_desired_free(d);
}

static void becomes(int p, enum phase phase)
{
	pod[p] = phase;
	publish();
}

/* ---- its clients ------------------------------------------------------------------------------*/

struct flow {
	int client;
	int pod;
	__u32 port; /* that it leaves by */
};

static int sends(int client, enum natted_kind kind)
{
	cr_assert_eq(natted_client_sends(&n, client, kind, NATIVE_T0 + kind, &out), XDP_TX,
		     "a packet of client %d is lost", client);
	cr_assert(!natted_refused(&out), "client %d is refused", client);
	return n.i->members[natted_member(&n, client, &out)].addr.b[15];
}

static struct flow begins(int client)
{
	struct flow f = {.client = client};
	__u16 member;

	f.pod = sends(client, natted_udp(client) ? UDP : SYN);
	f.port = natted_source(&out);
	member = natted_member(&n, client, &out);
	if (!natted_udp(client))
		cr_assert_eq(natted_server_sends(&n, client, member, f.port, SYN_ACK, &out),
			     XDP_TX);
	return f;
}

static struct flow connects(void)
{
	return begins(BY_TCP(clients++));
}

static struct flow talks(void)
{
	return begins(BY_UDP(clients++));
}

static bool goes_on(const struct flow *f)
{
	return sends(f->client, natted_udp(f->client) ? UDP : DATA) == f->pod &&
	       natted_source(&out) == f->port;
}

/* ---- stories ----------------------------------------------------------------------------------*/

Test(kube_rollout, of_one_replica)
{
	struct flow tcp, udp;

	begin("Cluster");
	becomes(1, READY);
	tcp = connects();
	udp = talks();
	cr_assert(tcp.pod == 1 && udp.pod == 1);
	becomes(2, STARTING);
	cr_expect_eq(connects().pod, 1, "who is not ready gets nobody");
	becomes(1, LEAVING);
	cr_expect_eq(connects().pod, 1, "with nobody ready the one that goes still serves");
	cr_expect(goes_on(&tcp) && goes_on(&udp));
	becomes(2, READY);
	cr_expect_eq(connects().pod, 2);
	cr_expect_eq(talks().pod, 2);
	cr_expect(goes_on(&tcp) && goes_on(&udp));
	becomes(1, ENDING);
	cr_expect(goes_on(&tcp), "its connections are its own to end");
	cr_expect_eq(sends(udp.client, UDP), 2, "datagrams go to who serves");
	cr_expect_eq(connects().pod, 2);
	becomes(1, ABSENT);
	cr_expect(goes_on(&tcp));
	cr_expect_eq(connects().pod, 2);
	end();
}

/* A new one starts, is ready, and an old one goes; with connections of all times. */
Test(kube_rollout, of_four_pods)
{
	struct flow tcp[64], udp[64];
	int flows = 0;

	begin("Cluster");
	for (int p = 1; p <= 4; p++)
		becomes(p, READY);
	for (int p = 1; p <= 4; p++)
		for (enum phase phase = STARTING; phase <= ENDING + 1; phase++) {
			if (phase <= READY)
				becomes(p + 4, phase);
			else
				becomes(p, phase <= ENDING ? phase : ABSENT);
			for (int k = 0; k < flows; k++) {
				cr_expect(goes_on(&tcp[k]), "pod %d, phase %d, flow %d", p, phase,
					  k);
				if (pod[udp[k].pod] <= LEAVING && pod[udp[k].pod] != ABSENT)
					cr_expect(goes_on(&udp[k]), "pod %d, phase %d", p, phase);
				else
					udp[k] = begins(udp[k].client);
			}
			tcp[flows] = connects();
			udp[flows] = talks();
			cr_expect_eq(pod[tcp[flows].pod], READY);
			cr_expect_eq(pod[udp[flows].pod], READY);
			flows++;
		}
	end();
}

/* For a while, as by a failed probe. */
Test(kube_rollout, not_ready_and_back)
{
	struct flow tcp, udp;
	__u16 id;

	begin("Cluster");
	becomes(1, READY);
	tcp = connects();
	udp = talks();
	id = native_member(&n, "10.3.0.1");
	becomes(2, READY);
	becomes(1, STARTING);
	cr_expect(goes_on(&tcp));
	cr_expect_eq(sends(udp.client, UDP), 2);
	for (int k = 0; k < 8; k++)
		cr_expect_eq(connects().pod, 2);
	becomes(1, READY);
	cr_expect_eq(native_member(&n, "10.3.0.1"), id);
	cr_expect(goes_on(&tcp));
	end();
}

/* The Service gets a port more, which leads elsewhere, and loses it again: its name changes. */
Test(kube_rollout, another_port)
{
	static const char service[] =
		"{\"metadata\":{\"namespace\":\"shop\",\"name\":\"web\"},\"spec\":{"
		"\"type\":\"LoadBalancer\",\"loadBalancerClass\":\"poise.dev/xdp\",\"ports\":["
		"{\"name\":\"a\",\"port\":80,\"targetPort\":8080}%s]},"
		"\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"10.2.0.1\"}]}}}";
	char text[1024];
	struct flow tcp;

	begin("Cluster");
	for (int ports = 1; ports < 6; ports++) {
		snprintf(text, sizeof(text), service,
			 ports % 2 ? "" : ",{\"name\":\"z\",\"port\":443,\"targetPort\":8443}");
		tell(KUBE_SERVICE, text);
		becomes(1, READY);
		cr_expect_eq(n.cfg->services, ports % 2 ? 1 : 2);
		if (ports == 1)
			tcp = connects();
		cr_expect(goes_on(&tcp), "after change %d", ports);
	}
	end();
}

/* Pods elsewhere: dropped, so that others are tried. Nowhere: refused, there is nobody to try. */
Test(kube_rollout, nobody_here_and_nobody_at_all)
{
	for (int local = 0; local < 2; local++)
		for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
			int client = BY_TCP(1), verdict;

			begin(local ? "Local" : "Cluster");
			becomes(1, elsewhere ? READY : STARTING);
			verdict = natted_client_sends(&n, client, SYN, NATIVE_T0, &out);
			cr_expect_eq(verdict, local && elsewhere ? XDP_DROP : XDP_TX);
			if (verdict == XDP_TX)
				cr_expect_eq(natted_refused(&out), !elsewhere);
			verdict = natted_client_sends(&n, client + 1, UDP, 0, &out);
			cr_expect_eq(verdict, local && elsewhere ? XDP_DROP : XDP_TX);
			if (verdict == XDP_TX)
				cr_expect_eq(natted_refused(&out), !elsewhere);
			end();
		}
}
