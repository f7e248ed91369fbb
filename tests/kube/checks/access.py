# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Who is who, and who may what."""
import os

from .harness import MERGE, SERVICES, equal, that

TOKEN = "serviceaccount/token"


def nobody(api):
    """who does not say who he is may look at health and version only, a wrong token is answered 401"""
    no = api.secure(SERVICES)
    equal((no.code, no.json["reason"]), (403, "Forbidden"))
    that('User "system:anonymous" cannot list resource "services"' in no.json["message"],
         no.json["message"])
    equal([api.secure(path).code for path in ("/livez", "/version", "/apis")], [200, 200, 403])
    no = api.secure(SERVICES, token="wrong")
    equal((no.code, no.json["reason"]), (401, "Unauthorized"))
    equal(api.secure(SERVICES, certificate="admin").code, 200)


def rights(api):
    """poise may what it needs (deploy/kubernetes), and no more"""
    for path, method, may in (
            ("/api/v1/services", "GET", True), ("/api/v1/nodes", "GET", True),
            ("/apis/discovery.k8s.io/v1/endpointslices", "GET", True),
            ("/api/v1/nodes?watch=1&timeoutSeconds=1&resourceVersion=1", "GET", True),
            ("/api/v1/pods", "GET", False), ("/api/v1/namespaces/poise/pods", "GET", False), ("/api/v1/namespaces", "GET", False),
            ("/api/v1/namespaces/default/events", "GET", False),
            ("/api/v1/namespaces/default/services/web", "PATCH", False),
            ("/api/v1/namespaces/default/services/web/status", "PATCH", True),
            ("/api/v1/namespaces/default/services/web/status", "PUT", False),
            ("/api/v1/namespaces/default/services/web", "DELETE", False),
            ("/api/v1/namespaces/default/events", "POST", True),
            ("/apis/coordination.k8s.io/v1/namespaces/poise/leases", "POST", True),
            ("/apis/coordination.k8s.io/v1/namespaces/poise/leases/poise", "DELETE", False)):
        body = None if method in ("GET", "DELETE") else {"metadata": {"name": "web"}}
        code = api.ask(method, path, body, MERGE if method == "PATCH" else "application/json",
                       Authorization=f"Bearer {api.read(TOKEN)}").code
        equal(code != 403, may, f"{method} {path} is answered {code}")


def rotation(api):
    """a new token lies where the old one lay; that is good for its grace only, and may be for none"""
    old = api.read(TOKEN)
    link = os.readlink(api.path("serviceaccount/..data"))
    api.ctl("rotate grace=600")
    new = api.read(TOKEN)
    that(new != old and os.readlink(api.path("serviceaccount/..data")) != link, "it is the old one")
    that(os.path.islink(api.path(TOKEN)), "it is no link, as the kubelet's")
    equal([api.secure(SERVICES, token=token).code for token in (old, new)], [200, 200])
    api.ctl("rotate")
    equal([api.secure(SERVICES, token=token).code for token in (new, api.read(TOKEN))], [401, 200])
    api.ctl("expire")
    equal(api.secure(SERVICES, token=api.read(TOKEN)).code, 401)
    api.ctl("rotate")
    equal(api.secure(SERVICES, token=api.read(TOKEN)).code, 200)


CHECKS = (nobody, rights, rotation)
