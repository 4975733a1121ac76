"""
A service that takes requests over HTTP, in a thread of this process, and keeps them: for what sends to such.

It answers as it is told. `/token` gives tokens for OAuth 2's client credentials; requests with another one are refused while
`token` is set. Used by the tests of the HTTP connectors.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import urllib.parse
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CLIENT, SECRET = "client-7", "canary-secret-5512"


@dataclass(frozen=True)
class Taken:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class HttpService:
    def __init__(self) -> None:
        self.taken: list[Taken] = []
        """Requests that it has answered with success."""
        self.seen = 0
        """All requests but HEAD."""
        self.answers: deque[tuple[int, dict[str, str], str]] = deque()
        """What it answers to the next requests: a status, headers and a body. Then 200."""
        self.refuses: bytes | None = None
        """It answers 400 to bodies that have this."""
        self.token: str | None = None
        self.tokens_given = 0
        self.wants = ""
        """The Authorization header that it asks for; without it the answer is 401."""
        self.items: Callable[[Taken], tuple[dict[str, str], Any]] | None = None
        """What it has at `/items`: headers and an answer for a request."""
        self._server: ThreadingHTTPServer | None = None
        self._connections: set[socket.socket] = set()
        self.port = 0
        self.begin()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def begin(self) -> None:
        """At the same port as before, if there was one."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self))
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def end(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            for connection in list(self._connections):
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def answer(self, request: Taken) -> tuple[int, dict[str, str], str]:
        if request.path == "/token":
            return self._give_token(request)
        authorization = request.headers.get("authorization", "")
        if self.wants and authorization != self.wants:
            return 401, {}, "who are you"
        if self.token is not None and authorization != f"Bearer {self.token}":
            return 401, {}, "not this token"
        if request.method == "HEAD":
            return 405, {}, ""
        self.seen += 1
        if self.answers:
            status, headers, body = self.answers.popleft()
            if status >= 300:
                return status, headers, body
        if request.path.startswith("/items") and self.items is not None:
            headers, answer = self.items(request)
            return 200, headers, json.dumps(answer)
        if self.refuses is not None and self.refuses in request.body:
            return 400, {}, "one of them is bad"
        self.taken.append(request)
        return 200, {}, "{}"

    def _give_token(self, request: Taken) -> tuple[int, dict[str, str], str]:
        form = urllib.parse.parse_qs(request.body.decode())
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        known = request.headers.get("authorization") == f"Basic {basic}" or form.get("client_secret") == [SECRET]
        if not known or form.get("grant_type") != ["client_credentials"]:
            return 401, {}, "unknown client"
        self.tokens_given += 1
        self.token = f"token-{self.tokens_given}"
        return 200, {"Content-Type": "application/json"}, json.dumps({"access_token": self.token, "expires_in": 3600})


def _handler(service: HttpService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body of an answer are two writes: the second one would wait for a client that waits, too.
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            service._connections.add(self.connection)

        def finish(self) -> None:
            service._connections.discard(self.connection)
            super().finish()

        def _any(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            if len(body) < length:
                # Whoever sends it was killed in the midst of it.
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, more, text = service.answer(Taken(self.command, self.path, headers, body))
            data = text.encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _any

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: thousands of requests come."""

    return Handler
