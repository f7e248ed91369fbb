# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many Services with many endpoints, and slices that change all the time."""
import asyncio
import ipaddress
import random
import time

from .kinds import BY_PLURAL

SERVICES, SLICES = BY_PLURAL["services"], BY_PLURAL["endpointslices"]
FIRST_POD = ipaddress.ip_address("10.128.0.0")
FIRST_SERVICE = ipaddress.ip_address("198.18.0.0")
CLASS = "poise.dev/xdp"


def _service(name, namespace):
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {
        "type": "LoadBalancer", "loadBalancerClass": CLASS, "allocateLoadBalancerNodePorts": False,
        "selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}}


def _slice(service, uid, namespace, part, pods, nodes):
    return {
        "metadata": {"name": f"{service}-{part:05d}", "namespace": namespace,
                     "labels": {"kubernetes.io/service-name": service,
                                "endpointslice.kubernetes.io/managed-by":
                                    "endpointslice-controller.k8s.io"},
                     "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": service,
                                          "uid": uid, "controller": True,
                                          "blockOwnerDeletion": True}]},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [str(FIRST_POD + pod)],
                       "conditions": {"ready": True, "serving": True, "terminating": False},
                       "nodeName": f"node-{pod % nodes + 1}",
                       "targetRef": {"kind": "Pod", "namespace": namespace,
                                     "name": f"{service}-{pod}"}} for pod in pods],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]}


def populate(cluster, services, endpoints, longest, namespace, nodes):
    """Every pod has an address of its own, and every Service one of its load balancer."""
    cluster.namespace(namespace)
    for number in range(services):
        name = f"svc-{number:05d}"
        service = cluster.create(SERVICES, _service(name, namespace), namespace)
        ingress = [{"ip": str(FIRST_SERVICE + number)}]
        cluster.update(SERVICES, service, {"status": {"loadBalancer": {"ingress": ingress}}}, "status")
        first = number * endpoints
        for at in range(0, endpoints, longest):
            pods = range(first + at, first + min(at + longest, endpoints))
            cluster.create(SLICES, _slice(name, service.obj["metadata"]["uid"], namespace,
                                          at // longest, pods, nodes), namespace)


async def churn(cluster, rate, seconds, namespace, log=None):
    """One endpoint of a slice drawn by chance is ready no more, or again. Behind its time it does not
    wait: the rate is kept on average. `log` gets a line a change: TIME SERVICE ADDRESS STATE, as poise
    calls them."""
    chance = random.Random(1)
    slices = [entry.key for entry in cluster.store.shelves[SLICES].now()
              if entry.key.startswith(f"{namespace}/") and entry.obj["endpoints"]]
    if not slices:
        raise ValueError(f"there are no endpoints in {namespace}")
    start, done = time.monotonic(), 0
    while time.monotonic() - start < seconds:
        await asyncio.sleep(max(start + done / rate - time.monotonic(), 0))
        entry = cluster.store.get(SLICES, chance.choice(slices))
        done += 1
        if entry is None:
            continue
        obj = entry.copy()
        endpoint = chance.choice(obj["endpoints"])
        conditions = endpoint["conditions"]
        conditions["ready"] = conditions["serving"] = not conditions["ready"]
        cluster.update(SLICES, entry, obj)
        if log:
            service = obj["metadata"]["labels"]["kubernetes.io/service-name"]
            log.write(f"{time.time():.4f} {namespace}.{service} {endpoint['addresses'][0]} "
                      f"{'enabled' if conditions['ready'] else 'disabled'}\n")
    return str(done)
