# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writing objects: create, update, delete, with all that the server does then. Used by requests
(api.py) and by commands (control.py) alike."""
import json

from . import defaults, managed, status
from .allocator import Allocator
from .kinds import BY_PLURAL, KINDS
from .store import Store, key_of

SERVICES, SLICES, NAMESPACES = (BY_PLURAL[p] for p in ("services", "endpointslices", "namespaces"))


class Cluster:
    def __init__(self, history):
        self.store = Store(KINDS, history)
        self.allocator = Allocator(self.store.shelves[SERVICES])
        for name in ("default", "kube-system", "kube-node-lease", "poise"):
            self.namespace(name)

    def namespace(self, name):
        """Makes a namespace if it is not there."""
        if name and self.store.get(NAMESPACES, name) is None:
            self.create(NAMESPACES, {"metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]},
                                     "status": {"phase": "Active"}}, None)

    def get(self, kind, namespace, name):
        entry = self.store.get(kind, f"{namespace}/{name}" if kind.namespaced else name)
        if entry is None:
            raise status.not_found(kind, name)
        return entry

    def create(self, kind, obj, namespace, dry=False):
        obj.pop("kind", None)
        obj.pop("apiVersion", None)
        if not isinstance(obj.get("metadata"), dict):
            raise status.invalid(kind, "", ("metadata", "Required value"))
        defaults.metadata(kind, obj, namespace)
        meta = obj["metadata"]
        if kind.namespaced and self.store.get(NAMESPACES, meta["namespace"]) is None:
            raise status.not_found(NAMESPACES, meta["namespace"])
        if self.store.get(kind, key_of(obj)) is not None:
            raise status.already_exists(kind, meta["name"])
        obj = {"metadata": obj.pop("metadata"), **obj}
        defaults.complete(kind, obj, None, self.allocator)
        return self._written(kind, obj, dry)

    def update(self, kind, old, obj, sub=None, dry=False, manager="ctl"):
        """Puts obj in the place of the entry `old`, or only its part that `sub` names."""
        obj.pop("kind", None)
        obj.pop("apiVersion", None)
        name, meta = old.obj["metadata"]["name"], obj.get("metadata") or {}
        if meta.get("resourceVersion") not in (None, "", str(old.revision)):
            raise status.conflict(kind, name)
        if meta.get("uid") not in (None, "", old.obj["metadata"]["uid"]):
            raise status.conflict(kind, name)
        before = old.copy()
        if sub == "status":
            obj = {**before, "status": obj.get("status") or {}}
        else:
            obj = self._whole(kind, before, obj, meta)
        obj["metadata"]["resourceVersion"] = str(old.revision)
        managed.track(before, obj, manager)
        if obj == before:
            return old  # nothing is written, no event
        return self._written(kind, obj, dry)

    def _whole(self, kind, before, obj, meta):
        had = before["metadata"]
        if meta.get("name", had["name"]) != had["name"]:
            raise status.bad_request(f"the name of the object ({meta['name']}) does not match the name "
                                     f"on the URL ({had['name']})")
        kept = {field: had[field] for field in (
            "name", "namespace", "uid", "creationTimestamp", "generation", "deletionTimestamp",
            "deletionGracePeriodSeconds") if field in had}
        obj = {"metadata": {**meta, **kept}, **{k: v for k, v in obj.items() if k != "metadata"}}
        if kind.status:
            obj.pop("status", None)
            if "status" in before:
                obj["status"] = before["status"]
        defaults.complete(kind, obj, before, self.allocator)
        if kind.generation and {**obj, "metadata": 0} != {**before, "metadata": 0}:
            obj["metadata"]["generation"] = had.get("generation", 1) + 1
        return obj

    def _written(self, kind, obj, dry):
        if dry:
            shadow = Store([kind])
            return shadow.put(kind, obj)
        entry = self.store.put(kind, obj)
        if "deletionTimestamp" in obj["metadata"] and not obj["metadata"].get("finalizers"):
            self._gone(kind, entry)
        return entry

    def delete(self, kind, entry):
        """One with finalizers only says that it is going, until they are taken off."""
        if entry.obj["metadata"].get("finalizers"):
            obj = entry.copy()
            if "deletionTimestamp" not in obj["metadata"]:
                obj["metadata"]["deletionTimestamp"] = defaults.now()
                obj["metadata"]["deletionGracePeriodSeconds"] = 0
                entry = self.store.put(kind, obj)
            return entry
        return self._gone(kind, entry)

    def _gone(self, kind, entry):
        last = self.store.remove(kind, entry.key)
        if kind is SERVICES:
            uid = entry.obj["metadata"].get("uid")
            for slice_ in list(self.store.shelves[SLICES].now()):
                owners = slice_.obj["metadata"].get("ownerReferences") or []
                if any(owner.get("uid") == uid for owner in owners):
                    self.store.remove(SLICES, slice_.key)
        return last

    def apply(self, kind, obj):
        """Creates it or puts it in the place of what is there, its status as well."""
        meta = obj.get("metadata")
        if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
            raise status.bad_request("metadata.name is missing")
        if kind.namespaced:
            self.namespace(meta.setdefault("namespace", "default"))
        state = json.loads(json.dumps(obj.get("status")))
        old = self.store.get(kind, key_of(obj))
        if old is None:
            entry = self.create(kind, obj, None)
        else:
            obj["metadata"].pop("resourceVersion", None)
            entry = self.update(kind, old, obj)
        if state and kind.status:
            entry = self.update(kind, entry, {"status": state}, "status")
        return entry

    def raw(self, kind, obj):
        """Puts it there as it is: no check, no default. What has no name is refused all the same."""
        meta = obj.get("metadata")
        if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
            raise status.bad_request("metadata.name is missing")
        if kind.namespaced:
            self.namespace(meta.setdefault("namespace", "default"))
        obj.pop("kind", None)
        obj.pop("apiVersion", None)
        return self.store.put(kind, {"metadata": meta, **obj})
