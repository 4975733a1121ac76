"""The steps of a chain: order, predicates, dropped records, and who is named when one fails."""

from __future__ import annotations

import pytest

from kconnect.core.task.steps import Step, Steps
from kconnect.errors import ConnectError

from .records import Message


def even(number: int) -> bool:
    return number % 2 == 0


def test_steps_follow_each_other() -> None:
    steps = Steps([Step("add", lambda n: n + 1), Step("double", lambda n: n * 2)])
    assert steps.apply([1, 2, 3]) == [4, 6, 8]


def test_a_predicate_chooses_and_negate_turns_it_round() -> None:
    assert Steps([Step("ten", lambda n: n * 10, even)]).apply([1, 2, 3]) == [1, 20, 3]
    assert Steps([Step("ten", lambda n: n * 10, even, negate=True)]).apply([1, 2, 3]) == [10, 2, 30]


def test_a_predicate_sees_the_record_as_it_is_at_its_place() -> None:
    steps = Steps([Step("add", lambda n: n + 1), Step("ten", lambda n: n * 10, even)])
    assert steps.apply([1, 2]) == [20, 3]


def test_a_dropped_record_keeps_its_place_and_is_shown_to_nobody() -> None:
    seen = []
    steps = Steps([Step("drop", lambda n: None, even), Step("see", lambda n: seen.append(n) or n, lambda n: n > 0)])
    assert steps.apply([1, 2, 3]) == [1, None, 3]
    assert seen == [1, 3]


def test_an_error_names_the_transform_and_where_the_record_came_from() -> None:
    steps = Steps([Step("fine", lambda n: n), Step("divide", lambda n: 12 // n)])
    with pytest.raises(ConnectError, match=r"the transform divide failed at t-0@17: integer division") as failed:
        steps.apply([3, 0, 2], [Message(("t", 0, offset)) for offset in (16, 17, 18)])
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


def test_an_error_in_a_predicate_is_one_of_its_transform() -> None:
    with pytest.raises(ConnectError, match="the transform t failed"):
        Steps([Step("t", lambda n: n, lambda n: 1 // n > 0)]).apply([0], [Message(("t", 0, 1))])


def test_without_steps_there_is_nothing_to_do() -> None:
    assert not Steps([])
    assert Steps([]).apply([1]) == [1]
