"""The fold of the config topic: deferred commits, inconsistent task sets, what compaction leaves behind."""

from __future__ import annotations

import itertools

from kconnect.core.state import records
from kconnect.core.state.config import ConfigState
from kconnect.core.state.records import Entry, LogRecord, TargetState, Topic, UnitId


class Log:
    """A config topic: `write` appends, `state` folds what is there, `compacted` keeps the last record of each key."""

    def __init__(self) -> None:
        self.records: list[LogRecord] = []
        self._offsets = itertools.count()

    def write(self, *entries: Entry) -> Log:
        for entry in entries:
            self.records.append(LogRecord(Topic.CONFIG, 0, next(self._offsets), entry.key, entry.value))
        return self

    def connector(self, name: str = "c", **config: str) -> Log:
        return self.write(records.connector_config(name, config))

    def tasks(self, count: int, name: str = "c") -> Log:
        return self.write(*records.task_configs(name, [{"n": str(n)} for n in range(count)]))

    def state(self) -> ConfigState:
        return fold(self.records)

    def compacted(self) -> ConfigState:
        last = {record.key: record for record in self.records}
        kept = sorted(last.values(), key=lambda record: record.offset)
        return fold([record for record in kept if record.value is not None])


def fold(log: list[LogRecord]) -> ConfigState:
    state = ConfigState()
    for record in log:
        state.apply(record)
    return state


def test_tasks_count_from_their_commit_on() -> None:
    log = Log().connector()
    tasks = records.task_configs("c", [{}, {}])
    log.write(*tasks[:-1])
    assert list(log.state().task_ids("c")) == []
    log.write(tasks[-1])
    assert list(log.state().task_ids("c")) == [0, 1]


def test_a_commit_with_a_gap_makes_the_set_inconsistent_and_the_next_one_heals_it() -> None:
    log = Log().connector()
    tasks = records.task_configs("c", [{}, {}])
    log.write(tasks[0], tasks[2])
    assert log.state().connectors["c"].inconsistent
    assert log.state().units() == {UnitId("c")}
    log.tasks(2)
    assert list(log.state().task_ids("c")) == [0, 1]


def test_a_smaller_set_hides_the_configs_of_the_larger_one() -> None:
    state = Log().connector().tasks(3).tasks(1).state()
    assert list(state.task_ids("c")) == [0]
    assert state.task_config(UnitId("c", 2)) is None


def test_the_applied_config_is_the_one_in_force_at_the_commit() -> None:
    state = Log().connector(a="1").tasks(1).connector(a="2").state()
    assert state.connectors["c"].applied == {"a": "1"}
    assert state.connectors["c"].properties == {"a": "2"}


def test_stopped_connectors_have_no_tasks_to_run_whatever_the_topic_holds() -> None:
    log = Log().connector().tasks(2).write(records.target_state("c", TargetState.STOPPED))
    assert log.state().units() == {UnitId("c")}


def test_a_tombstone_of_the_target_state_means_started() -> None:
    log = Log().connector().write(records.target_state("c", TargetState.PAUSED))
    log.write(Entry(Topic.CONFIG, b"target-state-c", None))
    assert log.state().target_state("c") is TargetState.STARTED


def test_task_configs_of_a_deleted_connector_never_come_back() -> None:
    """KAFKA-16838: compaction removes the connector and its tombstone, but not its tasks and their commit."""
    log = Log().connector().tasks(2).write(*records.connector_deleted("c")).connector(new="1")
    for state in (log.state(), log.compacted()):
        assert list(state.task_ids("c")) == []
        assert state.task_config(UnitId("c", 0)) is None


def test_unknown_and_broken_records_change_nothing_but_the_position() -> None:
    log = Log().connector().tasks(1)
    before = log.state().units()
    log.write(Entry(Topic.CONFIG, b"nonsense", b"{}"), Entry(Topic.CONFIG, b"connector-d", b"]"))
    assert log.state().units() == before
    assert log.state().offset == len(log.records)


def test_wish_offset_is_the_same_after_compaction() -> None:
    log = Log().connector().tasks(1).write(records.target_state("c", TargetState.PAUSED))
    log.write(records.target_state("c", TargetState.STARTED))
    assert log.state().desired_offset("c") == log.compacted().desired_offset("c") == 4
