"""Records and their copies."""

from __future__ import annotations

import pytest

from kconnect.api.record import Header, SinkRecord, SourceRecord, TimestampType
from kconnect.data.schema import STRING_SCHEMA

SOURCE = SourceRecord({"f": "a"}, {"position": 3}, "t", 1, STRING_SCHEMA, "k", STRING_SCHEMA, "v", 7, (Header("h", 1),))
SINK = SinkRecord("t", 1, STRING_SCHEMA, "k", STRING_SCHEMA, "v", 42, 7, TimestampType.CREATE_TIME, (Header("h", 1),))


@pytest.mark.parametrize("record", [SOURCE, SINK], ids=["source", "sink"])
@pytest.mark.parametrize(
    "change",
    [
        {"topic": "u"},
        {"partition": 2},
        {"key": None},
        {"key_schema": None},
        {"value": None},
        {"value_schema": None},
        {"timestamp": None},
        {"headers": ()},
        {},
    ],
    ids=lambda change: next(iter(change), "nothing"),
)
def test_a_copy_differs_in_what_was_asked_for_only(record: SourceRecord | SinkRecord, change: dict[str, object]) -> None:
    copy = record.new_record(**change)  # type: ignore[arg-type]
    assert type(copy) is type(record)
    assert copy is not record
    expected = {name: getattr(record, name) for name in record.__slots__} | change
    assert {name: getattr(copy, name) for name in copy.__slots__} == expected


def test_where_a_sink_record_lies_survives_all_changes() -> None:
    moved = SINK.new_record(topic="u", partition=9).new_record(topic="w")
    assert (moved.original_topic, moved.original_partition, moved.original_offset) == ("t", 1, 42)


@pytest.mark.parametrize("record", [SOURCE, SINK], ids=["source", "sink"])
def test_records_are_slotted_and_do_not_show_their_data(record: SourceRecord | SinkRecord) -> None:
    assert not hasattr(record, "__dict__")
    assert "'v'" not in repr(record)
    assert "'k'" not in repr(record)
