# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Patches: JSON merge patch (RFC 7396), JSON patch (RFC 6902), and as much of the strategic merge
patch as kubectl sends for what is served here. Each returns the new object; arguments stay as they
are, but may be shared with the result."""
import json

from . import status

# Lists of objects that a strategic merge patch merges, by the key that tells their items apart.
MERGED_BY = {"ports": ("port", "containerPort"), "conditions": ("type",), "addresses": ("type",),
             "ownerReferences": ("uid",), "containers": ("name",), "env": ("name",),
             "volumes": ("name",), "podIPs": ("ip",)}
UNITED = ("finalizers",)  # lists of words that it unites


def merge(old, patch):
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        else:
            new[name] = merge(new.get(name), value)
    return new


def strategic(old, patch):
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    new = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            field = name.partition("/")[2]
            new[field] = [item for item in new.get(field) or [] if item not in value]
        elif name.startswith("$"):
            continue  # $setElementOrder, $retainKeys: of order and of unions, which are not kept here
        elif value is None:
            new.pop(name, None)
        elif isinstance(value, list) and value and isinstance(new.get(name), list):
            new[name] = _list(name, new[name], value)
        else:
            new[name] = strategic(new.get(name), value)
    return new


def _list(name, old, patch):
    if name in UNITED:
        return old + [item for item in patch if item not in old]
    key = next((key for key in MERGED_BY.get(name, ()) if all(
        isinstance(item, dict) and (key in item or "$patch" in item) for item in patch)), None)
    if key is None:
        return patch
    if any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    new = list(old)
    for item in patch:
        at = next((n for n, has in enumerate(new) if has.get(key) == item.get(key)), None)
        if item.get("$patch") == "delete":
            new = [has for has in new if has.get(key) != item.get(key)]
        elif at is None:
            new.append(item)
        else:
            new[at] = strategic(new[at], item)
    return new


def _pointer(text):
    if text == "":
        return []
    if not text.startswith("/"):
        raise ValueError(f"the path {text!r} does not begin with /")
    return [word.replace("~1", "/").replace("~0", "~") for word in text[1:].split("/")]


def _step(at, word):
    if isinstance(at, list):
        return at[int(word)]
    return at[word]


def _put(doc, path, value, replace):
    *way, last = path
    at = doc
    for word in way:
        at = _step(at, word)
    if isinstance(at, list):
        if replace:
            at[int(last)] = value
        else:
            at.insert(len(at) if last == "-" else int(last), value)
        return
    if replace and last not in at:
        raise KeyError(last)
    at[last] = value


def _take(doc, path):
    *way, last = path
    for word in way:
        doc = _step(doc, word)
    return doc.pop(int(last) if isinstance(doc, list) else last)


def _value(doc, path):
    for word in path:
        doc = _step(doc, word)
    return doc


def operations(old, patch):
    """RFC 6902; raises what its steps raise where a path leads nowhere."""
    doc = json.loads(json.dumps(old))
    for step in patch:
        what, path = step["op"], _pointer(step["path"])
        if what in ("add", "replace"):
            _put(doc, path, step["value"], what == "replace")
        elif what == "remove":
            _take(doc, path)
        elif what in ("move", "copy"):
            source = _pointer(step["from"])
            value = _take(doc, source) if what == "move" else json.loads(json.dumps(
                _value(doc, source)))
            _put(doc, path, value, False)
        elif what == "test":
            if _value(doc, path) != step["value"]:
                raise ValueError(f"testing path {step['path']} value failed")
        else:
            raise ValueError(f"unexpected kind: {what}")
    return doc


TYPES = {"application/json-patch+json": (operations, list),
         "application/merge-patch+json": (merge, dict),
         "application/strategic-merge-patch+json": (strategic, dict)}


def apply(content_type, old, body):
    """The object that a PATCH asks for."""
    found = TYPES.get(content_type.partition(";")[0].strip().lower())
    if found is None:
        raise status.unsupported(TYPES)
    how, shape = found
    try:
        patch = json.loads(body)
    except ValueError as why:
        raise status.bad_request(f"error decoding patch: {why}") from None
    if not isinstance(patch, shape):
        raise status.bad_request(f"error decoding patch: {content_type} is no "
                                 f"{type(patch).__name__}")
    try:
        new = how(old, patch)
    except (LookupError, ValueError, TypeError, AttributeError) as why:
        raise status.Refusal(422, "Invalid", f"the server rejected our request due to an error in our "
                             f"request: {why}", {}) from None
    if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
        raise status.bad_request("the patch leaves no object")
    return new
