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

from kconnect.api.errors import ConnectError

log = logging.getLogger("kconnect.rest")
access = logging.getLogger("kconnect.rest.access")

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# A request may hold anything; a line of the log may not be forged by it.
_ESCAPES = {**{code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}, ord('"'): '\\"', ord("\\"): "\\\\"}


def open_file(path: str | Path) -> BinaryIO:
    """Open the file to append to, for good: a rotated file must be copied and truncated, not renamed."""
    try:
        return open(path, "ab", buffering=0)
    except OSError as error:
        raise ConnectError(
            f"Cannot write the access log to '{path}': {error.strerror}. Set the worker setting 'access.log.file' to a "
            "file in an existing directory that this user may write to, or leave it out."
        ) from None


class AccessLog:
    """Wraps an ASGI application. Used from the server's event loop only."""

    def __init__(self, app: ASGIApp, file: BinaryIO | None = None) -> None:
        self._app = app
        self._file = file
        self._complained = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
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
        if self._file is None:
            return
        try:
            self._file.write(text.encode() + b"\n")
            self._complained = False
        except OSError as error:
            if not self._complained:
                log.error("The access log file takes no lines (%s). Requests go on, their lines are lost there.", error)
            self._complained = True


def line(scope: Scope, status: int, sent: int, milliseconds: int, now: float) -> str:
    """`client - - [time] "request line" status bytes "referer" "user agent" milliseconds`, the time in UTC."""
    headers = dict(scope["headers"])
    client = (scope.get("client") or ("-",))[0].removeprefix("::ffff:")
    target = scope["raw_path"].decode("latin-1")
    if scope["query_string"]:
        target += "?" + scope["query_string"].decode("latin-1")
    at = time.gmtime(now)
    stamp = time.strftime(f"%d/{_MONTHS[at.tm_mon - 1]}/%Y:%H:%M:%S +0000", at)
    request = f"{scope['method']} {target} HTTP/{scope['http_version']}".translate(_ESCAPES)
    referer, agent = (_header(headers, name) for name in (b"referer", b"user-agent"))
    return f'{client} - - [{stamp}] "{request}" {status} {sent} "{referer}" "{agent}" {milliseconds}'


def _header(headers: dict[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"-").decode("latin-1").translate(_ESCAPES)
