"""
A task host: the process in a Spark executor that runs connector instances and tasks, each in a thread.

`run` is what the driver's Spark job calls. It tails the config and assignment topics, lets `core/cluster/host.py` decide,
and performs that: start, stop, pause units, and declare what it holds. Nothing but Kafka tells it anything, so it stops by
itself when the log says that its worker is gone, or when the log can't be read any more. To follow one record: the unit is
`source_task.py` (file to topic) or `sink_task.py` (topic to file). Read next: `unit.py`.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from kconnect.api.errors import ConnectError, RetriableError
from kconnect.core.cluster import host as decisions
from kconnect.core.cluster.host import HostState, UnitSpec
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state import records
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, GeneratedTasks, State, Topic, UnitId, UnitStatus
from kconnect.kafka import clients
from kconnect.kafka.log import LogReader, LogWriter, Place
from kconnect.plugins.registry import Registry
from kconnect.worker import logs, process
from kconnect.worker.unit import Unit
from kconnect.worker.units import make_unit

log = logging.getLogger(__name__)

_READ_S = 0.2
_WRITE_S = 30.0


def run(payloads: Iterable[bytes]) -> None:
    """Be one host until the log says that it is no longer needed. Called by Spark in an executor's Python process."""
    # What was imported lives as long as the process; batches of short-lived records must not have it searched each time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    for payload in payloads:
        order = orjson.loads(payload)
        settings = WorkerSettings.from_properties(order["properties"], {})
        logs.configure(format=settings.log_format)
        logs.hide_secrets(settings.raw)
        Host(settings, order["host"], order["incarnation"]).run()


class Host:
    def __init__(self, settings: WorkerSettings, number: int, worker_incarnation: str) -> None:
        self.settings = settings
        self.plugins = Registry.scan(settings.plugin_path)
        self._number = number
        self._state = HostState(
            settings.worker_id,
            number,
            worker_incarnation,
            process.incarnation(),
            process.identity(),
            settings.session_timeout_ms,
            settings.handover_grace_ms,
        )
        client = clients.internal(settings, f"host-{number}")
        topics = clients.topics(settings)
        control = {role: topics[role] for role in (Topic.CONFIG, Topic.ASSIGNMENT)}
        self._reader = LogReader(client, control)
        # What waits for longer must not be sent any more: by then it may be somebody else's to say.
        self._limit_s = settings.session_timeout_ms / 1000 * 0.75
        self._writer = LogWriter(client, topics, self._limit_s)
        self._outbox = Outbox(self._writer, self.in_touch)
        self._offsets = SourceOffsets(client, topics[Topic.OFFSET], self._writer)
        self._units: dict[UnitId, Unit] = {}
        self._ending: dict[UnitId, Unit] = {}
        self._wishes: dict[UnitId, int] = {}
        self._seen_at = time.monotonic()
        self._asked: tuple[float, dict[Place, int]] | None = None

    def run(self) -> None:
        log.info("Host %d of worker %s starts", self._number, self.settings.worker_id)
        while True:
            for record in self._reader.read(_READ_S):
                self._state.apply(record)
            self._watch_log()
            if not self._reader.at_end:
                continue
            self._state.ready(_now())
            if self._state.predecessor is not None and process.is_dead(self._state.predecessor):
                self._state.predecessor_dead()
            for unit, ending in list(self._ending.items()):
                if ending.join(0):
                    del self._ending[unit]
                    self._state.stopped(unit)
            for effect in self._state.decide(_now()):
                if isinstance(effect, decisions.Exit):
                    self._close(effect.reason)
                    return
                self._perform(effect)

    def _perform(self, effect: decisions.HostEffect) -> None:
        match effect:
            case decisions.Start(spec, target, wish):
                self._wishes[spec.unit] = wish
                unit = make_unit(spec, self, target)
                self._units[spec.unit] = unit
                unit.start()
            case decisions.Stop(unit_id, abandon):
                unit = self._ending[unit_id] if unit_id in self._ending else self._units.pop(unit_id)
                self._ending[unit_id] = unit
                if abandon:
                    unit.abandon()
                else:
                    unit.request_stop()
            case decisions.SetTarget(unit_id, target, wish):
                self._wishes[unit_id] = wish
                self._units[unit_id].set_target_state(target)
            case decisions.Declare(held):
                # Behind the statuses of what has just ended: who reads that a unit was released has read its end.
                self._outbox.put(records.held(held))

    def _watch_log(self) -> None:
        """
        Units that run here while the log can't be read may be another worker's by the time the session is over.

        Asked before anything else: a process that was suspended finds the log readable when it wakes up, but its units
        must go without a word, for what they say now would come after what their new owner said.
        """
        if self._state.is_readable and not self.in_touch():
            log.error("The internal topics could not be read for %.1f s: stopping all units", self._limit_s)
            self._state.readable(False)
            self._outbox.discard()
            for ending in self._ending.values():
                ending.abandon()
            return
        session = self.settings.session_timeout_ms / 1000
        if self._asked is None and time.monotonic() - self._seen_at >= session / 8:
            asked_at = time.monotonic()
            ends = self._reader.ends(session / 8)
            self._asked = None if ends is None else (asked_at, ends)
        if self._asked is not None and self._reader.has_read(self._asked[1]):
            self._seen_at, self._asked = self._asked[0], None
        if not self._state.is_readable and self.in_touch():
            log.info("The internal topics can be read again")
            self._state.readable(True)

    def _close(self, reason: str) -> None:
        log.info("Host %d ends: %s", self._number, reason)
        self._outbox.close()
        self._offsets.close()
        self._reader.close()
        self._writer.close()

    # --- what units ask for (unit.Ports) ---

    def in_touch(self) -> bool:
        """Whether this host has lately read the log to its end, so that what it runs can't be somebody else's yet."""
        return time.monotonic() - self._seen_at < self._limit_s

    def status(self, spec: UnitSpec, state: State, trace: str | None = None, version: str | None = None) -> None:
        """Queue a status record; those of one unit keep their order."""
        assigned = self._state.assignment.assignments.get(self.settings.worker_id)
        generation = 0 if assigned is None else assigned.generation
        value = UnitStatus(state, self.settings.worker_id, generation, trace, version)
        self._outbox.put(records.status(spec.unit, value))

    def publish_task_configs(self, connector: str, configs: list[dict[str, str]], config_offset: int) -> None:
        """Hand the task configs that a connector instance made to the leader, with what the instance had seen."""
        seen = max(config_offset, self._wishes.get(UnitId(connector), 0))
        self._outbox.put(records.generated_tasks(GeneratedTasks(connector, tuple(configs), seen)))

    def read_offsets(
        self, connector: str, partitions: list[dict[str, Any]], gives_up: Callable[[], bool]
    ) -> list[dict[str, Any] | None]:
        return self._offsets.read(connector, partitions, gives_up)

    def write_offsets(
        self, connector: str, offsets: list[tuple[dict[str, Any], dict[str, Any] | None]], timeout: float
    ) -> None:
        self._offsets.write(connector, offsets, timeout)

    def topic_used(self, connector: str, task: int, topic: str) -> None:
        if self.settings.topic_tracking_enable:
            forms = self.settings.topic_tracking_record_formats
            for entry in records.topic_use(connector, topic, task, int(time.time() * 1000), forms):
                self._outbox.put(entry)


class Outbox:
    """
    Writes entries in order from a thread of its own, many at a time, and again until they are acknowledged.

    Nothing is written while `in_touch()` is false; what waits then is for `discard`.
    """

    def __init__(self, writer: LogWriter, in_touch: Callable[[], bool]) -> None:
        self._writer = writer
        self._in_touch = in_touch
        self._discards = 0
        self._entries: queue.SimpleQueue[tuple[int, Entry | None]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
        self._thread.start()

    def put(self, entry: Entry) -> None:
        self._entries.put((self._discards, entry))

    def discard(self) -> None:
        """Forget what has not been written yet. Returns at once: the writing thread drops what is older than this call."""
        self._discards += 1

    def close(self) -> None:
        self._entries.put((self._discards, None))
        self._thread.join(10)

    def _run(self) -> None:
        closing = False
        while not closing:
            batch = [self._entries.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < 500:
                    batch.append(self._entries.get_nowait())
            closing = any(entry is None for _, entry in batch)
            while entries := [entry for put_at, entry in batch if entry is not None and put_at == self._discards]:
                if not self._in_touch():
                    time.sleep(0.05)
                    continue
                try:
                    self._writer.write(entries, _WRITE_S)
                    break
                except Exception as error:  # noqa: BLE001 - a status must not be lost to a broker that restarts
                    log.warning("Writing statuses failed and is tried again: %s", error)
                    time.sleep(1)


class SourceOffsets:
    """The offset topic, read when the first source task asks and followed from then on."""

    def __init__(self, client: dict[str, Any], topic: str, writer: LogWriter) -> None:
        self._client, self._topic, self._writer = client, topic, writer
        self._reader: LogReader | None = None
        self._state = OffsetState()
        # Reading may have to wait for brokers; what is known, and writing, must not.
        self._reading = threading.Lock()
        self._lock = threading.Lock()
        self._asked = itertools.count(1)
        self._served = 0

    def read(
        self, connector: str, partitions: list[dict[str, Any]], gives_up: Callable[[], bool]
    ) -> list[dict[str, Any] | None]:
        """What is stored, as of the end of the topic at the time of the call. ConnectError once `gives_up()`."""
        mine = next(self._asked)
        while not self._reading.acquire(timeout=0.1):
            if gives_up():
                raise ConnectError(f"Stopped while the offset topic {self._topic} was being read")
        try:
            # One reading serves all who asked before it began: when a host starts, that is each of its units.
            if self._served < mine:
                latest = next(self._asked)
                self._read_to_end(gives_up)
                self._served = latest
        finally:
            self._reading.release()
        with self._lock:
            return [self._state.offset(connector, partition) for partition in partitions]

    def write(
        self, connector: str, offsets: list[tuple[dict[str, Any], dict[str, Any] | None]], timeout: float
    ) -> None:
        with self._lock:
            entries = [records.source_offset(self._state.key(connector, p), offset) for p, offset in offsets]
        self._writer.write(entries, timeout)

    def close(self) -> None:
        """Only once no unit reads any more: whoever still does keeps the reader."""
        if self._reading.acquire(timeout=1):
            if self._reader is not None:
                self._reader.close()
            self._reading.release()

    def _read_to_end(self, gives_up: Callable[[], bool]) -> None:
        ends, told_at = None, time.monotonic()
        while not gives_up():
            try:
                self._reader = self._reader or LogReader(self._client, {Topic.OFFSET: self._topic}, timeout=2)
                ends = ends or self._reader.ends(2)
                found = self._reader.read(0.1)
                with self._lock:
                    for record in found:
                        self._state.apply(record)
            except RetriableError as error:
                log.debug("%s", error)
            if ends is not None and self._reader is not None and self._reader.has_read(ends):
                return
            if time.monotonic() - told_at > _WRITE_S:
                told_at = time.monotonic()
                log.warning("The offset topic %s can't be read to its end yet: brokers are waited for", self._topic)
        raise ConnectError(f"Stopped while the offset topic {self._topic} was being read")


def _now() -> int:
    return int(time.monotonic() * 1000)
