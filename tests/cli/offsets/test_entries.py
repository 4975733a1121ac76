"""Offsets as users write them, and how they are compared."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kconnect.cli.files import InputError
from kconnect.cli.offsets import entries
from kconnect.cli.offsets.entries import Difference, Entry
from kconnect.kafka.positions import Place


def at(partition: int, offset: int | None) -> Entry:
    return entries.sink_entry(Place("t", partition), offset)


def of(partition: Any, offset: Any) -> Entry:
    return {"partition": partition, "offset": offset}


def test_inline_offsets() -> None:
    assert entries.inline("t/0=12") == at(0, 12)
    assert entries.inline("t/3=null") == at(3, None)
    assert entries.inline("a.b-c_d/0=1")["partition"]["kafka_topic"] == "a.b-c_d"
    for wrong in ("t=1", "t/0", "t/0=", "t/x=1", "t/0=1.5", "/0=1", "t/-1=1"):
        with pytest.raises(InputError, match="write TOPIC/PARTITION=OFFSET, such as orders/0=1234"):
            entries.inline(wrong)


def test_a_body_is_taken_as_the_rest_api_takes_it() -> None:
    body = {"offsets": [of({"kafka_partition": "1", "kafka_topic": "t"}, {"kafka_offset": "7"}), {**at(0, None), "lag": 3}]}
    assert entries.checked("sink", body, "f") == [at(1, 7), at(0, None)]
    assert entries.checked("sink", body["offsets"], "f") == [at(1, 7), at(0, None)]
    theirs = [of({"x": 1}, {"y": [1]}), of(None, None)]
    assert entries.checked("source", theirs, "f") == theirs
    assert entries.checked("sink", {"offsets": []}, "f") == []


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("sink", {"x": 1}, "f: no offsets found; it must hold"),
        ("sink", None, "f: no offsets found;"),
        ("sink", [1], "f, entry 1: it must be"),
        ("sink", [{"partition": {}}], "f, entry 1: it must be"),
        ("sink", [of({"kafka_topic": "t"}, None)], 'f, entry 1: {"kafka_topic":"t"} is not a partition of a sink;'),
        ("sink", [of({"kafka_topic": "t", "kafka_partition": True}, None)], "is not a partition of a sink;"),
        ("sink", [at(0, 1), at(-1, 1)], "f, entry 2: the partition -1 of t is negative"),
        ("sink", [at(0, -1)], "f, entry 1: the offset -1 of t/0 is negative"),
        ("sink", [of(at(0, 1)["partition"], {"kafka_offset": 1.5})], "is not an offset of a sink"),
        ("sink", [of(at(0, 1)["partition"], {"position": 1})], "is not an offset of a sink"),
        ("sink", [of(at(0, 1)["partition"], 5)], "its offset must be an object or null"),
        ("sink", [at(0, 1), at(1, 1), at(0, 2)], "f: entries 1 and 3 are both for t/0"),
        ("source", [of({"a": 1, "b": 2}, {}), of({"b": 2, "a": 1}, {})], "f: entries 1 and 2 are both for"),
        ("source", [of("x", {})], "its partition must be an object"),
        ("source", [of({}, 5)], "its offset must be an object or null"),
    ],
)
def test_what_is_wrong_in_a_body_is_told_with_its_place(kind: str, body: Any, text: str) -> None:
    with pytest.raises(InputError) as error:
        entries.checked(kind, body, "f")
    assert text in str(error.value)


def test_differences_take_keys_in_any_order_and_see_what_only_one_side_has() -> None:
    left = [of({"a": 1, "b": 2}, {"x": 1, "y": 2}), at(0, 5), at(1, 6)]
    right = [at(0, 7), at(2, 8), of({"b": 2, "a": 1}, {"y": 2, "x": 1})]
    assert entries.differences(left, right) == [
        Difference(at(0, 0)["partition"], {"kafka_offset": 5}, {"kafka_offset": 7}),
        Difference(at(1, 0)["partition"], {"kafka_offset": 6}, None),
        Difference(at(2, 0)["partition"], None, {"kafka_offset": 8}),
    ]
    # A reset is as good as none, and a text is not the number that it looks like.
    assert entries.differences([], [at(0, None)]) == []
    assert len(entries.differences([of({}, {"p": 1})], [of({}, {"p": "1"})])) == 1
    assert len(entries.differences([of({}, {"p": 1})], [of({}, {"p": True})])) == 1


def test_only_what_was_asked_for_counts_after_writing() -> None:
    assert entries.unlike([at(0, 5), at(1, None)], [at(0, 5), at(9, 9)]) == []
    assert entries.unlike([at(0, 5), at(1, None)], [at(0, 4), at(1, 3)]) == [
        Difference(at(0, 0)["partition"], {"kafka_offset": 4}, {"kafka_offset": 5}),
        Difference(at(1, 0)["partition"], {"kafka_offset": 3}, None),
    ]


def test_what_people_read() -> None:
    assert entries.shown("sink", at(0, 1)["partition"]) == "t/0"
    assert entries.shown("source", {"b": 1, "a": 2}) == '{"a":2,"b":1}'
    assert entries.shown_offset("sink", {"kafka_offset": 5}) == "5"
    assert entries.shown_offset("source", {"position": 5}) == '{"position":5}'
    assert entries.shown_offset("source", None) == "-"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (of({"a": {"b": 1}}, {}), 'a holds {"b":1}, but partitions and offsets are flat'),
        (of({"a": 1}, {"at": [1]}), "at holds [1]"),
    ],
)
def test_what_no_worker_takes_is_told_before_a_connector_is_stopped(entry: Any, words: str) -> None:
    entries.require_flat([of({"a": 1}, {"at": None}), of(None, None)], "f")
    with pytest.raises(InputError, match=re.escape(words)):
        entries.require_flat([entry], "f")
