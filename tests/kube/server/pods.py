# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pods of a Service come and go, as its EndpointSlices tell it.

One that leaves: {ready, serving, not terminating} -> {not ready, serving, terminating} ->
{not ready, not serving, terminating} -> gone. One that comes is not ready first.
"""
import asyncio
import ipaddress

from . import status
from .kinds import BY_PLURAL

SLICES = BY_PLURAL["endpointslices"]
LABEL = "kubernetes.io/service-name"
FULL = 100  # endpoints of a slice, as the controller fills them


def _conditions(ready, serving, terminating):
    return {"ready": ready, "serving": serving, "terminating": terminating}


HERE = _conditions(True, True, False)
COMING = _conditions(False, False, False)
LEAVING = _conditions(False, True, True)
ENDING = _conditions(False, False, True)


class Pods:
    def __init__(self, cluster, service):
        self._cluster = cluster
        self._namespace, _, self._service = service.rpartition("/")
        self._namespace = self._namespace or "default"

    def _slices(self):
        return [entry for entry in self._cluster.store.shelves[SLICES].now()
                if entry.key.startswith(f"{self._namespace}/")
                and (entry.obj["metadata"].get("labels") or {}).get(LABEL) == self._service]

    def _find(self, address):
        for entry in self._slices():
            for at, endpoint in enumerate(entry.obj.get("endpoints") or []):
                if address in (endpoint.get("addresses") or []):
                    return entry, at
        raise status.bad_request(f"service {self._namespace}/{self._service} has no endpoint {address}")

    def _change(self, address, conditions):
        """None as conditions: it is gone."""
        entry, at = self._find(address)
        obj = entry.copy()
        if conditions is None:
            del obj["endpoints"][at]
        else:
            obj["endpoints"][at]["conditions"] = conditions
        self._cluster.update(SLICES, entry, obj)

    async def come(self, address, node, seconds):
        """A new pod; ready after so long. Its ports are those of the slices that there are."""
        family = f"IPv{ipaddress.ip_address(address).version}"
        entry = next((entry for entry in self._slices() if entry.obj.get("addressType") == family
                      and len(entry.obj.get("endpoints") or []) < FULL), None)
        if entry is None:
            raise status.bad_request(f"service {self._namespace}/{self._service} has no {family} slice "
                                     "with room for another endpoint")
        obj = entry.copy()
        pod = f"{self._service}-{address.replace('.', '-').replace(':', '-')}"
        obj["endpoints"] = (obj.get("endpoints") or []) + [{
            "addresses": [address], "conditions": COMING, **({"nodeName": node} if node else {}),
            "targetRef": {"kind": "Pod", "namespace": self._namespace, "name": pod}}]
        self._cluster.update(SLICES, entry, obj)
        await asyncio.sleep(seconds)
        self._change(address, HERE)

    async def leave(self, address, serving, ending):
        """It serves for so long after it was told to go, and is gone so long after that."""
        self._change(address, LEAVING)
        await asyncio.sleep(serving)
        self._change(address, ENDING)
        await asyncio.sleep(ending)
        self._change(address, None)

    def set(self, address, word):
        self._change(address, {"ready": HERE, "unready": COMING, "leaving": LEAVING, "ending": ENDING,
                               "gone": None}[word])
