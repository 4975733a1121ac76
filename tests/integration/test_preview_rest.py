"""`POST /kconnect/preview` on a real worker: chains that work, and what can't be tried."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess

SINK = {"connector.class": "FileStreamSink", "topics": "t"}
INSERT = {
    "transforms": "mark",
    "transforms.mark.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.mark.static.field": "by",
    "transforms.mark.static.value": "preview",
}
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}


def test_records_that_are_given(worker: WorkerProcess) -> None:
    config = {**SINK, **INSERT, **JSON}
    records = [{"topic": "t", "value_text": '{"n": 1}'}, {"topic": "t", "value_text": "{"}, {"topic": "t", "value": {"n": 2}}]
    found: Any = worker.client.preview(config, records)
    assert found["kind"] == "sink"
    first, second, third = found["records"]
    assert [step["alias"] for step in first["steps"]] == ["mark"]
    assert first["out"]["value"]["payload"] == {"n": 1, "by": "preview"}
    assert base64.b64decode(first["value_bytes"]) == b'{"n": 1}'
    assert (second["out"], second["error"]["stage"]) == (None, "VALUE_CONVERTER")
    assert third["out"]["value"]["payload"] == {"n": 2, "by": "preview"}


def test_records_of_a_topic_of_which_nothing_is_committed(
    worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str]
) -> None:
    topic = unique("tried")
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for number in range(7):
        producer.produce(topic, f'{{"n": {number}}}', partition=0)
    producer.flush(60)
    config = {**SINK, **JSON, "topics": topic, "name": topic}

    def numbers(**sample: Any) -> list[int]:
        found: Any = worker.client.preview(config, topic=topic, **sample)["records"]
        return [record["out"]["value"]["payload"]["n"] for record in found]

    assert numbers() == [0, 1, 2, 3, 4]
    assert numbers(newest=True, limit=2) == [5, 6]
    assert numbers(partition=0, offset=3, limit=1) == [3]
    groups = AdminClient({"bootstrap.servers": bootstrap}).list_consumer_groups().result()
    assert not [group.group_id for group in groups.valid if topic in group.group_id or "preview" in group.group_id]


@pytest.mark.parametrize(
    ("config", "more", "status", "text"),
    [
        ({**SINK, "transforms": "a", "transforms.a.type": "Nope"}, {"records": []}, 400, "transforms.a.type"),
        ({"topics": "t"}, {"records": []}, 400, "no 'connector.class'"),
        (SINK, {}, 400, "Either 'records' or 'topic'"),
        (SINK, {"records": [{"topic": 7}]}, 400, "records[0]: "),
        (SINK, {"records": [{}] * 101}, 400, "at most 100"),
        (SINK, {"topic": "t", "limit": 0}, 400, "'limit' must be a whole number from 1 to 100"),
        (SINK, {"topic": "t", "offset": 1}, 400, "'offset' needs a 'partition'"),
        (SINK, {"topic": "no-such-topic-here"}, 404, "no-such-topic-here"),
        (SINK, {"topic": "t", "what": 1}, 400, "Unknown property 'what'"),
    ],
)
def test_what_can_not_be_tried(
    worker: WorkerProcess, config: dict[str, str], more: dict[str, Any], status: int, text: str
) -> None:
    with pytest.raises(RestError) as raised:
        worker.client.preview(config, **more)
    assert (raised.value.status, text in raised.value.message) == (status, True), raised.value.message
