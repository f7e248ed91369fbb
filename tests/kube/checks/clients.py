# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Foreign clients (tests/kube/clients) see the objects that there are, see them change, and change
them."""
import json
import os
import select
import shutil
import subprocess

from .harness import HERE, SOON, Skip, equal, same, service, that

NPM_SECONDS = 120
PATCH = {"metadata": {"labels": {"patched": "yes"}}}
INGRESS = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.10"}]}}}


class Client:
    """A program of tests/kube/clients that runs."""

    def __init__(self, words, api, config="kubeconfig", **environment):
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "KUBECONFIG": api.path(config), **environment})

    def tell(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def answer(self):
        ready, _, _ = select.select([self._process.stdout], [], [], SOON)
        line = self._process.stdout.readline() if ready else ""
        that(line, "the client gave no answer")
        said = json.loads(line)
        if isinstance(said, dict) and "skip" in said:
            raise Skip(said["skip"])
        return said

    def ask(self, *words):
        self.tell(" ".join(word if isinstance(word, str) else json.dumps(word) for word in words))
        return self.answer()

    def dead(self):
        return self._process.poll() is not None

    def stop(self):
        self._process.terminate()
        self._process.communicate(timeout=SOON)


def kubectl(api, _, config="kubeconfig"):
    if shutil.which("kubectl") is None:
        raise Skip("no kubectl here (kubernetes-client)")
    return Client([os.path.join(HERE, "clients", "kubectl")], api, config)


def kubectl_http2(api, build):
    return kubectl(api, build, "kubeconfig-http2")


def python(api, _):
    probe = subprocess.run(["/usr/bin/python3", "-c", "import kubernetes"], capture_output=True,
                           check=False)
    if probe.returncode:
        raise Skip("no python3-kubernetes here")
    return Client([os.path.join(HERE, "clients", "python")], api)


def node(api, build):
    """Installs what it needs once for a build directory."""
    source = os.path.join(HERE, "clients", "node")
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise Skip("no node and npm here")
    where = os.path.join(build, "kube", "node")
    os.makedirs(where, exist_ok=True)
    lock = os.path.join(where, "package-lock.json")
    with open(os.path.join(source, "package-lock.json"), "rb") as file:
        wanted = file.read()
    done = os.path.join(where, "installed")
    if not os.path.exists(done) or open(done, "rb").read() != wanted:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(source, name), where)
        try:
            subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=where,
                           capture_output=True, check=True, timeout=NPM_SECONDS)
        except (subprocess.SubprocessError, OSError):
            raise Skip("npm cannot install @kubernetes/client-node here: no registry?") from None
        shutil.copy(lock, done)
    return Client(["node", os.path.join(source, "client.mjs")], api, NODE_CLIENT=where)


def _items(said):
    return said["items"] if isinstance(said, dict) else said


def lists(client, api):
    """lists services, endpointslices and nodes as they are"""
    said = client.ask("list")
    for resource in ("services", "endpointslices", "nodes"):
        equal([same(obj) for obj in _items(said[resource])],
              [same(obj) for obj in api.stored(resource)], resource)


def pages(client, api):
    """lists in pages what it lists at once"""
    equal([same(obj) for obj in _items(client.ask("pages", "1"))],
          [same(obj) for obj in api.stored("endpointslices")])
    asked = [json.loads(line)["target"] for line in api.read("requests").splitlines()]
    that(sum("continue=" in target for target in asked) >= 2, "it did not ask for further pages")


def gets(client, api):
    """gets one object as it is, and NotFound where there is none"""
    equal(same(client.ask("get", "default", "web")), same(json.loads(api.ctl(
        "get services/default/web"))))
    equal(client.ask("get", "default", "none")["reason"], "NotFound")


def patches(client, api):
    """patches an object and is told the new one"""
    said = client.ask("patch", "default", "web", PATCH)
    stored = json.loads(api.ctl("get services/default/web"))
    equal(stored["metadata"]["labels"], {"patched": "yes"})
    equal(same(said), same(stored))


def patches_status(client, api):
    """patches a status and is told the new one"""
    said = client.ask("status", "default", "web", INGRESS)
    stored = json.loads(api.ctl("get services/default/web"))
    equal(stored["status"], INGRESS["status"])
    equal(same(said), same(stored))


def is_forbidden(client, api):
    """as poise may not patch the object itself"""
    equal(client.ask("forbidden", "default", "web", PATCH)["reason"], "Forbidden")
    equal(json.loads(api.read("requests").splitlines()[-1])["user"],
          "system:serviceaccount:poise:poise")
    that("labels" not in json.loads(api.ctl("get services/default/web"))["metadata"],
         "it is patched all the same")


def watches(client, api):
    """watches what comes, changes and goes"""
    expected = [("ADDED", obj) for obj in api.stored("services")]
    client.tell("watch")
    api.ctl("until services 1")

    def note(type_):
        expected.append((type_, json.loads(api.ctl("get services/default/late"))))
    api.ctl("create", service("late"))
    note("ADDED")
    api.ctl("merge services/default/late", {"metadata": {"annotations": {"poise.dev/policy": "p2c"}}})
    note("MODIFIED")
    api.ctl("delete services/default/late")
    api.ctl("end services")
    seen = client.answer()
    equal(seen[-1]["type"], "DELETED")
    equal(seen[-1]["object"]["metadata"]["name"], "late")
    equal([(event["type"], same(event["object"])) for event in seen[:-1]],
          [(type_, same(obj)) for type_, obj in expected])


def prints(client, api):
    """prints the table that the server makes for people"""
    api.ctl("merge services/status/default/web", INGRESS)
    lines = client.ask("table", "services").splitlines()
    equal([line.split()[:5] for line in lines if "web" in line or "NAME" in line], [
        ["NAMESPACE", "NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP"],
        ["default", "web", "LoadBalancer",
         json.loads(api.ctl("get services/default/web"))["spec"]["clusterIP"], "192.0.2.10"]])


def patches_otherwise(client, api):
    """patches by strategic and by JSON patches, too"""
    client.ask("strategic", "default", "dns", {"spec": {"ports": [
        {"name": "udp", "port": 53, "protocol": "UDP", "targetPort": 5353}]}})
    client.ask("json", "default", "dns", [{"op": "add", "path": "/metadata/labels",
                                           "value": {"a/b": "c"}},
                                          {"op": "remove", "path": "/metadata/labels/a~1b"},
                                          {"op": "add", "path": "/metadata/labels/d", "value": "e"}])
    stored = json.loads(api.ctl("get services/default/dns"))
    equal(stored["metadata"]["labels"], {"d": "e"})


def speaks_http2(client, api):
    """speaks HTTP/2"""
    client.ask("get", "default", "web")
    equal(json.loads(api.read("requests").splitlines()[-1])["protocol"], "HTTP/2.0")


def keeps_up(client, api):
    """has what there is after history was forgotten and the server was away"""
    client.tell("informer")
    api.ctl("until services 1")
    api.ctl("end services")
    api.ctl("delete services/default/dns")
    api.ctl("compact")
    api.ctl("down 0.2")
    api.ctl("until services 1")
    api.ctl("apply", service("late"))
    api.ctl("merge services/default/web", PATCH)
    api.ctl("split 3")
    api.ctl("delete services/default/headless")
    want = [same(obj) for obj in api.stored("services")]
    api.ctl("end services")  # what was sent before it is read before it
    api.ctl("until services 1")
    client.tell("stop")
    equal(sorted((same(obj) for obj in client.answer()), key=str), sorted(want, key=str))


EVERY = (lists, pages, gets, patches, patches_status, is_forbidden, watches)
CLIENTS = ((kubectl, (*EVERY, patches_otherwise, prints)),
           (kubectl_http2, (speaks_http2, lists, is_forbidden, watches)),
           (python, EVERY), (node, (*EVERY, keeps_up)))
