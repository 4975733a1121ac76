"""
Thousands of random histories of a cluster in memory (`tests/rig/histories/histories.py`), each checked against the invariants
I1 to I12 (`tests/rig/histories/invariants.py`).

A failing one prints its seed and its actions: `History(seed, workers).play(actions)` plays it again. `scripts/test` plays
1,000, `--pure` 300, `--long` 10,000; the variable KCONNECT_HISTORIES says otherwise, and with KCONNECT_EXPLORE, as in `--long`,
other ones are drawn each time.
Below, each checker is shown a cluster that breaks its invariant, mostly one in which a rule of the protocol is switched off.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kconnect.core.cluster import handover, placement
from kconnect.core.cluster.host import HostState
from kconnect.core.herder import fencing, stored_offsets
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.leader import Leading
from kconnect.core.herder.placing import Placing
from kconnect.core.herder.request import Office
from kconnect.core.herder.requests import offsets
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PutConfig
from kconnect.core.herder.spark_rest import SparkRest
from kconnect.core.state import records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.records import FOLDED, State, Topic, UnitId, UnitStatus
from kconnect.core.state.status import StatusState
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.sink_offsets import SinkOffsets
from kconnect.core.task.topic_use import TopicUse
from kconnect.errors import AlreadyExistsError
from tests.rig.histories import counting, history_actors
from tests.rig.histories.histories import ACTIONS, History, some_kinds
from tests.rig.histories.history_users import SINK, Action
from tests.rig.histories.invariants import violations
from tests.rig.histories.memory import MemoryLog
from tests.support import EXPLORE

WANTED = int(os.environ.get("KCONNECT_HISTORIES", "300"))
BLOCKS = max(1, min(4, WANTED // 300))

action = st.tuples(st.integers(0, len(ACTIONS) - 1), st.integers(0, 2), st.integers(0, 2), st.integers(0, 15))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_whatever_happens_the_invariants_hold(block: int, pytestconfig: pytest.Config) -> None:
    # A block of its own each, so that a failure in one does not end the others.
    wanted, played, rested, seen = -(-WANTED // BLOCKS), 0, 0, set[str]()

    @settings(
        max_examples=wanted,
        deadline=None,
        database=None,
        print_blob=True,
        # Shrinking takes minutes, and often ends at another failure; the actions are few anyway.
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**32), st.integers(1, 3), st.lists(action, min_size=1, max_size=14))
    def play(seed: int, workers: int, drawn: list[tuple[int, int, int, int]]) -> None:
        nonlocal played, rested
        kinds = some_kinds(seed)
        actions = [*beginning(seed), *(Action(kinds[kind % len(kinds)], *details) for kind, *details in drawn)]
        history = History(seed, workers).play(actions)
        found = violations(history)
        played += 1
        rested += history.rests > 0
        seen.update(action.what for action in actions)
        assert not found, f"{'; '.join(map(str, found))}\nHistory({seed}, {workers}).play({actions})"

    (play if EXPLORE else hypothesis.seed(block)(play))()
    pytestconfig.get_terminal_writer().line(f" {played} histories ")
    assert played >= wanted
    assert seen == set(ACTIONS), "every kind of action was among them"
    assert rested >= wanted // 60, "Spark of some workers has ended for a while"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Pumps warn of what a lying Kafka does to them, thousands of times."""
    logger = logging.getLogger("kconnect.core.task")
    logger.disabled, children = True, [logging.getLogger(f"{logger.name}.{name}") for name in ("delivery", "sink_pump")]
    for child in children:
        child.disabled = True
    yield
    for each in (logger, *children):
        each.disabled = False


def beginning(seed: int) -> list[Action]:
    return [Action("create", 0, seed % 3, seed % 4), Action("wait", 0, 0, seed % 3)][: 1 + seed % 2]


# --- each checker can fail --------------------------------------------------------------------------------------------


def drawn(seed: int, kinds: Sequence[str]) -> list[Action]:
    draw = random.Random(seed)
    more = [Action(draw.choice(kinds), draw.randrange(3), draw.randrange(3), draw.randrange(16)) for _ in range(10)]
    return [*beginning(seed), *more]


def found_by(name: str, spoil: Callable[[History], object] = lambda _: None, kinds: Sequence[str] = (), first: int = 0) -> bool:
    """
    Whether some history, of some `kinds` of action and spoilt at its end, is found to break the invariant. `first` is where
    to begin: a seed that once found it, where that was a rare one.
    """
    for seed in (*range(first, 500), *range(first)):
        history = History(seed, 1 + seed % 3).play(drawn(seed, kinds or some_kinds(seed)))
        spoil(history)
        if name in {found.name for found in violations(history)}:
            return True
    return False


def test_the_same_seed_and_actions_are_the_same_history() -> None:
    one, two = (History(6, 2).play(drawn(6, ACTIONS)) for _ in range(2))
    assert one.log.records == two.log.records
    assert one.emitted == two.emitted
    assert one.emitted, "the tasks do something"


def test_one_owner_when_the_leader_does_not_wait_for_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "_taken", lambda *_: {})
    assert found_by("I7 one owner", kinds=("add_worker", "kill_worker", "create"))


def test_one_owner_when_hosts_start_without_reading_back_what_they_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    class Everything:
        def __contains__(self, unit: UnitId) -> bool:
            return True

        def __and__(self, units: frozenset[UnitId]) -> Everything:
            return self

    monkeypatch.setattr(HostState, "_confirmed", property(lambda _: Everything(), lambda *_: None), raising=False)
    # That takes a host that is suspended just then, and a unit that moves meanwhile.
    assert found_by("I7 one owner", kinds=("add_worker", "shutdown", "suspend", "wake", "create"), first=131)


def without_a_worker(seed: int) -> list[Action]:
    """A worker is killed, and one of the hosts that it leaves behind can't read the log just when it is told to leave."""
    wait, cut = [Action("wait", 0, 0, number) for number in range(8)], Action("cut", seed % 3, 0, 0)
    again = cut if seed % 2 else Action("wake", 0, 0, 0)
    killed = [Action("kill_worker", 0, 0, 1), wait[2 + seed % 3], cut, wait[6], again, wait[3]]
    return [Action("create", 0, seed % 3, seed % 4), wait[3], *killed]


def found_without_a_worker(name: str, first: int) -> bool:
    """As `found_by`, in histories of hosts without a worker."""
    histories = (History(seed, 2).play(without_a_worker(seed)) for seed in (*range(first, 100), *range(first)))
    return any(name in {found.name for found in violations(history)} for history in histories)


def test_hosts_without_a_worker_that_lose_the_log_for_a_while() -> None:
    for seed in range(25):
        assert not violations(History(seed, 2).play(without_a_worker(seed))), seed


def test_one_owner_when_hosts_do_not_look_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_actors.HistoryHost, "holds_lease", lambda self: True)
    assert found_without_a_worker("I7 one owner", first=32)


def test_one_owner_when_hosts_that_were_out_of_touch_stop_as_if_nothing_had_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they ran may be others' by then: their statuses and offsets would come last."""
    decide = HostState.decide
    monkeypatch.setattr(HostState, "decide", lambda self, now, in_touch=True: decide(self, now))
    assert found_without_a_worker("I7 one owner", first=25)


def test_one_owner_when_hosts_that_lost_their_worker_take_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostState, "_late", lambda self, now: frozenset())
    assert found_by("I7 one owner", kinds=("kill_worker", "wait", "add_worker"))


MOVING = ("put", "hang", "restart", "wait")


def test_one_owner_when_units_change_hosts_without_waiting_for_their_release(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = placement._Plan.__init__

    def ask_nobody(self: Any, *known: Any) -> None:
        begin(self, *known)
        self._holders = {}

    monkeypatch.setattr(placement._Plan, "__init__", ask_nobody)
    assert found_by("I7 one owner", kinds=MOVING)


def test_one_owner_when_hosts_run_a_config_that_their_worker_has_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = HostState._wanted

    def whatever_comes(self: HostState) -> Any:
        known = self.assignment.placements.get(self.worker)
        if known is not None:
            self.assignment.placements[self.worker] = replace(known, config_offset=10**9)
        return wanted(self)

    monkeypatch.setattr(HostState, "_wanted", whatever_comes)
    assert found_by("I7 one owner", kinds=MOVING)


def test_one_owner_when_what_never_stops_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostState, "stuck", lambda self, unit: None)
    assert found_by("I7 one owner", kinds=("hang", "put", "restart"), first=43)


def test_hosts_that_nothing_needs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement._Plan, "close_unused", lambda self: None)
    assert found_by("hosts", kinds=MOVING)


def test_a_worker_that_rests_though_it_is_needed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkRest, "_is_needed", lambda self: False)
    assert found_by("hosts", kinds=("create", "wait"))


def test_no_loss_when_something_was_never_sent() -> None:
    assert found_by("I1 no loss", lambda history: history.emitted and history.emitted.pop(0))


def test_no_loss_when_a_request_is_answered_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(self: PutConfig, office: Office) -> Any:
        return (yield from office.desk.await_lead())

    monkeypatch.setattr(PutConfig, "answer", forget)
    assert found_by("I1 no loss")


def test_no_repeat_when_tasks_forget_the_stored_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(counting.SourceTask):
        def __init__(self, history: History, unit: UnitId, use: TopicUse) -> None:
            super().__init__(history, unit, use)
            self._sent = 0

    monkeypatch.setattr(history_actors, "SourceTask", Forgetful)
    assert found_by("I2 no repeat")


def test_no_repeat_when_a_sink_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting._Member, "stored", lambda self, place: 0)
    assert found_by("I2 no repeat", kinds=("wait", "restart_task", "pause", "resume"))


def test_no_gap_when_tasks_begin_behind_the_stored_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hasty(counting.SourceTask):
        def __init__(self, history: History, unit: UnitId, use: TopicUse) -> None:
            super().__init__(history, unit, use)
            self._sent += 1

    monkeypatch.setattr(history_actors, "SourceTask", Hasty)
    assert found_by("I3 no gap")


def test_offsets_that_go_back_or_ahead() -> None:
    def store(seqno: int) -> Callable[[History], object]:
        key = records.offset_key("x", {"task": 0})
        return lambda history: history.log.append([records.source_offset(key, {"seqno": seqno})])

    assert found_by("I4 offsets rise", store(-1))
    assert found_by("I5 offsets not ahead", store(10**6))
    assert found_by("I5 offsets not ahead", lambda history: history.store(UnitId(SINK, 0), 10**6))


def test_offsets_ahead_when_they_are_stored_before_kafka_has_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting._Kafka, "flush", lambda self, timeout: True)
    assert found_by("I5 offsets not ahead")


def test_loss_when_a_refusal_is_not_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    has = counting._Kafka.has

    def without_two(self: counting._Kafka, messages: Sequence[Outgoing]) -> None:
        has(self, [message for message in messages if message[1] != b"2"])

    monkeypatch.setattr(counting._Kafka, "has", without_two)
    monkeypatch.setattr(counting._Kafka, "newest", 10**6, raising=False)
    assert found_by("I1 no loss")


def test_offsets_ahead_when_a_sink_commits_what_it_has_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    read = SinkOffsets.read

    def hasty(self: SinkOffsets, *given: Any) -> Any:
        ends = read(self, *given)
        self.delivered(ends)
        return ends

    monkeypatch.setattr(SinkOffsets, "read", hasty)
    assert found_by("I5 offsets not ahead")


def test_repeats_when_offsets_of_a_transaction_are_stored_outside_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records are visible, and the task ends before it has stored how far it came."""
    monkeypatch.setattr(counting._Store, "entries", lambda self, offsets, timeout: [])
    assert found_by("I2 exactly once")


def test_topics_that_are_announced_before_there_is_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(self: TopicUse, topics: Any, messages: Any) -> None:
        self.read_from(frozenset(topics))

    monkeypatch.setattr(TopicUse, "sent", at_once)
    assert found_by("topics")


def test_one_leader_when_nobody_is_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryLog, "append_as", lambda self, epoch, entries: self.append(entries, epoch))
    assert found_by("I6 one leader", first=80)


def test_one_leader_when_anybody_writes_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Desk, "write_as_leader", Desk.write)
    assert found_by("I6 one leader")


def test_replay_is_a_function_unless_a_worker_has_missed_something() -> None:
    def spoil(history: History) -> None:
        next(iter(history.workers.values())).herder.log.config.connectors.clear()

    assert found_by("I8 replay is a function", spoil)


def test_replay_is_a_function_unless_earlier_records_of_a_key_count(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = StatusState.apply

    def first_counts(self: StatusState, record: records.LogRecord) -> Any:
        before = dict(self.units)
        decoded = apply(self, record)
        self.units.update(before)
        return decoded

    # Only once the history is over: a cluster that reads like that never comes to rest.
    assert found_by("I8 replay is a function", lambda _: monkeypatch.setattr(StatusState, "apply", first_counts))


def test_unknown_survives_unless_garbage_changes_something() -> None:
    def spoil(history: History) -> None:
        history.junk.add(next(i for i, record in enumerate(history.log.records) if record.topic is Topic.CONFIG))

    assert found_by("I9 unknown survives", spoil)


def test_honest_status_when_one_lies_or_says_nothing() -> None:
    def lie(history: History) -> None:
        history.log.append([records.status(UnitId("gone"), UnitStatus(State.RUNNING, "a:1", 1))])

    def fall_silent(history: History) -> None:
        history.log.append([records.status(unit, None) for unit in history.running()])

    assert found_by("I10 honest status", lie)
    assert found_by("I10 honest status", fall_silent)


def test_stopped_is_stopped_when_the_status_says_so_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AssignmentState, "holders", lambda self, unit: [])
    monkeypatch.setattr(AssignmentState, "is_at_work", lambda self, connector, workers: False)
    assert found_by("I11 stopped is stopped", kinds=("stop", "resume", "wait"), first=27)


def test_refused_wrote_nothing_when_a_request_is_refused_after_it_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    create = CreateConnector.answer

    def late(self: CreateConnector, office: Office) -> Any:
        yield from create(self, office)
        raise AlreadyExistsError("too late")

    monkeypatch.setattr(CreateConnector, "answer", late)
    assert found_by("I12 refused wrote nothing")


def test_refused_wrote_nothing_when_a_request_at_rest_leaves_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(history: History) -> None:
        history.refused_last[0] = (history.refused_last[0][0], 1)

    assert found_by("I12 refused wrote nothing", spoil)


OFFSETS = ("stop", "alter", "reset", "resume", "wait")


def test_no_gap_when_offsets_change_while_tasks_still_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "released", lambda *_: iter(()))
    assert found_by("I3 no gap", kinds=OFFSETS, first=453)


def test_no_loss_when_offsets_are_said_to_be_altered_and_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(*_: object) -> Any:
        yield from ()

    monkeypatch.setattr(stored_offsets, "write", forget)
    assert found_by("I1 no loss", kinds=OFFSETS, first=31)


def test_refused_wrote_nothing_when_offsets_are_written_that_the_connector_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, read = offsets._ask_connector, stored_offsets.read
    found: list[tuple[Desk, stored_offsets.Stored]] = []

    def remember(desk: Desk, *rest: Any, **more: Any) -> Any:
        stored = yield from read(desk, *rest, **more)
        found.append((desk, stored))
        return stored

    def too_late(name: str, kind: str, config: Any, pairs: Any) -> Any:
        if kind == "source":
            desk, stored = found[-1]
            yield from desk.write_as_leader(stored.in_worker(pairs))
        return (yield from asked(name, kind, config, pairs))

    monkeypatch.setattr(stored_offsets, "read", remember)
    monkeypatch.setattr(offsets, "_ask_connector", too_late)
    assert found_by("I12 refused wrote nothing", kinds=("stop", "alter", "resume", "wait"), first=31)


FENCING = ("put", "wait", "restart")


def test_fenced_first_when_tasks_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostState, "is_fenced", lambda self, spec: True)
    assert found_by("fenced first", kinds=FENCING, first=9)


def test_fenced_first_when_it_is_recorded_and_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fencing, "fence", lambda *_: iter(()))
    assert found_by("fenced first", kinds=FENCING, first=9)


def test_fenced_first_when_those_of_the_new_set_are_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fencing, "to_fence", lambda desk, name: desk.log.config.connectors[name].task_count)
    assert found_by("fenced first", kinds=FENCING, first=31)


def test_tidy_unless_topics_are_left_of_what_is_gone_or_read_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_by("tidy", lambda history: history.log.append(records.topic_use("gone", "t", 0, 1, ("apache",))))
    monkeypatch.setattr(Leading, "_unsubscribed", lambda self: [])
    assert found_by("tidy", kinds=("put", "wait"))


def test_levels_arrive_unless_a_worker_has_missed_one() -> None:
    def spoil(history: History) -> None:
        next(iter(history.workers.values())).levels.append(("root", "OFF"))

    assert found_by("levels", spoil)


def test_a_unit_that_is_to_run_and_does_not() -> None:
    def stop_one(history: History) -> None:
        for host in history.hosts.values():
            host.threads.clear()

    assert found_by("I7 one owner", stop_one)


def test_a_request_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeleteConnector, "answer", lambda self, office: (yield office.desk.pause(10**12)))
    assert found_by("answered")


def test_a_cluster_that_does_not_come_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    tidy = Placing._stopped_statuses

    def again(self: Placing) -> Any:
        return [*tidy(self), records.status(UnitId("x"), UnitStatus(State.STOPPED, "a:1", self._desk.changes))]

    monkeypatch.setattr(Placing, "_stopped_statuses", again)
    history = History(1, 1).play([])
    assert "rest" in {found.name for found in violations(history)}


def test_every_topic_gets_garbage_and_it_is_logged_once() -> None:
    history = History(1, 2).play([Action("garbage")] * 30)
    assert {history.log.records[index].topic for index in history.junk} == set(FOLDED)
    assert not violations(history)
    for name in history.workers:
        ignored = [line for line in history.lines if line.startswith(f"{name} WARNING Ignoring")]
        assert ignored
        assert len(ignored) == len(set(ignored))
