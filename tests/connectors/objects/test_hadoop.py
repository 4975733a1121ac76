"""Object stores in HDFS, on a real one: files, what it refuses, quotas, name nodes that are away."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconnect.api import ConnectError, RetriableError, SinkRecord, TopicPartition
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.objects.source import ObjectStoreSourceConnector
from kconnect.testing import SinkRunner, SourceRunner, config_errors
from tests.rig.systems.hadoop import USER, Hadoop

pytestmark = pytest.mark.process


def config(hadoop: Hadoop, folder: str, **more: str) -> dict[str, str]:
    return {
        "topics": "t",
        "store": f"{hadoop.url}/trials/{folder}",
        "hdfs.user": USER,
        "format.class": "JsonFormat",
        "flush.size": "3",
        "retry.backoff.ms": "10",
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def records(*numbers: int, **more: Any) -> list[SinkRecord]:
    return [SinkRecord("t", 0, None, None, None, {"n": number, **more}, number, timestamp=0) for number in numbers]


def numbers(hadoop: Hadoop, folder: str) -> dict[str, list[int]]:
    found = hadoop.files(f"/trials/{folder}")
    return {name.rpartition("/")[2]: [json.loads(line)["n"] for line in data.splitlines()] for name, data in found.items()}


@pytest.mark.long
def test_files_come_and_replace_themselves(hadoop: Hadoop) -> None:
    expected = {"t+0+0000000000.json": [0, 1, 2], "t+0+0000000003.json": [3, 4, 5]}
    for _ in range(2):
        with SinkRunner(ObjectStoreSinkConnector, config(hadoop, "whole")) as sink:
            sink.put(records(*range(8)))
            sink.flush()
            assert sink.committed == {TopicPartition("t", 0): 6}
        assert numbers(hadoop, "whole") == expected


@pytest.mark.parametrize("kind", ["a b", "50%", "é", "#LATEST", "+", "a?b&c=d", ".."])
def test_folders_of_fields_are_what_they_say(hadoop: Hadoop, kind: str) -> None:
    own = config(
        hadoop, "fields", partitioner_class="FieldPartitioner", partition_field_name="kind", topics_dir=kind.encode().hex()
    )
    with SinkRunner(ObjectStoreSinkConnector, own) as sink:
        sink.put(records(0, 1, 2, kind=kind))
    source = SourceRunner(
        ObjectStoreSourceConnector,
        {**own, "mode": "GENERIC", "topic.regex.list": "all:.*", "s3.poll.interval.ms": "1"},
    )
    with source:
        found = [record for _ in range(3) for record in source.poll() or ()]
    assert [record.value["n"] for record in found] == [0, 1, 2]
    ((name, data),) = hadoop.files(f"/trials/fields/{kind.encode().hex()}").items()
    assert len(data.splitlines()) == 3
    assert found[0].source_partition == {"file": name.removeprefix("/trials/fields/")}


def test_who_may_not_write_is_told_so(hadoop: Hadoop) -> None:
    assert config_errors(ObjectStoreSinkConnector, config(hadoop, "new/folder")) == {}
    found = config_errors(ObjectStoreSinkConnector, {**config(hadoop, "x"), "hdfs.user": "nobody"})
    assert list(found) == ["hdfs.user"]
    assert "Permission denied: user=nobody, access=WRITE" in found["hdfs.user"][0]
    assert "\n" not in found["hdfs.user"][0]


def test_a_name_that_can_not_be_is_a_bad_record(hadoop: Hadoop) -> None:
    own = config(hadoop, "x", partitioner_class="FieldPartitioner", partition_field_name="kind")
    text = r"'kind=x:y' can't be a folder: HDFS takes no colon in names\. A dead letter queue would take it"
    with SinkRunner(ObjectStoreSinkConnector, own) as sink, pytest.raises(ConnectError, match=text):
        sink.put(records(0, 1, 2, kind="x:y"))


def test_rights_that_are_lost_fail_the_task(hadoop: Hadoop) -> None:
    with SinkRunner(ObjectStoreSinkConnector, config(hadoop, "lost")) as sink:
        sink.put(records(0, 1, 2))
        hadoop.client().set_permission("/trials/lost/topics/t/partition=0", "500")
        with pytest.raises(ConnectError, match=r"Permission denied: user=trial.*Check hdfs\.user"):
            sink.put(records(3, 4, 5))
        hadoop.client().set_permission("/trials/lost/topics/t/partition=0", "755")
        sink.put(records(3, 4, 5))
    assert numbers(hadoop, "lost") == {"t+0+0000000000.json": [0, 1, 2], "t+0+0000000003.json": [3, 4, 5]}


def test_a_token_is_sent_and_never_shown(hadoop: Hadoop) -> None:
    """Without Kerberos the name node looks at none; the data node does, and this is none."""
    hadoop.client().makedirs("/trials/open", "777")
    own = {**config(hadoop, "open"), "hdfs.user": ""}
    assert config_errors(ObjectStoreSinkConnector, own) == {}
    own["hdfs.token"] = "canary-token-77"
    found = config_errors(ObjectStoreSinkConnector, own)
    assert found == {"store": [f"{own['store']} can't be used: EOFException."]}
    own["store"] = "webhdfs://127.0.0.1:1/x"
    assert config_errors(ObjectStoreSinkConnector, own) == {"store": [f"{own['store']} can't be used: error sending request."]}


@pytest.mark.parametrize(
    ("store", "text"),
    [
        ("hdfs://namenode:8020/x", "webhdfs://host:9870/folder with the name node's host and HTTP port"),
        ("webhdfs://user@host/x", "It must be webhdfs://host:port/folder"),
        ("webhdfs:///x", "It must be webhdfs://host:port/folder"),
    ],
)
def test_addresses_that_are_none(hadoop: Hadoop, store: str, text: str) -> None:
    for connector in (ObjectStoreSinkConnector, ObjectStoreSourceConnector):
        found = config_errors(connector, {**config(hadoop, "x"), "store": store, "mode": "GENERIC", "topic.regex.list": "t:."})
        assert list(found) == ["store"]
        assert text in found["store"][0]


def test_settings_of_an_hdfs_sink_have_a_word_for_them(hadoop: Hadoop) -> None:
    found = config_errors(ObjectStoreSinkConnector, {**config(hadoop, "x"), "hdfs.url": "hdfs://namenode:8020"})
    assert "store=webhdfs://" in found["hdfs.url"][0]


def test_the_other_name_node_is_asked(hadoop: Hadoop) -> None:
    own = config(hadoop, "two")
    own["store"] = f"webhdfs://127.0.0.1:1,127.0.0.1:{hadoop.port}/trials/two"
    assert config_errors(ObjectStoreSinkConnector, own) == {}
    with SinkRunner(ObjectStoreSinkConnector, own) as sink:
        sink.put(records(0, 1, 2))
    assert numbers(hadoop, "two") == {"t+0+0000000000.json": [0, 1, 2]}


@pytest.mark.long
def test_while_it_is_away_it_is_tried_again(hadoop: Hadoop) -> None:
    with SinkRunner(ObjectStoreSinkConnector, config(hadoop, "away", request_timeout_ms="3000")) as sink:
        sink.put(records(0, 1, 2))
        hadoop.end()
        try:
            with pytest.raises(RetriableError, match=r"can't be sent to webhdfs://.*/away: error sending request"):
                sink.put(records(3, 4, 5))
        finally:
            hadoop.begin()
        sink.put(records(3, 4, 5))
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 6}
    assert numbers(hadoop, "away") == {"t+0+0000000000.json": [0, 1, 2], "t+0+0000000003.json": [3, 4, 5]}


def test_what_a_dead_task_left_is_not_read(hadoop: Hadoop) -> None:
    with SinkRunner(ObjectStoreSinkConnector, config(hadoop, "left")) as sink:
        sink.put(records(0, 1, 2))
    hadoop.client().write("/trials/left/topics/t/partition=0/.t+0+0000000003.json.part", data=b'{"n": 3')
    with SourceRunner(ObjectStoreSourceConnector, {**config(hadoop, "left"), "s3.poll.interval.ms": "1"}) as source:
        found = [record for _ in range(5) for record in source.poll() or ()]
        assert [record.value["n"] for record in found] == [0, 1, 2]
