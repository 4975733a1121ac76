"""
What a task host runs, one thread each: the life of a connector instance or a task, whatever it is.

`Unit` starts, pauses, stops and reports; `connector_unit.py` and `task_unit.py` say what happens in between. `Ports` is all
that a unit may ask of its host. Called by `host.py`; the phases are in `core/task/lifecycle.py`. Read next: `task_unit.py`.
"""

from __future__ import annotations

import logging
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

from kconnect.core.cluster.host import UnitSpec
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import State, TargetState
from kconnect.core.task.lifecycle import Event, Lifecycle
from kconnect.plugins.registry import Registry
from kconnect.worker import logs

log = logging.getLogger(__name__)


class Ports(Protocol):
    """What a unit may ask of its host; `host.Host` is the real one. All calls may come from any thread."""

    settings: WorkerSettings
    plugins: Registry

    def status(self, spec: UnitSpec, state: State, trace: str | None = None, version: str | None = None) -> None:
        """Report a state; returns at once, and keeps the order."""
        ...

    def publish_task_configs(self, connector: str, configs: list[dict[str, str]], config_offset: int) -> None:
        """Hand over what a connector instance made of its config."""
        ...

    def read_offsets(
        self, connector: str, partitions: list[dict[str, Any]], gives_up: Callable[[], bool]
    ) -> list[dict[str, Any] | None]:
        """Stored source offsets, as of now. Brokers that don't answer are waited for until `gives_up()`: ConnectError."""
        ...

    def write_offsets(
        self, connector: str, offsets: list[tuple[dict[str, Any], dict[str, Any] | None]], timeout: float
    ) -> None:
        """Store source offsets; they are stored when this returns, else it raises ConnectError."""
        ...

    def in_touch(self) -> bool:
        """False once this host has not read the log for so long that its units may be somebody else's."""
        ...

    def topic_used(self, connector: str, task: int, topic: str) -> None:
        """A task's first record to or from a topic (KIP-558)."""
        ...


class Unit(ABC):
    """`start`, `set_target_state`, `request_stop` and `abandon` are called by the host and return at once."""

    def __init__(self, spec: UnitSpec, ports: Ports, target: TargetState) -> None:
        self.spec = spec
        self.ports = ports
        self.target = target
        self.version: str | None = None
        self.records = 0
        """How many records were handed to Kafka, or to the task."""
        self.lag: int | None = None
        """Of a sink: records still to come, as of the last commit."""
        self.stopping = threading.Event()
        self.changed = threading.Condition()
        self._life = Lifecycle()
        self._thread = threading.Thread(target=self._main, name=str(spec.unit), daemon=True)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def abandoned(self) -> bool:
        return self._life.abandoned

    def start(self) -> None:
        self._thread.start()

    def set_target_state(self, target: TargetState) -> None:
        with self.changed:
            self.target = target
            self.changed.notify_all()
        self.wake()

    def request_stop(self) -> None:
        """End in order: what was taken is delivered, offsets are committed, and the status says UNASSIGNED."""
        with self.changed:
            self.stopping.set()
            self.changed.notify_all()
        self.wake()

    def abandon(self) -> None:
        """End without writing anything: by now this unit may be somebody else's."""
        self._life.abandoned = True
        self.request_stop()

    def join(self, timeout: float) -> bool:
        """Whether the unit's thread has ended, after waiting for at most so many seconds."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    @abstractmethod
    def run(self) -> None:
        """Live until `stopping` is set. An exception is a failure of this unit, and of nothing else."""

    def wake(self) -> None:
        """Interrupt whatever the unit's thread waits for, beyond `changed`. Called from the host's thread."""

    # --- for the unit's own thread ---

    def wait_for(self, condition: Callable[[], Any], timeout: float | None = None) -> None:
        """Wait, without cost, until `condition` holds, the unit is to stop, or the time is up."""
        with self.changed:
            self.changed.wait_for(lambda: self.stopping.is_set() or condition(), timeout)

    def hold_while_paused(self) -> bool:
        """A unit that begins paused starts its plugin at the first resume, as in Connect. False: it is to stop before."""
        if self.target is not TargetState.STARTED:
            self.moved(Event.PAUSE)
            self.wait_for(lambda: self.target is TargetState.STARTED)
        return not self.stopping.is_set()

    def may_work(self) -> bool:
        """
        Ask before anything that others can see. It waits until the host is in touch with the log, as after a suspension;
        False: the unit has been abandoned meanwhile, so nothing may be done any more.
        """
        while not self.abandoned and not self.ports.in_touch():
            with self.changed:
                self.changed.wait(0.05)
        return not self.abandoned

    def moved(self, event: Event, trace: str | None = None) -> None:
        """Take the next step of life, and report it if it is worth a status."""
        state = self._life.handle(event)
        if state is not None:
            self.ports.status(self.spec, state, trace, self.version)

    def fail(self, error: BaseException) -> None:
        """Report the failure, before anything is cleaned up: a plugin whose `stop` hangs is seen to have failed."""
        if self._life.over:
            log.error("Failed once more: %s", summary(error), exc_info=error)
            return
        if self.stopping.is_set():
            # As in Connect: it was to end anyway, and by now another worker's status may be the one that counts.
            log.warning("Failed while it was being stopped: %s", summary(error), exc_info=error)
            return
        log.error("Failed: %s", summary(error), exc_info=error)
        self.moved(Event.FAIL, trace(error))

    def config(self) -> dict[str, str]:
        """The connector's config as plugins get it: nulls are left out."""
        return {name: value for name, value in self.spec.connector_config.items() if value is not None}

    def _main(self) -> None:
        logs.bind(self.spec.connector, self.spec.task)
        try:
            self.run()
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything, SystemExit included
            self.fail(error)
        if not self._life.over:
            self.moved(Event.END)


def summary(error: BaseException) -> str:
    """One line: the error's class and what it says."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def trace(error: BaseException) -> str:
    """The text of a FAILED status: what went wrong in the first line, then where."""
    return f"{summary(error)}\n{''.join(traceback.format_exception(error))}"
