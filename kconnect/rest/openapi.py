"""
The OpenAPI 3.1 document, made of the rows of the API.

Served by `documentation.py`. What a row says of itself is in `operation.py`, what every operation has besides is said here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kconnect import __version__
from kconnect.rest import schemas
from kconnect.rest.operation import JSON, Answer, Operation, Parameter, Role, refused

DESCRIPTION = (
    "The REST API of Kafka Connect, as kconnect serves it. Any worker accepts any request, and forwards to the leader what "
    "only the leader may do."
)

GROUPS = {
    "connectors": ("Connectors", "Configs, states, tasks and offsets."),
    "connector-plugins": ("Plugins", "Installed plugins, their settings, and the validation of configs."),
    "admin": ("Loggers", "What a worker logs."),
    "": ("Worker and cluster", "The health of this worker, and what runs where."),
}
"""By the first part of the path: the name under which operations are listed, and what they are about."""

_NOT_ACCEPTABLE = Answer(406, "`Accept` names no media type that this operation can answer with. The body has no content type.")
_NO_JSON = Answer(415, "The body's `Content-Type` is not `application/json`. The answer's body has no content type.")
_TOO_LARGE = refused(413, "The body is larger than this worker accepts.")
_BUSY = refused(503, "The worker is reading as many large bodies as it can; `Retry-After` says when to try again.")
_TOO_SLOW = Answer(408, "The body did not arrive within 90 seconds.", "Error")
_FAILED = refused(500, "The request failed, or took longer than 90 seconds.")
_UNAUTHENTICATED = refused(401, "With authentication on: the request has no login, or a wrong one.")
_TOO_MANY = refused(429, "With authentication on: too many passwords wait to be checked.")
_FORBIDDEN = "With authentication on: the user lacks the role `{}`."
_FOREIGN = "Or a browser sends it, without JSON, for a page of an origin that `access.control.allow.origin` does not name."

EVERYWHERE = (
    _UNAUTHENTICATED,
    refused(403, "With authentication on: the user lacks the role that the operation needs."),
    _NOT_ACCEPTABLE,
    _TOO_SLOW,
    _TOO_LARGE,
    _NO_JSON,
    _FAILED,
    _BUSY,
)
"""What more or less every operation may answer, for a reader to be told once."""


def group_of(operation: Operation) -> str:
    """A key of GROUPS."""
    first = operation.path.split("/")[1]
    return first if first in GROUPS else ""


def answers_of(operation: Operation) -> list[Answer]:
    """All that an operation may answer, by status, those of its row and those of every operation."""
    answers = {answer.status: answer for answer in operation.answers}
    for common in _common(operation):
        specific = answers.get(common.status)
        answers[common.status] = common if specific is None else _both(specific, common)
    return [answers[status] for status in sorted(answers)]


def _common(operation: Operation) -> Iterator[Answer]:
    yield _NOT_ACCEPTABLE
    if operation.body is not None:
        yield from (_TOO_SLOW, _TOO_LARGE, _NO_JSON, _BUSY)
    if operation.role is not Role.ANYONE:
        forbidden = _FORBIDDEN.format(operation.role.name.lower())
        if operation.method == "POST":
            forbidden = f"{forbidden} {_FOREIGN}"
        yield from (_UNAUTHENTICATED, refused(403, forbidden), _TOO_MANY)
    if not any(answer.status == 500 for answer in operation.answers):
        yield _FAILED


def _both(special: Answer, common: Answer) -> Answer:
    return Answer(special.status, f"{special.when} {common.when}", special.schema, special.headers)


def document(operations: Iterable[Operation]) -> dict[str, Any]:
    """The document, for the operations that this listener serves."""
    rows = list(operations)
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row)
    used = {group_of(row) for row in rows}
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "kconnect",
            "version": __version__,
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This worker"}],
        "tags": [{"name": name, "description": text} for key, (name, text) in GROUPS.items() if key in used],
        "paths": paths,
        "components": {
            "schemas": schemas.SCHEMAS,
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
    }


def _operation(row: Operation) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": row.id,
        "tags": [GROUPS[group_of(row)][0]],
        "summary": row.summary,
        "description": " ".join(filter(None, (row.notes, _role_text(row.role)))),
        "parameters": [*map(_path_parameter, row.path_parameters), *map(_query_parameter, row.query)],
        "responses": {str(answer.status): _response(answer, row.produces) for answer in answers_of(row)},
        # An empty requirement: none at all is enough, as long as the worker asks for none.
        "security": [] if row.role is Role.ANYONE else [{}, {"basic": []}, {"token": []}],
        "x-role": row.role.name.lower(),
    }
    if row.body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schemas.ref(row.body)}}}
    return operation


def _role_text(role: Role) -> str:
    if role is Role.ANYONE:
        return "Needs no login, even with authentication on."
    return f"With authentication on, it needs the role `{role.name.lower()}`."


def _path_parameter(name: str) -> dict[str, Any]:
    schema = dict(schemas.PATH_PARAMETERS[name])
    return {"name": name, "in": "path", "required": True, "description": schema.pop("description"), "schema": schema}


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    schema = {"type": "array", "items": parameter.schema} if parameter.many else parameter.schema
    return {"name": parameter.name, "in": "query", "description": parameter.summary, "schema": schema}


def _response(answer: Answer, produces: tuple[str, ...]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": answer.when}
    if answer.headers:
        response["headers"] = {name: {"description": text, "schema": {"type": "string"}} for name, text in answer.headers}
    if answer.schema is not None:
        response["content"] = {JSON: {"schema": schemas.ref(answer.schema)}}
    elif answer.status == 200 and produces != (JSON,):
        response["content"] = {media_type: {"schema": {"type": "string"}} for media_type in produces}
    return response
