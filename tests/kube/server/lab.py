# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The whole: a cluster's objects, the listeners before them, and what goes wrong in between."""
import json
import os

from . import tls
from .access import Access
from .api import Api
from .cluster import Cluster
from .control import Control
from .faults import Faults
from .http import Server
from .watch import Watchers
from .wire import Manners

TOKEN_SECONDS = 3600
FOREVER = 10 * 365 * 86400


def _url(scheme, server):
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.address, server.address)
    return f"{scheme}://{f'[{address}]' if ':' in address else address}:{server.port}"


class Lab:
    def __init__(self, directory, history, roles):
        os.makedirs(directory, exist_ok=True)
        self.directory = directory
        self.cluster = Cluster(history)
        self.watchers = Watchers(self.cluster.store)
        self.manners = Manners()
        self.faults = Faults()
        self._roles = roles
        self._log = open(os.path.join(directory, "requests"), "w", encoding="utf-8", buffering=1)
        self._servers = []
        self._control = None
        self.access = None

    async def start(self, secure, plain):
        """Listens with TLS, without it, or both; each (address, port) or None. Writes what clients
        need into the directory."""
        tls.make(self.directory, [place[0] for place in (secure, plain) if place])
        self.access = Access(self.directory, self._roles)
        self.access.rotate(TOKEN_SECONDS, 0)
        users = {"admin": {"token": self.access.issue(self.access.admin, FOREVER)},
                 "poise-token": {"token": self.access.issue(self.access.poise, FOREVER)},
                 "poise": {"tokenFile": os.path.abspath(
                     os.path.join(self.directory, "serviceaccount", "token"))}}
        for place, scheme, name in ((secure, "https", "kubeconfig"),
                                    (plain, "http", "kubeconfig-plain")):
            if place is None:
                continue
            api = Api(self.cluster, self.watchers, self.access, self.faults, self._note)
            if scheme == "http":
                api.nobody = self.access.admin
            context = tls.context(self.directory) if scheme == "https" else None
            server = Server(*place, context, self.manners, api.handle)
            await server.up()
            api.port = server.port
            self._servers.append(server)
            url = _url(scheme, server)
            tls.kubeconfig(self.directory, name, url, users, "admin")
            with open(os.path.join(self.directory, f"{name}.url"), "w", encoding="ascii") as out:
                out.write(url + "\n")
        self._control = await Control(self, os.path.join(self.directory, "control")).up()

    def _note(self, said):
        self._log.write(json.dumps(said) + "\n")

    async def down(self):
        for server in self._servers:
            await server.down()

    async def up(self):
        for server in self._servers:
            if not server.listening():
                await server.up()
