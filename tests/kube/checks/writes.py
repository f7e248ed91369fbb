# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writing: what is allocated, kept, refused, and who loses a race."""
from .harness import MERGE, SERVICES, equal, service, slice_, that

WEB = "/api/v1/namespaces/default/services/web"
ALL = "/api/v1/namespaces/default/services"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/poise/leases"


def allocated(api):
    """a Service gets its addresses and ports, and keeps them"""
    spec = api.get(WEB).json["spec"]
    that(spec["clusterIP"].startswith("10.96.") and spec["clusterIPs"] == [spec["clusterIP"]],
         "no clusterIP")
    that(30000 <= spec["ports"][0]["nodePort"] < 32768, "no nodePort")
    that(30000 <= spec["healthCheckNodePort"] < 32768, "no healthCheckNodePort")
    bare = service("web", type="LoadBalancer", loadBalancerClass="poise.dev/xdp",
                   externalTrafficPolicy="Local")
    after = api.ask("PUT", WEB, bare).json["spec"]
    for field in ("clusterIP", "healthCheckNodePort", "ports"):
        equal(after[field], spec[field], field)
    cluster = api.ask("PATCH", WEB, {"spec": {"externalTrafficPolicy": "Cluster"}}, MERGE).json["spec"]
    that("healthCheckNodePort" not in cluster, "policy Cluster keeps a healthCheckNodePort")
    udp = api.get(f"{ALL}/dns").json["spec"]["ports"]
    equal(udp[0]["nodePort"], udp[1]["nodePort"], "TCP and UDP of a number have one node port")


def dual(api):
    """a Service of two families has an address of each"""
    said = api.ask("POST", ALL, service("both", ipFamilyPolicy="RequireDualStack")).json["spec"]
    equal(said["ipFamilies"], ["IPv4", "IPv6"])
    equal([":" in address for address in said["clusterIPs"]], [False, True])


def class_stays(api):
    """loadBalancerClass may not change while the type is LoadBalancer"""
    for patch in ({"loadBalancerClass": "other/one"}, {"loadBalancerClass": None}):
        no = api.ask("PATCH", WEB, {"spec": patch}, MERGE)
        equal((no.code, no.json["reason"], no.json["details"]["causes"][0]["field"]),
              (422, "Invalid", "spec.loadBalancerClass"))
    equal(api.ask("PATCH", WEB, {"spec": {"type": "ClusterIP"}}, MERGE).code, 200)
    that("loadBalancerClass" not in api.get(WEB).json["spec"], "a ClusterIP has a class")


def parts(api):
    """a status is written by /status alone, and nothing else is"""
    ingress = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    both = {"metadata": {"labels": {"a": "b"}}, "status": ingress}
    api.ask("PATCH", WEB, both, MERGE)
    equal((api.get(WEB).json["status"], api.get(WEB).json["metadata"]["labels"]),
          ({"loadBalancer": {}}, {"a": "b"}))
    both["metadata"]["labels"]["a"] = "c"
    api.ask("PATCH", f"{WEB}/status", both, MERGE)
    equal((api.get(WEB).json["status"], api.get(WEB).json["metadata"]["labels"]), (ingress, {"a": "b"}))


def races(api):
    """who writes over an older version than there is loses, by PUT and by PATCH"""
    lease = {"metadata": {"name": "poise"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}
    first = api.ask("POST", LEASES, lease)
    equal(first.code, 201)
    again = api.ask("POST", LEASES, lease)
    equal((again.code, again.json["reason"]), (409, "AlreadyExists"))
    mine = first.json
    mine["spec"]["holderIdentity"] = "b"
    equal(api.ask("PUT", f"{LEASES}/poise", mine).code, 200)
    mine["spec"]["holderIdentity"] = "c"
    no = api.ask("PUT", f"{LEASES}/poise", mine)
    equal((no.code, no.json["reason"]), (409, "Conflict"))
    old = {"metadata": {"resourceVersion": first.json["metadata"]["resourceVersion"]}}
    equal(api.ask("PATCH", f"{LEASES}/poise", old, MERGE).code, 409)
    equal(api.get(f"{LEASES}/poise").json["spec"]["holderIdentity"], "b")


def unchanged(api):
    """what changes nothing is no new version"""
    version = api.ctl("revision")
    equal(api.ask("PATCH", WEB, {"spec": {"type": "LoadBalancer"}}, MERGE).code, 200)
    equal(api.ask("PATCH", f"{WEB}?dryRun=All", {"metadata": {"labels": {"a": "b"}}}, MERGE).json[
        "metadata"]["labels"], {"a": "b"})
    equal(api.ctl("revision"), version)


def finalizers(api):
    """one with finalizers is there until they are gone, and slices go with their Service"""
    api.ctl("merge services/default/web", {"metadata": {"finalizers": ["poise.dev/cleanup"]}})
    uid = api.get(WEB).json["metadata"]["uid"]
    api.ctl("merge endpointslices/default/web-1", {"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "Service", "name": "web", "uid": uid}]}})
    equal(api.ask("DELETE", WEB).code, 200)
    that("deletionTimestamp" in api.get(WEB).json["metadata"], "nothing says that it is going")
    api.ask("PATCH", WEB, {"metadata": {"finalizers": None}}, MERGE)
    equal(api.get(WEB).code, 404)
    equal(api.ctl("list endpointslices").split(), ["default/web-2", "default/web-empty"])


def refused(api):
    """what is wrong is refused in the words of a Status"""
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    json_patch = "application/json-patch+json"
    for method, path, body, type_, code, reason in (
            ("POST", ALL, "{", "application/json", 400, "BadRequest"),
            ("POST", ALL, {"kind": "Node", "metadata": {"name": "a"}}, "application/json", 400, "BadRequest"),
            ("POST", ALL, service("x", type="Odd"), "application/json", 422, "Invalid"),
            ("POST", ALL, service("x", ports=[{"port": 70000}]), "application/json", 422, "Invalid"),
            ("POST", ALL, service("x", loadBalancerClass="a"), "application/json", 422, "Invalid"),
            ("POST", slices, slice_("x", "web", family="IPv9"), "application/json", 422, "Invalid"),
            ("POST", "/api/v1/namespaces/none/services", {"metadata": {"name": "x"}}, "application/json",
             404, "NotFound"),
            ("PATCH", WEB, {}, "text/plain", 415, "UnsupportedMediaType"),
            ("PATCH", WEB, [{"op": "test", "path": "/spec/type", "value": "x"}], json_patch, 422, "Invalid"),
            ("PATCH", WEB, [{"op": "remove", "path": "/spec/none"}], json_patch, 422, "Invalid"),
            ("PUT", SERVICES, {}, "application/json", 405, "MethodNotAllowed"),
            ("GET", f"{ALL}/none", None, None, 404, "NotFound"),
            ("GET", "/api/v1/nonsense", None, None, 404, "NotFound"),
            ("GET", "/apis/nonsense/v1", None, None, 404, "NotFound")):
        no = api.ask(method, path, body, type_)
        equal((no.code, no.json["kind"], no.json["reason"], no.json["code"]), (code, "Status", reason, code),
              f"{method} {path} {body}")


def managers(api):
    """who was the last to write a status stands in managedFields, until it is gone"""
    def write(who, ingress):
        said = {"status": {"loadBalancer": {"ingress": ingress}}}
        meta = api.ask("PATCH", f"{WEB}/status?fieldManager={who}", said, MERGE).json["metadata"]
        return [entry["manager"] for entry in meta.get("managedFields", [])
                if entry["fieldsV1"] == {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}]

    equal(write("poised", [{"ip": "192.0.2.1"}]), ["poised"])
    equal(write("other", [{"ip": "192.0.2.1"}]), ["poised"], "nothing changed")
    equal(write("other", [{"ip": "192.0.2.2"}]), ["other"])
    equal(write("poised", None), [])


CHECKS = (allocated, dual, class_stays, parts, races, unchanged, finalizers, refused, managers)
