# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Bytes to a client, as badly cut as a network and a server may cut them.

Two cuts, independent of each other: HTTP chunks end anywhere in the JSON, and segments (records,
under TLS) end anywhere in the chunks, in the middle of a chunk's length, say.
"""
import asyncio
import random

CHUNK = 65536  # bytes of a chunk where nobody asked for smaller ones


class Manners:
    """How bytes are sent, from the next one on."""

    def __init__(self):
        self.split = 0  # bytes at most of a piece, each of a size drawn by chance; 0: as they come
        self.drip = None  # (bytes, seconds): so many, then a pause of so long
        self.gzip = True  # compress long answers for those who take that, as the real one does
        self.chance = random.Random(1)  # the same cuts in every run

    def pieces(self, data, longest):
        """Cuts data; memoryviews where it is long."""
        if not self.split:
            if len(data) <= longest:
                return [data]
            view = memoryview(data)
            return [view[at:at + longest] for at in range(0, len(data), longest)]
        cut, at = [], 0
        while at < len(data):
            size = self.chance.randint(1, self.split)
            cut.append(data[at:at + size])
            at += size
        return cut


class Wire:
    def __init__(self, writer, manners):
        self.writer, self.manners = writer, manners

    async def put(self, data):
        if self.manners.drip:
            await self._drip(data)
            return
        for piece in self.manners.pieces(data, len(data) or 1):
            self.writer.write(piece)
            await self.writer.drain()

    async def _drip(self, data):
        at = 0
        while at < len(data):
            size, pause = self.manners.drip or (len(data), 0)
            self.writer.write(data[at:at + size])
            await self.writer.drain()
            at += size
            await asyncio.sleep(pause)

    async def put_chunks(self, data):
        """As chunks of HTTP's chunked transfer coding."""
        for piece in self.manners.pieces(data, CHUNK):
            await self.put(b"%x\r\n%b\r\n" % (len(piece), piece))

    def break_off(self, began):
        """Dies like a killed server: in the middle of a chunk, without a word (no close_notify)."""
        if not self.writer.is_closing():
            if began:
                self.writer.write(b'1000\r\n{"type":"MODIFIED","object":{"kind":"Serv')
            self.writer.transport.abort()
