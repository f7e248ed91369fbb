# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What an API server says when it refuses: a Status object, in the words of the real one.

Clients look at code and reason; people read the message. Raised as an exception anywhere below a
request, answered in one place (api.py), and told to a watcher as an ERROR event (watch.py).
"""


class Refusal(Exception):
    """Code, reason and message; `text` instead of a Status where the real one sends plain text."""

    def __init__(self, code, reason, message, details=None, metadata=None, headers=(), text=None):
        super().__init__(message)
        self.code = code
        self.headers = list(headers)
        self.text = text
        self.object = {"kind": "Status", "apiVersion": "v1", "metadata": metadata or {},
                       "status": "Failure", "message": message}
        if reason:
            self.object["reason"] = reason
        if details is not None:
            self.object["details"] = details
        self.object["code"] = code


def success(kind, name, uid):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": {"name": name, **_of(kind), "uid": uid}}


def _of(kind):
    return {"group": kind.group, "kind": kind.plural} if kind.group else {"kind": kind.plural}


def _details(kind, name, **more):
    return {"name": name, **_of(kind), **more}


def not_found(kind, name):
    return Refusal(404, "NotFound", f'{kind.qualified} "{name}" not found', _details(kind, name))


def no_such_resource():
    return Refusal(404, "NotFound", "the server could not find the requested resource", {})


def no_such_page():
    return Refusal(404, None, "404 page not found", text="404 page not found\n")


def already_exists(kind, name):
    return Refusal(409, "AlreadyExists", f'{kind.qualified} "{name}" already exists',
                   _details(kind, name))


def conflict(kind, name):
    return Refusal(409, "Conflict", f'Operation cannot be fulfilled on {kind.qualified} "{name}": the '
                   "object has been modified; please apply your changes to the latest version and "
                   "try again", _details(kind, name))


def invalid(kind, name, *causes):
    """Each cause: field, what is wrong (with its kind in front, as "Invalid value: ...")."""
    said = [f"{field}: {wrong}" for field, wrong in causes]
    reasons = {"Invalid": "FieldValueInvalid", "Required": "FieldValueRequired",
               "Forbidden": "FieldValueForbidden", "Unsupported": "FieldValueNotSupported",
               "Duplicate": "FieldValueDuplicate"}
    message = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    return Refusal(422, "Invalid", f'{kind.named} "{name}" is invalid: {message}', {
        "name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.kind,
        "causes": [{"reason": reasons.get(wrong.split()[0].rstrip(":"), "FieldValueInvalid"),
                    "message": wrong, "field": field} for field, wrong in causes]})


def bad_request(message):
    return Refusal(400, "BadRequest", message)


def unauthorized():
    return Refusal(401, "Unauthorized", "Unauthorized")


def forbidden(user, verb, kind, sub, namespace, name):
    resource = kind.plural + (f"/{sub}" if sub else "")
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    subject = f'{kind.qualified} "{name}"' if name else kind.qualified
    return Refusal(403, "Forbidden", f'{subject} is forbidden: User "{user}" cannot {verb} resource '
                   f'"{resource}" in API group "{kind.group}" {where}',
                   {**({"name": name} if name else {}), **_of(kind)})


def forbidden_path(user, verb, path):
    return Refusal(403, "Forbidden", f'forbidden: User "{user}" cannot {verb} path "{path}"', {})


def not_allowed():
    return Refusal(405, "MethodNotAllowed",
                   "the server does not allow this method on the requested resource", {})


def unsupported(accepted):
    return Refusal(415, "UnsupportedMediaType", "the body of the request was in an unknown format - "
                   f"accepted media types include: {', '.join(accepted)}")


def expired_watch(asked, oldest):
    return Refusal(410, "Expired", f"too old resource version: {asked} ({oldest})")


def expired_list():
    return Refusal(410, "Expired", "The resourceVersion for the provided list is too old.")


def expired_continue(token):
    """`token` goes on from there at the newest state: what is listed then fits together no more."""
    return Refusal(410, "Expired", "The provided continue parameter is too old to display a "
                   "consistent list result. You can start a new list without the continue parameter, "
                   "or use the continue token in this response to retrieve the remainder of the "
                   "results. Continuing with the provided token results in an inconsistent list - "
                   "objects that were created, modified, or deleted between the time the first chunk "
                   "was returned and now may show up in the list.", metadata={"continue": token})


def too_large(asked, now):
    return Refusal(504, "Timeout", f"Timeout: Too large resource version: {asked}, current: {now}", {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1}, headers=[("Retry-After", "1")])


def by_code(code, retry_after=None):
    """What a server in trouble answers, for whatever was asked (faults.py)."""
    headers = [("Retry-After", str(retry_after))] if retry_after is not None else []
    if code == 401:
        return unauthorized()
    if code == 429:
        return Refusal(429, "TooManyRequests", "Too many requests, please try again later.",
                       headers=headers or [("Retry-After", "1")],
                       text="Too many requests, please try again later.\n")
    reason, message = {
        403: ("Forbidden", "forbidden: not yet, RBAC is being set up"),
        410: ("Expired", "The resourceVersion for the provided list is too old."),
        500: ("InternalError", "Internal error occurred: etcdserver: leader changed"),
        502: (None, "Bad Gateway"),
        503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
    }.get(code, ("Unknown", f"the server answers {code}"))
    text = "<html><body>502 Bad Gateway</body></html>\n" if code == 502 else None
    return Refusal(code, reason, message, {} if reason else None, headers=headers, text=text)
