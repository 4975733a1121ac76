"""How late a row may come: `kconnect/core/describe/lateness.py`."""

from __future__ import annotations

import pytest

from kconnect.core.describe import lateness


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"connector.class": "SqlSource", "mode": "bulk"}, None),
        ({"connector.class": "SqlSink", "mode": "incrementing"}, None),
        ({"connector.class": "x.SqlSourceConnector", "mode": "incrementing"}, "incrementing.delay.interval.ms is 0"),
        (
            {"connector.class": "SqlSource", "mode": "incrementing", "incrementing.delay.interval.ms": "1500"},
            "up to 1.5 s after",
        ),
        ({"connector.class": "SqlSource", "mode": "Timestamp", "timestamp.delay.interval.ms": " 5000 "}, "up to 5 s after"),
        ({"connector.class": "SqlSource", "mode": "timestamp+incrementing"}, "timestamp.delay.interval.ms is 0"),
        (
            {"connector.class": "SqlSource", "mode": "timestamp", "timestamp.delay.interval.ms": "${file:/x:y}"},
            "is ${file:/x:y}",
        ),
        ({"connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "mode": "incrementing"}, "a greater number"),
        ({"connector.class": "HttpSource", "since.path": "at"}, "since.path"),
        ({"connector.class": "HttpSource"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_it_is_said(config: dict[str, str | None], said: str | None) -> None:
    sentence = lateness.of(config)
    assert sentence is None if said is None else said in (sentence or "")
