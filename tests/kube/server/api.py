# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A request: who, what is meant, may he, does anything go wrong, and the answer."""
import json
import time

from . import discovery, listing, managed, patch, status, table
from .kinds import BY_PATH

COLLECTION = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
ITEM = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Target:
    """The resource that a path means."""

    def __init__(self, kind, namespace, name, sub):
        self.kind, self.namespace, self.name, self.sub = kind, namespace, name, sub


def target(words):
    """Of the words of a path; None if it is no resource's."""
    if words[:1] == ["api"] and len(words) > 2:
        group, version, rest = "", words[1], words[2:]
    elif words[:1] == ["apis"] and len(words) > 3:
        group, version, rest = words[1], words[2], words[3:]
    else:
        return None
    namespace = None
    if rest[0] == "namespaces" and len(rest) > 2 and (group, version, rest[2]) in BY_PATH:
        namespace, rest = rest[1], rest[2:]
    kind = BY_PATH.get((group, version, rest[0]))
    rest += [None] * (3 - len(rest))
    if kind is None or len(rest) > 3 or (namespace and not kind.namespaced):
        raise status.no_such_resource()
    if rest[2] is not None and not (rest[2] == "status" and kind.status):
        raise status.no_such_resource()
    if rest[1] is not None and kind.namespaced and namespace is None:
        raise status.no_such_resource()
    return Target(kind, namespace, rest[1], rest[2])


class Api:
    def __init__(self, cluster, watchers, access, faults, nobody, log):
        self.cluster, self.watchers, self.access, self.faults = cluster, watchers, access, faults
        self.log = log  # called with a dict for each request that was answered
        self.nobody = nobody  # who those are who do not say who they are
        self.port = 0

    async def handle(self, request, answer):
        said = {"at": time.time(), "method": request.method, "target": request.target, "user": None,
                "protocol": request.headers.get("x-protocol", "HTTP/1.1")}
        try:
            await self._answer(request, answer, said)
        except status.Refusal as no:
            if no.text is not None:
                await answer.send(no.code, no.text.encode(), "text/plain; charset=utf-8", no.headers)
            else:
                await answer.send_json(no.code, no.object, no.headers)
        finally:
            self.log({**said, "code": answer.code, "seconds": round(time.time() - said["at"], 4)})

    async def _answer(self, request, answer, said):
        words = [word for word in request.path.split("/") if word]
        user = self.access.who(request, self.nobody)
        said["user"] = user.name
        aim = target(words)
        if aim is None:
            self.access.check_path(user, request.method, request.path)
            if not await self.faults.meet(answer, "path", None, user.name):
                await discovery.serve(request, words, answer, self.port)
            return
        verb = (COLLECTION if aim.name is None else ITEM).get(request.method)
        if verb == "list" and request.asks_for("watch"):
            verb = "watch"
        if verb is None:
            raise status.not_allowed()
        said.update(verb=verb, resource=aim.kind.plural + (f"/{aim.sub}" if aim.sub else ""))
        if await self.faults.meet(answer, verb, said["resource"], user.name):
            return
        self.access.check(user, verb, aim.kind, aim.sub, aim.namespace, aim.name)
        if verb == "watch":
            await self.watchers.serve(aim.kind, aim.namespace, request, user.name, answer)
        elif verb == "list":
            form = table if table.wanted(request) else listing
            await answer.send(200, form.body(aim.kind, *await listing.page(
                self.cluster.store, aim.kind, aim.namespace, request.query)) + b"\n")
        else:
            code, body = getattr(self, f"_{verb}")(aim, request)
            await answer.send(code, body + b"\n")

    def _get(self, aim, request):
        entry = self.cluster.get(aim.kind, aim.namespace, aim.name)
        return 200, table.of_one(entry) if table.wanted(request) else entry.full()

    def _create(self, aim, request):
        obj = _read(request)
        self._check_kind(aim.kind, obj)
        entry = self.cluster.create(aim.kind, obj, aim.namespace, "dryRun" in request.query)
        return 201, entry.full()

    def _update(self, aim, request):
        obj = _read(request)
        self._check_kind(aim.kind, obj)
        old = self.cluster.get(aim.kind, aim.namespace, aim.name)
        entry = self.cluster.update(aim.kind, old, obj, aim.sub, "dryRun" in request.query,
                                    managed.manager_of(request))
        return 200, entry.full()

    def _patch(self, aim, request):
        old = self.cluster.get(aim.kind, aim.namespace, aim.name)
        whole = {"kind": aim.kind.kind, "apiVersion": aim.kind.api_version, **old.copy()}
        new = patch.apply(request.headers.get("content-type", ""), whole, request.body)
        self._check_kind(aim.kind, new)
        entry = self.cluster.update(aim.kind, old, new, aim.sub, "dryRun" in request.query,
                                    managed.manager_of(request))
        return 200, entry.full()

    def _delete(self, aim, request):
        entry = self.cluster.get(aim.kind, aim.namespace, aim.name)
        wanted = ((_read(request) if request.body else {}).get("preconditions") or {})
        meta = entry.obj["metadata"]
        if wanted.get("resourceVersion", meta["resourceVersion"]) != meta["resourceVersion"] or \
                wanted.get("uid", meta["uid"]) != meta["uid"]:
            raise status.conflict(aim.kind, aim.name)
        last = self.cluster.delete(aim.kind, entry)
        if aim.kind.returned or meta.get("finalizers"):
            return 200, last.full()
        return 200, json.dumps(status.success(aim.kind, aim.name, meta["uid"])).encode()

    def _deletecollection(self, aim, request):
        scope = listing.Scope(aim.namespace, request.query)
        for entry in list(self.cluster.store.shelves[aim.kind].now()):
            if scope.has(entry):
                self.cluster.delete(aim.kind, entry)
        return 200, json.dumps({"kind": f"{aim.kind.kind}List", "apiVersion": aim.kind.api_version,
                                "metadata": {}, "items": []}).encode()

    def _check_kind(self, kind, obj):
        if obj.get("kind", kind.kind) != kind.kind or \
                obj.get("apiVersion", kind.api_version) != kind.api_version:
            raise status.bad_request(f"{obj.get('kind')} in version \"{obj.get('apiVersion')}\" cannot be "
                                     f"handled as a {kind.kind}: no kind registered")


def _read(request):
    try:
        obj = json.loads(request.body)
    except ValueError as why:
        raise status.bad_request(f"the object provided is unrecognized (must be of type JSON): {why}"
                                 ) from None
    if not isinstance(obj, dict):
        raise status.bad_request("the object provided is unrecognized (must be of type JSON)")
    return obj
