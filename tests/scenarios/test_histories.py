"""
Thousands of random histories of a cluster in memory, each checked against the invariants (`kconnect/testing/histories.py`).

A failing one prints its seed and its actions: `History(seed, workers).play(actions)` plays it again. `scripts/test` plays
10,000, `--pure` 300; the variable KCONNECT_HISTORIES says otherwise. Below, each checker is shown a cluster that breaks its
invariant.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kconnect.api.errors import AlreadyExistsError
from kconnect.core.cluster import handover
from kconnect.core.cluster.host import HostState
from kconnect.core.herder.answers import Answers
from kconnect.core.herder.herder import Herder
from kconnect.core.state import records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.records import State, Topic, UnitId, UnitStatus
from kconnect.kafka.memory import MemoryLog
from kconnect.testing import histories
from kconnect.testing.histories import ACTIONS, Action, History, violations

WANTED = int(os.environ.get("KCONNECT_HISTORIES", "300"))
BLOCKS = 4

played = 0

action = st.builds(Action, st.sampled_from(ACTIONS), st.integers(0, 2), st.integers(0, 1), st.integers(0, 7))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_whatever_happens_the_invariants_hold(block: int) -> None:
    # A block of its own each, so that a failure in one does not end the others.
    @settings(
        max_examples=-(-WANTED // BLOCKS),
        deadline=None,
        database=None,
        print_blob=True,
        # Shrinking takes minutes, and often ends at another failure; the actions are few anyway.
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**32), st.integers(1, 3), st.lists(action, min_size=1, max_size=14))
    def play(seed: int, workers: int, actions: list[Action]) -> None:
        global played
        played += 1
        begin = Action("create", 0, 0, seed % 4)
        found = violations(History(seed, workers).play([begin, *actions]))
        assert not found, "; ".join(map(str, found))

    play()


def test_as_many_histories_were_played_as_were_asked_for() -> None:
    assert played >= WANTED


# --- each checker can fail --------------------------------------------------------------------------------------------


def drawn(seed: int) -> list[Action]:
    draw = random.Random(seed)
    more = [Action(draw.choice(ACTIONS), draw.randrange(3), draw.randrange(2), draw.randrange(8)) for _ in range(10)]
    return [Action("create", 0, 0, 1), Action("wait", 0, 0, 3), *more]


def names(history: History) -> set[str]:
    return {found.name for found in violations(history)}


def found_by(name: str, spoil: Callable[[History], None] = lambda _: None) -> bool:
    for seed in range(300):
        history = History(seed, 1 + seed % 3)
        history.play(drawn(seed))
        spoil(history)
        if name in names(history):
            return True
    return False


def test_the_same_seed_and_actions_are_the_same_history() -> None:
    one, two = (History(6, 2).play(drawn(6)) for _ in range(2))
    assert one.log.records == two.log.records
    assert one.emitted == two.emitted
    assert one.emitted, "the tasks do something"


def test_overlap_when_hosts_start_without_reading_back_what_they_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostState, "_confirmed", property(lambda self: self._anything, lambda self, value: None), raising=False)
    monkeypatch.setattr(HostState, "_anything", type("All", (), {"__contains__": lambda self, unit: True})(), raising=False)
    monkeypatch.setattr(handover, "_free", lambda *_: True)
    assert found_by("overlap")


def test_overlap_when_the_leader_does_not_wait_for_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "_free", lambda *_: True)
    assert found_by("overlap")


def test_a_duplicate_when_tasks_forget_the_stored_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(histories._Count):
        def __init__(self, sent: int) -> None:
            super().__init__(0)

    monkeypatch.setattr(histories, "_Count", Forgetful)
    assert found_by("I2 duplicate")


def test_a_gap_when_tasks_begin_behind_the_stored_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hasty(histories._Count):
        def __init__(self, sent: int) -> None:
            super().__init__(sent + 1)

    monkeypatch.setattr(histories, "_Count", Hasty)
    assert found_by("I3 gap")


def test_offsets_that_go_back_or_ahead() -> None:
    def store(seqno: int) -> Callable[[History], None]:
        key = records.offset_key("x", {"task": 0})
        return lambda history: history.log.append([records.source_offset(key, {"seqno": seqno})]) and None

    assert found_by("I5 offset ahead", store(10**6))
    assert found_by("I4 offset back", store(-1))


def test_two_leaders_when_nobody_is_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryLog, "append_as", lambda self, epoch, entries: self.append(entries, epoch))
    assert found_by("I6 two leaders")


def test_a_config_that_no_leader_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Herder, "write_as_leader", Herder.write)
    assert found_by("I6 not a leader")


def test_a_worker_that_reads_another_log() -> None:
    def spoil(history: History) -> None:
        next(iter(history.workers.values())).herder.config.connectors.pop("x", None)

    assert found_by("I8 replay", spoil)


def test_a_status_that_says_stopped_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AssignmentState, "holders", lambda self, unit: [])
    monkeypatch.setattr(histories.HistoryHost, "_end_one", lambda self: None)
    # It never comes to rest.
    monkeypatch.setattr(History, "rest", lambda self: self._drain(60))
    assert any("I11 stopped" in {v.name for v in histories.data(History(n).play(drawn(n)))} for n in range(300))


def test_a_refused_request_that_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    create = Answers._create

    def late(self: Answers, *arguments: object) -> object:
        yield from create(self, *arguments)  # type: ignore[arg-type]
        raise AlreadyExistsError("too late")

    monkeypatch.setattr(Answers, "_create", late)
    assert found_by("I12 refused")


def test_a_unit_that_does_not_run_and_a_status_that_lies() -> None:
    def stop_one(history: History) -> None:
        for host in history.hosts.values():
            host.threads.clear()

    def lie(history: History) -> None:
        history.log.append([records.status(UnitId("gone"), UnitStatus(State.RUNNING, "a:1", 1))])

    assert found_by("I7 owner", stop_one)
    assert found_by("I10 status", lie)


def test_a_request_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answers, "_delete", lambda self, name: (yield self._herder.pause_ms(10**12)))
    assert found_by("unanswered")


def test_every_topic_gets_garbage_and_it_is_logged_once() -> None:
    history = History(1, 2).play([Action("garbage", number=number) for number in (0, 1, 2, 3, 4, 0, 1, 2)])
    assert {record.topic for record in history.log.records} >= set(Topic)
    assert not violations(history)
    for name in history.workers:
        ignored = [line for line in history.lines if line.startswith(f"{name} WARNING Ignoring")]
        assert ignored
        assert len(ignored) == len(set(ignored))
