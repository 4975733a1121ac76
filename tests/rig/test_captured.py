"""Each violation is found in a topic that has it, and none in one that is allowed: `tests/rig/systems/captured.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import orjson
import pytest

from tests.rig.systems.captured import Reader, check

WANTED = {1: ["insert 1", "update 3", "update 4", "delete 4", "tombstone 4", "insert 6"], 2: ["insert 2", "update 5"]}
WHOLE = [
    *((1, "insert 1"), (2, "insert 2"), (1, "update 3"), (1, "update 4"), (2, "update 5"), (1, "delete 4"), (1, "tombstone 4")),
    *((1, "insert 6"),),
]


def names(found: Sequence[tuple[int, str]], once: bool = True, at_rest: bool = True) -> list[str]:
    return [violation.name for violation in check("orders", WANTED, found, Counter(), once, at_rest)]


@pytest.mark.parametrize("once", [True, False])
def test_what_is_whole_and_in_order_has_no_violation(once: bool) -> None:
    assert names(WHOLE, once) == []
    assert names(WHOLE[1:2] + WHOLE[:1] + WHOLE[2:], once) == [], "keys have no order among them"


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("at", range(len(WHOLE)))
def test_one_that_is_lost_is_found(at: int, once: bool) -> None:
    assert "lost" in names(WHOLE[:at] + WHOLE[at + 1 :], once)
    assert ("gap" in names(WHOLE[:at] + WHOLE[at + 1 :], once)) == any(key == WHOLE[at][0] for key, _ in WHOLE[at + 1 :])


def test_what_is_still_to_come_is_lost_only_at_rest() -> None:
    assert names(WHOLE[:4], at_rest=False) == []
    assert names(WHOLE[:4]) == ["lost"]


@pytest.mark.parametrize("at", range(len(WHOLE)))
def test_one_that_comes_again_is_found(at: int) -> None:
    assert names([*WHOLE[: at + 1], WHOLE[at], *WHOLE[at + 1 :]]) == ["duplicate"]
    assert names([*WHOLE[: at + 1], WHOLE[at], *WHOLE[at + 1 :]], once=False) == []


def test_at_least_once_all_from_some_point_on_may_come_again() -> None:
    counts: Counter[str] = Counter()
    assert not list(check("orders", WANTED, WHOLE[:6] + WHOLE[2:], counts, once=False, at_rest=True))
    assert counts == {"records": 12, "repeats": 4}
    assert names(WHOLE[:6] + WHOLE[2:]).count("duplicate") == 2, "each key goes back once"


@pytest.mark.parametrize("once", [True, False])
def test_one_out_of_order_is_found(once: bool) -> None:
    assert "gap" in names([WHOLE[2], *WHOLE[:2], *WHOLE[3:]], once)


def test_what_comes_again_comes_in_order_too() -> None:
    again = [(1, "update 3"), (1, "delete 4"), (1, "tombstone 4"), (1, "insert 6")]
    assert names(WHOLE + again, once=False) == ["gap"]


def test_a_record_of_no_change_is_found() -> None:
    assert names([*WHOLE, (1, "update 9")]) == ["phantom"]
    assert names([*WHOLE, (3, "insert 1")]) == ["phantom"]


def test_events_are_read_as_they_are_written() -> None:
    def event(op: str, before: int | None, after: int | None) -> bytes:
        row = {"before": before and {"id": 7, "number": before}, "after": after and {"id": 7, "number": after}}
        return orjson.dumps({"op": op, **row})

    reader, key = Reader(), b'{"id":7}'
    assert reader.read(key, event("r", None, 1)) == (7, "insert 1")
    assert reader.read(key, event("u", 1, 2)) == (7, "update 2")
    assert reader.read(key, event("d", 2, None)) == (7, "delete 2")
    assert reader.read(b'{"id":8}', event("c", None, 3)) == (8, "insert 3")
    assert reader.read(key, None) == (7, "tombstone 2")
    assert reader.read(key, None) == (7, "tombstone none"), "a deletion has one"
