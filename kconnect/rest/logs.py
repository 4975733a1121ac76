"""`/kconnect/logs`: the last lines that any process of the cluster has logged. `processes/log_lines.py` reads them."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from kconnect.errors import BadRequestError, NotFoundError
from kconnect.processes.line_forms import LEVELS
from kconnect.processes.log_lines import Wanted
from kconnect.rest import bodies, schemas
from kconnect.rest.operation import Answer, Parameter, Role, refused
from kconnect.rest.resource import Call, ok

_MOST = 5000
_LATEST = 2**53


async def get_logs(call: Call) -> Response:
    connector = call.query("connector")
    call.note("connector", connector)
    task, level = call.query("task"), (call.query("level") or "").upper() or None
    if task is not None and connector is None:
        raise BadRequestError(f"'task' is '{task[:100]}', and there is no 'connector': send its name, too.")
    if level not in (None, *LEVELS):
        raise BadRequestError(f"'level' is '{level[:100]}'; send one of {', '.join(LEVELS)}.")
    read = call.api.settings.read_logs
    if read is None:
        raise NotFoundError("This worker keeps no lines of logs")
    selection = Wanted(
        connector,
        None if task is None else bodies.whole_text("task", task, 0, 2**31 - 1),
        call.flag("mentions"),
        call.query("worker"),
        level,
        _number(call, "since"),
        _number(call, "after"),
        bodies.whole_text("limit", call.query("limit") or "1000", 1, _MOST),
    )
    answer = await asyncio.to_thread(read, selection)
    if not answer["lines"]:
        # Who follows asks all the time; an empty answer shows nothing.
        call.note("reveals", False)
    return ok(answer)


def _number(call: Call, name: str) -> int | None:
    text = call.query(name)
    return None if text is None else bodies.whole_text(name, text, 0, _LATEST)


_LINES = schemas.declare(
    "LogLines",
    "Lines of logs, in the order of their times.",
    {
        "lines": schemas.listed(
            "LogLine",
            "A line, with the trace that belongs to it.",
            {
                "timestamp": {"type": "string", "examples": ["2026-01-31T12:00:00.000+00:00"]},
                "level": {"enum": list(LEVELS)},
                "logger": {"type": "string"},
                "worker": {"type": "string"},
                "process": {"type": "string", "description": "`worker`, `driver`, or `host-` and its number."},
                "connector": {"type": ["string", "null"], "description": "Whose unit has logged it."},
                "task": {"type": ["integer", "null"]},
                "text": {"type": "string"},
            },
        ),
        "next": {"type": "integer", "description": "What `after` is to be, to go on behind these lines."},
        "more": {"type": "boolean", "description": "Whether there was something behind them already."},
    },
)

OPERATIONS = (
    Role.OPERATE.may(
        "GET /kconnect/logs",
        get_logs,
        "The last lines of logs, of all workers and hosts",
        Answer(200, "Those that are wanted; an empty list if there are none.", _LINES),
        refused(400, "A parameter can't be used."),
        refused(404, "No lines are kept: `log.storage.topic` is empty, or the topic is gone."),
        notes="As `kconnect logs`. They are from a topic that keeps half an hour. Access logs and audit logs are not in it.",
        # They may quote records.
        reveals=True,
        errand="logs",
        query=(
            Parameter("connector", "Only lines of this connector and its tasks.", {"type": "string"}),
            Parameter("task", "Only lines of this task of the connector.", {"type": "integer", "minimum": 0}),
            Parameter("mentions", "Also lines of no connector that name it in their text.", {"type": "boolean"}),
            Parameter("worker", "Only lines of this worker and its hosts.", {"type": "string"}),
            Parameter("level", "Only lines of this level and more severe ones.", {"enum": list(LEVELS)}),
            Parameter("since", "Only lines from this time on, in milliseconds since 1970.", {"type": "integer", "minimum": 0}),
            Parameter("after", "Only lines behind this place, the `next` of an answer.", {"type": "integer", "minimum": 0}),
            Parameter("limit", "How many lines at most.", {"type": "integer", "minimum": 1, "maximum": _MOST, "default": 1000}),
        ),
    ),
)
