# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""WATCH: what is told, from where on, and how it ends."""
import json

from .harness import SERVICES, equal, events, service, that

SHORT = f"{SERVICES}?watch=true&timeoutSeconds=1"
CLEAN = b"0\r\n\r\n"  # the end of a chunked answer that is whole


def told(stream):
    """Types and names of a stream that ends cleanly."""
    data = stream.rest() if not isinstance(stream, bytes) else stream
    return [event[:2] for event in events(data)]


def ended(api, stream):
    """What a stream has told, once it is made to end."""
    api.ctl("end services")
    data = stream.until(b"\r\n" + CLEAN)
    stream.close()
    return [event[:2] for event in events(data)]


def state(api):
    """without a version it begins with what there is"""
    stream = api.watch(f"{SERVICES}?watch=1")
    api.ctl("apply", service("late"))
    equal(ended(api, stream), [("ADDED", "dns"), ("ADDED", "headless"), ("ADDED", "web"),
                               ("ADDED", "late")])


def since(api):
    """from a version it tells what was since, and nothing twice"""
    version = api.ctl("revision").strip()
    api.ctl("apply", service("late"))
    stream = api.watch(f"{SERVICES}?watch=1&resourceVersion={version}")
    api.ctl("merge services/default/late", {"metadata": {"labels": {"a": "b"}}})
    api.ctl("merge services/default/late", {"metadata": {"labels": {"a": "b"}}})  # changes nothing
    api.ctl("delete services/default/late")
    equal(ended(api, stream), [("ADDED", "late"), ("MODIFIED", "late"), ("DELETED", "late")])


def too_old(api):
    """a version that is forgotten is answered 200 with an ERROR event of code 410"""
    version = api.ctl("revision").strip()
    api.ctl("compact")
    reply = api.get(f"{SERVICES}?watch=1&resourceVersion={version}")
    event = json.loads(reply.body)
    equal((reply.code, event["type"], event["object"]["code"], event["object"]["reason"]),
          (200, "ERROR", 410, "Expired"))


def of_future(api):
    """from a version of the future nothing comes"""
    stream = api.watch(f"{SHORT}&resourceVersion=99999999")
    api.ctl("apply", service("late"))
    equal(told(stream.until(CLEAN)), [])
    stream.close()


def timed(api):
    """timeoutSeconds ends it cleanly, and the connection takes the next request"""
    stream = api.watch(SHORT)
    that(stream.until(CLEAN).endswith(b"\r\n" + CLEAN), "something comes after the end")
    stream.ask("/version")
    that(b"gitVersion" in stream.until(b"}"), "the connection is not what it was")
    stream.close()


def selected(api):
    """what begins or ends to be selected is ADDED or DELETED"""
    stream = api.watch(f"{SERVICES}?watch=1&labelSelector=a&resourceVersion="
                       f"{api.ctl('revision').strip()}")
    for label in ({"a": "1"}, {"a": "2"}, {"a": None}, {"c": "1"}):
        api.ctl("merge services/default/web", {"metadata": {"labels": label}})
    equal(ended(api, stream), [("ADDED", "web"), ("MODIFIED", "web"), ("DELETED", "web")])


def bookmarks(api):
    """bookmarks come to those who allow them, if they come at all"""
    version = api.ctl("revision").strip()
    path = f"{SERVICES}?watch=1&resourceVersion={version}"
    api.ctl("bookmarks 0.05")
    without, stream = api.watch(path), api.watch(f"{path}&allowWatchBookmarks=true")
    data = stream.until(b"BOOKMARK")
    api.ctl("bookmarks off")
    api.ctl("end services")
    data += stream.until(CLEAN)
    that(events(data)[0] == ("BOOKMARK", None, version), f"{events(data)}")
    equal(told(without.until(CLEAN)), [])
    stream.close()
    without.close()


def initial(api):
    """sendInitialEvents is refused, or begins with what there is and a bookmark"""
    path = f"{SHORT}&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    equal(api.get(path).code, 422)
    api.ctl("initial on")
    body = api.get(path).body.splitlines()
    api.ctl("initial off")
    last = json.loads(body[-1])
    equal((len(body), last["type"], last["object"]["metadata"]["annotations"]),
          (4, "BOOKMARK", {"k8s.io/initial-events-end": "true"}))


def compaction(api):
    """one that goes on loses nothing when history is forgotten"""
    stream = api.watch(f"{SERVICES}?watch=1&resourceVersion={api.ctl('revision').strip()}")
    api.ctl("apply", service("late"))
    api.ctl("compact")
    api.ctl("delete services/default/late")
    equal(ended(api, stream), [("ADDED", "late"), ("DELETED", "late")])


CHECKS = (state, since, too_old, of_future, timed, selected, bookmarks, initial, compaction)
