"""
The audit log: one line for every request that may change something, also for those that were refused, and for every request
that was answered with records' data. Of strangers, who are refused, some have a line, and all are counted.

`app.py` wraps the application in it. Lines go to the logger `kconnect.audit`, and to a file where the worker setting
`audit.log.file` names one; `GET /kconnect/audit` (`upkeep.py`) has the last ones. A line says who, from where, what, about
which connector, and how it ended; never a body. A request that is sent on to another worker is in both workers' logs.
"""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kconnect.rest import access_log
from kconnect.rest.failed_logins import FailedLogins
from kconnect.rest.notes import noted

audit = logging.getLogger("kconnect.audit")

SETTING = "audit.log.file"
AuditFile = access_log.LineFile

_LONGEST, _LONGEST_PATH = 1000, 800
_REFUSED_CHANGES = 10
"""So many refused changes of strangers have lines of their own, of a user who is tried and an address in a minute."""


def open_file(path: str) -> AuditFile:
    """ConnectError where it can't be written to."""
    return access_log.LineFile(access_log.open_file(path, SETTING), SETTING)


class Audit:
    """Wraps an ASGI application, outside of all that may refuse a request."""

    def __init__(self, app: ASGIApp, file: AuditFile | None = None, recent: deque[str] | None = None) -> None:
        self._app = app
        self._file = file
        self._recent = deque[str](maxlen=0) if recent is None else recent
        self._failed_logins = FailedLogins()
        self._refused_changes = FailedLogins(at_once=_REFUSED_CHANGES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        notes = noted(scope)
        # Asked now, so that whoever turns the logger off leaves a last line.
        is_enabled = audit.isEnabledFor(logging.INFO)
        written = False

        def write(status: int) -> None:
            nonlocal written
            written = True
            is_written = notes.get("changes") or notes.get("reveals")
            if is_written and not _is_strangers(notes, status):
                write_line(line(scope, status, time.time()))
            elif is_written or notes.get("failed_login"):
                failures = self._refused_changes if is_written else self._failed_logins
                failures.failed(notes.get("tried", "-"), access_log.client(scope), partial(write_failure, status))

        def write_failure(status: int, repeated: int) -> None:
            text = line(scope, status, time.time())
            write_line(f"{text} repeated={repeated}" if repeated else text)

        def write_line(text: str) -> None:
            self._recent.append(text)
            if is_enabled:
                audit.handle(audit.makeRecord(audit.name, logging.INFO, __file__, 0, text, (), None))
            if self._file is not None:
                self._file.write(text)

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Before the answer goes out: who hears of a change finds it written down.
                write(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            if not written:
                write(500)


def _is_strangers(notes: dict[str, Any], status: int) -> bool:
    """Whether somebody who has not proved who they are was refused: anybody can cause any number of such lines."""
    return "user" not in notes and status >= 400 and (notes.get("needs_login", False) or status in (401, 403))


def line(scope: Scope, status: int, now: float) -> str:
    """
    `2026-01-31T12:00:00.000Z user=ann role=operate from=10.0.0.7 request="PUT /connectors/x/stop" connector="x" status=204`

    What is in quotes is a JSON string in ASCII. It may go on with `tried=`, a user whose password was wrong; `forwarded=true`
    for what says that another worker sends it, `from` being that worker; `forwarded_to=`, the worker that answered; `targets=`,
    the topics that a replay has written to; `topic=`, the topic that a preview has read.
    """
    notes = noted(scope)
    request, connector = f"{scope['method']} {_target(scope)}", notes.get("connector")
    at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03}Z"
    parts = [
        at,
        f"user={notes.get('user', '-')}",
        f"role={notes.get('role', '-')}",
        f"from={access_log.client(scope)}",
        f"request={_quoted(request)}",
        f"connector={'-' if connector is None else _quoted(connector)}",
        f"status={status}",
    ]
    if "tried" in notes:
        parts.append(f"tried={notes['tried']}")
    query = scope["query_string"].decode("latin-1")
    if any(name == "forward" for name, _ in parse_qsl(query, keep_blank_values=True)):
        parts.append("forwarded=true")
    if "forwarded_to" in notes:
        parts.append(f"forwarded_to={_quoted(notes['forwarded_to'])}")
    if "targets" in notes:
        parts.append(f"targets={_quoted(','.join(notes['targets']))}")
    if "topic" in notes:
        parts.append(f"topic={_quoted(notes['topic'])}")
    return " ".join(parts)


def _target(scope: Scope) -> str:
    """
    Return what was asked for. Of a long path the end is there as well, which says what was done: names may be long on purpose.
    """
    path, _, query = access_log.target(scope).partition("?")
    if len(path) > _LONGEST_PATH:
        path = f"{path[: _LONGEST_PATH // 2]}...{path[-_LONGEST_PATH // 2 :]}"
    return f"{path}?{query}" if query else path


def _quoted(text: str) -> str:
    """No line of the log can be forged by what a request holds, nor made endless."""
    return json.dumps(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")
