"""Documents of data streams, without a cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconnect.api import SinkRecord
from kconnect.connectors.groups import groups_of
from kconnect.connectors.search import settings
from kconnect.connectors.search.actions import Action, Maker


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
