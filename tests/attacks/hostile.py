"""
A hostile service over HTTP, in threads of this process: it drips, never ends, sends bombs, leads elsewhere, echoes.

`Hostile` takes what its answers are from a table of paths; functions of this module make such answers. Nothing here waits for
longer than its client does. Used by the tests beside it.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request as it has come."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Reply:
    """An answer. `body` may be pieces that never end; then the answer has no length unless `headers` has one."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Iterator[bytes] = b"{}"


Answer = Callable[[Asked], Reply]


class Hostile:
    """
    A service at a free port of an address of this machine. `paths` has an answer for each path, without its query, and
    `default` is the one for all others.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.asked: list[Asked] = []
        self.paths: dict[str, Answer] = {}
        self.default: Answer = lambda asked: Reply()
        self.over = threading.Event()
        """Set at the end: answers that never end do so then."""
        self._connections: set[socket.socket] = set()
        self._server = ThreadingHTTPServer((host, 0), _handler(self))
        self._server.daemon_threads = True
        self.host, self.port = host, self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> Hostile:
        return self

    def __exit__(self, *raised: object) -> None:
        self.over.set()
        self._server.shutdown()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def lines(self) -> list[str]:
        """The methods and paths of what was asked, HEAD requests left out."""
        return [f"{each.method} {each.path}" for each in self.asked if each.method != "HEAD"]

    def dripping(self, piece: bytes = b" ", pause_s: float = 0.2) -> Answer:
        """An answer of one piece each `pause_s`, without an end."""

        def pieces() -> Iterator[bytes]:
            while not self.over.wait(pause_s):
                yield piece

        return lambda asked: Reply(headers={"Transfer-Encoding": "chunked"}, body=pieces())

    def silent(self) -> Answer:
        """No answer, until the service ends."""

        def wait(asked: Asked) -> Reply:
            self.over.wait(600)
            return Reply()

        return wait

    def endless(self, piece: bytes = b"[" + b"0," * 32_000) -> Answer:
        """An answer of pieces without an end, as quickly as they are taken."""

        def pieces() -> Iterator[bytes]:
            while not self.over.is_set():
                yield piece

        return lambda asked: Reply(headers={"Transfer-Encoding": "chunked"}, body=pieces())


def bomb(unpacked: int, rounds: int = 1) -> Answer:
    """An answer that is small until it is unpacked, `rounds` times."""
    data = b'["' + b"a" * unpacked + b'"]'
    for _ in range(rounds):
        data = gzip.compress(data)
    return lambda asked: Reply(headers={"Content-Encoding": ", ".join(["gzip"] * rounds)}, body=data)


def given(document: Any, status: int = 200, **headers: str) -> Answer:
    """A document in JSON; an underscore in the name of a header stands for a dash."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda asked: Reply(status, {"Content-Type": "application/json", **named}, json.dumps(document).encode())


def refusing(status: int, text: str = "", **headers: str) -> Answer:
    """A refusal with a text."""
    return lambda asked: Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, text.encode())


def echoing(status: int = 400) -> Answer:
    """A refusal that says again all that was sent, the headers above all."""
    return lambda asked: Reply(status, {}, f"{asked.headers} {asked.body!r}".encode())


def _handler(service: Hostile) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            service._connections.add(self.connection)

        def finish(self) -> None:
            service._connections.discard(self.connection)
            with contextlib.suppress(OSError):
                super().finish()

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = Asked(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            service.asked.append(asked)
            reply = service.paths.get(self.path.partition("?")[0], service.default)(asked)
            with contextlib.suppress(OSError):
                self._answer(reply)

        def _answer(self, reply: Reply) -> None:
            whole = isinstance(reply.body, bytes)
            length = {"Content-Length": str(len(reply.body))} if isinstance(reply.body, bytes) else {}
            self.send_response(reply.status)
            for name, value in {**length, **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            if isinstance(reply.body, bytes):
                self.wfile.write(reply.body)
                return
            chunked = reply.headers.get("Transfer-Encoding") == "chunked"
            for piece in reply.body:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            self.close_connection = not whole

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _any

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: what was asked is in `asked`."""

    return Handler
