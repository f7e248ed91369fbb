# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""HTTP/1.1 as an API server speaks it: keep-alive, chunked streams, gzip for long answers.

A Server listens, may be taken down and brought up again, and knows its connections, so that they can
be broken off in mid-stream. What requests mean is the caller's `handle(request, answer)`.
"""
import asyncio
import gzip
import json
import socket
import ssl
import urllib.parse

from .wire import Wire

HEAD = 65536  # bytes of a request's head; the real one allows 1 MB
BODY = 3 << 20  # bytes of a request's body, as in the real one
SHORT = 2048  # an answer up to this has Content-Length, a longer one comes in chunks, as from Go
GZIP = 128 << 10  # bytes from which an answer is compressed
REASONS = {200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
           404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 409: "Conflict",
           410: "Gone", 413: "Request Entity Too Large", 415: "Unsupported Media Type",
           422: "Unprocessable Entity", 429: "Too Many Requests", 500: "Internal Server Error",
           502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}


class Request:
    def __init__(self, head, body):
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ", 2)
        path, _, query = self.target.partition("?")
        self.path = urllib.parse.unquote(path)
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.headers = {name.lower(): value.strip()
                        for name, _, value in (line.partition(":") for line in lines)}
        self.body = body
        self.subject = None  # of the client's certificate

    def asks_for(self, name):
        return self.query.get(name, "").lower() in ("1", "true")


class Answer:
    """To one request: either send(), or start(), chunk()..., finish()."""

    def __init__(self, connection, request):
        self.wire = connection.wire
        self._connection, self._request = connection, request
        self.code = 0  # of what was begun

    async def send(self, code, body, content_type="application/json", headers=()):
        headers = [("Content-Type", content_type), *headers]
        if len(body) >= GZIP and self.wire.manners.gzip and \
                "gzip" in self._request.headers.get("accept-encoding", ""):
            body = gzip.compress(body, 1)
            headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        if len(body) <= SHORT:
            self.code = code
            headers.append(("Content-Length", str(len(body))))
            await self.wire.put(self._head(code, headers) + body)
            return
        await self.start(code, headers)
        await self.chunk(body)
        await self.finish()

    async def send_json(self, code, obj, headers=()):
        await self.send(code, json.dumps(obj, separators=(",", ":")).encode(), headers=headers)

    def _head(self, code, headers):
        lines = [f"HTTP/1.1 {code} {REASONS.get(code, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    async def start(self, code, headers):
        self.code = code
        self._connection.streaming = True
        await self.wire.put(self._head(code, [*headers, ("Transfer-Encoding", "chunked")]))

    async def chunk(self, data):
        await self.wire.put_chunks(data)

    async def finish(self):
        await self.wire.put(b"0\r\n\r\n")
        self._connection.streaming = False

    def gone(self):
        """A future that is done when the client has left."""
        return self._connection.gone()


class Connection:
    def __init__(self, reader, writer, manners):
        self.reader, self.writer = reader, writer
        self.wire = Wire(writer, manners)
        self.streaming = False  # in the middle of a chunked answer
        self._gone = None

    def gone(self):
        if self._gone is None:
            # Who waits for an answer says nothing. If he does after it: it is the next request.
            self._gone = asyncio.ensure_future(self._next_byte())
        return self._gone

    async def _next_byte(self):
        try:
            return await self.reader.read(1)
        except ConnectionError:
            return b""

    async def _begun(self):
        """The first byte of a request that gone() has read already."""
        gone, self._gone = self._gone, None
        return b"" if gone is None else await gone

    async def request(self):
        """The next one; None at the end."""
        try:
            head = await self._begun() + await self.reader.readuntil(b"\r\n\r\n")
            request = Request(head[:-4], b"")
            request.body = await self._body(request)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            return None
        tls = self.writer.get_extra_info("ssl_object")
        if tls is not None and tls.getpeercert():
            request.subject = dict(pair[0] for pair in tls.getpeercert()["subject"])
        return request

    async def _body(self, request):
        if request.headers.get("expect", "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if request.headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunks()
        size = int(request.headers.get("content-length") or 0)
        if size > BODY:
            raise ValueError("the body is too long")
        return await self.reader.readexactly(size)

    async def _chunks(self):
        body = b""
        while True:
            size = int((await self.reader.readuntil(b"\r\n")).partition(b";")[0], 16)
            if len(body) + size > BODY:
                raise ValueError("the body is too long")
            body += await self.reader.readexactly(size)
            await self.reader.readuntil(b"\r\n")  # of trailers there are none
            if size == 0:
                return body


class Server:
    LIMIT = HEAD

    def __init__(self, address, port, tls, manners, handle):
        self.address, self.port, self.tls = address, port, tls
        self._manners, self._handle = manners, handle
        self._listener = None
        self._connections = {}

    async def up(self):
        self._listener = await self._listen()

    async def _listen(self):
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        listener = await asyncio.start_server(
            self._serve, self.address, self.port, family=family, ssl=self.tls, limit=self.LIMIT,
            reuse_address=True, backlog=512)
        self.port = listener.sockets[0].getsockname()[1]
        return listener

    def listening(self):
        return self._listener is not None

    async def down(self):
        """Connections are refused from now on, those that there are die in the middle of a word."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for connection, task in list(self._connections.items()):
            connection.wire.break_off(connection.streaming)
            task.cancel()

    async def _serve(self, reader, writer):
        connection = Connection(reader, writer, self._manners)
        self._connections[connection] = asyncio.current_task()
        try:
            while True:
                request = await connection.request()
                if request is None:
                    break
                await self._handle(request, Answer(connection, request))
                if connection.streaming or request.headers.get("connection", "").lower() == "close":
                    break
        except (ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass  # the client went, or we are going down
        finally:
            del self._connections[connection]
            if connection.streaming:
                connection.wire.break_off(False)
            writer.close()
