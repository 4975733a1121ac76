"""When a host looks at what the log wants of it, which costs with the units it has; and what it needs to have read for it."""

from __future__ import annotations

import pytest

from kconnect.core.cluster.host import Exit, HostState, SetTarget, Stop
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import Assignment, Placement
from kconnect.core.state.records import Entry, LogRecord, TargetState, Topic, UnitId
from tests.core.cluster.test_waiting import TASK, Alone


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each look."""
    found: list[object] = []
    wanted = HostState._wanted

    def counted(self: HostState) -> object:
        found.append(self)
        return wanted(self)

    monkeypatch.setattr(HostState, "_wanted", counted)
    return found


def changed(host: Alone, looks: list[object], *entries: Entry) -> list[object]:
    looks.clear()
    host.write(*entries)
    return host.decide()


def test_what_happens_to_connectors_elsewhere_is_not_looked_at(looks: list[object]) -> None:
    host = Alone()
    host.decide()
    elsewhere = [records.connector_config("y", {}), *records.task_configs("y", [{}])]
    assert changed(host, looks, *elsewhere, records.target_state("y", TargetState.PAUSED)) == []
    assert looks == []
    # The control, which is the connector that it has.
    effects = changed(host, looks, records.target_state("x", TargetState.PAUSED))
    assert [effect.target for effect in effects if isinstance(effect, SetTarget)] == [TargetState.PAUSED]
    assert looks


def test_a_connector_is_looked_at_from_when_it_is_placed_here(looks: list[object]) -> None:
    host = Alone()
    host.decide()
    both = frozenset({TASK, UnitId("y")})
    changed(host, looks, records.connector_config("y", {}))
    changed(host, looks, assignment_records.assignment(Assignment("w", both, 2)))
    placement = Placement("w", {0: dict.fromkeys(both, 0)}, 2, 2, "1", config_offset=200)
    changed(host, looks, assignment_records.placement(placement))
    assert set(host.specs) == {TASK, UnitId("y")}
    changed(host, looks, *records.connector_deleted("y"))
    assert looks
    assert host.state.units == {TASK}
    assert not any(isinstance(effect, Stop) for effect in host.decide())


# --- topics are read each for itself ----------------------------------------------------------------------------------


def placed(host: Alone, config_offset: int, *more: UnitId) -> None:
    """As its worker decided when it had read so much of the config topic."""
    units = {TASK, *more}
    placement = Placement("w", {0: dict.fromkeys(units, 0)}, 2, config_offset, "1", config_offset=config_offset)
    host.write(assignment_records.assignment(Assignment("w", frozenset(units), 2)), assignment_records.placement(placement))


def read_config(host: Alone, offset: int, name: str, **config: str) -> None:
    (entry,) = [records.connector_config(name, config)]
    host.state.apply(LogRecord(entry.topic, 0, offset, entry.key, entry.value))


def test_nothing_starts_by_a_config_that_its_worker_knew_to_be_replaced() -> None:
    """An older one may want other plugins, and so another host: placements are made by the one that is still to be read."""
    host = Alone()
    host.decide()
    read_config(host, 1000, "y", made="first")
    placed(host, 1010, UnitId("y"))
    host.decide()
    assert set(host.specs) == {TASK}, "what runs already goes on"
    read_config(host, 1009, "y", made="second")
    host.decide()
    assert host.specs[UnitId("y")].connector_config == {"made": "second"}


def test_that_the_topic_ends_there_is_enough() -> None:
    """The last record may be gone, by compaction."""
    host = Alone()
    host.decide()
    read_config(host, 1000, "y")
    placed(host, 1010, UnitId("y"))
    host.state.reached({(Topic.CONFIG, 0): 1005, (Topic.ASSIGNMENT, 0): 5000})
    host.decide()
    assert set(host.specs) == {TASK}
    host.state.reached({(Topic.CONFIG, 0): 1010})
    host.decide()
    assert set(host.specs) == {TASK, UnitId("y")}


def test_a_host_that_is_to_leave_stops_its_units_and_says_so_before_it_exits() -> None:
    host = Alone()
    host.decide()
    assert host.declared[-1].units == {TASK}
    host.state.leave("the executor has ended")
    assert host.decide() == [Exit("the executor has ended")]
    # Its worker still wants it, so the record stays; but nobody waits for what it lists.
    assert host.declared[-1].units == frozenset()
