"""What validation answers about settings of Kafka clients that no client can be made with, or that Java's clients refuse."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.settings.validation import errors_message
from kconnect.core.settings.worker import for_clients
from kconnect.plugins.asking import Asking
from kconnect.plugins.registry import Registry
from kconnect.plugins.validation import Validation
from tests.kafka.test_clients import WORKER

SOURCE = {"name": "s", "connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/f"}
SINK = {"name": "s", "connector.class": "FileStreamSink", "topics": "t", "file": "/tmp/f"}


def infos(config: dict[str, str]) -> dict[str, Any]:
    worker = {"clients": for_clients(WORKER), "converters": {}}
    asking = Asking(Registry.scan(None), lambda stage: None, worker)
    return Validation(asking, config["connector.class"], config, lambda texts: pytest.fail("no reference")).infos()


def errors(config: dict[str, str]) -> dict[str, list[str]]:
    return {row["value"]["name"]: row["value"]["errors"] for row in infos(config)["configs"] if row["value"]["errors"]}


@pytest.mark.parametrize(
    ("config", "setting", "rule"),
    [
        (SINK, "consumer.override.auto.offset.reset=Earliest", "The value must be either 'earliest'"),
        (SINK, "consumer.override.isolation.level=READ_COMMITTED", "String must be one of: read_committed, read_uncommitted"),
        (SOURCE, "producer.override.acks=ALL", "String must be one of: all, -1, 0, 1"),
        (SOURCE, "producer.override.compression.type=GZIP", "String must be one of: none, gzip, snappy, lz4, zstd"),
        (SOURCE, "producer.override.max.request.size=100", "it must be from 1000"),
        (SOURCE, "producer.override.delivery.timeout.ms=10", "linger.ms is 20 unless it is set"),
        (SOURCE, "producer.override.transactional.id=mine", "Remove this setting"),
        (SINK, "consumer.override.session.timeout.ms=7200000", "group.max.session.timeout.ms"),
    ],
)
def test_the_setting_itself_has_the_error(config: dict[str, str], setting: str, rule: str) -> None:
    name, _, value = setting.partition("=")
    found = errors({**config, name: value})
    assert list(found) == [name]
    [message] = found[name]
    assert message.startswith(f"Invalid value {value} for configuration ") and rule in message


def test_the_answer_of_a_refused_request_has_the_sentence() -> None:
    given = {"producer.override.enable.idempotence": "true", "producer.override.acks": "1"}
    message = errors_message(infos({**SOURCE, **given}))
    assert "contains the following 1 error(s)" in message
    assert "Invalid value 1 for configuration producer.override.acks: acks must be set to all when" in message
    assert "producer.override.enable.idempotence is true. Change one of them, or remove it" in message


def test_what_kafka_connect_runs_is_not_refused() -> None:
    assert errors({**SINK, "consumer.override.auto.offset.reset": "by_duration:PT1H"}) == {}
    assert errors({**SOURCE, "producer.override.linger.ms": "5", "producer.override.acks": "1"}) == {}
    assert errors({**SOURCE, "consumer.override.heartbeat.interval.ms": "900000"}) == {}, "it has no consumer"
