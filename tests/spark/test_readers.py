"""The readers of `format("kconnect")` with a real broker, without Spark: what a stream does when its topic changes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import cast

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql.types import LongType, StructField, StructType

from kconnect.errors import ConfigError, ConnectError
from kconnect.pyspark import KconnectDataSource, source
from kconnect.pyspark.source import RangePartition, StreamReader
from tests.spark.sessions import produce, topic
from tests.support import wait_until

pytestmark = pytest.mark.integration

SCHEMA = StructType([StructField("id", LongType()), StructField("_offset", LongType())])


def reader(bootstrap: str, **options: str) -> StreamReader:
    made = KconnectDataSource({"kafka.bootstrap.servers": bootstrap, **options}).streamReader(SCHEMA)
    return cast(StreamReader, made)


def make_again(bootstrap: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([name])[name].result()
    wait_until(lambda: name not in admin.list_topics().topics)

    def create() -> bool:
        # The deletion may still be under way.
        with contextlib.suppress(ck.KafkaException):
            topic(bootstrap, name, 1)
            return True
        return False

    wait_until(create)


def test_a_topic_that_was_made_again_fails_a_stream_or_is_read_from_its_beginning(
    bootstrap: str, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_SETTLED_S", 1.0)
    name = topic(bootstrap, unique("again"), 1)
    produce(bootstrap, name, [{"id": number} for number in range(5)])
    read = reader(bootstrap, topics=name).latestOffset({})
    assert read == {name: {"0": 5}}
    make_again(bootstrap, name)
    produce(bootstrap, name, [{"id": 100}])
    with pytest.raises(ConnectError, match=r"read up to offset 5, and ends at 1 now: it was made again.*failOnDataLoss=false"):
        reader(bootstrap, topics=name).latestOffset(read)
    lossy = reader(bootstrap, topics=name, failOnDataLoss="false")
    end = lossy.latestOffset(read)
    assert end == {name: {"0": 1}}
    (part,) = cast(list[RangePartition], lossy.partitions(read, end))
    assert str(part.wanted) == f"{name}-0 from offset 0 to 1"
    assert lossy.latestOffset(end) == end


def test_a_stream_has_no_end(bootstrap: str, unique: Callable[[str], str]) -> None:
    with pytest.raises(ConfigError, match="endingTimestamp is for"):
        reader(bootstrap, topics=topic(bootstrap, unique("endless"), 1), endingTimestamp="5")
