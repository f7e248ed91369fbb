# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The server under test, requests to it, and what is compared."""
import http.client
import json
import os
import re
import select
import socket
import ssl
import subprocess
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SOON = 60  # seconds for whatever must come; no claim of how fast it does
SERVICES = "/api/v1/services"
SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
MERGE = "application/merge-patch+json"


class Skip(Exception):
    """Why a check cannot be made here."""


def equal(have, want, what=""):
    if have != want:
        raise AssertionError(f"{what}\n  have {json.dumps(have, sort_keys=True, default=str)}"
                             f"\n  want {json.dumps(want, sort_keys=True, default=str)}")


def that(holds, what):
    if not holds:
        raise AssertionError(what)


class Reply:
    def __init__(self, code, headers, body):
        self.code, self.headers, self.body = code, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Raw:
    """A request by hand, to see each byte of its answer."""

    def __init__(self, address, path):
        self._socket = socket.create_connection(address, SOON)
        self.ask(path)

    def ask(self, path):
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: test\r\n\r\n".encode())

    def until(self, text):
        """What comes until the text is there."""
        had = b""
        while text not in had:
            more = self._socket.recv(65536)
            if not more:
                raise AssertionError(f"the connection ended before {text!r} came: {had!r}")
            had += more
        return had

    def rest(self):
        """What comes until the end, however that is."""
        had = b""
        try:
            while more := self._socket.recv(65536):
                had += more
        except ConnectionResetError:
            pass
        return had

    def silent(self, seconds):
        """True if nothing comes for so long."""
        return not select.select([self._socket], [], [], seconds)[0]

    def close(self):
        self._socket.close()


class Api:
    def __init__(self, directory, *options):
        self.dir = directory
        self._process = subprocess.Popen(
            [os.path.join(HERE, "apiserver"), "--dir", directory, "--listen", "127.0.0.1:0", "--plain",
             "127.0.0.1:0", "--http2", "127.0.0.1:0", *options], stdout=subprocess.PIPE, text=True)
        if self._process.stdout.readline() != "ready\n":
            sys.exit("conformance: the server did not start")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(self.path("control"))
        self._control = self._socket.makefile("rw", encoding="utf-8")
        url = urllib.parse.urlsplit(self.read("kubeconfig-plain.url").strip())
        self.address = (url.hostname, url.port)

    def path(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def stop(self):
        self._process.terminate()
        self._process.wait(SOON)

    def ctl(self, command, obj=None):
        """A command; what it prints. A dictionary as its last word is JSON."""
        self._control.write(command + (" " + json.dumps(obj) if obj is not None else "") + "\n")
        self._control.flush()
        said = ""
        for line in self._control:
            if line == "ok\n":
                return said
            if line.startswith("error: "):
                raise AssertionError(f"ctl {command}: {line[7:].strip()}")
            said += line
        raise AssertionError(f"ctl {command}: the server ended")

    def fresh(self):
        """Without faults, and without objects but those that each check has."""
        self.ctl("heal")
        for resource in ("services", "endpointslices", "leases", "events"):
            self.ctl(f"clear {resource}")
        for obj in OBJECTS:
            self.ctl("apply", obj)

    def stored(self, resource):
        """All objects of a resource, as the store has them."""
        return [json.loads(self.ctl(f"get {resource}/{key}"))
                for key in self.ctl(f"list {resource}").split()]

    def ask(self, method, path, body=None, content_type="application/json", **headers):
        connection = http.client.HTTPConnection(*self.address, timeout=SOON)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if body is not None:
                body = body if isinstance(body, str) else json.dumps(body)
                sent["Content-Type"] = content_type
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def secure(self, path, token=None, certificate=None):
        """A GET over TLS."""
        url = urllib.parse.urlsplit(self.read("kubeconfig.url").strip())
        tls = ssl.create_default_context(cafile=self.path("ca.crt"))
        if certificate:
            tls.load_cert_chain(self.path(f"{certificate}.crt"), self.path(f"{certificate}.key"))
        connection = http.client.HTTPSConnection(url.hostname, url.port, context=tls, timeout=SOON)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def raw(self, path):
        return Raw(self.address, path)

    def watch(self, path):
        """A watch that has begun; Raw."""
        before = int(self.ctl("begun"))
        stream = self.raw(path)
        wait_for(lambda: int(self.ctl("begun")) > before, f"the watch {path} has begun")
        return stream


def wait_for(holds, what):
    ends = time.monotonic() + SOON
    while not holds():
        if time.monotonic() > ends:
            raise AssertionError(f"after {SOON} s not yet: {what}")
        time.sleep(0.01)


def events(data):
    """Of the bytes of a chunked answer: [(type, name or code, version)]"""
    body = data.partition(b"\r\n\r\n")[2]
    text = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        text += body[:int(size or b"0", 16)]
        body = body[int(size or b"0", 16) + 2:]
    seen = []
    for line in text.splitlines():
        event = json.loads(line)
        obj = event["object"]
        seen.append((event["type"], obj["metadata"].get("name") or obj.get("code"),
                     obj["metadata"].get("resourceVersion")))
    return seen


def same(obj):
    """An object as it is compared: nothing that is empty, times in one form, no kind on top (items of
    lists have none), no managedFields (kubectl hides them)."""
    return _same({name: value for name, value in obj.items() if name not in ("kind", "apiVersion")})


def _same(value):
    if isinstance(value, dict):
        rest = {name: _same(item) for name, item in value.items()}
        return {name: item for name, item in rest.items()
                if item not in (None, {}, [], "") and name != "managedFields"}
    if isinstance(value, list):
        return [_same(item) for item in value]
    if isinstance(value, str):
        time_ = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.0+)?(Z|\+00:00)", value)
        return time_[1] + "Z" if time_ else value
    return value


def service(name, **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
            "spec": {"ports": [{"port": 80, "targetPort": 8080}], **spec}}


def slice_(name, of, *addresses, family="IPv4", **more):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kubernetes.io/service-name": of}},
            "addressType": family, "ports": [{"name": "http", "port": 8080}],
            "endpoints": [{"addresses": [address], "conditions": {"ready": True},
                           "nodeName": "node-1"} for address in addresses], **more}


OBJECTS = (
    service("web", type="LoadBalancer", loadBalancerClass="poise.dev/xdp",
            externalTrafficPolicy="Local", sessionAffinity="ClientIP"),
    service("dns", type="NodePort", ports=[{"name": "tcp", "port": 53},
                                           {"name": "udp", "port": 53, "protocol": "UDP"}]),
    service("headless", clusterIP="None"),
    slice_("web-1", "web", "10.1.0.1", "10.1.0.2"),
    slice_("web-2", "web", "10.1.0.3"),
    {**slice_("web-empty", "web", family="IPv6"), "endpoints": None, "ports": None},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "labels": {"zone": "a"}},
     "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}},
)
