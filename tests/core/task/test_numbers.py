"""Numbers that a task tells of itself: kept by name and labels, within limits, and nothing that Prometheus would not take."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.task import numbers
from kconnect.core.task.answers import AnswerError
from kconnect.core.task.numbers import Numbers


def test_the_last_one_counts() -> None:
    told = Numbers()
    told.tell("rows", 1)
    told.tell("rows", 2, {"table": "a"})
    told.tell("rows", True, {"table": "b"})
    told.tell("bytes", 7, {"table": "a"})
    told.tell("rows", 3, {"table": "a"})
    assert told.by_labels() == {
        (): {"rows": 1.0},
        (("table", "a"),): {"rows": 3.0, "bytes": 7.0},
        (("table", "b"),): {"rows": 1.0},
    }


def test_there_are_so_many_and_labels_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "MOST", 2)
    told = Numbers()
    for number in range(5):
        told.tell("rows", number, {"table": f"{number}{'x' * 10_000}"})
    told.tell("rows", 9, {"table": f"0{'x' * 10_000}"})
    assert [(len(labels[0][1]), values) for labels, values in told.by_labels().items()] == [
        (200, {"rows": 9.0}),
        (200, {"rows": 1.0}),
    ]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("a-b", 1), "the name 'a-b'"),
        ((b"a", 1), "the name b'a'"),
        (("x" * 101, 1), "letters, digits and _"),
        (("a\n", 1), "letters, digits and _"),
        (("a", 1, {"b c": "x"}), "the name 'b c'"),
        (("a", 1, ["b"]), "as labels"),
        (("a", 1, {"connector": "other"}), "set by the worker"),
        (("a", "1"), "must be a number"),
        (("a", 10**400), "must be a number"),
    ],
)
def test_what_is_none_is_refused(given: Any, error: str) -> None:
    told = Numbers()
    with pytest.raises(AnswerError, match=error):
        told.tell(*given)
    assert told.by_labels() == {}
