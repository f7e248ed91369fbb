# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether an object is one that a Kubernetes API takes, by the models of Debian's python3-kubernetes.

Those are made from the API's own OpenAPI document (Kubernetes 1.22 in Debian 12): every field with
its type, and which are required. Stricter than an API server, as `kubectl --validate=strict` is: a
field that the API does not have is a fault. Patterns and what fields must not stand together are not
in the models, so not checked.
"""
from kubernetes.client import models

SIMPLE = {"str": str, "int": int, "float": (int, float), "bool": bool, "datetime": str}


def model_of(obj):
    """The model of an object by its apiVersion and kind; None: the client knows none."""
    version = obj["apiVersion"].split("/")[-1]
    name = version[0].upper() + version[1:] + obj["kind"]
    return getattr(models, name, None) or getattr(models, "Core" + name, None)


def _simple(kind, value, path):
    if kind == "int" and isinstance(value, bool):
        return [f"{path}: {value!r} is no number"]
    if not isinstance(value, SIMPLE[kind]):
        return [f"{path}: {value!r} is not of type {kind}"]
    return []


def _model(cls, value, path):
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no object"]
    names = {key: attribute for attribute, key in cls.attribute_map.items()}
    faults, known = [], {}
    for key, inner in value.items():
        if key not in names:
            faults.append(f"{path}.{key}: there is no such field")
            continue
        known[names[key]] = inner
        faults += check(cls.openapi_types[names[key]], inner, f"{path}.{key}")
    try:
        cls(**known)  # the models refuse what lacks a required field
    except ValueError as why:
        faults.append(f"{path}: {why}")
    return faults


def check(kind, value, path):
    """What is wrong with a value of that type, a line each."""
    if kind == "object":
        return []
    if kind in SIMPLE:
        return _simple(kind, value, path)
    if kind.startswith("list["):
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no list"]
        return [fault for n, one in enumerate(value)
                for fault in check(kind[5:-1], one, f"{path}[{n}]")]
    if kind.startswith("dict("):
        if not isinstance(value, dict):
            return [f"{path}: {value!r} is no object"]
        inner = kind[5:-1].split(", ", 1)[1]
        return [fault for key, one in value.items() for fault in check(inner, one, f"{path}.{key}")]
    return _model(getattr(models, kind), value, path)


def faults(obj):
    """What is wrong with an object, a line each; none if it is right."""
    where = f"{obj.get('kind')} {obj.get('metadata', {}).get('name')}"
    if not isinstance(obj.get("apiVersion"), str) or not isinstance(obj.get("kind"), str):
        return [f"{where}: no apiVersion or no kind"]
    cls = model_of(obj)
    if cls is None:
        return [f"{where}: nothing is known of {obj['apiVersion']} {obj['kind']}"]
    return _model(cls, obj, where)
