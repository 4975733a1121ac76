"""Checks run beside each other, and none keeps the others from being told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kconnect.cli.checkup import run
from kconnect.cli.checkup.doctor import sorted_by_place
from kconnect.cli.checkup.run import Check, beside_each_other
from kconnect.cli.findings import ERROR, OK, WARNING, Finding


def says(text: str, place: str = "here") -> Finding:
    return Finding(OK, "a", place, text)


def test_findings_are_in_the_order_of_the_checks() -> None:
    second = threading.Event()

    def waits() -> Iterator[Finding]:
        # They run at the same time, or this would wait for ever.
        assert second.wait(60)
        yield says("one")

    def quick() -> Iterator[Finding]:
        second.set()
        yield says("two")

    found = beside_each_other([Check("a", "here", waits), Check("b", "here", quick)], 60)
    assert [each.message for each in found] == ["one", "two"]


def test_a_check_that_fails_and_one_that_hangs_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    hung, end = threading.Event(), threading.Event()
    # The time is over only when the others have come to their ends, however slow this machine is.
    times = iter((0.0, 0.0, 0.0, 1000.0))
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: next(times)))

    def fails() -> Iterator[Finding]:
        yield says("before")
        raise ValueError("no\nway")

    def hangs() -> Iterator[Finding]:
        yield says("at once")
        hung.set()
        end.wait()

    def quick() -> Iterator[Finding]:
        assert hung.wait(60)
        yield says("c")

    try:
        checks = [Check("a", "here", fails), Check("c", "here", quick), Check("b", "there", hangs)]
        found = beside_each_other(checks, 100)
    finally:
        end.set()
    assert [(each.severity, each.message) for each in found] == [
        (OK, "before"),
        (ERROR, "The check of a failed (ValueError: no way)"),
        (OK, "c"),
        (OK, "at once"),
        (WARNING, "The check of b did not end within 100 s"),
    ]


def test_what_belongs_to_a_place_stands_together() -> None:
    found = sorted_by_place([says("1", "x"), says("2", "y"), says("3", "x")])
    assert [each.message for each in found] == ["1", "3", "2"]
