# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""WATCH: a stream of events, one JSON object a line, until its time is over or somebody ends it.

Watchers knows all streams: they can be counted, ended cleanly, or sent anything at all.
"""
import asyncio
import random
import time

from . import status, table
from .selector import Scope
from .store import Entry, encode

LASTS = (1800, 3600)  # seconds of a watch that does not say how long: between these
JSON = [("Content-Type", "application/json"), ("Cache-Control", "no-cache, private")]
# What a bookmark has besides its version: the fields that are not optional, with nothing in them.
HOLLOW = {"Service": {"spec": {}, "status": {"loadBalancer": {}}},
          "EndpointSlice": {"addressType": "", "endpoints": None, "ports": None},
          "Node": {"spec": {}, "status": {}}, "Pod": {"spec": {"containers": None}, "status": {}},
          "Namespace": {"spec": {}, "status": {}}, "Lease": {"spec": {}},
          "Event": {"involvedObject": {}, "source": {}, "firstTimestamp": None}}


def line(type_, obj):
    return b'{"type":"%b","object":%b}\n' % (type_.encode(), obj)


def error(refusal):
    return line("ERROR", encode(refusal.object))


def _bookmark(kind, revision, last_of_initial=False):
    meta = {"resourceVersion": str(revision), "creationTimestamp": None}
    if last_of_initial:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    return line("BOOKMARK", encode({"kind": kind.kind, "apiVersion": kind.api_version,
                                    "metadata": meta, **HOLLOW[kind.kind]}))


def _seen(event, scope):
    """What an event is to one who sees the objects of a scope only: type and entry, or None."""
    was = event.before is not None and scope.has(event.before)
    if event.type == "DELETED":
        return ("DELETED", event.entry) if was else None
    if scope.has(event.entry):
        return ("MODIFIED" if was else "ADDED", event.entry)
    return ("DELETED", event.before) if was else None


class Stream:
    """One watch. `user` is who watches, `form` how he is shown an object."""

    def __init__(self, kind, user, scope, form):
        self.kind, self.user, self.scope, self.form = kind, user, scope, form
        self.ended = self.frozen = False
        self.verbatim = []
        self._poked = asyncio.get_running_loop().create_future()

    def poke(self):
        if not self._poked.done():
            self._poked.set_result(None)

    def line(self, type_, entry):
        return line(type_, self.form(entry))

    def poked(self):
        if self._poked.done():
            self._poked = asyncio.get_running_loop().create_future()
        return self._poked


class Watchers:
    def __init__(self, store):
        self.store = store
        self.streams = set()
        self.begun = 0  # watches, ever
        self.bookmarks = None  # seconds between them; None: they never come
        self.initial_events = False  # sendInitialEvents is understood

    def of(self, kind=None):
        return [s for s in self.streams if not s.ended and (kind is None or s.kind is kind)]

    def lost(self):
        """Their connections are broken: they count no more."""
        for stream in self.streams:
            stream.ended = True

    def end(self, kind=None):
        """Ends streams as their timeoutSeconds does."""
        for stream in self.of(kind):
            stream.ended = True
            stream.poke()

    def freeze(self, kind, frozen):
        for stream in self.of(kind):
            stream.frozen = frozen
            stream.poke()

    def send(self, kind, data):
        """Sends a line as it is, whatever it is, to all who watch a kind."""
        for stream in self.of(kind):
            stream.verbatim.append(data + b"\n")
            stream.poke()

    async def serve(self, kind, namespace, request, user, answer):
        query = request.query
        form = table.of_one if table.wanted(request) else Entry.full
        stream = Stream(kind, user, Scope(namespace, query), form)
        ends = time.monotonic() + _seconds(query)
        first, at = self._begin(stream, query)
        await answer.start(200, JSON)
        if at is None:
            await answer.chunk(first)
            await answer.finish()
            return
        self.streams.add(stream)
        self.begun += 1
        self.store.tell()  # of those who wait for watchers
        try:
            if first:
                await answer.chunk(first)
            await self._follow(stream, at, ends, query, answer)
        finally:
            self.streams.discard(stream)
            self.store.tell()

    def _begin(self, stream, query):
        """-> (what to send first, revision to go on from); the latter None if that was all."""
        shelf, now = self.store.shelves[stream.kind], self.store.revision
        asked, initial = query.get("resourceVersion", ""), query.get("sendInitialEvents") == "true"
        if "sendInitialEvents" in query and not self.initial_events:
            raise status.Refusal(422, "Invalid", 'ListOptions.meta.k8s.io "" is invalid: '
                                 "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for "
                                 "watch unless the WatchList feature gate is enabled", {})
        if asked and not asked.isdecimal():
            raise status.bad_request(f"Invalid value: {asked!r}: the resourceVersion is no number")
        if asked in ("", "0") or initial:
            state = [stream.line("ADDED", entry) for entry in shelf.now() if stream.scope.has(entry)]
            if initial:
                state.append(_bookmark(stream.kind, now, True))
            return b"".join(state), now
        if int(asked) < shelf.floor:
            return error(status.expired_watch(asked, shelf.floor)), None
        return b"", int(asked)

    async def _follow(self, stream, at, ends, query, answer):
        shelf, gone = self.store.shelves[stream.kind], answer.gone()
        marked = time.monotonic()
        wants_marks = query.get("allowWatchBookmarks") in ("true", "1")
        while not gone.done():
            news, poked = self.store.news(), stream.poked()
            if stream.frozen:
                await asyncio.wait({poked, gone}, return_when=asyncio.FIRST_COMPLETED)
                continue
            if at < shelf.lost:
                break  # too slow a reader: the real one gives up, too
            events = shelf.since(at)
            at = max(at, self.store.revision)
            seen = (_seen(event, stream.scope) for event in events)
            lines = [stream.line(*what) for what in seen if what]
            lines += stream.verbatim
            stream.verbatim = []
            now = time.monotonic()
            if wants_marks and self.bookmarks is not None and now - marked >= self.bookmarks:
                lines.append(_bookmark(stream.kind, self.store.revision))
                marked = now
            if lines:
                await answer.chunk(b"".join(lines))
                continue
            if stream.ended or now >= ends:
                await answer.finish()
                return
            until = ends - now
            if wants_marks and self.bookmarks is not None:
                until = min(until, max(marked + self.bookmarks - now, 0))
            await asyncio.wait({news, poked, gone}, timeout=until,
                               return_when=asyncio.FIRST_COMPLETED)


def _seconds(query):
    text = query.get("timeoutSeconds") or "0"
    if not text.isdecimal():
        raise status.bad_request(f'invalid timeoutSeconds: "{text}"')
    return int(text) or random.uniform(*LASTS)
