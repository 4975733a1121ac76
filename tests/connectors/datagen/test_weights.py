"""How much a made-up record may be: whoever may create connectors must not take the memory of all that run in a host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconnect.connectors.datagen.connector import DatagenSourceConnector
from kconnect.connectors.datagen.weights import longest_match
from kconnect.testing import SourceRunner, config_errors
from tests.support import wait_until


def config(**field: Any) -> dict[str, str]:
    spec = {"type": "record", "name": "R", "fields": [{"name": "a", "type": field}]}
    return {"kafka.topic": "t", "schema.string": json.dumps(spec), "records.per.second": "100000"}


def many(kind: Any, length: int) -> dict[str, Any]:
    return {"type": "array", "items": kind, "arg.properties": {"length": length}}


TOO_MUCH: dict[str, dict[str, Any]] = {
    "a long text": {"type": "string", "arg.properties": {"length": 300_000_000}},
    "long bytes": {"type": "bytes", "arg.properties": {"length": {"min": 1, "max": 300_000_000}}},
    "fixed": {"type": "fixed", "name": "F", "size": 300_000_000},
    "lists of lists": many(many("int", 3000), 3000),
    "a map": {"type": "map", "values": "int", "arg.properties": {"length": 10_000_000}},
    "a pattern": {"type": "string", "arg.properties": {"regex": "((a{100}){100}|b{3}){100}"}},
    "a pattern without an end": {"type": "string", "arg.properties": {"regex": "((a*)*)*"}},
    "a pattern that rstr can't make": {"type": "string", "arg.properties": {"regex": "[a-z]{300000000}"}},
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_config_takes_no_more_memory_than_there_is(name: str) -> None:
    """Whoever may create connectors asks for gigabytes a record: the config is refused, and says why."""
    message = str(config_errors(DatagenSourceConnector, config(**TOO_MUCH[name]))["schema.string"])
    assert "are possible" in message


def test_of_records_that_are_large_fewer_are_made_at_once() -> None:
    with SourceRunner(DatagenSourceConnector, config(**many("int", 50_000))) as runner:
        polls: list[int] = []
        wait_until(lambda: bool(polls.append(len(runner.poll() or ())) or polls[-1]), 60)
        assert polls[-1] <= 20


@pytest.mark.parametrize(
    ("regex", "longest"),
    [("a", 1), ("ab?c{2,5}", 7), ("(a|bcd)x", 4), ("[a-z]{3}|b", 3), ("a*", 100), ("(?:ab)+", 202), ("^a$", 1), (r"(ab)\1", 5)],
)
def test_the_longest_text_of_a_pattern(regex: str, longest: int) -> None:
    assert longest_match(regex) == longest
