"""What a worker writes keeps its order, and what waits together for the leader's transaction shares one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kconnect.core.herder import events
from kconnect.core.herder.effects import Effect, Offsets, TakeLead, Write
from kconnect.core.state.records import Entry, Topic
from kconnect.errors import BadRequestError, ConnectError
from kconnect.worker.writing import Writing

WAIT_S = 60


def entries(*keys: str) -> tuple[Entry, ...]:
    return tuple(Entry(Topic.CONFIG, key.encode(), b"") for key in keys)


class Log:
    """Holds back its first write until `go_on`, so that what follows is queued. Refuses what has a key of `refused`."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.written: list[tuple[list[str], bool]] = []
        self.refused: dict[str, Exception] = {}

    def perform(self, effect: Effect[Any]) -> Offsets:
        self.begun.set()
        assert self.go_on.wait(WAIT_S)
        if isinstance(effect, TakeLead):
            self.written.append((["the lead is taken"], True))
            return {}
        assert isinstance(effect, Write)
        keys = [entry.key.decode() for entry in effect.entries if entry.key]
        for key in keys:
            if key in self.refused:
                raise self.refused[key]
        self.written.append((keys, effect.as_leader))
        return {(Topic.CONFIG, 0): len(self.written)}


class Setup:
    def __init__(self) -> None:
        self.log = Log()
        self.told: queue.SimpleQueue[events.Event] = queue.SimpleQueue()
        self.writing = Writing(self.log.perform, self.told.put)
        self.write(0, entries("first"))
        assert self.log.begun.wait(WAIT_S)

    def write(self, id: int, wanted: tuple[Entry, ...], as_leader: bool = True) -> None:
        self.writing.put(Write(wanted, as_leader, id=id))

    def end(self, count: int) -> dict[int, object]:
        """Let the writes go on; gives what each of `count` asks was answered, by its id."""
        self.log.go_on.set()
        answers: dict[int, object] = {}
        while len(answers) < count:
            event = self.told.get(timeout=WAIT_S)
            assert isinstance(event, events.Done | events.Failed)
            assert event.id not in answers
            answers[event.id] = event.result if isinstance(event, events.Done) else event.error
        return answers


@pytest.fixture
def setup() -> Iterator[Setup]:
    setup = Setup()
    yield setup
    setup.log.go_on.set()
    setup.writing.close()


def test_what_waits_for_the_leader_is_one_transaction(setup: Setup) -> None:
    for number in range(1, 4):
        setup.write(number, entries(f"a{number}", f"b{number}"))
    answers = setup.end(4)
    assert setup.log.written == [(["first"], True), (["a1", "b1", "a2", "b2", "a3", "b3"], True)]
    assert answers == {0: {(Topic.CONFIG, 0): 1}, **{number: {(Topic.CONFIG, 0): 2} for number in (1, 2, 3)}}


def test_nothing_overtakes_what_is_not_the_leader_s(setup: Setup) -> None:
    setup.write(1, entries("one"))
    setup.write(2, entries("a status"), False)
    setup.writing.put(TakeLead(id=3))
    setup.write(4, entries("two"))
    setup.write(5, entries("three"))
    setup.end(6)
    assert setup.log.written[1:] == [
        (["one"], True),
        (["a status"], False),
        (["the lead is taken"], True),
        (["two", "three"], True),
    ]


def test_one_that_can_not_be_written_refuses_no_other(setup: Setup) -> None:
    error = BadRequestError("too large")
    setup.log.refused["large"] = error
    for number, key in enumerate(("one", "large", "two"), 1):
        setup.write(number, entries(key))
    answers = setup.end(4)
    assert answers[2] is error
    assert setup.log.written[1:] == [(["one"], True), (["two"], True)]
    assert (answers[1], answers[3]) == ({(Topic.CONFIG, 0): 2}, {(Topic.CONFIG, 0): 3})


def test_what_befalls_the_transaction_befalls_all_in_it(setup: Setup) -> None:
    error = setup.log.refused["two"] = ConnectError("no broker")
    for number, key in enumerate(("one", "two", "three"), 1):
        setup.write(number, entries(key))
    answers = setup.end(4)
    assert [answers[number] for number in (1, 2, 3)] == [error] * 3
    assert setup.log.written == [(["first"], True)]


def test_a_transaction_has_its_size(setup: Setup) -> None:
    for number in range(1, 6):
        setup.write(number, entries(*(f"{number}-{each}" for each in range(400))))
    setup.end(6)
    assert [len(keys) for keys, _ in setup.log.written] == [1, 1200, 800]
