# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""metadata.managedFields: who changed a field last. Of all fields only status.loadBalancer.ingress,
which several may write: a controller that clears its own entries reads here whose they are."""
from . import defaults

INGRESS = {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}


def _ingress(obj):
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress")


def manager_of(request):
    """As the real one names who does not say: by the program that asks."""
    agent = request.headers.get("user-agent", "unknown")
    return request.query.get("fieldManager") or agent.split("/")[0][:128]


def track(before, obj, manager):
    """Sets them in obj, which is about to take the place of `before`, whatever the client said."""
    entries = before["metadata"].get("managedFields") or []
    if _ingress(obj) != _ingress(before):
        entries = [entry for entry in entries if entry["fieldsV1"] != INGRESS]
        if _ingress(obj):
            entries.append({"manager": manager, "operation": "Update", "apiVersion": "v1",
                            "time": defaults.now(), "fieldsType": "FieldsV1", "fieldsV1": INGRESS,
                            "subresource": "status"})
    obj["metadata"].pop("managedFields", None)
    if entries:
        obj["metadata"]["managedFields"] = entries
