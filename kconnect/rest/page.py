"""
The documentation page, made of the same rows as the OpenAPI document: one HTML file that loads nothing.

Served by `documentation.py`; `page.html` is its template. Everything is readable without JavaScript; `page.js` adds the search
and the copying of the curl lines. Why not swagger-ui-bundle: that is 8.6 MB which show nothing without JavaScript, and this has
17 KB. Styles and script are in the page, and the policy that goes with it names them by their hashes, so that nothing else can
be loaded or run. Read next: `openapi.py`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from importlib import resources
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup, escape

from kconnect import __version__
from kconnect.rest import openapi, schemas
from kconnect.rest.operation import Answer, Operation, Role

_FILES = resources.files(__package__)
_STYLE, _SCRIPT, _TEMPLATE = (_FILES.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js", "html"))

_PLAIN_KINDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


POLICY = (
    f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page's Content-Security-Policy."""


def render(operations: Sequence[Operation], address: str) -> str:
    """The page. `address` is this worker's, for the curl lines, such as `http://host:8083`."""
    environment = Environment(autoescape=True)
    environment.filters |= {
        "answers": openapi.answers_of,
        "curl": lambda row: _curl(row, address),
        "example": _example,
        "path": _path,
        "role": lambda role: "anyone" if role is Role.ANYONE else role.name.lower(),
        "said": lambda value: value if isinstance(value, str) else json.dumps(value),
        "words": lambda text: Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))),
    }
    groups = [(*texts, [row for row in operations if openapi.group_of(row) == key]) for key, texts in openapi.GROUPS.items()]
    return environment.from_string(_TEMPLATE).render(
        description=openapi.DESCRIPTION,
        everywhere=openapi.EVERYWHERE,
        groups=[group for group in groups if group[2]],
        path_parameters=schemas.PATH_PARAMETERS,
        plain_kinds=_PLAIN_KINDS,
        script=Markup(_SCRIPT),
        shapes=[(name, schemas.SCHEMAS[name]) for name in _used(operations)],
        style=Markup(_STYLE),
        version=__version__,
    )


def _path(path: str) -> Markup:
    """Long paths may be broken at their slashes."""
    return Markup(re.sub(r"{\w+}", r"<i>\g<0></i>", str(escape(path)).replace("/", "/<wbr>")))


def _example(row: Operation) -> tuple[Answer, str] | None:
    """The first good answer that has a body, with one."""
    shown = next((answer for answer in row.answers if answer.schema is not None and answer.status < 300), None)
    if shown is None or shown.schema is None or shown.schema == "OpenAPI":
        return None
    return shown, json.dumps(schemas.example(schemas.ref(shown.schema)), indent=2, ensure_ascii=False)


def _curl(row: Operation, address: str) -> str:
    path = re.sub(r"{(\w+)}", lambda match: quote(str(schemas.example(schemas.PATH_PARAMETERS[match[1]]))), row.path)
    words = ["curl"] if row.method == "GET" else ["curl", "-X", row.method]
    line = shlex.join([*words, address + path])
    if row.body is not None:
        data = json.dumps(schemas.example(schemas.ref(row.body)), indent=2)
        line += " \\\n  -H 'Content-Type: application/json' \\\n  -d " + shlex.quote(data)
    return line


def _used(operations: Iterable[Operation]) -> list[str]:
    """The schemas that these operations name, and those that these refer to, in the order of `SCHEMAS`."""
    waiting = [answer.schema for row in operations for answer in row.answers if answer.schema]
    waiting += [row.body for row in operations if row.body]
    used = {"Error"}
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schemas.SCHEMAS[name]))
    return [name for name in schemas.SCHEMAS if name in used]
