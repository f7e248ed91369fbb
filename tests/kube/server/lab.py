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
from .http2 import Http2
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

    async def start(self, secure, plain, http2):
        """Listens with TLS, without it, with HTTP/2 over TLS; each (address, port) or None. Writes
        what clients need into the directory."""
        tls.make(self.directory, [place[0] for place in (secure, plain, http2) if place])
        self.access = Access(self.directory, self._roles)
        self.access.rotate(TOKEN_SECONDS, 0)
        users = {"admin": {"token": self.access.issue(self.access.admin, FOREVER)},
                 "poise-token": {"token": self.access.issue(self.access.poise, FOREVER)},
                 "poise": {"tokenFile": os.path.abspath(
                     os.path.join(self.directory, "serviceaccount", "token"))}}
        if secure:
            api = self._api(self.access.nobody)
            await self._listen("https", "kubeconfig", users, api, Server(
                *secure, tls.context(self.directory), self.manners, api.handle))
        if plain:
            api = self._api(self.access.admin)
            await self._listen("http", "kubeconfig-plain", users, api, Server(
                *plain, None, self.manners, api.handle))
        if http2:
            api = self._api(self.access.nobody)
            await self._listen("https", "kubeconfig-http2", users, api, Http2(
                self.directory, *http2, self.manners, api.handle))
        self._control = await Control(self, os.path.join(self.directory, "control")).up()

    def _api(self, nobody):
        return Api(self.cluster, self.watchers, self.access, self.faults, nobody, self._note)

    async def _listen(self, scheme, name, users, api, server):
        await server.up()
        api.port = server.port
        self._servers.append(server)
        url = _url(scheme, server)
        tls.kubeconfig(self.directory, name, url, users, "admin")
        tls.kubeconfig(self.directory, f"{name}.poise", url, users, "poise")
        with open(os.path.join(self.directory, f"{name}.url"), "w", encoding="ascii") as out:
            out.write(url + "\n")

    def _note(self, said):
        self._log.write(json.dumps(said) + "\n")

    async def down(self):
        self.watchers.lost()
        for server in self._servers:
            await server.down()

    async def up(self):
        for server in self._servers:
            if not server.listening():
                await server.up()
