# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The resources that are served: one table, of which paths, discovery and messages are made."""
from dataclasses import dataclass

ALL = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class Kind:
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    short: tuple = ()
    status: bool = False  # has the subresource /status
    generation: bool = False  # its changes are counted in metadata.generation
    returned: bool = False  # a deletion is answered with the object, not with a Status

    @property
    def api_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self):  # as messages name the resource
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def named(self):  # as messages name one whose content is wrong
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def singular(self):
        return self.kind.lower()


KINDS = (
    Kind("", "v1", "Service", "services", True, ("svc",), status=True, returned=True),
    Kind("", "v1", "Node", "nodes", False, ("no",), status=True),
    Kind("", "v1", "Pod", "pods", True, ("po",), status=True, returned=True),
    Kind("", "v1", "Namespace", "namespaces", False, ("ns",), status=True),
    Kind("", "v1", "Event", "events", True, ("ev",)),
    Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", True, generation=True),
    Kind("coordination.k8s.io", "v1", "Lease", "leases", True),
)
BY_PLURAL = {kind.plural: kind for kind in KINDS}
BY_PATH = {(kind.group, kind.version, kind.plural): kind for kind in KINDS}
BY_OBJECT = {(kind.api_version, kind.kind): kind for kind in KINDS}


def of_object(obj):
    """The kind of a whole object, by its apiVersion and kind; ValueError if it is none of ours."""
    if not isinstance(obj, dict):
        raise ValueError("not an object")
    kind = BY_OBJECT.get((obj.get("apiVersion"), obj.get("kind")))
    if kind is None:
        raise ValueError(f"kind {obj.get('kind')!r} of {obj.get('apiVersion')!r} is not served; "
                         f"these are: {', '.join(k.kind for k in KINDS)}")
    return kind
