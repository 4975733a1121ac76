"""Documents of data streams, without a cluster."""

from __future__ import annotations

import decimal
import json
from typing import Any

import pytest

from kconnect.api import SinkRecord, Struct, schema
from kconnect.connectors.groups import groups_of
from kconnect.connectors.search import settings
from kconnect.connectors.search.actions import Action, Bad, Maker


@pytest.mark.parametrize(
    ("fields", "value", "time"),
    [
        ("@timestamp", {"@timestamp": "2024-01-01T00:00:00.123456Z"}, "2024-01-01T00:00:00.123456Z"),
        ("at,@timestamp", {"@timestamp": "2024-01-01T00:00:00Z", "at": None}, "2024-01-01T00:00:00Z"),
        ("at", {"at": "2024-01-01T00:00:00Z"}, "2024-01-01T00:00:00.000+00:00"),
        ("", {"@timestamp": 5}, 5),
        ("at", {"n": 1}, "1970-01-01T00:00:00.001+00:00"),
    ],
)
def test_the_time_of_a_document_is_there_once(fields: str, value: Any, time: Any) -> None:
    stream = {"data.stream.type": "LOGS", "data.stream.dataset": "d", "data.stream.timestamp.field": fields}
    maker = Maker(settings.CONFIG.parse({"name": "c", "topics": "t", "connection.url": "http://x", **stream}))
    (group,) = groups_of([SinkRecord("t", 0, None, None, None, value, 0, timestamp=1)])
    (action,) = maker.actions(group)
    assert isinstance(action, Action)
    pairs = json.loads(action.lines[1], object_pairs_hook=list)
    assert [each for name, each in pairs if name == "@timestamp"] == [time]
    assert {name for name, _ in pairs} == {"@timestamp", *value}


def test_a_decimal_that_a_merge_would_round_is_refused() -> None:
    maker = Maker(settings.CONFIG.parse({"name": "c", "topics": "t", "connection.url": "http://x", "write.method": "UPSERT"}))
    inner = schema.struct({"price": schema.decimal_schema(2)})
    own = schema.struct({"in": schema.array(inner)})
    values = [
        Struct(own, {"in": [Struct(inner, {"price": decimal.Decimal(text)})]}) for text in ("1.10", "12345678901234567.89")
    ]
    (group,) = groups_of([SinkRecord("t", 0, None, "k", own, value, at, timestamp=1) for at, value in enumerate(values)])
    good, bad = maker.actions(group)
    assert isinstance(good, Action) and b'"price":1.10' in good.lines[1]
    assert isinstance(bad, Bad) and "12345678901234567.89, which the cluster would round" in str(bad.error)
