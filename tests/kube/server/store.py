# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The objects, one revision counter for all of them, and what happened since it was last compacted.

An object is encoded once, when it is written: a list joins the bytes of its items, a watch sends
them. What is stored is never changed in place; whoever wants to change one takes a copy. The log of
a kind holds what each event replaced, so any state since the last compaction can be told, which exact
lists and the pages of a list need.
"""
import asyncio
import bisect
import json

FIRST = 1000  # no cluster that one meets is at revision 1
HISTORY = 20000  # events kept of a kind unless said otherwise; the real one compacts every 5 minutes
HISTORY_BYTES = 64 << 20  # and of those no more than so much JSON


def encode(obj):
    """Compact JSON that is also safe inside HTML, as Go writes it."""
    text = json.dumps(obj, separators=(",", ":"), ensure_ascii=False)
    data = text.encode("utf-8", "replace")
    return data.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


def key_of(obj):
    """The place of an object among its kind; lists are in the order of these."""
    meta = obj["metadata"]
    namespace = meta.get("namespace")
    return f"{namespace}/{meta['name']}" if namespace else meta["name"]


class Entry:
    """An object as stored: `bare` is its JSON without kind and apiVersion, as items of lists are."""

    __slots__ = ("kind", "key", "revision", "bare", "_obj")

    def __init__(self, kind, obj, revision):
        self.kind, self._obj, self.revision = kind, obj, revision
        self.key = key_of(obj)
        self.bare = encode(obj)

    @property
    def obj(self):
        """Not to be changed."""
        if self._obj is None:
            self._obj = self.copy()
        return self._obj

    def retire(self):
        """History is long, and dictionaries are large: who still asks has it parsed again."""
        self._obj = None

    def full(self):
        head = f'{{"kind":"{self.kind.kind}","apiVersion":"{self.kind.api_version}",'
        return head.encode() + self.bare[1:]

    def copy(self):
        return json.loads(self.bare)


class Event:
    __slots__ = ("type", "revision", "entry", "before")

    def __init__(self, kind, entry, before):
        self.type, self.entry, self.before, self.revision = kind, entry, before, entry.revision


class Shelf:
    """All of one kind."""

    def __init__(self, history):
        self.entries = {}
        self.log = []
        self.floor = 0  # what was before this revision is told to nobody any more
        self.lost = 0  # the last event that is not even in the log
        self._history = history
        self._bytes = 0  # of the log
        self._sorted = None

    def note(self, event):
        self._sorted = None
        self.log.append(event)
        self._bytes += len(event.entry.bare)
        if event.before is not None:
            event.before.retire()
        if len(self.log) > self._history or self._bytes > HISTORY_BYTES:
            self._shorten()

    def _shorten(self):
        half = max(len(self.log) // 2, 1)
        self.lost = self.log[half - 1].revision
        self.floor = max(self.floor, self.lost)
        self._bytes -= sum(len(event.entry.bare) for event in self.log[:half])
        del self.log[:half]

    def restart(self, revision):
        """Nothing is known of what was before, though the objects are there."""
        self.log, self.floor, self.lost, self._bytes = [], revision, 0, 0

    def since(self, revision):
        return self.log[bisect.bisect_right(self.log, revision, key=lambda e: e.revision):]

    def now(self):
        """All entries in order; not to be changed by the caller."""
        if self._sorted is None:
            self._sorted = [self.entries[key] for key in sorted(self.entries)]
        return self._sorted

    def at(self, revision):
        """The same as of an earlier revision that is not forgotten."""
        after = self.since(revision)
        if not after:
            return self.now()
        entries = dict(self.entries)
        for event in reversed(after):
            if event.before is None:
                del entries[event.entry.key]
            else:
                entries[event.entry.key] = event.before
        return [entries[key] for key in sorted(entries)]


class Store:
    def __init__(self, kinds, history=HISTORY):
        self.revision = FIRST
        self.shelves = {kind: Shelf(history) for kind in kinds}
        self._news = None

    def get(self, kind, key):
        return self.shelves[kind].entries.get(key)

    def put(self, kind, obj):
        """Takes the object over, gives it a revision, and tells the watchers."""
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        entry = Entry(kind, obj, self.revision)
        shelf = self.shelves[kind]
        before = shelf.entries.get(entry.key)
        shelf.entries[entry.key] = entry
        shelf.note(Event("MODIFIED" if before else "ADDED", entry, before))
        self.tell()
        return entry

    def remove(self, kind, key):
        shelf = self.shelves[kind]
        before = shelf.entries.pop(key)
        self.revision += 1
        last = before.copy()
        last["metadata"]["resourceVersion"] = str(self.revision)
        entry = Entry(kind, last, self.revision)
        shelf.note(Event("DELETED", entry, before))
        self.tell()
        return entry

    def compact(self):
        """From now on watches from before and pages of older lists are answered 410."""
        self.revision += 1  # or the newest version that anybody knows would still be good
        for shelf in self.shelves.values():
            shelf.floor = self.revision

    def rewind(self, revisions):
        """Back in the counting, as after a restored backup; the objects stay. Of what was after that
        nobody knows anything."""
        self.revision -= revisions
        for shelf in self.shelves.values():
            shelf.restart(self.revision)

    def news(self):
        """A future that is done at the next change of anything."""
        if self._news is None or self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        return self._news

    def tell(self):
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
