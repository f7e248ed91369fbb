# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Certificates, made by openssl once for a state directory, and the kubeconfig that goes with them."""
import base64
import ipaddress
import json
import os
import ssl
import subprocess

DAYS = "30"
NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
         "kubernetes.default.svc.cluster.local")
ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")


def _openssl(directory, *words):
    done = subprocess.run(["openssl", *words], cwd=directory, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise OSError(f"openssl {words[0]}: {done.stderr.strip()}")


def _signed(directory, name, subject, extensions):
    with open(os.path.join(directory, f"{name}.ext"), "w", encoding="ascii") as out:
        out.write(extensions)
    _openssl(directory, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
    _openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
             "-CAcreateserial", "-days", DAYS, "-extfile", f"{name}.ext", "-out", f"{name}.crt")


def _made(directory, extensions):
    try:
        with open(os.path.join(directory, "server.ext"), encoding="ascii") as file:
            return file.read() == extensions and os.path.exists(os.path.join(directory, "admin.crt"))
    except FileNotFoundError:
        return False


def make(directory, addresses):
    """ca.crt, server.crt for the addresses that are listened on, admin.crt of an administrator; those
    that there are, if they are for all these."""
    known = dict.fromkeys([*ADDRESSES, *addresses])
    sans = [f"DNS:{name}" for name in NAMES]
    sans += [f"IP:{address}" for address in known if not ipaddress.ip_address(address).is_unspecified]
    extensions = f"subjectAltName={','.join(sans)}\nextendedKeyUsage=serverAuth\n"
    if _made(directory, extensions):
        return
    _openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-days", DAYS, "-subj",
             "/CN=kubernetes", "-addext", "keyUsage=critical,keyCertSign,digitalSignature")
    _signed(directory, "server", "/CN=kube-apiserver", extensions)
    _signed(directory, "admin", "/O=system:masters/CN=kubernetes-admin",
            "extendedKeyUsage=clientAuth\n")


def context(directory):
    """For a listener; clients may have a certificate."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(os.path.join(directory, "server.crt"), os.path.join(directory, "server.key"))
    tls.load_verify_locations(os.path.join(directory, "ca.crt"))
    tls.verify_mode = ssl.CERT_OPTIONAL
    tls.set_alpn_protocols(["http/1.1"])
    return tls


def _inline(directory, name):
    with open(os.path.join(directory, name), "rb") as file:
        return base64.b64encode(file.read()).decode()


def kubeconfig(directory, name, url, users, current):
    """Writes a kubeconfig with a context for each user; JSON is YAML, too."""
    cluster = {"server": url}
    if url.startswith("https:"):
        cluster["certificate-authority-data"] = _inline(directory, "ca.crt")
        users = {**users, "admin-certificate": {
            "client-certificate-data": _inline(directory, "admin.crt"),
            "client-key-data": _inline(directory, "admin.key")}}
    config = {
        "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": current,
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": user, "user": what} for user, what in users.items()],
        "contexts": [{"name": user, "context": {"cluster": "test", "user": user}} for user in users],
    }
    path = os.path.join(directory, name)
    with open(path, "w", encoding="ascii") as out:
        json.dump(config, out, indent=2)
        out.write("\n")
    os.chmod(path, 0o600)
