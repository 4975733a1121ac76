"""
The schemas of bodies and the readers of bodies, which are two descriptions of one thing: refusals have sentences of their own.

Bodies that are a change or two away from one that fits are taken if, and only if, the schema in `/openapi.json` takes them.
What a schema can't say, or leaves to validation, stands in `BESIDE`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kconnect.errors import BadRequestError
from kconnect.rest import app, bodies, console, loggers, schemas
from tests.support import examples

READERS: dict[str, Callable[[bytes], Any]] = {
    "createConnector": bodies.create,
    "putConfig": bodies.config,
    "patchConfig": partial(bodies.config, expected=bodies.PATCH),
    "putTaskConfigs": bodies.task_configs,
    "alterOffsets": bodies.offsets,
    "validateConfig": bodies.config,
    "previewChain": bodies.preview,
    "replayDeadLetters": bodies.replay,
    "startBackfill": bodies.backfill,
    "beginReread": bodies.reread,
    "logIn": bodies.login,
}
PLACE = {"partition": 0, "offset": 12}
PAIR = {"partition": {"file": "a"}, "offset": {"position": 1}}
BEGINNINGS: dict[str, list[Any]] = {
    "previewChain": [
        {"config": {"connector.class": "C", "tasks.max": 1}, "records": [{"value": 1}]},
        {"config": {"connector.class": "C"}, "topic": "t", "limit": 3, "partition": 0, "offset": 2, "newest": False},
    ],
    "replayDeadLetters": [{"letters": [PLACE, PLACE], "again": True, "dry_run": False, "through_chain": True, "to_topic": "t"}],
    "startBackfill": [{"tasks": 2, "rate": 5, "into": "lake", "settings": {"a": "b", "c": 1}}],
    "beginReread": [{"tables": ["public.orders", "b.c"], "where": "id > 5"}],
    "logIn": [{"user": "ann", "password": "x"}, {"token": "x"}],
    "createConnector": [{"name": "n", "config": {"a": "b"}, "initial_state": "PAUSED", "initial_offsets": [PAIR]}],
    "alterOffsets": [{"offsets": [PAIR, {"partition": {"file": "b"}, "offset": None}]}],
    "putTaskConfigs": [[{"a": "b"}, {"c": 1, "d": True, "e": None}]],
}
ROWS = {
    row.id: row
    for row in (*app.OPERATIONS, *loggers.OPERATIONS, *console.OPERATIONS)
    if row.body is not None and row.id != "setLogger"
}
"""A level's name is for the handler, and answered with 404 as in Kafka Connect."""
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    1.5,
    "",
    " ",
    "x",
    "x" * 30_000,
    [],
    [1],
    ["x"],
    [{}],
    {},
    {"a": 1},
    {"a": []},
]


odd = st.sampled_from(ODD).map(deepcopy)


def places(data: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [at, *(place for key, value in inner for place in places(value, (*at, key)))]


@st.composite
def changed(draw: st.DrawFn, beginnings: list[Any]) -> Any:
    data = deepcopy(draw(st.sampled_from(beginnings)))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.sampled_from(places(data)))
        if not place:
            data = draw(odd)
            continue
        within = data
        for key in place[:-1]:
            within = within[key]
        kind = draw(st.sampled_from(("other", "gone", "more")))
        if kind == "gone":
            del within[place[-1]]
        elif kind == "more" and isinstance(within, dict):
            within["unknown"] = draw(odd)
        else:
            within[place[-1]] = draw(odd)
    return data


def as_texts(name: str, data: Any) -> Any:
    """Return the body as it is read: what is no text becomes one, and validation refuses a missing name."""
    if name != "createConnector" or not isinstance(data, dict):
        return data
    told = {**data, "name": "x"} if data.get("name") in (None, "") else dict(data)
    for key in ("name", "initial_state"):
        if isinstance(told.get(key), (bool, int, float)):
            told[key] = str(told[key])
    return told


BESIDE: dict[str, tuple[str, ...]] = {
    "previewChain": ("has no 'connector.class'", "Either 'records' or 'topic'", "'offset' needs a 'partition'"),
    "logIn": ("is no login", "too long for a cookie"),
    "beginReread": ("more than one signal has room for", "condition in SQL"),
}
"""What refuses a body that fits its schema: parts that go together only, and lengths in sum."""


@pytest.mark.parametrize("name", ROWS)
def test_what_the_schema_takes_is_taken_and_nothing_else(name: str) -> None:
    row = ROWS[name]
    validator = jsonschema_rs.validator_for({**schemas.ref(str(row.body)), "components": {"schemas": schemas.SCHEMAS}})
    read, beginnings = READERS[name], BEGINNINGS.get(name) or [schemas.example(schemas.ref(str(row.body)))]
    found: Counter[bool] = Counter()

    @settings(max_examples=examples(300))
    @given(changed(beginnings))
    def run(data: Any) -> None:
        fits, refusal = validator.is_valid(as_texts(name, data)), None
        try:
            read(json.dumps(data).encode())
        except BadRequestError as error:
            refusal = str(error)
        if refusal is not None and fits:
            assert any(part in refusal for part in BESIDE.get(name, ())), refusal
        elif refusal is None:
            assert fits, list(map(str, validator.iter_errors(data)))
        found[fits] += 1

    run()
    assert min(found[True], found[False]) > 10, found
