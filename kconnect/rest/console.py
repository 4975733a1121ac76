"""
`/console`: the web console's files, for browsers. What they show and do, they ask of this API like everybody else.

Browsers that come to `/` are sent there; everybody else gets Connect's JSON. The files hold nothing of the cluster, so they
need no login. They are read once, and sent packed. `/console/login` is for the session of a browser (`sessions.py`). Read next:
`kconnect/console/__init__.py`.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import mimetypes
from importlib import resources
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kconnect.rest import bodies, browsers, schemas
from kconnect.rest.credentials import Caller
from kconnect.rest.operation import Answer, Role, refused
from kconnect.rest.resource import Call, empty, ok
from kconnect.rest.sessions import LIFETIME_S, cookie_name

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing is loaded from elsewhere, and what stands in a page is never run."""
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Another release has other files under the same names.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}
_KINDS = (".html", ".js", ".css", ".svg")
_PAGE = "index.html"


class _File(NamedTuple):
    content: bytes
    packed: bytes
    media_type: str
    tag: str


@functools.cache
def files() -> dict[str, _File]:
    """Return all files that a browser may load, by name."""
    by_name = {}
    for file in resources.files("kconnect.console").iterdir():
        if file.name.endswith(_KINDS):
            content = file.read_bytes()
            media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            by_name[file.name] = _File(
                content, gzip.compress(content, mtime=0), media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            )
    return by_name


async def get_console(call: Call) -> Response:
    return _respond(call, _PAGE)


async def get_console_file(call: Call) -> Response:
    return _respond(call, call.path("file"))


def _respond(call: Call, name: str) -> Response:
    file = files().get(name)
    if file is None:
        raise HTTPException(404)
    headers = {**_HEADERS, "ETag": file.tag}
    if call.http.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in call.http.headers.get("accept-encoding", ""):
        return Response(file.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.media_type)
    return Response(file.content, headers=headers, media_type=file.media_type)


# -- logins -----------------------------------------------------------------------------------------------------------


async def get_login(call: Call) -> Response:
    gate, authorization = call.api.settings.gate, call.http.headers.get("authorization")
    if gate is None:
        return ok({"needed": False, "methods": [], "user": None, "role": "admin"})
    answer = None if authorization is None else await gate.caller(call.http, authorization)
    caller = answer if isinstance(answer, Caller) else None
    role = None if caller is None else caller.role.name.lower()
    return ok({"needed": True, "methods": list(gate.methods), "user": caller and caller.name, "role": role})


async def log_in(call: Call) -> Response:
    browsers.check_origin(call.http, None, by_cookie=True)
    gate, authorization = call.api.settings.gate, bodies.login(call.body)
    if gate is None:
        return empty(204)
    answer = await gate.caller(call.http, authorization)
    if isinstance(answer, Response):
        return answer
    response = empty(204)
    secure = call.http.url.scheme == "https"
    response.set_cookie(
        cookie_name(call.http.scope),
        gate.sessions.cookie(authorization),
        max_age=LIFETIME_S,
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )
    return response


async def log_out(call: Call) -> Response:
    if (gate := call.api.settings.gate) is not None:
        gate.sessions.end(call.http.scope)
    response = empty(204)
    response.delete_cookie(cookie_name(call.http.scope), path="/", httponly=True, samesite="strict")
    return response


class ForBrowsers:
    """Sends a browser that wants `/` to the console."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = _place(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        if place is None:
            await self._app(scope, receive, send)
        else:
            await RedirectResponse(place, 303, {"Vary": "Accept"})(scope, receive, send)


def _place(scope: Scope) -> str | None:
    """Relative: a proxy may have put a folder before it."""
    if scope["path"] == "/console/":
        return "../console"
    # Only browsers name this type: Java's own client says that it likes HTML best, and gets what it always got.
    is_browser = scope["path"] == "/" and "application/xhtml+xml" in Request(scope).headers.get("accept", "")
    return "console" if is_browser else None


_LOGIN = schemas.declare(
    "Login",
    "Who a browser's user is.",
    {
        "needed": {"type": "boolean", "description": "False: everybody may do everything."},
        "methods": {"type": "array", "items": {"enum": ["basic", "token"]}},
        "user": {"type": ["string", "null"], "description": "Null: nobody has logged in.", "examples": ["anna"]},
        "role": {"type": ["string", "null"], "description": "What the user may do.", "examples": ["operate"]},
    },
)
_CREDENTIALS = schemas.declare_request(
    "Credentials",
    "Either `user` and `password`, or `token`.",
    {},
    {"user": {"type": "string"}, "password": {"type": "string"}, "token": {"type": "string"}},
)

OPERATIONS = (
    Role.ANYONE.may(
        "GET /console/login",
        get_login,
        "Who is logged in, for the console",
        Answer(200, "Whether a login is needed, and who has one.", _LOGIN),
    ),
    Role.ANYONE.may(
        "POST /console/login",
        log_in,
        "Log a browser in",
        Answer(204, "The session is in a cookie.", headers=(("Set-Cookie", "For 12 hours, and this worker only."),)),
        refused(400, "The body is malformed."),
        refused(401, "The user, password or token is wrong."),
        refused(403, "A page of another origin asks."),
        refused(429, "Too many logins at once from this address."),
        body=_CREDENTIALS,
    ),
    Role.ANYONE.may(
        "DELETE /console/login", log_out, "Log a browser out", Answer(204, "The cookie is taken back."), changes=False
    ),
    Role.ANYONE.may(
        "GET /console",
        get_console,
        "The web console",
        Answer(200, "The page. Browsers that ask for `/` are sent to it."),
        produces=("text/html",),
    ),
    Role.ANYONE.may(
        "GET /console/{file}",
        get_console_file,
        "A file of the web console",
        Answer(200, "The file."),
        refused(404, "There is no such file."),
        produces=("text/javascript", "text/css", "text/html", "image/svg+xml"),
    ),
)
