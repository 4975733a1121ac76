"""
The REST API as one ASGI application, over anything that answers the herder's requests.

`worker/main.py` builds it and gives it to `server.Server`; tests drive it without a socket. Each resource is a module:
`root`, `connectors`, `plugins`, `loggers`. Read next: `resource.py`.
"""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from kconnect.rest import cluster, connectors, errors, loggers, plugins, root
from kconnect.rest.forward import Forwarder
from kconnect.rest.levels import Loggers, PythonLoggers
from kconnect.rest.resource import Api, Herder, RestSettings

__all__ = ["Herder", "Loggers", "RestSettings", "build", "build_admin"]


def build(
    herder: Herder,
    settings: RestSettings,
    log_levels: Loggers | None = None,
    forwarder: Forwarder | None = None,
) -> Starlette:
    """The application of the regular listeners."""
    api = Api(herder, settings, log_levels or PythonLoggers(), forwarder or Forwarder())
    routes = [*root.routes(api), *connectors.routes(api), *plugins.routes(api), *cluster.routes(api)]
    return _app([*routes, *loggers.routes(api)] if settings.admin else routes)


def build_admin(herder: Herder, settings: RestSettings, log_levels: Loggers | None = None) -> Starlette:
    """The application of `admin.listeners`, where these are set."""
    return _app(loggers.routes(Api(herder, settings, log_levels or PythonLoggers(), Forwarder())))


def _app(routes: list[Route]) -> Starlette:
    app = Starlette(
        routes=routes,
        middleware=[Middleware(_PathRules)],
        exception_handlers={HTTPException: _framework_error},
    )
    app.router.redirect_slashes = False
    return app


async def _framework_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return errors.framework(error.status_code)


class _PathRules:
    """An encoded slash is refused, as by Connect's Jetty; one slash too many at the end is not minded."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if b"%2f" in scope["raw_path"].lower():
                await Response(status_code=400)(scope, receive, send)
                return
            path = scope["path"]
            if len(path) > 1 and path.endswith("/"):
                scope = {**scope, "path": path[:-1]}
        await self._app(scope, receive, send)
