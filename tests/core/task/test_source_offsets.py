"""What a source task may store: the newest offset of each partition, of whole batches only."""

from __future__ import annotations

import math

import pytest

from kconnect.api.record import SourceRecord
from kconnect.core.task.source_offsets import SourceOffsets, beginning, marks
from kconnect.errors import DataError

from .records import source

FILE_A, FILE_B = {"file": "a"}, {"file": "b"}


def stored_by(*batches: list[SourceRecord]) -> dict[str, object]:
    offsets = SourceOffsets()
    for batch in batches:
        offsets.add(batch)
    return {str(partition): offset for partition, offset in offsets.newest()}


def test_the_newest_of_each_partition_counts() -> None:
    batch = [source(FILE_A, 1), source(FILE_B, 7), source(FILE_A, 2)]
    assert stored_by(batch) == {"{'file': 'a'}": {"position": 2}, "{'file': 'b'}": {"position": 7}}


def test_a_later_batch_replaces_an_earlier_one() -> None:
    assert stored_by([source(FILE_A, 1)], [source(FILE_A, 5)]) == {"{'file': 'a'}": {"position": 5}}


def test_equal_partitions_in_different_dicts_are_one_whatever_the_order_of_their_fields() -> None:
    batch = [source({"a": 1, "b": 2}, 1), source({"b": 2, "a": 1}, 2), source({"a": 1, "b": 2}, 3)]
    assert list(stored_by(batch).values()) == [{"position": 3}]


def test_true_and_one_are_different_partitions() -> None:
    assert len(stored_by([source({"p": True}, 1), source({"p": 1}, 2), source({"p": "1"}, 3)])) == 3


def test_records_without_a_partition_leave_no_trace() -> None:
    assert stored_by([source(None, 1)], [source(None, 2), source(FILE_A, 3), source(None, 4)]) == {
        "{'file': 'a'}": {"position": 3}
    }


def test_an_empty_batch_changes_nothing() -> None:
    assert stored_by([source(FILE_A, 1)], []) == {"{'file': 'a'}": {"position": 1}}


def test_a_null_offset_deletes_what_is_stored() -> None:
    assert stored_by([SourceRecord(FILE_A, None, "t")]) == {"{'file': 'a'}": None}


def test_what_is_stored_is_not_stored_again() -> None:
    offsets = SourceOffsets()
    offsets.add([source(FILE_A, 1)])
    assert len(offsets) == 1
    offsets.newest()
    assert len(offsets) == 1, "a write that failed must be able to come again"
    offsets.stored()
    assert (len(offsets), offsets.newest()) == (0, [])


def test_bytes_become_base64_as_in_connects_json() -> None:
    assert stored_by([SourceRecord(FILE_A, {"lsn": b"\x00\xff"}, "t")]) == {"{'file': 'a'}": {"lsn": "AP8="}}


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        ({"p": [1]}, "Offsets may only contain primitive types as values, but field p contains list"),
        ({1: 1}, "Offsets may only use String keys"),
        ([1], "Offsets must be specified as a Map"),
        ({"p": 2**63}, "Offsets may only contain integers of 64 bits, but field p contains a larger one"),
        ({"p": "\ud800"}, "Offsets may only contain texts in UTF-8, but field 'p' contains half a character"),
        ({"\ud800": 1}, "Offsets may only contain texts in UTF-8"),
    ],
)
def test_offsets_that_json_could_not_carry_are_refused(offset: object, message: str) -> None:
    offsets = SourceOffsets()
    offsets.add([SourceRecord(FILE_A, offset, "t")])  # type: ignore[arg-type]
    with pytest.raises(DataError, match=message):
        offsets.newest()


@pytest.mark.parametrize("partition", [{"p": 2**70}, {"p": "\ud800"}, {"p": object()}], ids=["number", "text", "object"])
def test_partitions_that_json_could_not_carry_are_refused_too(partition: dict[str, object]) -> None:
    """And no earlier than offsets: the records are for Kafka all the same, as in Connect."""
    offsets = SourceOffsets()
    offsets.add([source(partition, 1)])
    with pytest.raises(DataError, match="Offsets may only contain "):
        offsets.newest()


@pytest.mark.parametrize(("value", "stored"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (1.5, 1.5)])
def test_numbers_that_json_has_not_are_texts_as_in_connect(value: float, stored: object) -> None:
    assert stored_by([SourceRecord(FILE_A, {"p": value}, "t")]) == {"{'file': 'a'}": {"p": stored}}


def test_an_offset_is_that_of_when_it_was_handed_over() -> None:
    offset = {"position": 1}
    offsets = SourceOffsets()
    offsets.add([SourceRecord(FILE_A, offset, "t")])
    offset["position"] = 2
    assert offsets.newest() == [(FILE_A, {"position": 1})]
    assert marks([SourceRecord(FILE_A, offset, "t")]) == [(FILE_A, {"position": 2})]


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise ValueError("not to be compared")

    __hash__ = None  # type: ignore[assignment]


def test_where_a_restart_begins() -> None:
    records = [source(FILE_A, 1), source(FILE_B, 2), source(FILE_A, 2), source(FILE_A, 2)]
    assert beginning(records, source(FILE_A, 2)) == 2
    assert beginning(records, source(FILE_B, 2)) == 1
    assert beginning(records, source(FILE_A, 3)) == 4
    assert beginning(records, source(None, 1)) == 4
    assert beginning(records, SourceRecord(FILE_A, None, "t")) == 4
    assert beginning([SourceRecord(FILE_A, {"p": Incomparable()}, "t")], source(FILE_A, 3)) == 1
