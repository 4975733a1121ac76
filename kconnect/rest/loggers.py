"""
`/admin/loggers`: read and set log levels (KIP-495), of this worker's own process.

With `scope=cluster` (KIP-976) the level goes into the config topic, and every process of every worker that runs by then
applies it when it reads it there. Read next: `processes/levels.py`.
"""

from __future__ import annotations

import logging

from starlette.responses import Response

from kconnect.core.herder.requests.worker import SetLoggerLevel
from kconnect.errors import BadRequestError, NotFoundError
from kconnect.processes import java_loggers
from kconnect.processes.levels import LEVELS
from kconnect.rest import bodies
from kconnect.rest.operation import Answer, Parameter, Role, refused
from kconnect.rest.resource import Call, empty, ok

log = logging.getLogger("kconnect.rest")


async def list_loggers(call: Call) -> Response:
    levels = call.api.loggers.levels()
    return ok({name: levels[name] for name in sorted(levels) if levels[name]["level"] != "OFF"})


async def get_logger(call: Call) -> Response:
    name = call.path("logger")
    level = call.api.loggers.level(name)
    if level is None:
        raise NotFoundError(f"Logger {name} not found.")
    return ok(level)


async def set_logger(call: Call) -> Response:
    scope = call.query("scope") or "worker"
    level = bodies.config(call.body, bodies.LEVEL).get("level")
    if level is None:
        raise BadRequestError("Desired 'level' parameter was not specified in request.")
    # Connect takes blanks around it for nothing.
    level = level.strip()
    if level.upper() not in LEVELS:
        raise NotFoundError(f"invalid log level '{level}'.")
    if scope.lower() == "cluster":
        java_loggers.ours(call.path("logger"))
        await call.ask(SetLoggerLevel(call.path("logger"), level))
        return empty(204)
    if scope.lower() != "worker":
        log.warning("Unknown scope %r in a request to set a log level; it is taken as 'worker'", scope)
    return ok(sorted(call.api.loggers.set_level(call.path("logger"), level.upper())))


_SCOPE = Parameter(
    "scope",
    "`worker`: this worker's own process. `cluster`: every process of every worker that runs now (KIP-976).",
    {"enum": ["worker", "cluster"], "default": "worker"},
)

OPERATIONS = (
    Role.READ.may(
        "GET /admin/loggers",
        list_loggers,
        "The levels of all loggers",
        Answer(200, "By name, without those that are off.", "Loggers"),
    ),
    Role.READ.may(
        "GET /admin/loggers/{logger}",
        get_logger,
        "The level of a logger",
        Answer(200, "The level.", "LoggerLevel"),
        refused(404, "There is no such logger."),
    ),
    Role.ADMIN.may(
        "PUT /admin/loggers/{logger}",
        set_logger,
        "Set the level of a logger and of those below it",
        Answer(200, "The names of the loggers whose level changed.", "LoggerNames"),
        Answer(204, "With `scope=cluster`: every worker will apply it."),
        refused(400, "The body is malformed or names no level."),
        refused(404, "There is no such level, or the name is that of a Java class for which kconnect has no logger."),
        query=(_SCOPE,),
        body="SetLoggerLevel",
    ),
)
