"""
The one doorway to the herder: a thread that feeds it events and performs its effects, in order.

Everybody else submits and waits: REST by `submit`, the log's reader and the group's member by `post`. Slow work (writes,
the sandbox, the admin client) is done by a few threads of its own, and its outcome comes back as an event.
Built by `main.py`. Read next: `core/herder/herder.py`.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from kconnect.api.record import TopicPartition
from kconnect.core.herder import effects, events
from kconnect.core.herder.herder import Herder
from kconnect.core.herder.requests import ConfigMap, Request
from kconnect.core.metrics.report import Report
from kconnect.core.state.assignment_records import Held
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, LoggerLevel, SessionKey, Topic
from kconnect.worker.writing import Writing

log = logging.getLogger(__name__)

_TICK_S = 0.1
_PROBE_MS = 500

Offsets = dict[tuple[Topic, int], int]


class Outside(Protocol):
    """What the loop needs of the world; `main.py` gives the real one. Each call may block, and none runs on the loop,
    unless it says so."""

    def write(self, entries: tuple[Entry, ...], as_leader: bool) -> Offsets: ...

    def take_lead(self) -> Offsets: ...

    def members(self) -> tuple[dict[str, str], str | None, str | None]:
        """The fields of `events.Members`."""
        ...

    def new_session_key(self, current: SessionKey | None) -> SessionKey | None: ...

    def validate(self, plugin: str, config: ConfigMap) -> dict[str, Any]: ...

    def describe(self, plugin: str, version: str | None) -> dict[str, Any]: ...

    def list_plugins(self, connectors_only: bool) -> list[dict[str, Any]]: ...

    def plugin_config(self, plugin: str, version: str | None) -> list[dict[str, Any]]: ...

    def reload_plugins(self) -> dict[str, Any]: ...

    def group_offsets(self, connector: str, config: ConfigMap) -> list[tuple[str, int, int]]: ...

    def unit_reports(self) -> Collection[Report]:
        """What is known of them; runs on the loop, and must not block: each answer with a status may need it."""
        ...

    def ask_connector(self, plugin: str, config: ConfigMap, offsets: Sequence[tuple[Any, Any]]) -> bool: ...

    def alter_group(
        self, connector: str, config: ConfigMap, offsets: Mapping[TopicPartition, int | None] | None
    ) -> None: ...

    def ends_of(self, topic: Topic) -> Offsets: ...

    def read_own_offsets(self, connector: str, config: ConfigMap, prepare: bool) -> OffsetState | None: ...

    def write_own_offsets(self, connector: str, config: ConfigMap, entries: Sequence[Entry]) -> None: ...

    def fence(self, connector: str, config: ConfigMap, tasks: int) -> None: ...

    def set_level(self, change: LoggerLevel) -> None:
        """Apply a log level; the one call that runs on the loop, and must not block."""
        ...

    def is_dead(self, held: Held) -> bool: ...


class Loop:
    def __init__(self, herder: Herder, outside: Outside) -> None:
        self._herder = herder
        self._outside = outside
        self._events: queue.SimpleQueue[events.Event | None] = queue.SimpleQueue()
        self._tickets = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._writing = Writing(outside, self.post)
        # Pools only keep slow answers from each other.
        self._asking = ThreadPoolExecutor(8, "ask")
        # Plugins that hang, and connectors' own clusters that do not answer, must not keep the leader from its members.
        self._clients = ThreadPoolExecutor(16, "clients")
        # Nor must requests about such clusters keep tasks waiting for the fencing that lets them start.
        self._fencing = ThreadPoolExecutor(16, "fence")
        # Enough for each to have its limit from the start.
        self._plugins = ThreadPoolExecutor(64, "plugins")
        self._thread = threading.Thread(target=self._run, name="loop", daemon=True)
        self._probed_at = 0
        self.released = threading.Event()
        """Set once nothing of this worker runs any more, after a `ShutDown`."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the loop's threads; whoever still waits is refused."""
        self._events.put(None)
        self._thread.join(5)
        self._writing.close()
        for pool in (self._asking, self._clients, self._fencing, self._plugins):
            pool.shutdown(wait=False, cancel_futures=True)

    def post(self, event: events.Event) -> None:
        self._events.put(event)

    def submit(self, request: Request) -> Future[Any]:
        """
        Ask the herder. The future gives JSON data, or raises one of `kconnect.errors`.

        Cancelling it tells the herder that nobody waits any more. Thread-safe.
        """
        ticket = next(self._tickets)
        future: Future[Any] = Future()
        self._waiting[ticket] = future
        future.add_done_callback(lambda done: self.post(events.GaveUp(ticket)) if done.cancelled() else None)
        self.post(events.Requested(ticket, request))
        return future

    def _run(self) -> None:
        while True:
            try:
                event: events.Event | None = self._events.get(timeout=_TICK_S)
            except queue.Empty:
                event = events.Tick()
            if event is None:
                break
            if isinstance(event, events.GaveUp):
                self._waiting.pop(event.ticket, None)
            try:
                for effect in self._herder.handle(event, _now()):
                    self._perform(effect)
            except Exception:
                # The event is lost, the worker must live: what it decides, it decides from the log, anew each time.
                log.exception("The herder failed on %s", type(event).__name__)
            self._probe()
        for future in list(self._waiting.values()):
            if future.set_running_or_notify_cancel():
                future.set_exception(ConnectionError("Worker is shutting down"))

    def _perform(self, effect: effects.Effect) -> None:
        outside = self._outside
        match effect:
            case effects.Write(entries, as_leader, id):
                self._writing.write(id, entries, as_leader)
            case effects.TakeLead(id):
                self._writing.do(id, outside.take_lead)
            case effects.NewSessionKey(current, id):
                self._later(self._asking, id, lambda: outside.new_session_key(current))
            case effects.FindMembers():
                self._asking.submit(self._find_members)
            case effects.Validate(plugin, config, id):
                self._later(self._plugins, id, lambda: outside.validate(plugin, config))
            case effects.DescribePlugin(plugin, version, id):
                self._later(self._plugins, id, lambda: outside.describe(plugin, version))
            case effects.ListPlugins(connectors_only, id):
                self._later(self._plugins, id, lambda: outside.list_plugins(connectors_only))
            case effects.PluginConfig(plugin, version, id):
                self._later(self._plugins, id, lambda: outside.plugin_config(plugin, version))
            case effects.ReloadPlugins(id):
                self._later(self._plugins, id, outside.reload_plugins)
            case effects.GroupOffsets(connector, config, id):
                self._later(self._clients, id, lambda: outside.group_offsets(connector, config))
            case effects.ReadReports(id):
                self.post(events.Done(id, outside.unit_reports()))
            case effects.AskConnector(plugin, config, offsets, id):
                self._later(self._plugins, id, lambda: outside.ask_connector(plugin, config, offsets))
            case effects.AlterGroup(connector, config, new, id):
                self._later(self._clients, id, lambda: outside.alter_group(connector, config, new))
            case effects.FindEnds(topic, id):
                self._later(self._asking, id, lambda: outside.ends_of(topic))
            case effects.ReadOwnOffsets(connector, config, prepare, id):
                self._later(self._clients, id, lambda: outside.read_own_offsets(connector, config, prepare))
            case effects.WriteOwnOffsets(connector, config, own, id):
                self._later(self._clients, id, lambda: outside.write_own_offsets(connector, config, own))
            case effects.Fence(connector, config, tasks, id):
                self._later(self._fencing, id, lambda: outside.fence(connector, config, tasks))
            case effects.Reply(ticket, value):
                self._settle(ticket, lambda future: future.set_result(value))
            case effects.Refuse(ticket, error):
                self._settle(ticket, lambda future: future.set_exception(error))
            case effects.Log(level, message):
                log.log(logging.getLevelName(level), "%s", message)
            case effects.SetLevel(change):
                outside.set_level(change)
            case effects.Bye():
                self.released.set()

    def _later(self, pool: ThreadPoolExecutor, id: int, work: Callable[[], Any]) -> None:
        def job() -> None:
            try:
                self.post(events.Done(id, work()))
            except Exception as error:  # noqa: BLE001 - the herder decides what a failure means
                self.post(events.Failed(id, error))

        pool.submit(job)

    def _find_members(self) -> None:
        try:
            self.post(events.Members(*self._outside.members()))
        except Exception as error:  # noqa: BLE001 - asked again in a moment
            log.warning("The members of the group could not be read: %s", error)

    def _settle(self, ticket: int, how: Callable[[Future[Any]], None]) -> None:
        future = self._waiting.pop(ticket, None)
        if future is not None and future.set_running_or_notify_cancel():
            how(future)

    def _probe(self) -> None:
        """See which hosts of this worker, and of workers that left the group, are dead on this machine."""
        now = _now()
        if now - self._probed_at < _PROBE_MS and self._probed_at:
            return
        self._probed_at = now
        herder, me = self._herder, self._herder.identity
        if not herder.started:
            self._probed_at = 0
            return
        old = [
            held
            for held in herder.assignment.held.values()
            if held.worker == me.worker_id or (herder.leads and held.worker not in herder.members)
        ]
        dead = frozenset((held.worker, held.host, held.incarnation) for held in old if self._outside.is_dead(held))
        if dead != herder.dead_hosts:
            self.post(events.HostsDead(dead))


def _now() -> int:
    return int(time.monotonic() * 1000)
