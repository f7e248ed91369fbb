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
#include <string.h>

#include "tests/support/lab.h"

#define API	 "/run/api"
#define CTL	 "tests/kube/ctl " API " "
#define PORT	 "6443"
#define PROBES	 "127.0.0.1:9254"
#define POOL	 " --address-pool 192.0.2.0/28,192.0.2.99"
#define LOCAL	 "services/shop/local"
#define ASKS	 "services/shop/asks"
#define FOREIGN	 "services/shop/foreign"
#define LEASE	 "leases/poise/poise"
#define OF_POISE "grep serviceaccount:poise " API "/requests"

static struct lab lab;
static pid_t api;

static void up(void)
{
	lab_up(&lab, "--backends 2");
	lab_must(&lab, "lb1", "echo 'interfaces: [ { device: eth0 } ]' > /etc/poise/poise.yaml");
	api = lab_serve(
		&lab, "lb1",
		"tests/kube/apiserver --dir " API " --listen 127.0.0.1:" PORT
		" --rbac deploy/kubernetes/rbac.yaml --objects tests/kube/objects/pod.yaml");
}

static void down(void)
{
	lab_stop(api, SIGTERM);
	lab_down(&lab);
}

TestSuite(kube_pod, .init = up, .fini = down, .timeout = TEST_LONGEST);

static void until_ready(void)
{
	lab_until(&lab, "lb1", LAB_SOON,
		  "tail -n 20 %s.lb1*; tests/kube/ask 127.0.0.1 9254 /readyz | grep ' 200 '",
		  lab.log);
}

static pid_t pod(const char *options)
{
	pid_t pid = lab_start(&lab, "lb1",
			      "tests/kube/pod.sh " API " " PORT
			      " --kubernetes --kubernetes-health=" PROBES "%s",
			      options);

	until_ready();
	return pid;
}

/* An object says this, or will. */
static void says(const char *object, const char *pattern)
{
	lab_until(&lab, "lb1", LAB_SOON, CTL "get %s; " CTL "get %s | grep -qE '%s'", object,
		  object, pattern);
}

static bool has(const char *object, const char *pattern)
{
	return !lab_run(&lab, "lb1", NULL, CTL "get %s | grep -qE '%s'", object, pattern);
}

Test(kube_pod, three_capabilities_a_read_only_root_and_these_rights_suffice)
{
	const char *out;
	pid_t pid = pod(POOL);

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
	lab_until(&lab, "lb1", LAB_SOON, CTL "list events | grep '^shop/asks\\.'");
	out = lab_must(&lab, "lb1", CTL "get events/$(" CTL "list events | grep -m1 '^shop/asks')");
	cr_assert(strstr(out, "InvalidAnnotation") && strstr(out, "fastest"), "%s", out);
	cr_assert(has(FOREIGN, "198\\.51\\.100\\.9"));

	/* and serves them, and says how many endpoints it has */
	lab_until(&lab, "lb1", LAB_SOON, "poise save | grep '192.0.2.0:80'");
	lab_until(&lab, "lb1", LAB_SOON, "poise save | grep '192.0.2.99:53/udp'");
	out = lab_must(&lab, "lb1", "tests/kube/ask 127.0.0.1 32001 /");
	cr_assert(strstr(out, " 200 ") && strstr(out, "\"localEndpoints\":1") &&
			  strstr(out, "X-Content-Type-Options: nosniff"),
		  "%s", out);
	lab_must(&lab, "lb1", CTL "pod shop/local 10.0.0.1 gone");
	lab_until(&lab, "lb1", LAB_SOON, "tests/kube/ask 127.0.0.1 32001 / | grep ' 503 '");

	/* nothing was forbidden, and each right was used: Events change only after half a minute */
	lab_until(&lab, "lb1", LAB_SOON,
		  "for what in 'list services' 'watch services' 'list endpointslices' "
		  "'watch endpointslices' 'list nodes' 'watch nodes' 'patch services/status' "
		  "'create events' 'get leases' 'create leases' 'update leases'; do set -- "
		  "$what; " OF_POISE
		  " | grep -q '\"verb\": \"'$1'\", \"resource\": \"'$2'\"' || [ $1 = watch ] || "
		  "{ echo no $what; exit 1; }; done");
	lab_must(&lab, "lb1", "! " OF_POISE " | grep '\"code\": 40[13]'");

	/* who ends gives the Lease up, and leaves all else as it is */
	cr_assert_eq(lab_stop(pid, SIGTERM), 0);
	cr_assert(has(LEASE, "\"holderIdentity\": ?\"\""));
	cr_assert(has(LOCAL, "192\\.0\\.2\\.0"));
	lab_must(&lab, "lb1", "poise save | grep '192.0.2.0:80'");
}

Test(kube_pod, addresses_last_and_only_ours_are_taken_back)
{
	pid_t pid;

	/* somebody younger got one before, and keeps it; one of another pool is given anew */
	lab_must(&lab, "lb1",
		 CTL "merge services/status/shop/local "
		     "'{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.7\"}]}}}'");
	pid = pod(POOL);
	says(ASKS, "192\\.0\\.2\\.99");
	cr_assert(has(LOCAL, "192\\.0\\.2\\.7"));
	lab_must(&lab, "lb1",
		 CTL "merge " ASKS
		     " '{\"metadata\":{\"annotations\":{\"poise.dev/addresses\":null}}}'");
	cr_assert_eq(lab_stop(pid, SIGKILL), 128 + SIGKILL);

	/* killed, it has the Lease yet, and leads on */
	pid = pod(" --address-pool 203.0.113.0/30");
	says(ASKS, "203\\.0\\.113\\.[0-3]");
	says(LOCAL, "203\\.0\\.113\\.[0-3]");
	lab_until(&lab, "lb1", LAB_SOON, "poise save | grep '203.0.113.[0-3]:80'");
	cr_assert_eq(lab_stop(pid, SIGTERM), 0);

	/* without a pool, and a Service that was not ours ever */
	pid = pod("");
	lab_until(&lab, "lb1", LAB_SOON, "! " CTL "get " ASKS " | grep 203.0.113");
	lab_until(&lab, "lb1", LAB_SOON, "! " CTL "get " LOCAL " | grep 203.0.113");
	cr_assert(has(FOREIGN, "198\\.51\\.100\\.9"));
	cr_assert_eq(lab_stop(pid, SIGTERM), 0);
}
