"""`/` and `/health` (KIP-1017)."""

from __future__ import annotations

import logging

from starlette.responses import Response
from starlette.routing import Route

from kconnect.api.errors import ConnectError, UnavailableError
from kconnect.core.herder import requests
from kconnect.rest.resource import Api, Call, ok, resource

log = logging.getLogger("kconnect.rest")


def routes(api: Api) -> list[Route]:
    return [resource(api, "/", GET=root), resource(api, "/health", GET=health)]


async def root(call: Call) -> Response:
    return ok(await call.ask(requests.Root()))


async def health(call: Call) -> Response:
    try:
        await call.ask(requests.Health(), call.api.settings.health_timeout)
    except UnavailableError:
        return _health(503, "starting", "Worker is still starting up.")
    except ConnectError as error:
        log.warning("The worker is unhealthy: %s", error)
        text = "Worker was unable to handle this request and may be unable to handle other requests."
        return _health(500, "unhealthy", text)
    return _health(200, "healthy", "Worker has completed startup and is ready to handle requests.")


def _health(status: int, word: str, message: str) -> Response:
    return ok({"status": word, "message": message}, status)
