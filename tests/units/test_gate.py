"""A task at the gate that exactly-once sources pass (KIP-618): it waits, pauses, stops or fails there."""

from __future__ import annotations

import time

from kconnect.core.cluster.host import HostState
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state.records import State, TargetState
from kconnect.units import gate
from kconnect.units.gate import Tell
from kconnect.units.unit import Unit
from tests.integration.units import MemoryHost, end, until

SPEC = UnitSpec("x", 0, {}, {}, 7, 0)


class SlowGate:
    """Answers when the test does."""

    def __init__(self) -> None:
        self.waits: list[Tell] = []
        self.confirms: list[Tell] = []

    def wait(self, spec: UnitSpec, tell: Tell) -> None:
        self.waits.append(tell)

    def confirm(self, tell: Tell) -> None:
        self.confirms.append(tell)


class Task(Unit):
    """Does at the gate what a source task does."""

    def __init__(self, host: MemoryHost, target: TargetState = TargetState.STARTED) -> None:
        super().__init__(SPEC, host, target)
        self.took: list[str] = []

    def run(self) -> None:
        if gate.pass_gate(self):
            self.took.append("id")
            if gate.confirm(self):
                self.took.append("confirmed")
                self.wait_for(lambda: False)


def at_gate(target: TargetState = TargetState.STARTED) -> tuple[MemoryHost, SlowGate, Task]:
    host, slow = MemoryHost("nobody:1"), SlowGate()
    host.gate = slow
    unit = Task(host, target)
    unit.start()
    return host, slow, unit


def test_it_waits_and_goes_on_when_it_is_told_to() -> None:
    host, slow, unit = at_gate()
    until(lambda: slow.waits)
    assert (unit.took, host.statuses) == ([], [])
    slow.waits[0](None)
    until(lambda: slow.confirms)
    assert unit.took == ["id"]
    slow.confirms[0](None)
    until(lambda: unit.took == ["id", "confirmed"])
    end(unit)


def test_what_is_wrong_fails_it() -> None:
    host, slow, unit = at_gate()
    until(lambda: slow.waits)
    slow.waits[0]("alice may not")
    until(lambda: host.statuses)
    state, trace = host.statuses[0]
    assert state is State.FAILED
    assert (trace or "").startswith("org.apache.kafka.connect.errors.ConnectException: alice may not")
    assert unit.took == []


def test_it_is_stopped_at_the_gate_and_before_it_is_confirmed() -> None:
    _, slow, unit = at_gate()
    until(lambda: slow.waits)
    end(unit)
    assert unit.took == []
    _, slow, unit = at_gate()
    until(lambda: slow.waits)
    slow.waits[0](None)
    until(lambda: slow.confirms)
    # As `Host` does it: whoever is to stop is told so first.
    unit.request_stop()
    slow.confirms[0](None)
    end(unit)
    assert unit.took == ["id"]


def test_paused_it_does_not_ask_before_it_is_resumed() -> None:
    host, slow, unit = at_gate(TargetState.PAUSED)
    until(lambda: host.states == ["PAUSED"])
    assert slow.waits == []
    unit.set_target_state(TargetState.STARTED)
    until(lambda: slow.waits)
    # Paused once more while it waits: that shows, and holds it though it might go on.
    unit.set_target_state(TargetState.PAUSED)
    until(lambda: host.states == ["PAUSED", "PAUSED"])
    slow.waits[0](None)
    assert unit.took == []
    unit.set_target_state(TargetState.STARTED)
    until(lambda: unit.took == ["id"])
    assert len(slow.waits) == 1
    end(unit)


def test_a_confirmation_is_of_a_log_that_was_read_since() -> None:
    told: list[str | None] = []
    host_gate = gate.Gate(HostState("w", 0, "1", "me", None, 1000))
    before = time.monotonic()
    host_gate.confirm(told.append)
    host_gate.take()
    assert host_gate.unconfirmed
    host_gate.decided(before - 1)
    assert (told, host_gate.unconfirmed) == ([], True)
    host_gate.decided(time.monotonic())
    assert (told, host_gate.unconfirmed) == ([None], False)
