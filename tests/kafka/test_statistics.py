"""What Kafka's clients say of themselves, and what becomes of it; `tests/integration/test_client_metrics.py` asks real ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconnect.kafka import statistics
from kconnect.kafka.statistics import Statistics, of_consumer, of_producer

BROKER = {
    "state": "UP",
    "rtt": {"avg": 3000, "max": 9000, "cnt": 2},
    "throttle": {"avg": 0, "cnt": 0},
    "txretries": 1,
    "txerrs": 2,
}
IDLE = {"state": "DOWN", "rtt": {"avg": 0, "max": 0, "cnt": 0}, "throttle": {"avg": 8, "cnt": 1}, "txretries": 0, "txerrs": 0}
SAID: dict[str, Any] = {
    **{"tx": 4, "tx_bytes": 400, "rx_bytes": 70, "txmsgs": 9, "rxmsgs": 7, "rxmsg_bytes": 60},
    **{
        "brokers": {"a": BROKER, "b": IDLE},
        "topics": {"t": {"batchcnt": {"avg": 5, "cnt": 2}}, "u": {"batchcnt": {"avg": 0, "cnt": 0}}},
    },
    "cgrp": {"assignment_size": 3, "rebalance_cnt": 2, "rebalance_age": 5000},
}


def told(said: object, read: Any) -> dict[str, float | None]:
    kept = Statistics({"client.id": "c-0"}, read)
    kept.callbacks["stats_cb"](said if isinstance(said, str) else json.dumps(said))
    assert {published.labels for published in kept.published()} <= {(("clientid", "c-0"),)}
    return {f"{each.prefix}_{name}": value for each in kept.published() for name, value in each.values.items()}


def test_a_producer() -> None:
    found = told(SAID, of_producer)
    assert found.pop("kafka_producer_request_latency_avg") == 3.0
    assert found == {
        **{
            "kafka_producer_request_total": 4,
            "kafka_producer_outgoing_byte_total": 400,
            "kafka_producer_incoming_byte_total": 70,
        },
        **{
            "kafka_producer_connection_count": 1,
            "kafka_producer_request_latency_max": 9.0,
            "kafka_producer_record_send_total": 9,
        },
        **{"kafka_producer_record_retry_total": 1, "kafka_producer_record_error_total": 2},
        **{"kafka_producer_records_per_request_avg": 5, "kafka_producer_produce_throttle_time_avg": 8},
    }


def test_a_consumer_with_a_group_and_without() -> None:
    found = told(SAID, of_consumer)
    assert found["kafka_consumer_fetch_manager_records_consumed_total"] == 7
    assert found["kafka_consumer_coordinator_last_rebalance_seconds_ago"] == 5
    assert found["kafka_consumer_coordinator_assigned_partitions"] == 3
    assert not any("coordinator" in name for name in told({**SAID, "cgrp": None}, of_consumer))
    nothing = told({**SAID, "brokers": {}, "cgrp": {**SAID["cgrp"], "rebalance_cnt": 0}}, of_consumer)
    assert nothing["kafka_consumer_request_latency_avg"] is nothing["kafka_consumer_request_latency_max"] is None
    assert nothing["kafka_consumer_coordinator_last_rebalance_seconds_ago"] == -1


@pytest.mark.parametrize("said", ["", "{", "[]", "{}", "null", json.dumps({**SAID, "brokers": {"a": {}}})])
def test_what_another_librdkafka_says_ends_nothing(said: str) -> None:
    assert told(said, of_producer) == told(said, of_consumer) == {}


def test_what_a_client_that_is_gone_has_said_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Statistics({}, of_producer)
    kept.callbacks["stats_cb"](json.dumps(SAID))
    assert kept.published()
    monkeypatch.setattr(statistics, "_FORGOTTEN_S", 0)
    assert kept.published() == ()
