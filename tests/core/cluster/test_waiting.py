"""How a host lets an exactly-once task wait: what it declares, and when the wait is over (KIP-618)."""

from __future__ import annotations

from kconnect.core.cluster.host import Declare, HostState, Pass, Start, Stop
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import Assignment, FencingFailed, Held, Placement, Wait
from kconnect.core.state.records import Entry, LogRecord, Topic, UnitId

TASK = UnitId("x", 0)


class Alone:
    """A host that is alone, and reads everything at once."""

    def __init__(self) -> None:
        self.state = HostState("w", 0, "1", "me", None, 1000)
        # No less than its worker has.
        self.state.reached({(Topic.CONFIG, 0): 1000})
        self.declared: list[Held] = []
        self.specs: dict[UnitId, UnitSpec] = {}
        self._offsets = dict.fromkeys(Topic, 0)
        self.write(
            records.connector_config("x", {}),
            *records.task_configs("x", [{}]),
            assignment_records.assignment(Assignment("w", frozenset({TASK}), 1)),
            assignment_records.placement(Placement("w", {0: {TASK: 0}}, 1, 1, "1", config_offset=100)),
        )
        self.state.ready(0)

    def write(self, *entries: Entry) -> None:
        for entry in entries:
            self.state.apply(LogRecord(entry.topic, 0, self._offsets[entry.topic], entry.key, entry.value))
            self._offsets[entry.topic] += 1

    def decide(self) -> list[object]:
        """What is left once all was declared and read back."""
        found: list[object] = []
        while effects := self.state.decide(0):
            for effect in effects:
                match effect:
                    case Declare(held):
                        self.declared.append(held)
                        self.write(assignment_records.held(held))
                    case Start(spec):
                        self.specs[spec.unit] = spec
                    case Stop(unit):
                        self.state.stopped(unit)
                    case _:
                        found.append(effect)
        return found

    def fail(self, error: str, incarnation: str = "me", sequence: int | None = None) -> None:
        wait = self.declared[-1].waiting[TASK]
        read = incarnation, wait.sequence if sequence is None else sequence
        self.write(assignment_records.fencing_failed(FencingFailed("x", error, wait.tasks_offset, {("w", 0): read})))


def waiting() -> Alone:
    host = Alone()
    assert host.decide() == []
    assert host.state.wait(host.specs[TASK])
    assert host.decide() == []
    return host


def test_a_host_says_who_waits_for_which_set() -> None:
    host = waiting()
    assert host.declared[-1].waiting == {TASK: Wait(host.specs[TASK].config_offset, host.declared[-1].sequence)}
    assert host.declared[0].waiting == {}


def test_the_wait_is_over_once_the_set_is_recorded() -> None:
    host = waiting()
    assert not host.state.is_fenced(host.specs[TASK])
    host.write(records.tasks_fencing("x", 1))
    assert host.decide() == [Pass(TASK)]
    assert host.state.is_fenced(host.specs[TASK])
    assert host.declared[-1].waiting == {}


def test_only_those_who_were_read_to_wait_have_waited_in_vain() -> None:
    host = waiting()
    host.fail("another life", incarnation="other")
    assert host.decide() == []
    host.fail("too early", sequence=host.declared[-1].sequence - 1)
    assert host.decide() == []
    host.fail("no")
    assert host.decide() == [Pass(TASK, "no")]
    # Who waits anew does not fail of what was said before.
    assert host.state.wait(host.specs[TASK])
    assert host.decide() == []
    assert TASK in host.declared[-1].waiting


def test_who_is_to_stop_waits_no_longer() -> None:
    host = waiting()
    old = host.specs[TASK]
    host.write(*records.task_configs("x", [{"other": "1"}]))
    host.decide()
    assert host.declared[-1].waiting == {}
    assert host.specs[TASK] != old
    # Its thread may ask after that.
    assert not host.state.wait(old)
    assert not host.state.is_fenced(old)
