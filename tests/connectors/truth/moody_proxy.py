"""
A proxy of HTTP whose moods are drawn: it passes a request on, loses it, or loses its answer, as networks, gateways and services
in trouble do. Used by histories with a catalog, or a store, that is away for a while.
"""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

BEFORE = ("gone before", "500 before", "503 before", "429 before")
"""Moods in which nobody gets a request."""
AFTER = ("gone after", "half an answer", "500 after", "502 after", "504 after", "409 after")
"""Moods in which the service has done what it was asked, and who has asked does not hear of it."""
LATE = "late"
"""The connection is cut, and the request comes through in a moment: when it was made again, perhaps."""
OTHERS = "others"
"""Somebody else is quicker."""
MOODS = ("well", "well", "well", "slow", *BEFORE, *AFTER, LATE, OTHERS)
_LATE_S, _SLOW_S = 0.03, 0.02
_OWN = ("connection", "keep-alive", "transfer-encoding", "content-length")


class MoodyProxy:
    """Before the service at `url`. `others` is called in the mood of that name, before the request is passed on."""

    def __init__(self, url: str) -> None:
        self.moods: deque[str] = deque()
        self.others: Callable[[], None] = lambda: None
        self.target = urlsplit(url).netloc
        self._late: list[threading.Thread] = []
        self._writing = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def settle(self) -> None:
        """From now on it is well, what was late has come, and others have written what they were about to write."""
        with self._writing:
            self.moods.clear()
        for thread in self._late:
            thread.join(60)

    def end(self) -> None:
        self.settle()
        self._server.shutdown()
        self._server.server_close()

    def mood(self) -> str:
        """Return that of the next request. Who has asked may give up while others write: they do so before anything else is."""
        with self._writing:
            found = self.moods.popleft() if self.moods else "well"
            if found == OTHERS:
                self.others()
        return found

    def passed_on(self, method: str, path: str, headers: dict[str, str], body: bytes) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.target, timeout=60)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.kept = connection  # type: ignore[attr-defined]
        return answer

    def pass_on_late(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        def pass_on() -> None:
            time.sleep(_LATE_S)
            self.passed_on(method, path, headers, body).read()

        thread = threading.Thread(target=pass_on)
        self._late.append(thread)
        thread.start()


def _handler(proxy: MoodyProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _any(self) -> None:
            if self.headers.get("Expect", "").lower() == "100-continue":
                self.send_response_only(100)
                self.end_headers()
            body = self._body()
            mood = proxy.mood()
            headers = {name: value for name, value in self.headers.items() if name.lower() not in (*_OWN, "expect")}
            asked = self.command, self.path, headers, body
            if mood == "gone before":
                self._cut()
            elif mood in BEFORE:
                self._say(int(mood[:3]), {}, b"<html>")
            elif mood == LATE:
                self._cut()
                proxy.pass_on_late(*asked)
            else:
                self._pass_on(mood, *asked)

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return found

        def _pass_on(self, mood: str, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
            answer = proxy.passed_on(method, path, headers, body)
            data = answer.read()
            if mood == "slow":
                time.sleep(_SLOW_S)
            if mood == "gone after" or (mood == "half an answer" and method == "HEAD"):
                self._cut()
            elif mood == "half an answer":
                self._say(answer.status, {}, data, more=10)
                self._cut()
            elif mood in AFTER and answer.status < 400:
                self._say(int(mood[:3]), {}, b"<html>")
            else:
                found = {name: value for name, value in answer.getheaders() if name.lower() not in _OWN}
                self._say(answer.status, found, data, size=answer.getheader("Content-Length"))

        def _say(self, status: int, headers: dict[str, str], data: bytes, more: int = 0, size: str | None = None) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", size if self.command == "HEAD" and size else str(len(data) + more))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def _cut(self) -> None:
            self.close_connection = True
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _any

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: many requests come."""

    return Handler
