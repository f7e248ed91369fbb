# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""LIST: what resourceVersion, limit and continue mean."""
import gzip
import json

from .harness import SERVICES, SLICES, equal, service, that


def names(reply):
    return [item["metadata"]["name"] for item in reply.json["items"]]


def items(api):
    """items have neither kind nor apiVersion, empty slices have null arrays"""
    said = api.get(SLICES).json
    equal((said["kind"], said["apiVersion"]), ("EndpointSliceList", "discovery.k8s.io/v1"))
    that(not any("kind" in item or "apiVersion" in item for item in said["items"]), "items have a kind")
    empty = next(item for item in said["items"] if item["metadata"]["name"] == "web-empty")
    equal((empty["endpoints"], empty["ports"]), (None, None))


def pages(api):
    """pages are of one state, though that changes between them"""
    first = api.get(f"{SERVICES}?limit=1")
    equal((names(first), first.json["metadata"]["remainingItemCount"]), (["dns"], 2))
    api.ctl("delete services/default/headless")
    api.ctl("apply", service("dns2"))
    more = first.json["metadata"]["continue"]
    second = api.get(f"{SERVICES}?limit=1&continue={more}")
    equal(names(second), ["headless"])
    equal(second.json["metadata"]["resourceVersion"], first.json["metadata"]["resourceVersion"])
    last = api.get(f"{SERVICES}?limit=1&continue={second.json['metadata']['continue']}")
    equal(names(last), ["web"])
    that("continue" not in last.json["metadata"], "there is a page after the last one")
    equal(api.get(f"{SERVICES}?continue={more}&resourceVersion=5").code, 400)
    equal(api.get(f"{SERVICES}?continue=nonsense").code, 400)


def old_token(api):
    """a token that is too old is answered 410, with one that goes on at the newest state"""
    first = api.get(f"{SERVICES}?limit=1").json["metadata"]["continue"]
    api.ctl("delete services/default/headless")
    api.ctl("compact")
    no = api.get(f"{SERVICES}?limit=1&continue={first}")
    equal((no.code, no.json["reason"]), (410, "Expired"))
    equal(names(api.get(f"{SERVICES}?continue={no.json['metadata']['continue']}")), ["web"])


def exact(api):
    """an exact version is listed as it was, or answered 410 once that is forgotten"""
    version = api.ctl("revision").strip()
    api.ctl("clear services")
    path = f"{SERVICES}?resourceVersion={version}&resourceVersionMatch=Exact"
    equal(names(api.get(path)), ["dns", "headless", "web"])
    equal(names(api.get(f"{SERVICES}?resourceVersion={version}&limit=2")), ["dns", "headless"])
    equal(names(api.get(f"{SERVICES}?resourceVersion={version}")), [])
    api.ctl("compact")
    equal((api.get(path).code, api.get(path).json["reason"]), (410, "Expired"))
    equal(api.get(f"{SERVICES}?resourceVersion={version}").code, 200)


def zero(api):
    """version 0 takes no heed of the limit"""
    equal(len(names(api.get(f"{SERVICES}?resourceVersion=0&limit=1"))), 3)
    equal(len(names(api.get(f"{SERVICES}?limit=1"))), 1)


def future(api):
    """a version that does not come is answered 504"""
    no = api.get(f"{SERVICES}?resourceVersion=99999999")
    equal((no.code, no.json["details"]["causes"][0]["reason"]), (504, "ResourceVersionTooLarge"))


def selected(api):
    """selectors choose by labels and by fields"""
    api.ctl("merge services/default/web", {"metadata": {"labels": {"a": "1", "b": "2"}}})
    for query, wanted in (("labelSelector=a%3D1", ["web"]), ("labelSelector=a", ["web"]),
                          ("labelSelector=!a", ["dns", "headless"]), ("labelSelector=a%3D1,b!%3D2", []),
                          ("labelSelector=a+in+(1,2),b+notin+(3)", ["web"]),
                          ("fieldSelector=metadata.name%3Ddns", ["dns"]),
                          ("fieldSelector=metadata.namespace!%3Ddefault", [])):
        equal(names(api.get(f"{SERVICES}?{query}")), wanted, query)
    equal(api.get(f"{SERVICES}?fieldSelector=spec.nonsense%3D1").code, 400)
    equal(names(api.get("/api/v1/namespaces/default/services")), ["dns", "headless", "web"])
    equal(names(api.get("/api/v1/namespaces/other/services")), [])


def compressed(api):
    """long lists are compressed for those who take that"""
    api.ctl("many 500 1")
    plain = api.get(SLICES)
    packed = api.get(SLICES, Accept_Encoding="gzip")
    equal((plain.headers["Content-Encoding"], packed.headers["Content-Encoding"]), (None, "gzip"))
    equal(json.loads(gzip.decompress(packed.body)), plain.json)


CHECKS = (items, pages, old_token, exact, zero, future, selected, compressed)
