# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tables, which `kubectl get` asks for instead of objects: the server says what people read."""
import calendar
import time

from .store import encode

SHOWN = 3  # addresses of a slice; of the others their number


def _age(obj):
    """As people are told how long ago: two digits and a unit, or so."""
    since = obj["metadata"].get("creationTimestamp")
    if not since:
        return "<unknown>"
    try:
        seconds = int(time.time() - calendar.timegm(time.strptime(since, "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return "<invalid>"
    for limit, unit, size, rest in ((120, "s", 1, None), (600, "m", 60, "s"), (3 * 3600, "m", 60, None),
                                    (8 * 3600, "h", 3600, "m"), (48 * 3600, "h", 3600, None)):
        if seconds < limit:
            lower = seconds % size // (1 if rest == "s" else 60) if rest else 0
            return f"{seconds // size}{unit}" + (f"{lower}{rest}" if lower else "")
    return f"{seconds // 86400}d"


def _joined(words, otherwise="<none>"):
    return ",".join(map(str, words)) or otherwise


def _external(obj):
    spec = obj["spec"]
    if spec.get("type") == "ExternalName":
        return spec.get("externalName")
    ingress = (obj.get("status") or {}).get("loadBalancer", {}).get("ingress") or []
    known = [item.get("ip") or item.get("hostname") for item in ingress
             if spec.get("type") == "LoadBalancer"]
    return _joined(known + (spec.get("externalIPs") or []),
                   "<pending>" if spec.get("type") == "LoadBalancer" else "<none>")


def _service_ports(obj):
    return _joined(f"{port['port']}{':' + str(port['nodePort']) if port.get('nodePort') else ''}"
                   f"/{port.get('protocol', 'TCP')}" for port in obj["spec"].get("ports") or [])


def _endpoints(obj):
    has = [address for endpoint in obj.get("endpoints") or [] for address in endpoint["addresses"][:1]]
    more = len(has) - SHOWN
    return _joined(has[:SHOWN], "<unset>") + (f" + {more} more..." if more > 0 else "")


def _ready(obj):
    state = [c.get("status") for c in (obj.get("status") or {}).get("conditions") or []
             if c.get("type") == "Ready"]
    return {"True": "Ready", "False": "NotReady"}.get(state[0] if state else None, "Unknown")


def _labels(obj):
    selector = obj["spec"].get("selector") or {}
    return _joined(f"{key}={value}" for key, value in selector.items())


def _at(*path):
    def of(obj):
        for word in path:
            obj = obj.get(word) if isinstance(obj, dict) else None
        return obj if obj is not None else "<none>"
    return of


NAME, AGE = ("Name", _at("metadata", "name")), ("Age", _age)
# (heading, what stands there); a heading in brackets is shown by `-o wide` only.
COLUMNS = {
    "services": (NAME, ("Type", _at("spec", "type")), ("Cluster-IP", _at("spec", "clusterIP")),
                 ("External-IP", _external), ("Port(s)", _service_ports), AGE,
                 ("[Selector]", _labels)),
    "nodes": (NAME, ("Status", _ready), AGE),
    "pods": (NAME, ("Status", _at("status", "phase")), AGE, ("[IP]", _at("status", "podIP")),
             ("[Node]", _at("spec", "nodeName"))),
    "namespaces": (NAME, ("Status", _at("status", "phase")), AGE),
    "events": (("Last Seen", _at("lastTimestamp")), ("Type", _at("type")), ("Reason", _at("reason")),
               ("Object", lambda obj: _joined(_at("involvedObject", word)(obj).lower() if word == "kind"
                                              else _at("involvedObject", word)(obj)
                                              for word in ("kind", "name")).replace(",", "/")),
               ("Message", _at("message"))),
    "endpointslices": (NAME, ("AddressType", _at("addressType")),
                       ("Ports", lambda obj: _joined((p.get("port") for p in obj.get("ports") or []),
                                                     "<unset>")),
                       ("Endpoints", _endpoints), AGE),
    "leases": (NAME, ("Holder", _at("spec", "holderIdentity")), AGE),
}


def _row(kind, entry):
    cells = []
    for _, cell in COLUMNS[kind.plural]:
        try:
            cells.append(cell(entry.obj))
        except (KeyError, TypeError, AttributeError, IndexError):
            cells.append("<invalid>")  # objects may be anything here
    return {"cells": cells, "object": {"kind": "PartialObjectMetadata",
                                       "apiVersion": "meta.k8s.io/v1",
                                       "metadata": entry.obj["metadata"]}}


def wanted(request):
    return "as=Table" in request.headers.get("accept", "")


def body(kind, meta, entries):
    columns = [{"name": name.strip("[]"), "type": "string", "format": "name" if name == "Name" else "",
                "description": "", "priority": int(name.startswith("["))}
               for name, _ in COLUMNS[kind.plural]]
    return encode({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta,
                   "columnDefinitions": columns, "rows": [_row(kind, entry) for entry in entries]})


def of_one(entry):
    return body(entry.kind, {"resourceVersion": str(entry.revision)}, [entry])
