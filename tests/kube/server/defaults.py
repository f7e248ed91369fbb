# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the server makes of an object that is written: checks, defaults, allocated addresses and
ports, as far as a load balancer can see them."""
import time
import uuid

from . import status
from .allocator import NODE_PORTS

AFFINITY_SECONDS = 10800
OUTSIDE = ("NodePort", "LoadBalancer")  # types with ports on nodes


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def metadata(kind, obj, namespace):
    """Of a new object: who it is, since when."""
    meta = obj["metadata"]
    if "name" not in meta and meta.get("generateName"):
        meta["name"] = f"{meta['generateName']}{uuid.uuid4().hex[:5]}"
    if not meta.get("name"):
        raise status.invalid(kind, "", ("metadata.name", "Required value: name or generateName is "
                                        "required"))
    if kind.namespaced:
        if meta.setdefault("namespace", namespace or "default") != (namespace or meta["namespace"]):
            raise status.bad_request("the namespace of the provided object does not match the "
                                     "namespace sent on the request")
    meta["uid"] = str(uuid.uuid4())
    meta["creationTimestamp"] = now()
    for field in ("resourceVersion", "deletionTimestamp", "selfLink"):
        meta.pop(field, None)
    if kind.generation:
        meta["generation"] = 1


def _families(spec):
    asked = spec.get("ipFamilies") or []
    if spec.get("ipFamilyPolicy") in ("PreferDualStack", "RequireDualStack"):
        first = asked[0] if asked else "IPv4"
        return [first, "IPv6" if first == "IPv4" else "IPv4"]
    return asked[:1] or ["IPv4"]


def _addresses(spec, allocator):
    if spec["type"] == "ExternalName":
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            spec.pop(field, None)
        return
    spec["ipFamilies"] = families = _families(spec)
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    has = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    if has != ["None"]:
        has = has[:len(families)]
        has += [allocator.address(family) for family in families[len(has):]]
    spec["clusterIP"], spec["clusterIPs"] = has[0], has


def _ports(kind, name, spec, allocator):
    on_nodes = spec["type"] == "NodePort" or (
        spec["type"] == "LoadBalancer" and spec["allocateLoadBalancerNodePorts"])
    given = {}  # a number may have one node port for TCP and UDP
    for at, port in enumerate(spec.get("ports") or []):
        if not isinstance(port.get("port"), int) or not 0 < port["port"] < 65536:
            raise status.invalid(kind, name, (
                f"spec.ports[{at}].port", f"Invalid value: {port.get('port')}: must be between 1 and "
                "65535, inclusive"))
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port["port"])
        if spec["type"] not in OUTSIDE:
            port.pop("nodePort", None)
        elif not port.get("nodePort") and on_nodes:
            port["nodePort"] = given.get(port["port"]) or allocator.port()
        if port.get("nodePort"):
            if port["nodePort"] not in NODE_PORTS:
                raise status.invalid(kind, name, (
                    f"spec.ports[{at}].nodePort", f"Invalid value: {port['nodePort']}: provided port "
                    "is not in the valid range. The range of valid ports is "
                    f"{NODE_PORTS[0]}-{NODE_PORTS[-1]}"))
            given[port["port"]] = port["nodePort"]
    if len(spec.get("ports") or []) > 1 and not all(p.get("name") for p in spec["ports"]):
        raise status.invalid(kind, name, ("spec.ports[0].name", "Required value"))


def _keep(spec, old):
    """What was allocated and is not said again stays."""
    for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if field in old and not spec.get(field):
            spec[field] = old[field]
    if spec.get("healthCheckNodePort") in (None, 0) and old.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = old["healthCheckNodePort"]
    had = {(port.get("port"), port.get("protocol")): port.get("nodePort")
           for port in old.get("ports") or []}
    for port in spec.get("ports") or []:
        before = had.get((port.get("port"), port.get("protocol", "TCP")))
        if before and not port.get("nodePort"):
            port["nodePort"] = before


def _check_class(kind, name, spec, old):
    """loadBalancerClass: of type LoadBalancer only, and unchanged while the type is."""
    wanted, had = spec.get("loadBalancerClass"), (old or {}).get("loadBalancerClass")
    field = "spec.loadBalancerClass"
    if spec["type"] != "LoadBalancer":
        if wanted and old is None:
            raise status.invalid(kind, name, (field, f"Invalid value: \"{wanted}\": may only be used "
                                              "when `type` is 'LoadBalancer'"))
        spec.pop("loadBalancerClass", None)
    elif old is not None and old.get("type") == "LoadBalancer" and wanted != had:
        raise status.invalid(kind, name, (field, f"Invalid value: \"{wanted or 'null'}\": may not "
                                          "change once set"))


def service(kind, obj, old, allocator):
    """Checks and completes a Service; `old` is what it was, None if it is new."""
    name, spec = obj["metadata"]["name"], obj.setdefault("spec", {})
    before = (old or {}).get("spec")
    spec.setdefault("type", "ClusterIP")
    if spec["type"] not in ("ClusterIP", "ExternalName", *OUTSIDE):
        raise status.invalid(kind, name, (
            "spec.type", f"Unsupported value: \"{spec['type']}\": supported values: \"ClusterIP\", "
            '"ExternalName", "LoadBalancer", "NodePort"'))
    _check_class(kind, name, spec, before)
    if before is not None and spec["type"] != "ExternalName":
        _keep(spec, before)
    spec.setdefault("sessionAffinity", "None")
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}})
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] in OUTSIDE:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    elif not spec.get("externalIPs"):
        spec.pop("externalTrafficPolicy", None)
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    else:
        spec.pop("allocateLoadBalancerNodePorts", None)
    _addresses(spec, allocator)
    _ports(kind, name, spec, allocator)
    if spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
        if not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = allocator.port()
    else:
        spec.pop("healthCheckNodePort", None)
    allocator.note(spec)
    if old is None:
        obj["status"] = {"loadBalancer": {}}


def slice_(kind, obj, old):
    """Checks an EndpointSlice; empty lists become null, as in the real one."""
    name = obj["metadata"]["name"]
    type_ = obj.get("addressType")
    if type_ not in ("IPv4", "IPv6", "FQDN"):
        raise status.invalid(kind, name, (
            "addressType", "Required value" if not type_ else f'Unsupported value: "{type_}": '
            'supported values: "FQDN", "IPv4", "IPv6"'))
    if old is not None and old.get("addressType") != type_:
        raise status.invalid(kind, name, ("addressType", f'Invalid value: "{type_}": field is '
                                          "immutable"))
    for field in ("endpoints", "ports"):
        obj[field] = obj.get(field) or None
    for port in obj["ports"] or []:
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def complete(kind, obj, old, allocator):
    if kind.kind == "Service":
        service(kind, obj, old, allocator)
    elif kind.kind == "EndpointSlice":
        slice_(kind, obj, old)
