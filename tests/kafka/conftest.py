"""A broker in memory, librdkafka's own: for tests of clients that start no process."""

from __future__ import annotations

from collections.abc import Iterator

import confluent_kafka as ck
import pytest


@pytest.fixture
def bootstrap() -> Iterator[str]:
    holder = ck.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    broker = next(iter(holder.list_topics(timeout=10).brokers.values()))
    yield f"{broker.host}:{broker.port}"
    del holder
