"""
The REST API as one ASGI application, over anything that answers the herder's requests.

`worker/main.py` builds it and gives it to `server.Server`; tests drive it without a socket. Each resource is a module:
`root`, `connectors`, `plugins`, `loggers`. Read next: `resource.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kconnect.errors import ForbiddenError
from kconnect.processes.levels import Loggers, PythonLoggers
from kconnect.rest import (
    backfill,
    browsers,
    cluster,
    connectors,
    console,
    dead_letters,
    documentation,
    errors,
    loggers,
    logs,
    metrics,
    own,
    plugins,
    preview,
    root,
    upkeep,
)
from kconnect.rest.audit import Audit
from kconnect.rest.forward import Forwarder
from kconnect.rest.operation import Role
from kconnect.rest.resource import ENCODED_SLASH, Api, Herder, RestSettings, routes

__all__ = ["OPERATIONS", "Herder", "Loggers", "RestSettings", "build", "build_admin"]

OPERATIONS = (
    *root.OPERATIONS,
    *connectors.OPERATIONS,
    *plugins.OPERATIONS,
    *cluster.OPERATIONS,
    *own.OPERATIONS,
    *upkeep.OPERATIONS,
    *preview.OPERATIONS,
    *dead_letters.OPERATIONS,
    *backfill.OPERATIONS,
    *logs.OPERATIONS,
    *metrics.OPERATIONS,
    *documentation.OPERATIONS,
)
"""What the regular listeners serve; those of `loggers.py` come with them, or have listeners of their own."""


def build(
    herder: Herder,
    settings: RestSettings,
    log_levels: Loggers | None = None,
    forwarder: Forwarder | None = None,
) -> Starlette:
    """The application of the regular listeners."""
    operations = (
        *OPERATIONS,
        *(loggers.OPERATIONS if settings.admin else ()),
        *(console.OPERATIONS if settings.console else ()),
    )
    api = Api(herder, settings, log_levels or PythonLoggers(), forwarder or Forwarder(), operations)
    outermost = browsers.middleware(settings.cors, settings.response_headers)
    return _app(api, [*outermost, *([Middleware(console.ForBrowsers)] if settings.console else ())])


def build_admin(herder: Herder, settings: RestSettings, log_levels: Loggers | None = None) -> Starlette:
    """The application of `admin.listeners`, where these are set."""
    operations = (*loggers.OPERATIONS, *documentation.OPERATIONS)
    return _app(Api(herder, settings, log_levels or PythonLoggers(), Forwarder(), operations), [browsers.protected()])


def _app(api: Api, outermost: Sequence[Middleware] = ()) -> Starlette:
    app = Starlette(
        routes=routes(api),
        middleware=[
            *outermost,
            Middleware(Audit, file=api.settings.audit_file, recent=api.settings.audit_recent),
            Middleware(_PathRules),
        ],
        exception_handlers={HTTPException: _unknown_path(api)},
    )
    app.router.redirect_slashes = False
    return app


def _unknown_path(api: Api) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        try:
            return await api.refusal(request, Role.READ) or errors.framework(error.status_code)
        except ForbiddenError as refused:
            return errors.respond(refused, request.method, request.url.path)

    return answer


class _PathRules:
    """An encoded slash is a part of a name; one slash too many at the end is not minded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            if b"%2f" in scope["raw_path"].lower():
                parts = scope["raw_path"].decode("latin-1").split("/")
                path = "/".join(unquote(part).replace("/", ENCODED_SLASH) for part in parts)
                scope = {**scope, "path": path}
            if len(path) > 1 and path.endswith("/"):
                scope = {**scope, "path": path[:-1]}
        await self._app(scope, receive, send)
