"""
One request of the script, as data, and the words to write it with.

`$N` stands for the cluster's own prefix of names, `$DIR` for its own directory: in paths, bodies and headers. The requests are
in `script/`, in the order in which they are sent. Called by `run.py`. Read next: `cluster.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Condition = Callable[[int, Any], bool]
"""Of an answer's status and its JSON body: whether the cluster has come to where the answers may be compared."""

NO_BODY = object()


@dataclass(frozen=True)
class Step:
    """
    `body` is JSON data, or bytes that are sent as they are. With `until`, a request that changes nothing is repeated until
    its answer satisfies it.
    """

    title: str
    method: str
    path: str
    body: Any = NO_BODY
    headers: Mapping[str, str] = field(default_factory=dict)
    until: Condition | None = None


def get(title: str, path: str, until: Condition | None = None, **headers: str) -> Step:
    return Step(title, "GET", path, NO_BODY, _headers(headers), until)


def put(title: str, path: str, body: Any = NO_BODY, **headers: str) -> Step:
    return Step(title, "PUT", path, body, _headers(headers))


def post(title: str, path: str, body: Any = NO_BODY, **headers: str) -> Step:
    return Step(title, "POST", path, body, _headers(headers))


def patch(title: str, path: str, body: Any = NO_BODY) -> Step:
    return Step(title, "PATCH", path, body)


def delete(title: str, path: str) -> Step:
    return Step(title, "DELETE", path)


def send(title: str, method: str, path: str, body: Any = NO_BODY, **headers: str) -> Step:
    return Step(title, method, path, body, _headers(headers))


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    """`content_type="…"` becomes `Content-Type: …`."""
    return {name.replace("_", "-").title(): value for name, value in given.items()}


# -- conditions -------------------------------------------------------------------------------------------------------


def states(connector: str, *tasks: str) -> Condition:
    """Of a status: these states, and no more tasks."""
    return lambda status, body: (
        status == 200 and body["connector"]["state"] == connector and [task["state"] for task in body["tasks"]] == list(tasks)
    )


def tasks(count: int) -> Condition:
    return lambda status, body: status == 200 and len(body) == count


def configured(**settings: str | None) -> Condition:
    """Of tasks: the first one has these settings, `batch_size` for `batch.size`; None is one that it has not."""
    wanted = {name.replace("_", "."): value for name, value in settings.items()}
    return lambda status, body: (
        status == 200 and bool(body) and all(body[0]["config"].get(name) == value for name, value in wanted.items())
    )


def some_offsets(status: int, body: Any) -> bool:
    """A partition whose offset is null is one whose reset Connect has read by half."""
    return status == 200 and bool(body["offsets"]) and all(each["offset"] is not None for each in body["offsets"])


def no_offsets(status: int, body: Any) -> bool:
    """Right after a reset Connect may show a partition whose offset is null, until it has read the other tombstone."""
    return status == 200 and not body["offsets"]


def some_topics(status: int, body: Any) -> bool:
    return status == 200 and all(used["topics"] for used in body.values())


def no_topics(status: int, body: Any) -> bool:
    return status == 200 and not any(used["topics"] for used in body.values())


def gone(status: int, body: Any) -> bool:
    return status == 404
