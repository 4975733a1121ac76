"""
The documentation page, made of the same rows as the OpenAPI document: one HTML file that loads nothing.

Served by `documentation.py`. Everything is readable without JavaScript; `page.js` adds the search and the copying of the curl
lines. Why not swagger-ui-bundle: that is 8.6 MB which show nothing without JavaScript, and this has 17 KB. Styles and script
are in the page, and the policy that goes with it names them by their hashes, so that nothing else can be loaded or run. Read
next: `openapi.py`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shlex
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any
from urllib.parse import quote

from kconnect import __version__
from kconnect.rest import openapi, schemas
from kconnect.rest.operation import Answer, Operation, Role

_FILES = resources.files(__package__)
_STYLE = _FILES.joinpath("page.css").read_text("utf-8")
_SCRIPT = _FILES.joinpath("page.js").read_text("utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


POLICY = (
    f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page's Content-Security-Policy."""


def render(operations: Sequence[Operation], address: str) -> str:
    """The page. `address` is this worker's, for the curl lines, such as `http://host:8083`."""
    groups = [
        (name, text, [row for row in operations if openapi.group_of(row) == key])
        for key, (name, text) in openapi.GROUPS.items()
    ]
    groups = [group for group in groups if group[2]]
    navigation = "".join(f"<h2>{html.escape(name)}</h2><ul>{''.join(map(_link, rows))}</ul>" for name, _, rows in groups)
    body = "".join(
        f"<h2>{html.escape(name)}</h2><p>{_text(text)}</p>" + "".join(_operation(row, address) for row in rows)
        for name, text, rows in groups
    )
    shapes = "".join(_schema(name) for name in _used(operations))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>kconnect REST API</title>
<link rel="icon" href="data:,">
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>kconnect REST API</h1>
<p>Version {html.escape(__version__)} · <a href="openapi.json">openapi.json</a></p>
</header>
<nav aria-label="Operations">
<details open><summary>Operations</summary>
<input type="search" id="search" placeholder="Find an operation" aria-label="Find an operation" hidden>
{navigation}
<h2>Shapes</h2><ul><li><a href="#shapes">What is sent and answered</a></li></ul>
</details>
</nav>
<main>
<p class="lead">{_text(openapi.DESCRIPTION)}</p>
<p>Bodies are JSON, sent with <code>Content-Type: application/json</code>. Where authentication is on, add
<code>-u NAME</code> or <code>-H 'Authorization: Bearer TOKEN'</code> to the curl lines.</p>
<section id="everywhere">
<h3>Answers that every operation may give</h3>
{_everywhere()}
</section>
{body}
<h2 id="shapes">Shapes</h2>
<p>What is sent and answered. Readers should bear fields that are not listed: later versions may have more.</p>
{shapes}
</main>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _everywhere() -> str:
    return _table("answers", ("Status", "When"), ((_status(answer), _text(answer.when)) for answer in openapi.EVERYWHERE))


def _status(answer: Answer) -> str:
    return f'<b class="status s{answer.status // 100}">{answer.status}</b>'


def _link(row: Operation) -> str:
    return f'<li><a href="#{row.id}">{_method(row)}<span>{_path(row.path)}</span></a></li>'


def _method(row: Operation) -> str:
    return f'<b class="method {row.method.lower()}">{row.method}</b>'


def _path(path: str) -> str:
    """Long paths may be broken at their slashes."""
    return re.sub(r"{\w+}", r"<i>\g<0></i>", html.escape(path).replace("/", "/<wbr>"))


def _operation(row: Operation, address: str) -> str:
    role = "anyone" if row.role is Role.ANYONE else row.role.name.lower()
    parts = [
        f'<section class="operation" id="{row.id}">',
        f'<h3>{_method(row)}<a href="#{row.id}">{_path(row.path)}</a><span class="role">{role}</span></h3>',
        f"<p><strong>{_text(row.summary)}.</strong> {_text(row.notes)}</p>",
        _parameters(row),
        f'<div class="example"><pre>{html.escape(_curl(row, address))}</pre></div>',
        _body(row),
        _answers(row),
        "</section>",
    ]
    return "\n".join(filter(None, parts))


def _parameters(row: Operation) -> str:
    rows = [
        (f"<code>{name}</code>", "path", _text(schemas.PATH_PARAMETERS[name]["description"])) for name in row.path_parameters
    ]
    for each in row.query:
        text = [_text(each.summary), _choice(each.schema), "May be given several times." if each.many else ""]
        rows.append((f"<code>{html.escape(each.name)}</code>", "query", " ".join(filter(None, text))))
    return _table("parameters", ("Parameter", "In", "Meaning"), rows)


def _choice(schema: schemas.Schema) -> str:
    values = [f"<code>{html.escape(str(value))}</code>" for value in schema.get("enum", ())]
    default = schema.get("default")
    said = default if isinstance(default, str) else json.dumps(default)
    default = f"By default <code>{html.escape(said)}</code>." if default is not None else ""
    return " ".join(filter(None, (f"One of {', '.join(values)}." if values else "", default)))


def _body(row: Operation) -> str:
    return "" if row.body is None else f"<p>Body: {_shape_link(row.body)}</p>"


def _answers(row: Operation) -> str:
    own = {answer.status for answer in row.answers}
    rows = [
        (
            _status(answer),
            _text(answer.when),
            "–" if answer.schema is None else _shape_link(answer.schema),
        )
        for answer in openapi.answers_of(row)
        if answer.status in own
    ]
    others = [str(answer.status) for answer in openapi.answers_of(row) if answer.status not in own]
    shown = next((answer for answer in row.answers if answer.schema is not None and answer.status < 300), None)
    example = ""
    if shown is not None and shown.schema != "OpenAPI":
        data = _pretty(schemas.example(schemas.ref(shown.schema or "")))
        example = f"<details><summary>An answer with {shown.status}</summary><pre>{html.escape(data)}</pre></details>"
    return (
        _table("answers", ("Status", "When", "Body"), rows)
        + f'<p class="others">Also {", ".join(others)}: <a href="#everywhere">as everywhere</a>.</p>'
        + example
    )


def _curl(row: Operation, address: str) -> str:
    path = re.sub(r"{(\w+)}", lambda found: quote(str(schemas.example(schemas.PATH_PARAMETERS[found[1]]))), row.path)
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
    found = {"Error"}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schemas.SCHEMAS[name]))
    return [name for name in schemas.SCHEMAS if name in found]


def _schema(name: str) -> str:
    schema = schemas.SCHEMAS[name]
    fields = [
        (_field(field, field in schema["required"]), _kind(each), _says(each))
        for field, each in schema.get("properties", {}).items()
    ]
    kind = "" if fields else f" {_kind(schema)}."
    return (
        f'<section class="shape" id="shape-{name}"><h3><a href="#shape-{name}">{name}</a></h3>'
        f"<p>{_text(schema.get('description', ''))}{kind}</p>{_table('fields', ('Field', 'Type', 'Meaning'), fields)}</section>"
    )


def _field(name: str, required: bool) -> str:
    return f"<code>{html.escape(name)}</code>" + ("" if required else " <small>optional</small>")


def _says(schema: schemas.Schema) -> str:
    return " ".join(filter(None, (_text(schema.get("description", "")), _choice(schema))))


def _kind(schema: schemas.Schema) -> str:
    """The type in words, with links."""
    if "$ref" in schema:
        return _shape_link(schema["$ref"].rpartition("/")[2])
    if "oneOf" in schema:
        return " or ".join(_kind(each) for each in schema["oneOf"])
    if "enum" in schema:
        return "text"
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    return " or ".join(_WORDS[kind].format(*_inner(kind, schema)) for kind in kinds)


_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "array": "list of {}",
    "object": "object{}",
}


def _inner(kind: str, schema: schemas.Schema) -> Iterable[str]:
    if kind == "array":
        yield _kind(schema["items"])
    elif kind == "object":
        values, fields = schema.get("additionalProperties"), schema.get("properties")
        if values:
            yield f" of {_kind(values)}, by name"
        else:
            yield f" with {', '.join(f'<code>{name}</code>' for name in fields)}" if fields else ""


def _shape_link(name: str) -> str:
    return f'<a href="#shape-{name}">{name}</a>'


def _table(kind: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML."""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    return f'<table class="{kind}"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>' if body else ""


def _text(text: str) -> str:
    """Escaped, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _pretty(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)
