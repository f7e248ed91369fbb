# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""labelSelector and fieldSelector: text to a function that says whether an object is meant."""
import re

from . import status

FIELDS = ("metadata.name", "metadata.namespace", "spec.nodeName", "involvedObject.name",
          "involvedObject.namespace", "involvedObject.kind", "involvedObject.uid", "reason", "type",
          "spec.type", "spec.clusterIP")


def everything(_):
    return True


def _labels(obj):
    return obj["metadata"].get("labels") or {}


def _requirement(text):
    """One of: key, !key, key=value, key==value, key!=value, key in (a,b), key notin (a,b)."""
    found = re.fullmatch(r"\s*(\S+)\s+(in|notin)\s*\(([^)]*)\)\s*", text)
    if found:
        key, how, values = found[1], found[2], {v.strip() for v in found[3].split(",")}
        if how == "in":
            return lambda obj: _labels(obj).get(key) in values
        return lambda obj: _labels(obj).get(key) not in values
    found = re.fullmatch(r"\s*([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)\s*", text)
    if found:
        key, how, value = found.groups()
        if how == "!=":
            return lambda obj: _labels(obj).get(key) != value
        return lambda obj: _labels(obj).get(key) == value
    found = re.fullmatch(r"\s*(!?)\s*([^\s=!(),]+)\s*", text)
    if not found:
        raise status.bad_request(f"unable to parse requirement: {text}")
    absent, key = bool(found[1]), found[2]
    return lambda obj: (key in _labels(obj)) != absent


def labels(text):
    if not text:
        return everything
    wanted = [_requirement(part) for part in re.findall(r"(?:[^,(]|\([^)]*\))+", text)]
    return lambda obj: all(meant(obj) for meant in wanted)


def _value(obj, path):
    for word in path.split("."):
        obj = obj.get(word) if isinstance(obj, dict) else None
    return obj or ""


def fields(text):
    if not text:
        return everything
    wanted = []
    for part in text.split(","):
        found = re.fullmatch(r"([^=!]+)(==|=|!=)(.*)", part)
        if not found:
            raise status.bad_request(f"invalid field selector: {part}")
        path, how, value = found.groups()
        if path not in FIELDS:
            raise status.bad_request(f"field label not supported: {path}")
        wanted.append((path, value, how != "!="))
    return lambda obj: all((_value(obj, path) == value) == same for path, value, same in wanted)


class Scope:
    """Which objects of a kind a request is about."""

    def __init__(self, namespace, query):
        self.prefix = f"{namespace}/" if namespace else ""
        by_label, by_field = labels(query.get("labelSelector")), fields(query.get("fieldSelector"))
        self.all = not (query.get("labelSelector") or query.get("fieldSelector"))
        self._meant = everything if self.all else lambda obj: by_label(obj) and by_field(obj)

    def has(self, entry):
        return entry.key.startswith(self.prefix) and self._meant(entry.obj)
