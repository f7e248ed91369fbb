# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each unpleasantness is as it says, and over when it is."""
import json
import time

from .harness import SERVICES, SLICES, equal, events, service, that, wait_for

CLEAN = b"\r\n0\r\n\r\n"


def split(api):
    """answers in small pieces are the same answers"""
    api.ctl("many 10 1")  # long enough for chunks
    whole = api.get(SLICES).body
    api.ctl("split 7")
    equal(api.get(SLICES).body, whole)
    stream = api.raw(SLICES)
    data = stream.until(CLEAN)
    that(data.count(b"\r\n") > len(whole) / 7, "chunks are longer than that")
    stream.close()
    api.ctl("split 0")
    that(len(api.raw(SLICES).until(CLEAN)) < len(data), "it is cut all the same")


def drip(api):
    """answers that drip take their time"""
    api.ctl("many 10 1")
    api.ctl("drip 100 0.01")
    start = time.monotonic()
    pieces = len(api.get(SLICES).body) // 100
    that(time.monotonic() - start >= (pieces - 1) * 0.01, "it is there too soon")
    api.ctl("drip off")


def dies(api):
    """one that dies breaks off in mid-chunk, refuses connections, and is back"""
    version = api.ctl("revision").strip()
    stream = api.watch(f"{SERVICES}?watch=1&resourceVersion={version}")
    api.ctl("down")
    data = stream.rest()
    that(data and not data.endswith(CLEAN), f"the stream ended cleanly: {data[-80:]}")
    try:
        api.get("/version")
    except ConnectionRefusedError:
        pass
    else:
        raise AssertionError("it still answers")
    api.ctl("apply", service("late"))
    api.ctl("up")
    stream = api.watch(f"{SERVICES}?watch=1&resourceVersion={version}&timeoutSeconds=1")
    equal([event[:2] for event in events(stream.until(CLEAN))], [("ADDED", "late")])


def answers(api):
    """codes are answered to whom it is said, as often as it is said"""
    for code, reason in ((401, "Unauthorized"), (403, "Forbidden"), (410, "Expired"),
                         (500, "InternalError"), (503, "ServiceUnavailable"), (504, "Timeout")):
        api.ctl(f"answer {code} times=2 verb=list resource=services")
        equal([api.get(SLICES).code, api.get(f"{SERVICES}?watch=1&timeoutSeconds=1&resourceVersion=1"
                                             if code == 401 else SLICES).code], [200, 200])
        no = api.get(SERVICES)
        equal((no.code, no.json["kind"], no.json.get("reason")), (code, "Status", reason))
        equal([api.get(SERVICES).code for _ in range(2)], [code, 200])
    api.ctl("answer 429 retry-after=7 times=1")
    no = api.get(SERVICES)
    equal((no.code, no.headers["Retry-After"], no.headers["Content-Type"]),
          (429, "7", "text/plain; charset=utf-8"))
    api.ctl("answer 502 for=600")
    equal(api.get(SERVICES).code, 502)
    api.ctl("heal")
    api.ctl("answer 502 for=0.1")
    wait_for(lambda: api.get(SERVICES).code == 200, "502 is over")


def hangs(api):
    """one that hangs begins a watch and says nothing, and answers nothing else"""
    api.ctl("hang times=2")
    stream, other = api.raw(f"{SERVICES}?watch=1"), None
    try:
        that(b" 200 OK" in stream.until(b"\r\n\r\n"), "a watch does not begin")
        other = api.raw(SERVICES)
        wait_for(lambda: api.get(SLICES).code == 200, "others are answered")
        that(stream.silent(0.2) and other.silent(0), "it says something")
    finally:
        stream.close()
        if other:
            other.close()


def resets(api):
    """one that resets closes the connection instead"""
    api.ctl("reset times=1")
    equal(api.raw(SERVICES).rest(), b"")
    equal(api.get(SERVICES).code, 200)


def garbles(api):
    """an answer may be anything"""
    api.ctl('garble times=1 verb=list {"kind":"ServiceList","items":[null,{"metadata":5}')
    equal(api.get(SERVICES).body, b'{"kind":"ServiceList","items":[null,{"metadata":5}')
    equal(api.get(SERVICES).code, 200)


def emits(api):
    """anything may be an event, and an ERROR ends the stream"""
    stream = api.watch(f"{SERVICES}?watch=1&resourceVersion={api.ctl('revision').strip()}")
    api.ctl('emit services {"type":"ADDED","obj')
    api.ctl("error 500 services")
    lines = [line for line in stream.until(CLEAN).splitlines() if line.startswith(b"{")]
    equal(lines[0], b'{"type":"ADDED","obj')
    equal((json.loads(lines[1])["type"], json.loads(lines[1])["object"]["code"]), ("ERROR", 500))


def freezes(api):
    """a watch that is lost says nothing, and has lost nothing once it is found again"""
    stream = api.watch(f"{SERVICES}?watch=1&resourceVersion={api.ctl('revision').strip()}")
    stream.until(b"\r\n\r\n")
    api.ctl("freeze services")
    api.ctl("apply", service("late"))
    that(stream.silent(0.2), "it is told")
    api.ctl("heal")
    that(b'"late"' in stream.until(b"\n\r\n"), "it is lost")
    stream.close()


def garbage(api):
    """objects may be anything that has a name"""
    odd = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x" * 10000, "labels": None},
           "spec": {"ports": "none", "clusterIP": 5}}
    api.ctl("raw", odd)
    item = api.get(SERVICES).json["items"][-1]
    equal((item["metadata"]["name"], item["spec"]), ("x" * 10000, odd["spec"]))


def rewinds(api):
    """versions may go back"""
    version = int(api.ctl("revision"))
    api.ctl("rewind 10")
    equal(int(api.get(SERVICES).json["metadata"]["resourceVersion"]), version - 10)
    stream = api.watch(f"{SERVICES}?watch=1&resourceVersion={version}&timeoutSeconds=1")
    api.ctl("apply", service("late"))
    equal(events(stream.until(b"0\r\n\r\n")), [])


CHECKS = (split, drip, dies, answers, hangs, resets, garbles, emits, freezes, garbage, rewinds)
