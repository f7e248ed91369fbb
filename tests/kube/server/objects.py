# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Objects from files: JSON or YAML, several documents, Lists."""
import json


def _documents(text):
    try:
        return [json.loads(text)]
    except ValueError:
        pass
    try:
        import yaml  # only for files that are no JSON
    except ImportError:
        raise ValueError("is no JSON, and for YAML python3-yaml is missing") from None
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return [document for document in yaml.load_all(text, loader) if document is not None]
    except yaml.YAMLError as why:
        raise ValueError(f"is neither JSON nor YAML: {why}") from None


def _flat(document):
    if isinstance(document, list):
        return [obj for item in document for obj in _flat(item)]
    if isinstance(document, dict) and str(document.get("kind", "")).endswith("List") and \
            isinstance(document.get("items"), list):
        return _flat(document["items"])
    return [document]


def parse(text):
    return [obj for document in _documents(text) for obj in _flat(document)]


def load(path):
    """Raises ValueError with the path in it."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read())
    except (OSError, ValueError) as why:
        raise ValueError(f"{path}: {why}") from None
