// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * poised as its DaemonSet runs it (tests/kube/pod.sh): three capabilities, a read-only root, the
 * rights of deploy/kubernetes/rbac.yaml, against the test API server. It leads: statuses, Events,
 * probes, healthCheckNodePorts; and what is left when it ends, comes back, or is given no pool any
 * more.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/lab.h"

#define ADDR	"10.0.0.254" /* the router's: every node reaches it */
#define PORT	"6443"
#define PROBES	"127.0.0.1:9254"
#define POOL	" --address-pool 192.0.2.0/28,192.0.2.99"
#define LOCAL	"services/shop/local"
#define ASKS	"services/shop/asks"
#define FOREIGN "services/shop/foreign"
#define LEASE	"leases/poise/poise"

static struct lab lab;
static char dir[] = "/tmp/poise-kube-pod-XXXXXX"; /* of the API server, for every node to see */
static pid_t api;

/* A command of the API server. */
#define CTL "tests/kube/ctl %s "
/* What the service account asked of it. */
#define ASKED "grep serviceaccount:poise %s/requests"

static void up(void)
{
	cr_assert(mkdtemp(dir));
	lab_up(&lab, "--balancers 2 --backends 2");
	for (int n = 1; n <= 2; n++) {
		char node[8];

		snprintf(node, sizeof(node), "lb%d", n);
		lab_must(&lab, node,
			 "echo 'interfaces: [ { device: eth0 } ]' > /etc/poise/poise.yaml");
	}
	api = lab_serve(&lab, "router",
			"tests/kube/apiserver --dir %s --listen " ADDR ":" PORT
			" --rbac deploy/kubernetes/rbac.yaml --objects tests/kube/objects/pod.yaml",
			dir);
}

static void down(void)
{
	lab_stop(api, SIGTERM);
	lab_down(&lab);
	lab_host(NULL, "rm -r %s", dir);
}

TestSuite(kube_pod, .init = up, .fini = down, .timeout = TEST_LONGEST);

static void until_ready(int node)
{
	char name[8];

	snprintf(name, sizeof(name), "lb%d", node);
	lab_until(&lab, name, LAB_SOON,
		  "tail -n 20 %s.%s*; tests/kube/ask 127.0.0.1 9254 /readyz | grep ' 200 '",
		  lab.log, name);
}

static pid_t pod(int node, const char *options)
{
	char name[8];
	pid_t pid;

	snprintf(name, sizeof(name), "lb%d", node);
	pid = lab_start(&lab, name,
			"tests/kube/pod.sh node-%d %s " ADDR " " PORT
			" --kubernetes --kubernetes-health=" PROBES "%s",
			node, dir, options);
	until_ready(node);
	return pid;
}

/* An object says this, or will. */
static void says(const char *object, const char *pattern)
{
	lab_until(&lab, "router", LAB_SOON, CTL "get %s; " CTL "get %s | grep -qE '%s'", dir,
		  object, dir, object, pattern);
}

static bool has(const char *object, const char *pattern)
{
	return !lab_run(&lab, "router", NULL, CTL "get %s | grep -qE '%s'", dir, object, pattern);
}

/* It says that no more, or will not. */
static void says_no_more(const char *object, const char *text)
{
	lab_until(&lab, "router", LAB_SOON,
		  "got=$(" CTL "get %s); echo \"$got\"; [ \"$got\" ] && "
		  "! echo \"$got\" | grep -qF '%s'",
		  dir, object, text);
}

static const char *ctl(const char *command)
{
	return lab_must(&lab, "router", CTL "%s", dir, command);
}

/* poise on the node has a listener there, or will. */
static void serves(const char *node, const char *listener)
{
	lab_until(&lab, node, LAB_SOON, "poise save | grep '%s'", listener);
}

Test(kube_pod, three_capabilities_a_read_only_root_and_these_rights_suffice)
{
	const char *out;
	pid_t pid = pod(1, POOL);

	/* what it has, and no more */
	lab_must(&lab, "lb1", "grep -q 'CapBnd:.000000c000001000' /proc/%d/status", pid);
	lab_must(&lab, "lb1", "grep -q 'CapEff:.000000c000001000' /proc/%d/status", pid);
	lab_must(&lab, "lb1", "grep -q ' / / ro' /proc/%d/mountinfo", pid);
	out = lab_must(&lab, "lb1", "tests/kube/ask 127.0.0.1 9254 /livez");
	cr_assert(strstr(out, " 200 ") && strstr(out, "ok"), "%s", out);

	/* it leads: addresses of the pool, what was asked for, and what is amiss */
	says(LEASE, "\"holderIdentity\": ?\"node-1\"");
	says(LOCAL, "\"ingress\": ?\\[\\{\"ip\": ?\"192\\.0\\.2\\.0\"");
	says(ASKS, "\"ingress\": ?\\[\\{\"ip\": ?\"192\\.0\\.2\\.99\"");
	lab_until(&lab, "router", LAB_SOON, CTL "list events | grep '^shop/asks\\.'", dir);
	out = lab_must(&lab, "router",
		       CTL "get events/$(" CTL "list events | grep -m1 '^shop/asks')", dir, dir);
	cr_assert(strstr(out, "InvalidAnnotation") && strstr(out, "fastest"), "%s", out);
	cr_assert(has(FOREIGN, "198\\.51\\.100\\.9"));

	/* and serves them, and says how many endpoints it has */
	serves("lb1", "192.0.2.0:80");
	serves("lb1", "192.0.2.99:53/udp");
	out = lab_must(&lab, "lb1", "tests/kube/ask 127.0.0.1 32001 /");
	cr_assert(strstr(out, " 200 ") && strstr(out, "\"localEndpoints\":1") &&
			  strstr(out, "X-Content-Type-Options: nosniff"),
		  "%s", out);
	ctl("pod shop/local 10.0.0.1 gone");
	lab_until(&lab, "lb1", LAB_SOON, "tests/kube/ask 127.0.0.1 32001 / | grep ' 503 '");

	/* nothing was forbidden, and each right was used, but that to change Events, which is half
	 * a minute away; watches are noted when they end */
	lab_until(&lab, "router", LAB_SOON,
		  "for what in 'list services' 'list endpointslices' 'list nodes' "
		  "'patch services/status' 'create events' 'get leases' 'create leases' "
		  "'update leases'; do set -- $what; " ASKED
		  " | grep -q '\"verb\": \"'$1'\", \"resource\": \"'$2'\"' || "
		  "{ echo no $what; exit 1; }; done",
		  dir);
	lab_must(&lab, "router", ASKED " | grep -c '\"code\": 20'", dir);
	lab_must(&lab, "router", "! " ASKED " | grep '\"code\": 40[13]'", dir);

	/* who ends gives the Lease up, and leaves all else as it is */
	cr_assert_eq(lab_stop(pid, SIGTERM), 0);
	cr_assert(has(LEASE, "\"holderIdentity\": ?\"\""));
	cr_assert(has(LOCAL, "192\\.0\\.2\\.0"));
	serves("lb1", "192.0.2.0:80");
}

Test(kube_pod, addresses_last_and_only_ours_are_taken_back)
{
	pid_t pid;

	/* what somebody wrote before stays, for the pool has it */
	ctl("merge services/status/shop/local "
	    "'{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.7\"}]}}}'");
	pid = pod(1, POOL);
	says(ASKS, "192\\.0\\.2\\.99");
	cr_assert(has(LOCAL, "192\\.0\\.2\\.7"));
	ctl("merge " ASKS " '{\"metadata\":{\"annotations\":{\"poise.dev/addresses\":null}}}'");
	cr_assert_eq(lab_stop(pid, SIGKILL), 128 + SIGKILL);

	/* killed, it has the Lease yet, and leads on; another pool has none of them */
	pid = pod(1, " --address-pool 203.0.113.0/30");
	says(ASKS, "203\\.0\\.113\\.[0-3]");
	says(LOCAL, "203\\.0\\.113\\.[0-3]");
	serves("lb1", "203.0.113.[0-3]:80");
	cr_assert_eq(lab_stop(pid, SIGTERM), 0);

	/* without a pool what it wrote goes, and what was never its own stays */
	pid = pod(1, "");
	says_no_more(ASKS, "203.0.113");
	says_no_more(LOCAL, "203.0.113");
	cr_assert(has(FOREIGN, "198\\.51\\.100\\.9"));
	cr_assert_eq(lab_stop(pid, SIGTERM), 0);
}

Test(kube_pod, of_two_one_writes_and_both_serve)
{
	pid_t first = pod(1, POOL), second;

	says(LOCAL, "192\\.0\\.2\\.0");
	second = pod(2, POOL);
	serves("lb1", "192.0.2.0:80");
	serves("lb2", "192.0.2.0:80");
	lab_until(&lab, "lb1", LAB_SOON, "poise status | grep ', leading'");
	lab_must(&lab, "lb2", "! poise status | grep ', leading'");

	/* the other one goes on where the first ended, and changes nothing that stands */
	cr_assert_eq(lab_stop(first, SIGTERM), 0);
	says(LEASE, "\"holderIdentity\": ?\"node-2\"");
	says(LEASE, "\"leaseTransitions\": ?1");
	ctl("merge services/shop/asks "
	    "'{\"metadata\":{\"annotations\":{\"poise.dev/addresses\":null}}}'");
	says(ASKS, "192\\.0\\.2\\.99");
	ctl("merge services/shop/asks "
	    "'{\"metadata\":{\"annotations\":{\"poise.dev/addresses\":\"192.0.2.5\"}}}'");
	says(ASKS, "192\\.0\\.2\\.5");
	serves("lb2", "192.0.2.5:53/udp");
	cr_assert(has(LOCAL, "192\\.0\\.2\\.0"));
	serves("lb1", "192.0.2.0:80"); /* nobody is there to change it, and it serves on */
	cr_assert_eq(lab_stop(second, SIGTERM), 0);
}

/* Nothing is amiss with what people copy. */
Test(kube_pod, the_examples_are_right)
{
	static const char *const served[] = {"192.0.2.53:53/udp",
					     "192.0.2.53:53$\\|192.0.2.53:53\"", "203.0.113.80:443",
					     "10.0.0.101:30443"};
	pid_t pid = pod(1, POOL ",192.0.2.53,2001:db8:5:1::/112");

	lab_must(&lab, "router",
		 CTL "apply deploy/kubernetes/examples/web.yaml "
		     "deploy/kubernetes/examples/local.yaml "
		     "deploy/kubernetes/examples/shared.yaml "
		     "deploy/kubernetes/examples/nodeport.yaml",
		 dir);
	for (size_t k = 0; k < sizeof(served) / sizeof(served[0]); k++)
		serves("lb1", served[k]);
	says("services/default/web", "\"ip\": ?\"2001:db8:5:1::0?\"");
	says("services/default/mail", "\"ingress\": ?\\[\\{\"ip\": ?\"192\\.0\\.2\\.");
	lab_must(&lab, "router", "! grep 'Service default/' %s.lb1*", lab.log);
	cr_assert_eq(lab_stop(pid, SIGTERM), 0);
}
