"""
An HTTP service whose moods are drawn: it takes a request, refuses it, is busy, slow, cuts the connection before or after it has
taken it, or answers with nothing. Used by the tests of the HTTP connectors.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import certifi

PASSING = ("busy", "broken", "gone before", "gone after", "half an answer")
"""Moods after which a request is to be made again."""
TAKING = ("well", "well", "well", "nothing", "no content", "created", "slow")
"""Moods in which it takes a request."""
SLOW_S = 0.02


def one_authority() -> str:
    """Return a file with one certificate: to read all that a machine trusts takes each client a tenth of a second."""
    certificates = Path(certifi.where()).read_text("utf-8")
    end = "-----END CERTIFICATE-----\n"
    file = Path(tempfile.gettempdir()) / f"kconnect-truth-{os.getpid()}.pem"
    begin = certificates.index("-----BEGIN")
    file.write_text(certificates[begin : certificates.index(end) + len(end)], "utf-8")
    atexit.register(file.unlink, missing_ok=True)
    return str(file)


AUTHORITY = one_authority()


class MoodyService:
    """
    `takes` says whether a body can be taken at all; `answer` what there is for a GET. `taken` are the bodies of requests
    that were taken, `asked` all that have come, with the mood they met.
    """

    def __init__(self) -> None:
        self.moods: deque[str] = deque()
        self.taken: list[bytes] = []
        self.asked: list[tuple[str, str, bytes]] = []
        self.takes: Callable[[bytes], bool] = lambda body: True
        self.answer: Callable[[str], tuple[dict[str, str], Any]] = lambda path: ({}, [])
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.port: int = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(service: MoodyService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.command == "HEAD":
                self._say(200, b"")
                return
            mood = service.moods.popleft() if service.moods else "well"
            service.asked.append((mood, self.path, body))
            if mood == "gone before":
                self._cut()
            elif mood == "busy":
                self._say(429, b"later", {"Retry-After": "0"})
            elif mood == "broken":
                self._say(503, b"<html>")
            elif mood == "elsewhere":
                self._say(302, b"", {"Location": "/elsewhere"})
            elif not service.takes(body):
                self._say(400, b"one of them is bad")
            else:
                self._take(mood, body)

        def _take(self, mood: str, body: bytes) -> None:
            headers: dict[str, str] = {}
            if self.command == "GET":
                headers, answer = service.answer(self.path)
                data = json.dumps(answer).encode()
            else:
                service.taken.append(body)
                data = b"{}"
            if mood == "slow":
                time.sleep(SLOW_S)
            if mood == "gone after":
                self._cut()
            elif mood == "half an answer":
                self.send_response(200)
                self.send_header("Content-Length", str(len(data) + 10))
                self.end_headers()
                self.wfile.write(data)
                self._cut()
            elif mood == "no content":
                self._say(204, None)
            elif mood == "nothing":
                self._say(200, b"")
            else:
                self._say(201 if mood == "created" else 200, data, headers)

        def _say(self, status: int, data: bytes | None, more: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (more or {}).items():
                self.send_header(name, value)
            if data is not None:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if data and self.command != "HEAD":
                self.wfile.write(data)

        def _cut(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _any

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: many requests come."""

    return Handler
