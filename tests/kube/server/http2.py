# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""HTTP/2, which the real one negotiates with whoever can: nginx in front of a listener of ours on a Unix
socket. Taken down and up like a Server (http.py)."""
import asyncio
import os
import signal
import socket
import subprocess

from .http import Server

START_SECONDS = 60  # on the slowest of machines
CONFIG = """daemon off; master_process off; worker_processes 1;
pid {dir}/http2.pid; error_log {dir}/http2.log;
events {{ worker_connections 1024; }}
http {{
	access_log off;
	client_body_temp_path {dir}/http2.tmp; proxy_temp_path {dir}/http2.tmp;
	fastcgi_temp_path {dir}/http2.tmp; uwsgi_temp_path {dir}/http2.tmp;
	scgi_temp_path {dir}/http2.tmp;
	upstream server {{ server unix:{dir}/http2.socket; keepalive 16; }}
	server {{
		listen {place} ssl http2;
		ssl_certificate {dir}/server.crt; ssl_certificate_key {dir}/server.key;
		ssl_protocols TLSv1.2 TLSv1.3;
		location / {{
			proxy_pass http://server; proxy_http_version 1.1;
			proxy_set_header Connection ""; proxy_set_header Host $host;
			proxy_set_header X-Protocol $server_protocol;
			proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 1d;
			client_max_body_size 3m;
		}}
	}}
}}
"""


class Behind(Server):
    """The listener that nginx talks to."""

    def __init__(self, path, manners, handle):
        super().__init__("", 0, None, manners, handle)
        self._path = path

    async def _listen(self):
        if os.path.exists(self._path):
            os.unlink(self._path)
        return await asyncio.start_unix_server(self._serve, self._path, limit=self.LIMIT)


class Http2:
    def __init__(self, directory, address, port, manners, handle):
        self.address, self.port = address, port or _free_port(address)
        self._directory = os.path.abspath(directory)
        self._behind = Behind(os.path.join(self._directory, "http2.socket"), manners, handle)
        self._nginx = None

    def listening(self):
        return self._nginx is not None

    async def up(self):
        await self._behind.up()
        host = f"[{self.address}]" if ":" in self.address else self.address
        config = os.path.join(self._directory, "http2.conf")
        with open(config, "w", encoding="ascii") as out:
            out.write(CONFIG.format(dir=self._directory, place=f"{host}:{self.port}"))
        # It ends with us, however we end.
        self._nginx = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "nginx", "-c", config], stdin=subprocess.DEVNULL,
            env={**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"})
        async with asyncio.timeout(START_SECONDS):
            while not _answers(self.address, self.port):
                if self._nginx.poll() is not None:
                    raise OSError(f"nginx did not start: see {self._directory}/http2.log")
                await asyncio.sleep(0.02)

    async def down(self):
        if self._nginx is not None:
            self._nginx.send_signal(signal.SIGKILL)
            self._nginx.wait()
            self._nginx = None
        await self._behind.down()


def _free_port(address):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def _answers(address, port):
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    try:
        socket.create_connection((host, port), 1).close()
        return True
    except OSError:
        return False
