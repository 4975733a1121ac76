"""Attacks on a sink with topics.regex by whoever may make topics, whose names the pattern is looked for in."""

from __future__ import annotations

from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.kafka.consumer import TaskConsumer

LIMIT_S = 60.0


class Listener:
    """Has nothing to say."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: {}


def test_a_topic_that_keeps_the_pattern_busy_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """Who may make topics makes one whose name splits in many ways: the task read none any more, and failed at each start."""
    broker = ck.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    known = next(iter(broker.list_topics(timeout=LIMIT_S).brokers.values()))
    for topic in ("aab", "a" * 60):
        broker.list_topics(topic, timeout=LIMIT_S)
    client = {"bootstrap.servers": f"{known.host}:{known.port}", "group.id": "g", "partition.assignment.strategy": "range"}
    consumer = TaskConsumer(client, {"topics.regex": "(a|aa)+b"}, Listener())
    try:
        consumer.subscribe()
        assert consumer._topics == ["aab"]
    finally:
        consumer.close(1)
    assert "is passed over: It takes more than 0.5 s to look for the pattern" in caplog.text
