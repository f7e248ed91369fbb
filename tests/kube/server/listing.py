# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""LIST: the newest state, one not older than, exactly that one, or the next page of one.

What resourceVersion means depends on what stands beside it, as in the real one:
  none            the newest
  0               any: answered from the cache, and `limit` is ignored
  N               not older than N; with a limit exactly N
  N, match Exact  exactly N, 410 if that is forgotten
  continue        a page of the state that the first page was of, 410 if that is forgotten
"""
import asyncio
import base64
import bisect
import json

from . import status
from .selector import Scope
from .store import encode

FUTURE_SECONDS = 3  # so long a list waits for a version that is not there yet


def token(revision, start):
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(text):
    try:
        said = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return int(said["rv"]), str(said["start"])
    except (ValueError, KeyError, TypeError):
        raise status.bad_request("continue key is not valid: illegal base64 data or unknown "
                                 "version") from None


def _number(query, name):
    text = query.get(name) or "0"
    if not text.isdecimal():
        raise status.bad_request(f'invalid {name}: strconv.ParseUint: parsing "{text}": '
                                 "invalid syntax")
    return int(text)


async def _await_revision(store, revision):
    """Waits until the store has come to a revision, as long as the real one would."""
    try:
        async with asyncio.timeout(FUTURE_SECONDS):
            while store.revision < revision:
                await store.news()
    except TimeoutError:
        raise status.too_large(revision, store.revision) from None


async def _which(store, shelf, query):
    """-> (revision listed, entries of it, key after which to begin, limit)"""
    limit = _number(query, "limit")
    asked, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if query.get("continue"):
        if asked not in ("", "0"):
            raise status.bad_request("specifying resource version is not allowed when using continue")
        revision, start = _read_token(query["continue"])
        if revision < 0:  # an inconsistent one: go on at the newest state
            return store.revision, shelf.now(), start, limit
        if revision < shelf.floor:
            raise status.expired_continue(token(-1, start))
        return revision, shelf.at(revision), start, limit
    if match and not asked:
        raise status.bad_request("resourceVersionMatch is forbidden unless resourceVersion is provided")
    revision = _number(query, "resourceVersion")
    if revision == 0:
        if match == "Exact":
            raise status.bad_request('resourceVersionMatch "Exact" is forbidden for resourceVersion '
                                     '"0"')
        return store.revision, shelf.now(), "", 0 if asked == "0" else limit
    await _await_revision(store, revision)
    if match == "Exact" or (limit and match != "NotOlderThan"):
        if revision < shelf.floor:
            raise status.expired_list()
        return revision, shelf.at(revision), "", limit
    return store.revision, shelf.now(), "", limit


def _page(entries, start, limit, scope):
    """-> (entries of the page, how many are left, key of the last one)"""
    at = bisect.bisect_right(entries, start, key=lambda entry: entry.key) if start else 0
    meant = [entry for entry in entries[at:] if scope.has(entry)]
    if limit and len(meant) > limit:
        return meant[:limit], len(meant) - limit, meant[limit - 1].key
    return meant, 0, None


async def page(store, kind, namespace, query):
    """-> (metadata of the list, entries of it)"""
    shelf = store.shelves[kind]
    scope = Scope(namespace, query)
    revision, entries, start, limit = await _which(store, shelf, query)
    items, left, last = _page(entries, start, limit, scope)
    meta = {"resourceVersion": str(revision)}
    if left:
        meta["continue"] = token(revision, last)
        if scope.all:
            meta["remainingItemCount"] = left
    return meta, items


def body(kind, meta, entries):
    """The answer to a LIST, as bytes."""
    head = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta}
    return encode(head)[:-1] + b',"items":[' + b",".join(e.bare for e in entries) + b"]}"
