// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Objects of the API server, decoded: every field, its defaults, and what becomes of fields that
 * are not as they should be.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "loader/kube/object.h"
#include "maps/ranges.h"
#include "maps/text.h"

#define NODE "node-a"

static struct kube_findings lost;

static struct kube_object *decode(enum kube_kind kind, const char *text)
{
	struct json_object *json = json_tokener_parse(text);
	struct kube_object *o;

	cr_assert_not_null(json, "%s", text);
	o = kube_object_decode(kind, json, NODE, &lost);
	json_object_put(json);
	return o;
}

#define META                                                                                       \
	"'metadata': {'namespace': 'shop', 'name': 'web', 'uid': 'u-1', "                          \
	"'resourceVersion': '42', 'creationTimestamp': '2026-12-01T07:14:09Z'"

/* ' for ", which C makes hard to read. */
static struct kube_object *decode_as(enum kube_kind kind, const char *fmt, const char *rest)
{
	char text[8192];

	snprintf(text, sizeof(text), fmt, rest);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	return decode(kind, text);
}

static struct kube_service *service(const char *spec)
{
	return (struct kube_service *)decode_as(KUBE_SERVICE, "{" META "}, 'spec': {%s}}", spec);
}

static struct kube_slice *slice(const char *rest)
{
	return (struct kube_slice *)decode_as(KUBE_SLICE,
					      "{" META
					      ", 'labels': {'kubernetes.io/service-name': 'web'}}, "
					      "'addressType': 'IPv4', %s}",
					      rest);
}

static bool is(const union poise_addr *addr, const char *text)
{
	char buf[POISE_ADDR_TEXT];

	return !strcmp(poise_format_addr(addr, buf, sizeof(buf)), text);
}

/* The fields that findings are about, with commas. */
static const char *faults(const struct kube_object *o)
{
	static char text[1024];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; o->faults && i < o->faults->n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? "," : "",
					 o->faults->finding[i].field);
	return text;
}

static void done(struct kube_object *o)
{
	kube_object_free(o);
	kube_findings_free(&lost);
}

/* ---- names ------------------------------------------------------------------------------------*/

Test(kube_object, names)
{
	static const struct {
		enum kube_kind kind;
		const char *meta;
		bool right;
	} names[] = {
		{KUBE_SERVICE, "{'namespace': 'a', 'name': 'b'}", true},
		{KUBE_SERVICE, "{'namespace': 'a', 'name': 'b.c'}", false},
		{KUBE_SERVICE, "{'namespace': 'a.b', 'name': 'c'}", false},
		{KUBE_SERVICE, "{'namespace': 'a', 'name': 'B'}", false},
		{KUBE_SERVICE, "{'namespace': 'a', 'name': ''}", false},
		{KUBE_SERVICE, "{'namespace': 'a', 'name': 'b/c'}", false},
		{KUBE_SERVICE, "{'namespace': 'a', 'name': '-b'}", false},
		{KUBE_SERVICE, "{'namespace': 'a', 'name': 'b\\u0000c'}", false},
		{KUBE_SERVICE, "{'namespace': 'a', 'name': 7}", false},
		{KUBE_SERVICE, "{'namespace': 'a'}", false},
		{KUBE_SERVICE, "{'name': 'b'}", false},
		{KUBE_SERVICE, "[]", false},
		{KUBE_SERVICE, "null", false},
		{KUBE_SLICE, "{'namespace': 'a', 'name': 'b.c'}", true},
		{KUBE_NODE, "{'name': 'b.c'}", true},
		{KUBE_NODE, "{'namespace': 'a', 'name': 'b'}", true},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct kube_object *o = decode_as(names[i].kind, "{'metadata': %s}", names[i].meta);

		cr_expect_eq(o != NULL, names[i].right, "%s", names[i].meta);
		cr_expect_eq(lost.n, !names[i].right, "%s", names[i].meta);
		done(o);
	}
}

Test(kube_object, name_of_ten_kilobytes)
{
	static char text[12000], name[10240];
	struct kube_object *o;

	memset(name, 'x', sizeof(name) - 1);
	snprintf(text, sizeof(text), "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\"}}", name);
	o = decode(KUBE_SERVICE, text);
	cr_expect_null(o);
	cr_assert_eq(lost.n, 1);
	cr_expect_leq(strlen(lost.finding[0].name), KUBE_NAME_MAX);
	done(o);
}

Test(kube_object, no_object_at_all)
{
	static const char *const texts[] = {"7", "[]", "\"x\"", "{}", "true"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (int k = 0; k < KUBE_KINDS; k++)
			cr_expect_null(decode((enum kube_kind)k, texts[i]), "%s", texts[i]);
	cr_expect_null(kube_object_decode(KUBE_SERVICE, NULL, NODE, NULL));
	kube_findings_free(&lost);
}

/* ---- Services ---------------------------------------------------------------------------------*/

Test(kube_object, service)
{
	struct kube_service *s = (struct kube_service *)decode_as(
		KUBE_SERVICE,
		"{" META ", 'labels': {'service.kubernetes.io/service-proxy-name': 'x'},"
		"'annotations': {'poise.dev/policy': 'p2c', 'other/policy': 'x',"
		"'poise.dev/addresses': '192.0.2.8, 192.0.2.7'}}, 'spec': {%s},"
		"'status': {'loadBalancer': {'ingress': [{'ip': '192.0.2.1'}, {'hostname': 'h'},"
		"{'ip': '192.0.2.2', 'ipMode': 'Proxy'}]}}}",
		"'type': 'LoadBalancer', 'loadBalancerClass': 'poise.dev/xdp',"
		"'externalTrafficPolicy': 'Local', 'healthCheckNodePort': 32000,"
		"'sessionAffinity': 'ClientIP',"
		"'sessionAffinityConfig': {'clientIP': {'timeoutSeconds': 60}},"
		"'ipFamilyPolicy': 'PreferDualStack', 'ipFamilies': ['IPv6', 'IPv4'],"
		"'externalIPs': ['198.51.100.1', '2001:db8::1'], 'loadBalancerIP': '192.0.2.7',"
		"'loadBalancerSourceRanges': ['203.0.113.9/24', '10.0.0.0/8'],"
		"'ports': [{'name': 'http', 'port': 80, 'targetPort': 'web', 'nodePort': 30080},"
		"{'name': 'dns', 'protocol': 'UDP', 'port': 53, 'targetPort': 5353}]");
	char text[RANGE_TEXT];

	cr_assert_str_eq(faults(&s->o), "");
	cr_expect_str_eq(s->o.ns, "shop");
	cr_expect_str_eq(s->o.name, "web");
	cr_expect_str_eq(s->o.uid, "u-1");
	cr_expect_str_eq(s->o.version, "42");
	cr_expect_eq(s->o.created, 1796109249);
	cr_expect_eq(s->type, KUBE_LOAD_BALANCER);
	cr_expect_str_eq(s->lb_class, "poise.dev/xdp");
	cr_expect_str_eq(s->proxy, "x");
	cr_expect(s->local && s->affinity && s->ranged && s->likes_both && s->prefers6);
	cr_expect_not(s->headless);
	cr_expect_eq(s->affinity_for, 60);
	cr_expect_eq(s->health_port, 32000);
	cr_expect_eq(s->families, KUBE_IPV4 | KUBE_IPV6);
	cr_assert_eq(s->ports, 2);
	cr_expect_str_eq(s->port[0].name, "http");
	cr_expect_str_eq(s->port[0].target, "web");
	cr_expect_eq(s->port[0].port, 80);
	cr_expect_eq(s->port[0].node_port, 30080);
	cr_expect_eq(s->port[0].proto, IPPROTO_TCP);
	cr_expect_str_eq(s->port[1].target, "5353");
	cr_expect_eq(s->port[1].proto, IPPROTO_UDP);
	cr_assert_eq(s->externals, 2);
	cr_expect(is(&s->external[1], "2001:db8::1"));
	cr_assert_eq(s->ingresses, 1);
	cr_expect(is(&s->ingress[0], "192.0.2.1"));
	cr_expect(s->ingress_other);
	cr_assert_eq(s->wants, 2);
	cr_expect(is(&s->want[0], "192.0.2.7") && is(&s->want[1], "192.0.2.8"));
	cr_assert_eq(s->ranges, 2);
	cr_expect_str_eq(range_format(&s->range[0], text, sizeof(text)), "10.0.0.0/8");
	cr_expect_str_eq(range_format(&s->range[1], text, sizeof(text)), "203.0.113.0/24");
	cr_assert_eq(s->notes, 2);
	cr_expect_str_eq(kube_service_note(s, "policy"), "p2c");
	cr_expect_null(kube_service_note(s, "choices"));
	done(&s->o);
}

Test(kube_object, service_defaults)
{
	struct kube_service *s = service("'ports': [{'port': 80}], 'externalIPs': null,"
					 "'sessionAffinity': null, 'loadBalancerSourceRanges': []");

	cr_assert_str_eq(faults(&s->o), "");
	cr_expect_eq(s->type, KUBE_CLUSTER_IP);
	cr_expect_null(s->lb_class);
	cr_expect_null(s->proxy);
	cr_expect_not(s->local || s->affinity || s->ranged || s->headless || s->likes_both);
	cr_expect_eq(s->families, KUBE_IPV4 | KUBE_IPV6);
	cr_expect_eq(s->port[0].proto, IPPROTO_TCP);
	cr_expect_str_eq(s->port[0].target, "");
	cr_expect_eq(s->affinity_for, 10800);
	done(&s->o);
}

/* What is wrong, what it is said to be about, and that it is left out. */
Test(kube_object, service_faults)
{
	static const struct {
		const char *spec, *faults;
	} faulty[] = {
		{"'type': 'Other'", "spec.type"},
		{"'type': 7", "spec.type"},
		{"'ports': {}", "spec.ports"},
		{"'ports': [null]", "spec.ports[0]"},
		{"'ports': ['x']", "spec.ports[0]"},
		{"'ports': [{'port': 0}]", "spec.ports[0].port"},
		{"'ports': [{'port': 65536}]", "spec.ports[0].port"},
		{"'ports': [{'port': '80'}]", "spec.ports[0].port"},
		{"'ports': [{'port': 80.5}]", "spec.ports[0].port"},
		{"'ports': [{'port': 1e400}]", "spec.ports[0].port"},
		{"'ports': [{'port': 99999999999999999999}]", "spec.ports[0].port"},
		{"'ports': [{'port': 80, 'nodePort': -1}]", "spec.ports[0].nodePort"},
		{"'ports': [{'port': 80, 'targetPort': []}]", "spec.ports[0].targetPort"},
		{"'ports': [{'port': 80, 'protocol': 'tcp'}]", "spec.ports[0].protocol"},
		{"'ports': [{'port': 80, 'protocol': 6}]", "spec.ports[0].protocol"},
		{"'ports': [{'port': 80, 'protocol': 'SCTP'}]", "spec.ports[0].protocol"},
		{"'ports': [{'port': 80, 'name': 'a'}, {'port': 81, 'name': 'a'}]",
		 "spec.ports[1]"},
		{"'ports': [{'port': 80, 'name': 'a'}, {'port': 80, 'name': 'b'}]",
		 "spec.ports[1]"},
		{"'externalIPs': '1.2.3.4'", "spec.externalIPs"},
		{"'externalIPs': ['1.2.3']", "spec.externalIPs[0]"},
		{"'externalIPs': ['192.0.2.1', '127.0.0.1']", "spec.externalIPs[1]"},
		{"'externalIPs': ['fe80::1']", "spec.externalIPs[0]"},
		{"'externalIPs': ['fe80::1%eth0']", "spec.externalIPs[0]"},
		{"'externalIPs': ['010.0.0.1']", "spec.externalIPs[0]"},
		{"'externalIPs': [null]", "spec.externalIPs[0]"},
		{"'sessionAffinity': 'Cookie'", "spec.sessionAffinity"},
		{"'sessionAffinityConfig': {'clientIP': {'timeoutSeconds': 0}}",
		 "spec.sessionAffinityConfig.clientIP.timeoutSeconds"},
		{"'externalTrafficPolicy': true", "spec.externalTrafficPolicy"},
		{"'healthCheckNodePort': 70000", "spec.healthCheckNodePort"},
		{"'ipFamilies': ['IPv4', 'IPX']", "spec.ipFamilies[1]"},
		{"'loadBalancerIP': 'x'", "spec.loadBalancerIP"},
		{"'loadBalancerSourceRanges': ['10.0.0.1']", "spec.loadBalancerSourceRanges[0]"},
		{"'loadBalancerSourceRanges': ['10.0.0.0/33']", "spec.loadBalancerSourceRanges[0]"},
		{"'loadBalancerSourceRanges': 'x'", "spec.loadBalancerSourceRanges"},
	};

	for (size_t i = 0; i < sizeof(faulty) / sizeof(faulty[0]); i++) {
		struct kube_service *s = service(faulty[i].spec);

		cr_expect_str_eq(faults(&s->o), faulty[i].faults, "%s: %s", faulty[i].spec,
				 faults(&s->o));
		cr_expect_eq(s->o.faults->finding[0].kind, KUBE_SERVICE);
		cr_expect_str_eq(s->o.faults->finding[0].ns, "shop");
		cr_expect_str_eq(s->o.faults->finding[0].uid, "u-1");
		done(&s->o);
	}
}

/* A slip never opens what was to be closed, nor takes what is somebody else's. */
Test(kube_object, slips_are_safe)
{
	struct kube_service *s = service("'loadBalancerSourceRanges': [7]");

	cr_expect(s->ranged && !s->ranges);
	done(&s->o);
	s = service("'loadBalancerSourceRanges': {}");
	cr_expect(s->ranged && !s->ranges);
	done(&s->o);
	s = service("'type': 'LoadBalancer', 'loadBalancerClass': 3");
	cr_assert_not_null(s->lb_class);
	cr_expect_str_eq(s->lb_class, "");
	done(&s->o);
	s = service("'type': ['LoadBalancer']");
	cr_expect_eq(s->type, KUBE_TYPE_UNKNOWN);
	done(&s->o);
}

Test(kube_object, ten_thousand_ports)
{
	static char spec[600000];
	struct json_object *json;
	struct kube_service *s;
	size_t used = 0;

	used += (size_t)snprintf(spec, sizeof(spec),
				 "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\"},"
				 "\"spec\":{\"ports\":[");
	for (int i = 0; i < 10000; i++)
		used += (size_t)snprintf(spec + used, sizeof(spec) - used,
					 "%s{\"name\":\"p%d\",\"port\":%d}", i ? "," : "", i,
					 i + 1);
	snprintf(spec + used, sizeof(spec) - used, "]}}");
	json = json_tokener_parse(spec);
	s = (struct kube_service *)kube_object_decode(KUBE_SERVICE, json, NODE, NULL);
	json_object_put(json);
	cr_expect_eq(s->ports, KUBE_PORTS_MAX);
	cr_expect_str_eq(faults(&s->o), "spec.ports");
	done(&s->o);
}

/* However much is wrong, only so much is said. */
Test(kube_object, findings_end)
{
	static const char bad[] = "'externalIPs': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]";
	struct kube_service *s = service(bad);

	cr_assert_eq(s->o.faults->n, KUBE_FINDINGS_EACH);
	cr_expect(strstr(s->o.faults->finding[KUBE_FINDINGS_EACH - 1].message, "more"));
	done(&s->o);
}

/* ---- EndpointSlices ---------------------------------------------------------------------------*/

Test(kube_object, slice)
{
	struct kube_slice *s =
		slice("'ports': [{'name': 'http', 'port': 8080, 'protocol': 'TCP'}, {'port': 53, "
		      "'protocol': 'UDP'}], 'endpoints': ["
		      "{'addresses': ['10.0.0.1', '10.0.0.2'], 'nodeName': 'node-a',"
		      "'targetRef': {'kind': 'Pod', 'name': 'p', 'uid': 'x'},"
		      "'hints': {'forZones': [{'name': 'z1'}, {'name': 'z2'}]}},"
		      "{'addresses': ['10.0.0.3'], 'nodeName': 'node-b', 'hints': null},"
		      "{'addresses': ['10.0.0.4'], 'hints': {'forNodes': [{'name': 'node-b'}]}},"
		      "{'addresses': ['10.0.0.5'], 'hints': {'forNodes': [{'name': 'node-b'}, "
		      "{'name': 'node-a'}], 'forZones': [{'name': 'z2'}]}}]");

	cr_assert_str_eq(faults(&s->o), "");
	cr_expect_str_eq(s->service, "web");
	cr_assert_eq(s->ports, 2);
	cr_expect_str_eq(s->port[0].name, "http");
	cr_expect_str_eq(s->port[1].name, "");
	cr_expect_eq(s->port[1].proto, IPPROTO_UDP);
	cr_assert_eq(s->endpoints, 4);
	cr_expect(is(&s->endpoint[0].addr, "10.0.0.1"));
	cr_expect_eq(s->endpoint[0].is, KUBE_READY | KUBE_SERVING | KUBE_LOCAL);
	cr_expect_neq(s->endpoint[0].pod, 0);
	cr_expect(kube_slice_hints(s, &s->endpoint[0], "z2"));
	cr_expect_not(kube_slice_hints(s, &s->endpoint[0], "z"));
	cr_expect_not(kube_slice_hints(s, &s->endpoint[0], ""));
	cr_expect_eq(s->endpoint[1].is, KUBE_READY | KUBE_SERVING);
	cr_expect_eq(s->endpoint[1].pod, 0);
	cr_expect_not(kube_slice_hints(s, &s->endpoint[1], "z1"));
	cr_expect_eq(s->endpoint[2].is, KUBE_READY | KUBE_SERVING | KUBE_FOR_NODES);
	cr_expect_eq(s->endpoint[3].is, KUBE_READY | KUBE_SERVING | KUBE_FOR_NODES | KUBE_FOR_OURS);
	cr_expect(kube_slice_hints(s, &s->endpoint[3], "z2"));
	done(&s->o);
}

/* ready absent = true, serving absent = ready, terminating absent = false. */
Test(kube_object, conditions)
{
	static const struct {
		const char *text;
		int is; /* -1: left out */
	} conditions[] = {
		{"null", KUBE_READY | KUBE_SERVING},
		{"{}", KUBE_READY | KUBE_SERVING},
		{"{'ready': null}", KUBE_READY | KUBE_SERVING},
		{"{'ready': false}", 0},
		{"{'ready': false, 'serving': true}", KUBE_SERVING},
		{"{'ready': false, 'serving': true, 'terminating': true}",
		 KUBE_SERVING | KUBE_TERMINATING},
		{"{'ready': false, 'terminating': true}", KUBE_TERMINATING},
		{"{'ready': true, 'serving': false}", KUBE_READY},
		{"{'ready': 'true'}", -1},
		{"{'ready': true, 'serving': 1}", -1},
		{"{'terminating': []}", -1},
	};
	char text[256];

	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		struct kube_slice *s;

		snprintf(text, sizeof(text),
			 "'endpoints': [{'addresses': ['10.0.0.1'], 'conditions': %s}]",
			 conditions[i].text);
		s = slice(text);
		cr_assert_eq(s->endpoints, conditions[i].is >= 0, "%s", conditions[i].text);
		if (s->endpoints)
			cr_expect_eq(s->endpoint[0].is, conditions[i].is, "%s", conditions[i].text);
		else
			cr_expect_neq(strlen(faults(&s->o)), 0);
		done(&s->o);
	}
}

Test(kube_object, slice_faults)
{
	static const struct {
		const char *rest, *faults;
		size_t endpoints;
	} faulty[] = {
		{"'endpoints': null, 'ports': null", "", 0},
		{"'endpoints': [{'addresses': null}]", "", 0},
		{"'endpoints': [{'addresses': []}]", "", 0},
		{"'endpoints': [{'addresses': [null]}]", "", 0},
		{"'endpoints': [{'addresses': ['fd00::1']}]", "endpoints[0].addresses[0]", 0},
		{"'endpoints': [{'addresses': ['::ffff:10.0.0.1']}]", "", 1},
		{"'endpoints': [{'addresses': ['10.0.0.1']}, 3]", "endpoints[1]", 1},
		{"'endpoints': [{'addresses': ['10.0.0.1'], 'nodeName': 3}]",
		 "endpoints[0].nodeName", 1},
		{"'endpoints': [{'addresses': ['10.0.0.1'], 'targetRef': 3}]",
		 "endpoints[0].targetRef", 1},
		{"'endpoints': [{'addresses': ['10.0.0.1'], 'hints': {'forZones': [{}]}}]", "", 1},
		{"'endpoints': [{'addresses': ['10.0.0.1'], 'hints': {'forNodes': [{}]}}]", "", 1},
		{"'endpoints': [{'addresses': ['10.0.0.1'], 'hints': {'forNodes': 'node-a'}}]",
		 "endpoints[0].hints.forNodes", 1},
		{"'endpoints': [{'addresses': ['255.255.255.255']}]", "endpoints[0].addresses[0]",
		 0},
		{"'ports': [{'port': null}]", "", 0},
		{"'ports': [{'name': 'A', 'port': 3}]", "ports[0].name", 0},
		{"'ports': [{'port': 3, 'protocol': 'SCTP'}]", "", 0},
		{"'ports': [{'port': 3, 'protocol': 'X'}]", "ports[0].protocol", 0},
		{"'addressType': 'FQDN', 'endpoints': [{'addresses': ['example.com']}]", "", 0},
		{"'addressType': 'IPv5', 'endpoints': []", "addressType", 0},
	};

	for (size_t i = 0; i < sizeof(faulty) / sizeof(faulty[0]); i++) {
		struct kube_slice *s = slice(faulty[i].rest);

		cr_expect_str_eq(faults(&s->o), faulty[i].faults, "%s: %s", faulty[i].rest,
				 faults(&s->o));
		cr_expect_eq(s->endpoints, faulty[i].endpoints, "%s", faulty[i].rest);
		cr_expect_eq(s->ports, 0);
		done(&s->o);
	}
}

/* ---- Nodes ------------------------------------------------------------------------------------*/

Test(kube_object, node)
{
	struct kube_node *n = (struct kube_node *)decode_as(
		KUBE_NODE,
		"{'metadata': {'name': 'node-a', 'labels': {"
		"'node.kubernetes.io/exclude-from-external-load-balancers': 'false',"
		"'topology.kubernetes.io/zone': 'z1'}}, 'status': {'addresses': [%s]}}",
		"{'type': 'InternalIP', 'address': '10.0.0.1'}, {'type': 'Hostname', 'address': "
		"'node-a'}, {'type': 'ExternalIP', 'address': '2001:db8::1'}, {'type': "
		"'InternalIP', 'address': 'x'}, {'type': 'InternalIP'}");

	cr_expect_str_eq(faults(&n->o), "status.addresses[3].address");
	cr_expect(n->excluded, "that the label is there counts, not what it says");
	cr_expect_str_eq(n->zone, "z1");
	cr_assert_eq(n->addrs, 2);
	cr_expect(is(&n->addr[0], "10.0.0.1") && is(&n->addr[1], "2001:db8::1"));
	done(&n->o);
	n = (struct kube_node *)decode_as(KUBE_NODE, "{'metadata': {'name': '%s'}}", "node-a");
	cr_expect(!n->excluded && !n->addrs && !*n->zone);
	done(&n->o);
}
