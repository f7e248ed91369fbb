# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What clients ask before they ask anything: versions, groups, resources, health.

/openapi/v2 and v3 are not there; kubectl says so only where it validates what it creates
(--validate=false)."""
from . import status
from .kinds import ALL, KINDS

VERSION = {"major": "1", "minor": "26", "gitVersion": "v1.26.15-poise-test", "gitCommit": "",
           "gitTreeState": "clean", "buildDate": "2026-01-01T00:00:00Z", "goVersion": "none",
           "compiler": "none", "platform": "linux/amd64"}


def _resources(group, version):
    listed = []
    for kind in KINDS:
        if (kind.group, kind.version) != (group, version):
            continue
        listed.append({"name": kind.plural, "singularName": kind.singular,
                       "namespaced": kind.namespaced, "kind": kind.kind, "verbs": list(ALL),
                       **({"shortNames": list(kind.short)} if kind.short else {})})
        if kind.status:
            listed.append({"name": f"{kind.plural}/status", "singularName": "",
                           "namespaced": kind.namespaced, "kind": kind.kind,
                           "verbs": ["get", "patch", "update"]})
    if not listed:
        raise status.no_such_resource()
    return {"kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version, "resources": listed}


def _group(name):
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in
                dict.fromkeys(kind.version for kind in KINDS if kind.group == name)]
    if not versions:
        raise status.no_such_resource()
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _page(words, port):
    if words == ["version"]:
        return VERSION
    if words == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": f"127.0.0.1:{port}"}]}
    if words == ["apis"]:
        groups = dict.fromkeys(kind.group for kind in KINDS if kind.group)
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(g) for g in groups]}
    if words[0] == "api" and len(words) == 2:
        return _resources("", words[1])
    if words[0] == "apis" and len(words) == 2:
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(words[1])}
    if words[0] == "apis" and len(words) == 3:
        return _resources(words[1], words[2])
    raise status.no_such_page()


async def serve(request, words, answer, port):
    if request.method != "GET":
        raise status.not_allowed()
    if words and words[0] in ("livez", "readyz", "healthz"):
        await answer.send(200, b"ok", "text/plain; charset=utf-8")
        return
    await answer.send_json(200, _page(words or [""], port))
