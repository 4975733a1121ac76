"""What a task does whose right to write was taken away: `kconnect/units/withdrawn.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from kconnect.core.state.records import UnitId
from kconnect.core.task.errors import Counts
from kconnect.errors import ConnectError, NotAuthorizedError, StartAgainError, SupersededError, WithdrawnError
from kconnect.units import withdrawn

LATE, OTHER = StartAgainError("late"), ConnectError("x")


@dataclass
class Unit:
    """What became of it; the real one is run against brokers in tests/integration/test_refusals.py."""

    spec: Any = field(default_factory=lambda: SimpleNamespace(unit=UnitId("x", 0)))
    ends: list[tuple[str, type[BaseException]]] = field(default_factory=list)

    def fail(self, error: BaseException) -> None:
        self.ends.append(("FAILED", type(error)))

    def start_again(self, error: BaseException) -> None:
        self.ends.append(("again", type(error)))

    def wait_for(self, condition: Callable[[], Any], timeout: float) -> None:
        assert timeout > 0 and not condition()
        self.ends.append(("waits", SupersededError))


@pytest.mark.parametrize(
    ("error", "written", "how"),
    [
        (NotAuthorizedError("x", "a"), {"a"}, ("again", WithdrawnError)),
        (NotAuthorizedError("x", "a", "b"), {"a", "b"}, ("again", WithdrawnError)),
        (NotAuthorizedError("x"), {"a"}, ("again", WithdrawnError)),
        (NotAuthorizedError("x", "a", "new"), {"a"}, ("FAILED", NotAuthorizedError)),
        (NotAuthorizedError("x"), set(), ("FAILED", NotAuthorizedError)),
        (LATE, set(), ("again", StartAgainError)),
        (OTHER, {"a"}, ("FAILED", ConnectError)),
    ],
    ids=["topic", "topics", "id", "never had it", "never had any", "late", "other"],
)
def test_what_had_worked_is_tried_again(error: BaseException, written: set[str], how: tuple[str, type[BaseException]]) -> None:
    unit, counts = Unit(), Counts()
    withdrawn.end(unit, error, counts, lambda topic: bool(written) if topic is None else topic in written)  # type: ignore[arg-type]
    assert unit.ends == [how]
    assert (counts.retrying is not None) == (how[1] is WithdrawnError)


def test_one_that_a_newer_set_has_fenced_waits_to_be_stopped() -> None:
    unit = Unit()
    withdrawn.end(unit, SupersededError("x"), Counts(), lambda topic: True)  # type: ignore[arg-type]
    # Of one that was stopped meanwhile, `fail` writes no status.
    assert unit.ends == [("waits", SupersededError), ("FAILED", SupersededError)]


def test_it_is_shown_since_the_first_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(withdrawn, "time", SimpleNamespace(monotonic=lambda: now[0]))
    since = []
    for after in (0.0, 61.0, 61.0, 400.0):
        now[0] += after
        counts = Counts()
        withdrawn.end(Unit(spec=SimpleNamespace(unit=UnitId("y", 0))), NotAuthorizedError("x", "a"), counts, lambda topic: True)  # type: ignore[arg-type]
        assert counts.retrying is not None
        since.append(counts.retrying[0])
    assert since == [1000.0, 1000.0, 1000.0, 1522.0]
