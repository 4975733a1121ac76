"""
`/openapi.json` and `/docs`: what this listener serves, for programs and for people. Kafka Connect has no such resources.

Both tell of the rows that the application was built with, so they can't differ from them. Read next: `openapi.py`, `page.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson
from starlette.responses import Response

from kconnect.rest import openapi, page
from kconnect.rest.operation import Answer, Role
from kconnect.rest.resource import Call, ready


async def get_document(call: Call) -> Response:
    return ready(_once(call, "", lambda: orjson.dumps(openapi.document(call.api.operations)).decode()))


async def get_page(call: Call) -> Response:
    headers = {
        "Content-Security-Policy": page.POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    address = call.location().rstrip("/")
    text = _once(call, address, lambda: page.render(call.api.operations, address))
    return Response(text, headers=headers, media_type="text/html")


def _once(call: Call, key: str, make: Callable[[], str]) -> str:
    """Return what `make` gave for this key at first: it takes long, and all other requests wait for it."""
    documents = call.api.documents
    if key not in documents:
        documents[key] = make()
    return documents[key]


OPERATIONS = (
    Role.READ.may(
        "GET /openapi.json", get_document, "This API as an OpenAPI document", Answer(200, "The document.", "OpenAPI")
    ),
    Role.READ.may(
        "GET /docs",
        get_page,
        "This API as a page to read",
        Answer(200, "The page. It loads nothing from elsewhere."),
        produces=("text/html",),
    ),
)
