"""
The access log: one line a request, in the extended NCSA form with the milliseconds that the request took.

`server.py` wraps the application in it. Lines go to the logger `kconnect.rest.access`, and to a file where the worker
setting `access.log.file` names one.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import BinaryIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kconnect.errors import ConnectError
from kconnect.rest.notes import noted

log = logging.getLogger("kconnect.rest")
access = logging.getLogger("kconnect.rest.access")

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# A request may hold anything; a line of the log may not be forged by it.
_ESCAPES = {**{code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}, ord('"'): '\\"', ord("\\"): "\\\\"}


def open_file(path: str | Path, setting: str = "access.log.file") -> BinaryIO:
    """
    Open the file of `access.log.file` or another such setting to append to, for good: a rotated file must be copied and
    truncated, not renamed.
    """
    try:
        return open(path, "ab", buffering=0)
    except OSError as error:
        raise ConnectError(
            f"Cannot write the {_what(setting)} to '{path}': {error.strerror}. Set the worker setting '{setting}' to a "
            "file in an existing directory that this user may write to, or leave it out."
        ) from None


def _what(setting: str) -> str:
    return " ".join(setting.split(".")[:2])


class LineFile:
    """A file that takes lines, each with one write; what it does not take is lost, and said once. From any thread."""

    def __init__(self, file: BinaryIO, setting: str) -> None:
        self._file = file
        self._what = _what(setting)
        self._complained = False

    def write(self, line: str) -> None:
        try:
            self._file.write(line.encode() + b"\n")
            self._complained = False
        except OSError as error:
            if not self._complained:
                log.error("Can't write to the %s file (%s). Requests continue, but their lines are lost.", self._what, error)
            self._complained = True


class AccessLog:
    """Wraps an ASGI application. Used from the server's event loop only."""

    def __init__(self, app: ASGIApp, file: BinaryIO | None = None) -> None:
        self._app = app
        self._file = None if file is None else LineFile(file, "access.log.file")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        noted(scope)  # Made here, so that it is the one that the application fills.
        status, sent = 500, 0

        async def count(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                sent += len(message.get("body", b""))
            await send(message)

        began = time.perf_counter()
        try:
            await self._app(scope, receive, count)
        finally:
            milliseconds = int((time.perf_counter() - began) * 1000)
            self._write(line(scope, status, sent, milliseconds, time.time()))

    def _write(self, text: str) -> None:
        access.info("%s", text)
        if self._file is not None:
            self._file.write(text)


def line(scope: Scope, status: int, sent: int, milliseconds: int, now: float) -> str:
    """`client - user [time] "request line" status bytes "referer" "user agent" milliseconds`, the time in UTC."""
    headers = dict(scope["headers"])
    user = noted(scope).get("user", "-")
    at = time.gmtime(now)
    stamp = time.strftime(f"%d/{_MONTHS[at.tm_mon - 1]}/%Y:%H:%M:%S +0000", at)
    request = f"{scope['method']} {target(scope)} HTTP/{scope['http_version']}".translate(_ESCAPES)
    referer, agent = (_header(headers, name) for name in (b"referer", b"user-agent"))
    return f'{client(scope)} - {user} [{stamp}] "{request}" {status} {sent} "{referer}" "{agent}" {milliseconds}'


def client(scope: Scope) -> str:
    """The address of whoever connected."""
    return str((scope.get("client") or ("-",))[0]).removeprefix("::ffff:")


def target(scope: Scope) -> str:
    """The path and query as they were sent."""
    path = scope["raw_path"].decode("latin-1")
    return f"{path}?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else path


def _header(headers: dict[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"-").decode("latin-1").translate(_ESCAPES)
