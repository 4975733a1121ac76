"""
What a task host runs, one thread each: the life of a connector instance or a task, whatever it is.

`Unit` starts, pauses, stops and reports; `connector_unit.py` and `task_unit.py` say what happens in between. `Ports` is all
that a unit may ask of its host. Called by `host/main.py`; the phases are in `core/task/lifecycle.py`. Read next:
`task_unit.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Protocol, TypeVar

from kconnect.api.config import HIDDEN
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.settings import secrets
from kconnect.core.settings.common import RELOAD_ACTION
from kconnect.core.settings.references import Resolved
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import State, TargetState
from kconnect.core.task.converted import Converted
from kconnect.core.task.errors import Counts, error_class
from kconnect.core.task.lifecycle import Event, Lifecycle
from kconnect.core.task.meters import About, SinkMeter, SourceMeter, Times
from kconnect.core.task.ports import OffsetStore
from kconnect.errors import ConnectError, StartAgainError, WithdrawnError
from kconnect.jvm import beans
from kconnect.kafka.statistics import Statistics
from kconnect.kafka.watch import Watchers
from kconnect.plugins.providers import Providers
from kconnect.plugins.registry import Registry
from kconnect.processes import logs, traces
from kconnect.units import owners
from kconnect.units.gate import Tell
from kconnect.units.starts import StartTurns

log = logging.getLogger(__name__)

T = TypeVar("T")

_SHORTEST_TTL_S = 1.0
"""A provider whose values never hold must not keep a host busy with starts."""


class Waits(Protocol):
    """The gate that exactly-once tasks pass; `gate.Gate` is the real one."""

    def wait(self, spec: UnitSpec, tell: Tell) -> None: ...

    def confirm(self, tell: Tell) -> None: ...


class Ports(Protocol):
    """The calls that a unit may make of its host; `host.Host` is the real one. All calls may come from any thread."""

    settings: WorkerSettings
    plugins: Registry
    providers: Providers
    starts: StartTurns
    watchers: Watchers

    @property
    def gate(self) -> Waits: ...

    def status(self, spec: UnitSpec, state: State, trace: str | None = None, version: str | None = None) -> None:
        """Report a state; returns at once, and keeps the order."""
        ...

    def publish_task_configs(self, connector: str, configs: list[dict[str, str]], config_offset: int) -> None:
        """Hand over what a connector instance made of its config."""
        ...

    def offset_store(self, connector: str, config: Mapping[str, str]) -> OffsetStore:
        """Return the store of a connector's source offsets, by its resolved config. Returns at once; the caller closes it."""
        ...

    def holds_lease(self) -> bool:
        """False once this host has not read the log for so long that its units may be somebody else's."""
        ...

    def start_again(self, spec: UnitSpec, lasting: bool) -> bool:
        """
        Have a unit stopped and started again. False, and nothing happens, if that was so too often lately, unless it is for
        something that may last.
        """
        ...

    def explain(self, spec: UnitSpec, error: MemoryError) -> str | None:
        """
        Return which setting has kept a unit's code from more memory, if one has. Called before the error is reported. If the
        memory is the JVM's, of which each unit here needs some, the process ends.
        """
        ...

    def topics_announced(self, spec: UnitSpec) -> Set[str]:
        """
        The topics that this task was said to use, in this life of its host; fewer once somebody had them forgotten, or the
        connector's config changed. Asked for each batch.
        """
        ...

    def topic_used(self, spec: UnitSpec, topic: str) -> None:
        """Report a task's record to or from a topic (KIP-558): the first one that `topics_announced` does not know of."""
        ...


class Tracing(Protocol):
    """The span of a unit's start: `telemetry/starts.py`. No call fails."""

    def enter(self) -> None:
        """What the unit's thread, which calls it, logs from now on belongs to the span."""
        ...

    def end(self, came_up: bool | None) -> None:
        """End the span. None: the unit is paused, or was to end, before it was up. From any thread."""
        ...


class Batches(Protocol):
    """The traces of a task's batches: `telemetry/batches.py`. A call returns what is to be called instead of its argument."""

    def polling(self, poll: Callable[[], T]) -> Callable[[], T]: ...

    def of_source(self, step: Callable[[Any, float], None]) -> Callable[[Any, float], None]: ...

    def of_sink(self, step: Callable[[Any, float], None]) -> Callable[[Any, float], None]: ...

    def converting(self, convert: Callable[[Sequence[Any]], Converted]) -> Callable[[Sequence[Any]], Converted]: ...

    def taking(self, intake: Any) -> Any: ...


class Unit(ABC):
    """`start`, `set_target_state`, `request_stop` and `abandon` are called by the host and return at once."""

    def __init__(self, spec: UnitSpec, ports: Ports, target: TargetState) -> None:
        self.spec = spec
        self.ports = ports
        self.target = target
        self.version: str | None = None
        self.times = Times(time.monotonic())
        self.about = About()
        self.meter: SourceMeter | SinkMeter | None = None
        """Of a task, once its parts have been built."""
        self.statistics: Statistics | None = None
        """What the Kafka client of a task says of itself, once there is a task."""
        self.retries = Counts()
        """Of a connector: since when a call is made again, in seconds since 1970, and why. Those of a task are its meter's."""
        self.came_up: bool | None = None
        """Whether the plugin's `start` succeeded; None while that is open."""
        self.expires_at: float | None = None
        """When, by the monotonic clock, what its config refers to no longer holds, and it is to be started anew."""
        self.resolved = Resolved()
        """What the references of its config stood for when it was started."""
        self.stopping = threading.Event()
        self.changed = threading.Condition()
        self.modules: set[str] = set()
        """Top-level modules of its connector's classes."""
        self.tracing: Tracing | None = None
        """The trace of its start, if telemetry is on; until it is up, is paused, has failed or has ended."""
        self.batches: Batches | None = None
        """Of a task, the traces of its batches, if telemetry is on."""
        self._life = Lifecycle()
        self._moving = threading.RLock()
        self._failed_from_outside: BaseException | None = None
        self._has_turn = False
        self.thread = threading.Thread(target=self._main, name=str(spec.unit), daemon=True)

    @property
    def alive(self) -> bool:
        return self.thread.is_alive()

    @property
    def abandoned(self) -> bool:
        return self._life.abandoned

    def start(self) -> None:
        self.thread.start()

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

    def take_turn(self) -> None:
        with self.changed:
            self._has_turn = True
            self.changed.notify_all()

    def join(self, timeout: float) -> bool:
        """Whether the unit's thread has ended, after waiting for at most so many seconds."""
        self.thread.join(timeout)
        return not self.thread.is_alive()

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
        while not self.abandoned and not self.ports.holds_lease():
            with self.changed:
                self.changed.wait(0.05)
        return not self.abandoned

    def moved(self, event: Event, trace: str | None = None) -> None:
        """Take the next step of life, and report it if it is worth a status."""
        with self._moving:
            # Who was to stop already when it was condemned has not failed, and says that it has ended.
            if self._failed_from_outside is not None and self._life.over:
                return
            state = self._life.handle(event)
            self.times.enter(self._life.phase, time.monotonic())
            if self.came_up is None:
                self.came_up = {Event.STARTED: True, Event.FAIL: False}.get(event)
            if event is not Event.START:
                self.ports.starts.over(self)
            # One that begins paused may stay so for days.
            if self.tracing is not None and (self.came_up is not None or event is Event.PAUSE):
                self._end_trace()
            if state is not None:
                self.ports.status(self.spec, state, None if trace is None else well_formed(logs.hide(trace)), self.version)

    def fail(self, error: BaseException) -> None:
        """Report the failure, before anything is cleaned up: a plugin whose `stop` hangs is seen to have failed."""
        if error is self._failed_from_outside:
            return
        if isinstance(error, MemoryError) and (limit := self.ports.explain(self.spec, error)):
            error = MemoryLimitError(limit).with_traceback(error.__traceback__)
        if self._life.over:
            log.error("Failed once more: %s", self._summary(error), exc_info=error)
            return
        if self.stopping.is_set():
            # As in Connect: it was to end anyway, and by now another worker's status may be the one that counts.
            log.warning("Failed while it was being stopped: %s", self._summary(error), exc_info=error)
            return
        text = self._summary(error)
        log.error("Failed: %s", text, exc_info=error)
        self.moved(Event.FAIL, f"{text}\n{traces.frames(error)}")

    def start_again(self, error: StartAgainError) -> None:
        """Have the host start the unit again, since nothing is wrong with it. If the host does not, the unit has failed."""
        if self.stopping.is_set() or not self.ports.start_again(self.spec, isinstance(error, WithdrawnError)):
            self.fail(error)
            return
        log.warning("It is started again: %s", self._summary(error))
        self.wait_for(lambda: False)

    def _summary(self, error: BaseException) -> str:
        """The error's class and what it says, with the plugin's file and line at the end of the first line."""
        first, *more = summary(error).split("\n")
        place = owners.place(error, self.modules)
        return "\n".join([first if place is None else f"{first} ({place})", *more])

    def fail_from_outside(self, error: BaseException) -> None:
        """
        Fail the unit for what its code has done, wherever its thread is; the unit is then asked to end. From any thread; only
        the first one counts.
        """
        with self._moving:
            if self._failed_from_outside is not None or self._life.over:
                return
            self.fail(error)
            self._failed_from_outside = error
        self.request_stop()

    def config(self) -> dict[str, str]:
        """The connector's config as it is stored, with references. Nulls are left out, as plugins never see them."""
        return {name: value for name, value in self.spec.connector_config.items() if value is not None}

    def resolve(self, config: Mapping[str, str], *made: Mapping[str, str]) -> list[dict[str, str]]:
        """
        The configs as plugins get them: the connector's, and those that it has made. Asked once a start; ConfigError, naming
        setting and reference, if one can't be had.

        No other references are resolved than those of the connector's own config: it may have put the name of a table into what
        it has made, and whoever chose that name would choose which secret the database gets to see.
        """
        configs = (config, *made)
        self.resolved = self.ports.providers.resolve([config], self.stopping.is_set)
        plain = {value: HIDDEN for config in configs for value in secrets.plain(config)}
        logs.cover({**plain, **self.resolved.cover(*configs)}, owner=self.spec.connector)
        resolved_configs = [self.resolved.config(config) for config in configs]
        ttl_ms = self.resolved.ttl_ms
        if ttl_ms is not None and RELOAD_ACTION.read(resolved_configs[0]).lower() != "none":
            self.expires_at = time.monotonic() + max(_SHORTEST_TTL_S, ttl_ms / 1000)
        return resolved_configs

    def _main(self) -> None:
        owners.run(self, self._live)

    def _end_trace(self) -> None:
        tracing, self.tracing = self.tracing, None
        if tracing is not None:
            tracing.end(self.came_up)

    def _live(self) -> None:
        if self.tracing is not None:
            self.tracing.enter()
        self.ports.starts.ask(self)
        self.wait_for(lambda: self._has_turn)
        try:
            try:
                self.run()
            finally:
                beans.end()
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything, SystemExit included
            self.fail(error)
        if not self._life.over:
            self.moved(Event.END)
        self._end_trace()
        self.ports.starts.over(self)


class MemoryLimitError(ConnectError):
    """A unit's code wanted more memory than it may have."""


class BlamedUnit(Unit):
    """A unit that is not run, but shown as failed: `reason` says what it has done to its host's last process."""

    def __init__(self, spec: UnitSpec, ports: Ports, target: TargetState, reason: str) -> None:
        super().__init__(spec, ports, target)
        self._reason = reason

    def run(self) -> None:
        log.error("Failed: %s", self._reason)
        self.moved(Event.FAIL, self._reason)


def well_formed(text: str) -> str:
    """
    A text that a record can hold. Names of files whose bytes are no UTF-8 come from Python with lone surrogates, and a
    status that can't be written would leave a task that failed for such a file shown as running.
    """
    return text.encode("utf-8", "backslashreplace").decode()


def summary(error: BaseException) -> str:
    """
    Return the error in one line: its class, by Java's name where that has one, which people and alerts look for, and its text.
    """
    name, text = error_class(error), str(error).strip()
    return f"{name}: {text}" if text else name


def trace(error: BaseException) -> str:
    """The text of a FAILED status, and of a dead letter: what went wrong in the first line, then where."""
    return f"{summary(error)}\n{traces.frames(error)}"
