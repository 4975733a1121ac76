"""
What the Kafka clients of a task say of themselves, under the names that Kafka's own clients have in JMX.

A client says it every half minute, a consumer more often, to whoever polls it: the task's thread, which keeps what is
wanted of it here. A thread of the host reads that for `/metrics` (`host/metrics.py`). librdkafka counts other things than
Kafka's Java client does, so here is what both have. Read next: `core/metrics/published.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from kconnect.core.metrics.published import Published

_EVERY_S = 30
_FORGOTTEN_S = 3 * _EVERY_S
Values = dict[str, "float | None"]


class Statistics:
    """
    Those of the clients of a task, of which one lives at a time. `callbacks` are settings for each. It knows no client: these
    end with their last references.
    """

    def __init__(self, client: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Mapping[str, Values]]) -> None:
        """`read` is `of_producer` or `of_consumer`."""
        self._labels = (("clientid", str(client.get("client.id", ""))),)
        self._read = read
        self._latest: tuple[float, Sequence[Published]] = (0.0, ())
        self.callbacks: dict[str, Any] = {"statistics.interval.ms": _EVERY_S * 1000, "stats_cb": self._take}

    def published(self) -> Sequence[Published]:
        """Return what was said last, unless its client is long gone, as that of a sink that rests. From any thread."""
        at, latest = self._latest
        return latest if time.monotonic() - at < _FORGOTTEN_S else ()

    def _take(self, text: str) -> None:
        try:
            numbers = self._read(orjson.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError):
            # Of another librdkafka, which counts otherwise: a task does not fail for its numbers.
            return
        self._latest = time.monotonic(), [Published(prefix, self._labels, values) for prefix, values in numbers.items()]


def of_producer(said: Mapping[str, Any]) -> Mapping[str, Values]:
    """Return numbers by the beginnings of their names."""
    brokers, topics = list(said["brokers"].values()), list(said["topics"].values())
    sizes = [topic["batchcnt"]["avg"] for topic in topics if topic["batchcnt"]["cnt"]]
    return {
        "kafka_producer": {
            **_of_client(said, brokers),
            "record_send_total": said["txmsgs"],
            "record_retry_total": _sum(brokers, "txretries"),
            "record_error_total": _sum(brokers, "txerrs"),
            "records_per_request_avg": sum(sizes) / len(sizes) if sizes else None,
            "produce_throttle_time_avg": _mean(brokers, "throttle"),
        }
    }


def of_consumer(said: Mapping[str, Any]) -> Mapping[str, Values]:
    """Return numbers by the beginnings of their names."""
    brokers, group = list(said["brokers"].values()), said.get("cgrp") or {}
    found: dict[str, Values] = {
        "kafka_consumer": _of_client(said, brokers),
        "kafka_consumer_fetch_manager": {
            "records_consumed_total": said["rxmsgs"],
            "bytes_consumed_total": said["rxmsg_bytes"],
            "fetch_throttle_time_avg": _mean(brokers, "throttle"),
        },
    }
    if group:
        found["kafka_consumer_coordinator"] = {
            "assigned_partitions": group["assignment_size"],
            "rebalance_total": group["rebalance_cnt"],
            "last_rebalance_seconds_ago": group["rebalance_age"] / 1000 if group["rebalance_cnt"] else -1,
        }
    return found


def _of_client(said: Mapping[str, Any], brokers: Sequence[Mapping[str, Any]]) -> Values:
    longest = [broker["rtt"]["max"] for broker in brokers if broker.get("rtt", {}).get("cnt")]
    latency = _mean(brokers, "rtt")
    return {
        "request_total": said["tx"],
        "outgoing_byte_total": said["tx_bytes"],
        "incoming_byte_total": said["rx_bytes"],
        "connection_count": sum(broker["state"] == "UP" for broker in brokers),
        # Of a round trip; microseconds there.
        "request_latency_avg": None if latency is None else latency / 1000,
        "request_latency_max": max(longest) / 1000 if longest else None,
    }


def _sum(brokers: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(broker[name] for broker in brokers)


def _mean(brokers: Iterable[Mapping[str, Any]], window: str) -> float | None:
    """Return the mean of what was measured in the last window; None if that was nothing."""
    counted = [(each["avg"], each["cnt"]) for broker in brokers if (each := broker.get(window)) is not None and each["cnt"]]
    total = sum(count for _, count in counted)
    return sum(average * count for average, count in counted) / total if total else None
