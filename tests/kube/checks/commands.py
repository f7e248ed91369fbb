# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line: objects from files, scenarios, and ctl."""
import os
import subprocess
import tempfile

from .harness import HERE, SERVICES, SOON, Api, equal, that, wait_for

OBJECTS = """
apiVersion: v1
kind: Service
metadata: {name: one, namespace: shop}
spec: {ports: [{port: 80}]}
---
kind: List
apiVersion: v1
items:
- {apiVersion: v1, kind: Service, metadata: {name: two}, spec: {type: ExternalName, externalName: a.test}}
"""
SCENARIO = """
# Once somebody watches, one goes; the other changes meanwhile.
until services 1
delete services/shop/one   # it is told
wait 0.01 &
merge services/default/two {"metadata":{"labels":{"played":"yes"}}}
wait 0.01
revision
"""


def write(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


def ctl(api, *words, lines=None):
    return subprocess.run([os.path.join(HERE, "ctl"), api.dir, *words], input=lines, text=True,
                          capture_output=True, timeout=SOON, check=False)


def scenario(_):
    """objects come from YAML, and a scenario is played to its end"""
    with tempfile.TemporaryDirectory(prefix="poise-kube.") as directory:
        api = Api(directory, "--objects", write(directory, "objects.yaml", OBJECTS), "--scenario",
                  write(directory, "scenario", SCENARIO))
        try:
            equal(api.ctl("list services").split(), ["default/two", "shop/one"])
            stream = api.watch(f"{SERVICES}?watch=1")
            told = stream.until(b'"played":"yes"')
            that(b'"DELETED"' in told, f"{told}")
            stream.close()
        finally:
            api.stop()


def fails(_):
    """a scenario whose command fails ends the server, and says where"""
    with tempfile.TemporaryDirectory(prefix="poise-kube.") as directory:
        done = subprocess.run(
            [os.path.join(HERE, "apiserver"), "--dir", directory, "--plain", "127.0.0.1:0", "--scenario",
             write(directory, "scenario", "revision\ndelete services/default/none\n")],
            capture_output=True, text=True, timeout=SOON, check=False)
        that(done.returncode == 1 and 'scenario:2: delete: services "none" not found' in done.stderr,
             f"exit status {done.returncode}: {done.stderr}")


def by_ctl(api):
    """ctl carries out commands, from its words or line by line, and says what fails"""
    with tempfile.TemporaryDirectory(prefix="poise-kube.") as directory:
        path = write(directory, "objects.yaml", OBJECTS)
        equal(ctl(api, "apply", os.path.relpath(path)).returncode, 0)
    done = ctl(api, "-", lines='merge services/shop/one {"spec": {"type": "NodePort"}}\n'
               "get services/shop/one\n")
    that(done.returncode == 0 and '"type":"NodePort"' in done.stdout, f"{done}")
    for words, why in ((("nonsense",), "no such command"), (("delete", "services/one"), "RESOURCE/NAMESPACE"),
                       (("answer",), "usage: answer CODE"), (("get", "services/shop/three"), "not found")):
        done = ctl(api, *words)
        that(done.returncode == 1 and why in done.stderr, f"ctl {words}: {done}")
    wait_for(lambda: ctl(api, "watching").stdout == "0\n", "nobody watches")


CHECKS = (scenario, fails, by_ctl)
