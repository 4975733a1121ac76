"""Offsets of checkpoints, and the ranges between them: what is lost is told, and what comes later begins at its beginning."""

from __future__ import annotations

import datetime
import random

import pytest

from kconnect.errors import ConnectError
from kconnect.pyspark import places
from kconnect.pyspark.places import Known, Place, Range

A, B, C = ("t", 0), ("t", 1), ("u", 0)


def known(**extents: tuple[int, int]) -> Known:
    by_name = {"a": A, "b": B, "c": C}
    return Known(
        {by_name[name]: begin for name, (begin, _) in extents.items()},
        {by_name[name]: end for name, (_, end) in extents.items()},
    )


def test_offsets_are_written_as_sparks_kafka_source_does() -> None:
    plain = {"t": {"0": 3, "1": 4}, "u": {"0": 5}}
    assert places.to_json({C: 5, B: 4, A: 3}) == plain
    assert places.of_json(plain) == {A: 3, B: 4, C: 5}
    assert places.of_json({}) == {}


def test_a_place_is_settled_in_each_partition() -> None:
    there = known(a=(2, 9), b=(0, 4))
    assert places.settled(places.EARLIEST, there, {}) == {A: 2, B: 0}
    assert places.settled(places.LATEST, there, {}) == {A: 9, B: 4}
    assert places.settled(Place(offsets={A: 5}), there, {}) == {A: 5, B: 0}
    assert places.settled(Place(offsets={A: -1, B: -2}), there, {}) == {A: 9, B: 0}
    assert places.settled(Place(time_ms=1), there, {A: 7}) == {A: 7, B: 4}
    with pytest.raises(ConnectError, match="u-0"):
        places.settled(Place(offsets={C: 5}), there, {})


def test_what_came_later_is_read_from_its_beginning() -> None:
    there = known(a=(0, 9), b=(3, 5))
    assert places.ranges({A: 4}, {A: 9, B: 5}, there, True) == [Range("t", 0, 4, 9), Range("t", 1, 3, 5)]


def test_nothing_between_is_no_range() -> None:
    assert places.ranges({A: 4}, {A: 4}, known(a=(0, 9)), True) == []


@pytest.mark.parametrize(
    "begin, end, there, left",
    [
        # Retention has taken the beginning.
        ({A: 1}, {A: 9}, known(a=(5, 9)), [Range("t", 0, 5, 9)]),
        # The topic was deleted.
        ({A: 1, B: 0}, {A: 1, B: 2}, known(b=(0, 2)), [Range("t", 1, 0, 2)]),
        # It was made again, and has less.
        ({A: 7}, {A: 9}, known(a=(0, 3)), []),
        ({A: 7}, {A: 3}, known(a=(0, 3)), [Range("t", 0, 0, 3)]),
    ],
)
def test_lost_records_fail_unless_that_is_wanted(
    begin: dict[places.At, int], end: dict[places.At, int], there: Known, left: list[Range]
) -> None:
    with pytest.raises(ConnectError, match="failOnDataLoss=false"):
        places.ranges(begin, end, there, True)
    assert places.ranges(begin, end, there, False) == left


def test_lost_records_that_nobody_wants_are_none() -> None:
    assert places.ranges({A: 4}, {A: 4}, known(a=(9, 9)), True) == []


def test_ranges_are_cut_into_pieces() -> None:
    whole = Range("t", 0, 5, 12)
    assert list(places.pieces([whole], None)) == [whole]
    assert list(places.pieces([whole], 3)) == [Range("t", 0, 5, 8), Range("t", 0, 8, 11), Range("t", 0, 11, 12)]


def test_a_limit_is_shared_by_what_waits() -> None:
    there = known(a=(0, 100), b=(0, 10), c=(0, 0))
    assert places.limited({A: 0, B: 0}, there, 11) == {A: 10, B: 1, C: 0}
    assert places.limited({A: 0, B: 0}, there, 1000) == {A: 100, B: 10, C: 0}
    assert places.limited({A: 0, B: 0}, there, None) == {A: 100, B: 10, C: 0}


def test_a_partition_never_goes_back() -> None:
    assert places.limited({A: 9}, known(a=(0, 7)), None) == {A: 9}
    assert places.limited({A: 9, B: 0}, known(a=(0, 7), b=(0, 8)), 3) == {A: 9, B: 3}


def test_a_partition_that_is_gone_stays_where_it_was() -> None:
    assert places.limited({A: 9, C: 4}, known(a=(0, 12)), None) == {A: 12, C: 4}
    assert places.limited({A: 9, C: 4}, known(a=(0, 12)), 2) == {A: 11, C: 4}


def test_batches_of_any_limit_have_each_offset_once() -> None:
    dice = random.Random(1)
    for _ in range(300):
        at: dict[places.At, int] = {}
        there = known(a=(0, 0), b=(0, 0))
        read: dict[places.At, list[int]] = {A: [], B: [], C: []}
        for _ in range(30):
            ends = {place: end + dice.randrange(20) for place, end in there.ends.items()}
            if C not in ends and dice.random() < 0.1:
                ends[C] = dice.randrange(5)
            there = Known(dict.fromkeys(ends, 0), ends)
            most = dice.choice([None, 1, 3, 10])
            until = places.limited(at, there, most)
            planned = places.ranges(at, until, there, True)
            assert most is None or sum(each.end - each.begin for each in planned) <= most
            assert not (most and sum(ends.values()) > sum(at.values())) or planned
            for piece in places.pieces(planned, dice.choice([None, 2])):
                read[piece.topic, piece.partition] += range(piece.begin, piece.end)
            at = places.of_json(places.to_json(until))
        until = places.limited(at, there, None)
        for piece in places.ranges(at, until, there, True):
            read[piece.topic, piece.partition] += range(piece.begin, piece.end)
        assert {place: len(offsets) for place, offsets in read.items() if offsets} == {p: e for p, e in there.ends.items() if e}
        assert all(offsets == list(range(len(offsets))) for offsets in read.values())


UTC = datetime.timezone.utc


@pytest.mark.parametrize(
    "text, time_ms",
    [
        ("1970-01-01T00:00:01Z", 1000),
        # No record has a time between two milliseconds: the next one is the first that is not before it.
        ("1970-01-01T00:00:01.0001Z", 1001),
        ("1970-01-01T02:00:01+02:00", 1000),
        ("9223372036854775807", 2**63 - 1),
        # Kafka would take these for the end, for the beginning, and for an error.
        ("1969-12-31T23:59:59.999Z", 0),
        ("1969-12-31T23:59:59.998Z", 0),
        ("0001-01-01T00:00:00+23:00", 0),
    ],
)
def test_a_time_is_milliseconds_since_1970(text: str, time_ms: int) -> None:
    assert places.of_time(text) == Place(time_ms=time_ms)


def test_a_time_that_no_record_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match="64 bits"):
        places.of_time("9223372036854775808")


def test_each_millisecond_is_itself() -> None:
    begin = datetime.datetime(2026, 11, 29, tzinfo=UTC)
    first = places.milliseconds(begin)
    steps = [begin + datetime.timedelta(milliseconds=step) for step in range(2000)]
    assert [places.milliseconds(moment) - first for moment in steps] == list(range(2000))


@pytest.mark.parametrize(
    "starting, ending, is_wrong",
    [
        (Place(time_ms=5), Place(time_ms=4), True),
        (Place(time_ms=5), Place(time_ms=5), False),
        (Place(offsets={A: 5, B: 0}), Place(offsets={A: 9, B: 0}), False),
        (Place(offsets={A: 5, B: 1}), Place(offsets={A: 9, B: 0}), True),
        (Place(offsets={A: 5}), Place(offsets={A: -1}), False),
        (Place(offsets={A: 5}), places.LATEST, False),
        (places.EARLIEST, Place(offsets={A: 0}), False),
    ],
)
def test_a_batch_may_not_end_before_it_begins(starting: Place, ending: Place, is_wrong: bool) -> None:
    if is_wrong:
        with pytest.raises(ValueError, match="starting"):
            places.require_order(starting, ending)
    else:
        places.require_order(starting, ending)


def test_a_partition_that_ends_before_what_was_read_has_gone_back() -> None:
    there = known(a=(0, 3), b=(0, 9))
    assert places.gone_back({A: 5, B: 9, C: 4}, there) == [A]
    with pytest.raises(ConnectError, match=r"t-0 was read up to offset 5, and ends at 3 now"):
        raise places.made_again(A, {A: 5}, there)
