# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Cluster addresses and node ports, given to Services.

Round and round, so that what a Service had is not another's at once; when a round is over, what
Services have now is counted anew, for they go by many ways.
"""
import ipaddress

from . import status

NETWORK = {"IPv4": ipaddress.ip_network("10.96.0.0/16"),
           "IPv6": ipaddress.ip_network("fd00:10:96::/112")}
FIRST = 11  # of a network; those before are the API server's and the DNS server's
LAST = 65534
NODE_PORTS = range(30000, 32768)


class Allocator:
    def __init__(self, shelf):
        self._shelf = shelf
        self._taken = set()  # addresses and ports
        self._next = dict.fromkeys((*NETWORK, "port"), 0)

    def note(self, spec):
        """What a Service has, by whatever way."""
        self._taken.update(spec.get("clusterIPs") or [])
        self._taken.update(port.get("nodePort") for port in spec.get("ports") or [])
        self._taken.add(spec.get("healthCheckNodePort"))

    def _give(self, pool, first, last, as_given):
        for _ in range(2):
            for number in range(max(self._next[pool], first), last + 1):
                self._next[pool] = number + 1
                if as_given(number) not in self._taken:
                    self._taken.add(as_given(number))
                    return as_given(number)
            self._next[pool] = first
            self._taken = set()
            for entry in self._shelf.entries.values():
                self.note(entry.obj.get("spec") or {})
        raise status.Refusal(500, "InternalError", f"Internal error occurred: failed to allocate: the "
                             f"range of {pool} is full", {})

    def address(self, family):
        return self._give(family, FIRST, LAST, lambda number: str(NETWORK[family][number]))

    def port(self):
        return self._give("port", NODE_PORTS[0], NODE_PORTS[-1], int)
