# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pods that come and go, as a watcher of slices sees it."""
import json

from .harness import SLICES, equal


def told(api, command):
    """The endpoints of slice web-2 in each event while a command is carried out: {address: (ready,
    serving, terminating)}."""
    stream = api.watch(f"{SLICES}?watch=1&fieldSelector=metadata.name%3Dweb-2&resourceVersion="
                       f"{api.ctl('revision').strip()}")
    api.ctl(command)
    api.ctl("end endpointslices")
    seen = []
    for line in stream.until(b"\r\n0\r\n\r\n").splitlines():
        if not line.startswith(b"{"):
            continue
        conditions = [(endpoint["addresses"][0], endpoint["conditions"])
                      for endpoint in json.loads(line)["object"]["endpoints"] or []]
        seen.append({address: (said["ready"], said.get("serving"), said.get("terminating"))
                     for address, said in conditions})
    stream.close()
    return seen


HERE, COMING = (True, True, False), (False, False, False)
LEAVING, ENDING = (False, True, True), (False, False, True)
SOME = (True, None, None)  # conditions are optional


def leaves(api):
    """one that leaves serves first, then ends, then is gone"""
    equal(told(api, "leave web 10.1.0.3 serving=0.01 ending=0.01"),
          [{"10.1.0.3": LEAVING}, {"10.1.0.3": ENDING}, {}])


def rolls(api):
    """in a rollout an old one goes when the new one is ready"""
    api.ctl("delete endpointslices/default/web-1")
    equal(told(api, "rollout web 10.1.0.3,10.1.0.9@node-2 ready=0.01 serving=0.01 ending=0.01"),
          [{"10.1.0.3": SOME, "10.1.0.9": COMING}, {"10.1.0.3": SOME, "10.1.0.9": HERE},
           {"10.1.0.3": LEAVING, "10.1.0.9": HERE}, {"10.1.0.3": ENDING, "10.1.0.9": HERE},
           {"10.1.0.9": HERE}])


def is_set(api):
    """one is said to be what a test wants"""
    for word, conditions in (("unready", COMING), ("leaving", LEAVING), ("ready", HERE)):
        equal(told(api, f"pod web 10.1.0.3 {word}"), [{"10.1.0.3": conditions}], word)


CHECKS = (leaves, rolls, is_set)
