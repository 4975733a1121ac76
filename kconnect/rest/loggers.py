"""
`/admin/loggers`: read and set log levels (KIP-495), of this worker.

`scope=cluster` (KIP-976) is not there yet: it needs a record in the config topic. Read next: `levels.py`.
"""

from __future__ import annotations

import logging

from starlette.responses import Response
from starlette.routing import Route

from kconnect.api.errors import BadRequestError, NotFoundError
from kconnect.rest import bodies
from kconnect.rest.levels import LEVELS
from kconnect.rest.resource import Api, Call, ok, resource

log = logging.getLogger("kconnect.rest")


def routes(api: Api) -> list[Route]:
    return [
        resource(api, "/admin/loggers", GET=list_loggers),
        resource(api, "/admin/loggers/{logger}", GET=get_logger, PUT=set_logger),
    ]


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
    if scope.lower() == "cluster":
        raise BadRequestError(
            "scope=cluster is not supported yet; send the request to each worker, with scope=worker or without a scope"
        )
    level = bodies.config(call.body, bodies.LEVEL).get("level")
    if level is None:
        raise BadRequestError("Desired 'level' parameter was not specified in request.")
    if level.upper() not in LEVELS:
        raise NotFoundError(f"invalid log level '{level}'.")
    if scope.lower() != "worker":
        log.warning("Unknown scope %r in a request to set a log level; it is taken as 'worker'", scope)
    return ok(sorted(call.api.loggers.set_level(call.path("logger"), level.upper())))
