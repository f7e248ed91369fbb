# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Who asks, and whether he may: bearer tokens, client certificates, RBAC.

Users are made of a name and rules. `admin` may all. The service account of poise may what the
ClusterRoles and Roles say that were loaded, or what the contract says suffices. Its token lies in a
directory as the kubelet projects it: token -> ..data/token, ..data -> ..TIME, changed by one rename.
"""
import base64
import json
import os
import secrets
import time

from . import status

ACCOUNT = "system:serviceaccount:{}:{}"
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
SUFFICES = [
    {"apiGroups": [""], "resources": ["services", "nodes"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"],
     "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["services/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
     "verbs": ["get", "create", "update"]},
]
# Paths that are no resources, open to all who are somebody; the first ones even to nobody.
OPEN = ("/livez", "/readyz", "/healthz", "/version")
DISCOVERY = ("/api", "/apis", "/openapi")


class User:
    def __init__(self, name, rules):
        self.name, self.rules = name, rules

    def may(self, verb, kind, sub, namespace, name):
        resource = kind.plural + (f"/{sub}" if sub else "")
        return any(
            _in(rule["apiGroups"], kind.group) and _in(rule["resources"], resource)
            and _in(rule["verbs"], verb) and rule.get("namespace") in (None, namespace)
            and (not rule.get("resourceNames") or name in rule["resourceNames"])
            for rule in self.rules)


def _in(words, word):
    return "*" in words or word in words


def rules_of(objects):
    """The rules of ClusterRoles and Roles among objects; a Role's with its namespace."""
    rules = []
    for obj in objects:
        if obj.get("kind") not in ("ClusterRole", "Role"):
            continue
        for rule in obj.get("rules") or []:
            if "resources" in rule:
                here = obj["metadata"].get("namespace") if obj["kind"] == "Role" else None
                rules.append({"namespace": here, "apiGroups": [""], **rule})
    return rules


def account_of(objects):
    """(namespace, name) of the ServiceAccount among them, poise's own if there is none."""
    for obj in objects:
        if obj.get("kind") == "ServiceAccount":
            return obj["metadata"].get("namespace", "default"), obj["metadata"]["name"]
    return "poise", "poise"


class Access:
    def __init__(self, directory, objects):
        self.directory = directory
        namespace, account = account_of(objects)
        rules = rules_of(objects)
        self.admin = User("kubernetes-admin", EVERYTHING)
        self.poise = User(ACCOUNT.format(namespace, account), rules or SUFFICES)
        self.nobody = User("system:anonymous", [])
        self._account = {"namespace": namespace, "serviceaccount": {"name": account}}
        self._tokens = {}  # token -> (user, time at which it expires)
        self._projected = None

    def issue(self, user, seconds):
        """A new token: a JSON web token in form, signed by chance."""
        claims = {"iss": "https://kubernetes.default.svc", "sub": user.name,
                  "aud": ["https://kubernetes.default.svc"], "iat": int(time.time()),
                  "exp": int(time.time() + seconds), "kubernetes.io": self._account}
        token = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (
            b'{"alg":"RS256","kid":"test"}', json.dumps(claims).encode(), secrets.token_bytes(64)))
        self._tokens[token] = (user, time.time() + seconds)
        return token

    def expire(self, token):
        self._tokens.pop(token, None)

    def rotate(self, seconds, grace):
        """A new token for poise where the old one lies, which is good for `grace` seconds more."""
        old, self._projected = self._projected, self.issue(self.poise, seconds)
        if old is not None:
            self._tokens[old] = (self.poise, time.time() + grace)
        self._project()

    def expire_projected(self):
        """The token of poise is good no more, and no new one lies there."""
        self.expire(self._projected)

    def _project(self):
        root = os.path.join(self.directory, "serviceaccount")
        fresh = f"..{time.time_ns()}"
        os.makedirs(os.path.join(root, fresh))
        with open(os.path.join(self.directory, "ca.crt"), encoding="ascii") as ca:
            files = {"token": self._projected, "ca.crt": ca.read(),
                     "namespace": self._account["namespace"]}
        for name, content in files.items():
            with open(os.path.join(root, fresh, name), "w", encoding="ascii") as out:
                out.write(content)
            link = os.path.join(root, name)
            if not os.path.islink(link):
                os.symlink(os.path.join("..data", name), link)
        data = os.path.join(root, "..data")
        before = os.readlink(data) if os.path.islink(data) else None
        os.symlink(fresh, data + "_tmp")
        os.rename(data + "_tmp", data)
        if before:
            for name in files:
                os.unlink(os.path.join(root, before, name))
            os.rmdir(os.path.join(root, before))

    def who(self, request, nobody):
        """Who asks, `nobody` if he does not say; refused if he says he is somebody and is not."""
        said = request.headers.get("authorization")
        if said is not None:
            scheme, _, token = said.partition(" ")
            user, until = self._tokens.get(token.strip(), (None, 0))
            if scheme.lower() != "bearer" or user is None or until < time.time():
                raise status.unauthorized()
            return user
        if request.subject is not None:
            if request.subject.get("organizationName") == "system:masters":
                return self.admin
            return User(request.subject.get("commonName", ""), [])
        return nobody

    def check(self, user, verb, kind, sub, namespace, name):
        if not user.may(verb, kind, sub, namespace, name):
            raise status.forbidden(user.name, verb, kind, sub, namespace, name)

    def check_path(self, user, method, path):
        top = "/" + path.split("/")[1]
        if top in OPEN or user is self.admin or (user is not self.nobody and top in DISCOVERY):
            return
        raise status.forbidden_path(user.name, method.lower(), path)
