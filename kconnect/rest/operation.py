"""
The rows of the API: what each operation is called with, what it answers, and who may call it.

Each resource module lists its `OPERATIONS`; `app.py` makes routes of them, `openapi.py` and `documentation.py` what is told of
them. So an operation is described where it is served, and nowhere else. Read next: `connectors.py` for rows, `schemas.py`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

if TYPE_CHECKING:
    from kconnect.rest.resource import Call

Handler = Callable[["Call"], Awaitable[Response]]

JSON = "application/json"


class Role(enum.IntEnum):
    """The right that an operation needs. Each role includes those before it."""

    ANYONE = 0
    """Also callers without a name: whoever looks whether the worker is up, and workers, whose requests are signed."""
    READ = 1
    OPERATE = 2
    """Pause, resume, stop, restart: nothing that changes what a connector is."""
    ADMIN = 3
    """
    All else. Validating a config is of these, though it changes nothing: plugin code acts on the config, and may connect with
    the worker's secrets to wherever the config says.
    """

    def may(self, resource: str, handler: Handler, summary: str, *answers: Answer, **more: Any) -> Operation:
        """Return the row of an operation that needs this role. `more` are the other fields of `Operation`."""
        return Operation(resource, handler, summary, self, answers, **more)


@dataclass(frozen=True, slots=True)
class Answer:
    """A status that an operation may answer with. `schema` is a name in `schemas.SCHEMAS`; None if the answer has no body."""

    status: int
    when: str
    schema: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Names and what they say."""


def refused(status: int, when: str) -> Answer:
    """A refusal, with Connect's error body."""
    return Answer(status, when, "Error")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter; `schema` is JSON Schema. With `many` it may be given several times, and all of them count."""

    name: str
    summary: str
    schema: dict[str, Any]
    many: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """
    A method of a path, such as `GET /connectors`. HEAD and OPTIONS are added by the framework.

    `answers` are those that are this operation's own; what every operation may answer (406, 408, 413, 415, 500, 503 and, with
    authentication, 401, 403 and 429) is added by `openapi.py`. `body` is a name in `schemas.SCHEMAS`, `produces` the media
    types that the handler gives: whoever accepts none of them gets 406. A body of another media type than JSON gets 415, unless
    it is `signed`: other workers send that, and without a signature it is not read.
    """

    resource: str
    handler: Handler
    summary: str
    role: Role
    answers: tuple[Answer, ...]
    query: tuple[Parameter, ...] = ()
    body: str | None = None
    notes: str = ""
    produces: tuple[str, ...] = (JSON,)
    signed: bool = False
    changes: bool = True
    """False: the audit log leaves it out, whatever its method. GET never changes anything."""
    errand: str | None = None
    """The kind (`errands.AT_ONCE`) of the process that answers it: callers have it in turns."""
    probe: bool = False
    """Whatever looks whether the worker is up may ask it, under any name and while others are refused."""
    reveals: bool = False
    """Whether it answers with records' data, or what may quote it: then it is in the audit log, though it changes nothing."""

    @property
    def method(self) -> str:
        return self.resource.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.resource.partition(" ")[2]

    @property
    def id(self) -> str:
        """`createConnector`: what clients that are made from the document call it. It is the handler's name."""
        return re.sub(r"_(\w)", lambda match: match[1].upper(), self.handler.__name__)

    @property
    def path_parameters(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)


def is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == JSON


def accepts(accept: str, produces: Iterable[str]) -> bool:
    """Whether somebody who sent this `Accept` header takes one of some media types."""
    if not accept.strip():
        return True
    ranges = {"*", "*/*"}
    for media_type in produces:
        essence = media_type.partition(";")[0]
        ranges |= {essence, f"{essence.partition('/')[0]}/*"}
    for item in accept.split(","):
        media_range, *parameters = (part.strip().lower() for part in item.split(";"))
        if media_range in ranges:
            weight = next((p[2:] for p in parameters if p.startswith("q=")), "1")
            if weight.strip("0.") or not weight:
                return True
    return False
