"""
What REST answers when something went wrong: the status and the body.

Called by `resource.py` for whatever a handler or the herder raised, and by `app.py` for paths that nobody serves.
The classes and the statuses are in `kconnect.errors`.
"""

from __future__ import annotations

import logging
from http import HTTPStatus

import orjson
from starlette.responses import Response

from kconnect.errors import ConnectError, row_of

log = logging.getLogger("kconnect.rest")


def status_of(error: Exception) -> int:
    return row_of(type(error)).status


def respond(error: Exception, method: str, path: str) -> Response:
    """Turn an error into its answer; what is our own fault goes to the log, once."""
    status = status_of(error)
    message = str(error)
    if not isinstance(error, ConnectError):
        log.error("%s %s failed unexpectedly", method, path, exc_info=error)
        message = message or type(error).__name__
    elif status >= 500:
        log.warning("%s %s failed: %s", method, path, error)
    return Response(body(status, message), status, media_type="application/json")


def framework(status: int, headers: dict[str, str] | None = None) -> Response:
    """An error that comes before any resource is reached. Connect sends these without a Content-Type."""
    return Response(body(status, f"HTTP {status} {HTTPStatus(status).phrase}"), status, headers)


def too_large(limit: int) -> Response:
    """Return the response to a body of more than `limit` bytes."""
    text = f"The request's body is larger than {limit:,} bytes, the most that this worker accepts."
    return Response(body(413, text), 413, media_type="application/json")


def busy() -> Response:
    """Return the response to a body that can't be read now, because too many others are being read."""
    text = "This worker is reading as many large bodies as it can at once. Try again in a moment."
    return Response(body(503, text), 503, {"Retry-After": "1"}, media_type="application/json")


def crowded() -> Response:
    """Return the response to a request for which there is no place."""
    text = "This worker is answering as many requests of this caller, or of all callers, as it can. Try again in a moment."
    return Response(body(503, text), 503, {"Retry-After": "1"}, media_type="application/json")


def body(status: int, message: str | None) -> bytes:
    return orjson.dumps({"error_code": status, "message": message or None})
