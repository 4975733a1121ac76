"""
A task host: the process in a Spark executor that runs connector instances and tasks, each in a thread.

`run` is what the driver's Spark job calls. It tails the config and assignment topics, lets `core/cluster/host.py` decide,
and performs that: start, stop, pause units, and declare what it holds. Nothing but Kafka tells it anything, so it stops by
itself when the log says that its worker is gone, or when the log can't be read any more. To follow one record:
`core/task/source_pump.py` (file to topic) or `core/task/sink_pump.py` (topic to file). Read next: `units/unit.py`.
"""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import orjson

from kconnect.core.cluster import host as decisions
from kconnect.core.cluster.host import HostState
from kconnect.core.cluster.lease import Lease, Rest, stopped_after_ms
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import GeneratedTasks, HostSpec
from kconnect.core.state.records import LoggerLevel, State, Topic, UnitId, UnitStatus
from kconnect.core.task.meters import SinkMeter
from kconnect.core.task.ports import OffsetStore
from kconnect.core.task.topic_use import Announced
from kconnect.host import containment, outbox, stops
from kconnect.host.containment import Containment
from kconnect.host.memory import Memory
from kconnect.host.metrics import Reporter
from kconnect.host.outbox import Outbox
from kconnect.host.renewals import Renewals
from kconnect.host.stops import Stop
from kconnect.host.threads import Threads
from kconnect.jvm import options
from kconnect.jvm.options import Options
from kconnect.kafka import clients
from kconnect.kafka.freshness import Freshness
from kconnect.kafka.log import LogWriter, reader_once_up
from kconnect.kafka.watch import Watchers
from kconnect.plugins import environments
from kconnect.plugins.providers import Providers
from kconnect.plugins.registry import Registry
from kconnect.processes import logs, process, shipping
from kconnect.processes.levels import PythonLoggers
from kconnect.processes.order import settings as order_settings
from kconnect.telemetry import switch
from kconnect.units.gate import Gate
from kconnect.units.offsets import OffsetStores
from kconnect.units.starts import StartTurns
from kconnect.units.unit import Unit
from kconnect.units.units import make_unit

if TYPE_CHECKING:
    from kconnect.telemetry.batches import BatchTraces
    from kconnect.telemetry.starts import StartTraces

log = logging.getLogger(__name__)

_READ_S = 0.2
_LARGE_BATCH = (
    "A batch that unpacks to far more than it has may be why: kconnect offsets shows where it was to read on. To go on behind "
    "that, set a later offset of the partition (kconnect offsets set)"
)
_WRITE_S = 30.0
_WAITS = "not running: it waits until the process that ran it before has stopped, which may be on a machine that is gone"
_SWITCH_S, _SWITCH_PER_UNIT_S, _LONGEST_SWITCH_S = 0.005, 0.0001, 0.1


def run(payloads: Iterable[bytes]) -> None:
    """Be one host until the log says that it is no longer needed. Called by `entry.py`, in an executor's Python process."""
    # What was imported lives as long as the process; batches of short-lived records must not have it searched each time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    for payload in payloads:
        order = orjson.loads(payload)
        settings = order_settings(order)
        shipping.begin(settings, f"host-{order['host']}")
        telemetry = switch.begin(settings, f"host-{order['host']}")
        incarnation = process.incarnation()
        contained = Containment(incarnation)
        spec = assignment_records.unpack_spec(order)
        starts = None if telemetry is None else telemetry.start_traces()
        batches = None if telemetry is None else telemetry.batch_traces()
        try:
            # Its directories may be newer than the worker's process: it has been told to look at plugin.path anew since.
            directories = {*order["plugins"], *environments.places(spec.directories)}
            plugins = Registry.scan(settings.plugin_path, directories, settings.plugin_discovery)
            host = Host(settings, plugins, order["host"], order["incarnation"], incarnation, contained, spec, starts, batches)
            options.wanted = Options(*settings.java, *host.memory.limited, report=contained.java_report)
            environments.enter((*spec.directories, *environments.of_providers(host.plugins, settings.raw)))
            # Spark's daemon sends it to all that it has forked, once it sees that its executor is gone.
            signal.signal(signal.SIGHUP, host.lose_executor)
            host.run()
        finally:
            contained.close()
            if telemetry is not None:
                telemetry.close()
            shipping.end()


class Host:
    def __init__(
        self,
        settings: WorkerSettings,
        plugins: Registry,
        number: int,
        worker_incarnation: str,
        incarnation: str,
        contained: Containment,
        spec: HostSpec,
        traces: StartTraces | None = None,
        batches: BatchTraces | None = None,
    ) -> None:
        self._traces, self._batches = traces, batches
        self.settings = settings
        self._contained = contained
        self._loggers = PythonLoggers()
        self.plugins = plugins
        self.providers = Providers(self.plugins, settings.raw)
        self._number = number
        self._state = HostState(
            settings.worker_id,
            number,
            worker_incarnation,
            incarnation,
            process.identity(),
            stopped_after_ms(settings.session_timeout_ms, settings.handover_grace_ms),
            settings.handover_grace_ms,
            spec,
        )
        self.gate = Gate(self._state)
        self.starts = StartTurns()
        self.watchers = Watchers()
        name, topics = f"host-{number}", clients.topics(settings)
        reader, control = clients.reader(settings, name), {role: topics[role] for role in (Topic.CONFIG, Topic.ASSIGNMENT)}

        def goes_on() -> bool:
            contained.look(())
            return True

        found = reader_once_up(reader, control, goes_on)
        assert found is not None
        self._reader = found
        self._reader.traces = traces is not None
        self._lease = Lease(settings.session_timeout_ms / 1000, settings.handover_grace_ms / 1000, time.monotonic())
        # Answers that take half of what the host may be without the log are still worth having.
        self._freshness = Freshness(self._reader, self._lease.turn_s, self._lease.limit_s / 2)
        # Other hosts have other incarnations, and so other chances.
        self._rest, self._chance = Rest(), random.Random(incarnation)
        self._lost_at = self._lease.seen_at
        """Up to when the log had been read when the lease was lost last."""
        client = clients.internal(settings, name)
        self._most_bytes = int(client["message.max.bytes"])
        self._writer = LogWriter(client, topics, self._lease.sends_for_s)
        self._outbox = Outbox(self._writer, self.holds_lease)
        self._offsets = OffsetStores(settings, reader, topics[Topic.OFFSET], self._writer, self.holds_lease)
        self.memory = Memory(settings, spec.memory)
        self._threads = Threads(settings)
        self._metrics = Reporter(settings, number, incarnation, worker_incarnation, self.memory)
        self._lacks_memory: tuple[UnitSpec, str] | None = None
        self._units: dict[UnitId, Unit] = {}
        self._ending: dict[UnitId, Stop] = {}
        self._desired_offsets: dict[UnitId, int] = {}
        self._renewals = Renewals()
        self._announced = Announced(self._state.config, self._state.assignment)
        self._without_executor_since: float | None = None

    def run(self) -> None:
        log.info("Host %d of worker %s starts", self._number, self.settings.worker_id)
        while True:
            self._watch_executor()
            # Before anything is read: what is read now may say that others have had this host's units since.
            in_touch = self.holds_lease()
            follows = self._reader.at_end
            for record in self._reader.read(_READ_S):
                applied = self._state.apply(record)
                if self._traces is not None:
                    self._traces.read(record)
                # What was asked of processes that ran before this one is none of its business (KIP-976).
                if follows and isinstance(applied, LoggerLevel):
                    logs.set_level(self._loggers, applied)
            self._state.reached(self._reader.reached())
            self._contained.look(self._units.values())
            self._watch_memory()
            self._watch_log()
            # Units that were stopped stand still until the host may start them again, though the log can be read by then.
            self._metrics.report(self._lease.seen_at if self._state.is_readable else self._lost_at)
            self.starts.look()
            if not self._reader.at_end:
                continue
            self._state.ready(_now())
            if self._state.predecessor is not None and process.is_dead(self._state.predecessor):
                blames, suspected = containment.attributed(self._state.predecessor)
                for unit, blame in blames.items():
                    self._state.blame(unit, blame)
                self._state.predecessor_dead(suspected)
            for inherited in self._state.inherited():
                value = UnitStatus(State.UNASSIGNED, self.settings.worker_id, self._state.assignment.term, _WAITS)
                self._outbox.put(records.status(inherited, value), inherited)
            self._watch_ending()
            self._renew_expired()
            self.gate.take()
            for effect in self._state.decide(_now(), in_touch):
                if isinstance(effect, decisions.Exit):
                    self._close(effect.reason)
                    return
                if isinstance(effect, decisions.Die):
                    self._die(effect.reason)
                self._perform(effect)
            # Not before: until now units that have been taken away might have gone on.
            self._lease.seen_at = self._seen_at()
            self.gate.decided(self._lease.seen_at)

    def _perform(self, effect: decisions.HostEffect) -> None:
        match effect:
            case decisions.Start(spec, target, desired_offset, blame):
                self.memory.limit()
                self._desired_offsets[spec.unit] = desired_offset
                unit = make_unit(spec, self, target, blame)
                if self._traces is not None:
                    unit.tracing = self._traces.begin(spec.unit)
                if self._batches is not None and not spec.unit.is_connector:
                    unit.batches = self._batches.of_task(spec.unit)
                self._units[spec.unit] = unit
                self._metrics.started(unit)
                self._set_switch_interval()
                unit.start()
            case decisions.Stop(unit_id, abandon):
                if unit_id not in self._ending:
                    self._ending[unit_id] = stops.begin(self._units.pop(unit_id))
                unit = self._ending[unit_id].unit
                self.gate.forget(unit_id)
                if abandon:
                    unit.abandon()
                    self._outbox.discard(unit_id)
                else:
                    unit.request_stop()
            case decisions.SetTarget(unit_id, target, desired_offset):
                self._desired_offsets[unit_id] = desired_offset
                if self._traces is not None:
                    self._traces.set_target(unit_id, target)
                self._units[unit_id].set_target_state(target)
            case decisions.Pass(unit_id, error):
                self.gate.answer(unit_id, error)
            case decisions.Declare(held):
                # Behind the statuses of what has just ended: who reads that a unit was released has read its end.
                self._outbox.put(assignment_records.held(held))

    def _set_switch_interval(self) -> None:
        """
        Each thread that waits for the interpreter wakes up after so long to ask for it. With hundreds that wait for a moment,
        Python's 5 ms make that all that the machine does, for good: nobody gets done, so all wait.
        """
        sys.setswitchinterval(min(_LONGEST_SWITCH_S, max(_SWITCH_S, len(self._units) * _SWITCH_PER_UNIT_S)))

    def _watch_ending(self) -> None:
        limit_s = self.settings.task_shutdown_graceful_timeout_ms / 1000
        for unit_id, stop in list(self._ending.items()):
            if stops.is_over(stop):
                del self._ending[unit_id]
                self._metrics.ended(stop.unit)
                self._state.stopped(unit_id)
                self._announced.ended(unit_id)
            elif stops.is_late(stop, limit_s, self.settings.offset_flush_timeout_ms / 1000):
                self._state.stuck(unit_id)

    def _renew_expired(self) -> None:
        now = time.monotonic()
        for unit_id in self._renewals.due(now):
            self._state.renew(unit_id)
        for unit_id, unit in self._units.items():
            # One that has failed waits for whoever restarts it, by errors.restart.* or over REST.
            if unit.expires_at is not None and now >= unit.expires_at and unit.alive:
                unit.expires_at = None
                log.info("%s is restarted: a secret or value that its config refers to has expired", unit_id)
                self._state.renew(unit_id)

    def lose_executor(self, *_: object) -> None:
        """
        End in order, as Spark's executor has ended: nobody starts this host again while its record says that it runs units, and
        on another machine nobody can see whether it lives. Called from a handler of signals.
        """
        if self._without_executor_since is None:
            self._without_executor_since = time.monotonic()

    def _watch_executor(self) -> None:
        since = self._without_executor_since
        if since is None:
            return
        self._state.leave("Spark's executor has ended")
        settings = self.settings
        # After the session and the grace others take it that nothing runs here any more.
        limit_ms = min(
            settings.task_shutdown_graceful_timeout_ms + settings.offset_flush_timeout_ms, settings.session_timeout_ms
        )
        limit_s = limit_ms / 1000
        if time.monotonic() - since > limit_s:
            self._die(f"Spark's executor has ended, and units have not stopped within {limit_s:.0f} s")

    def _watch_log(self) -> None:
        """
        Units that run here while the log can't be read may be another worker's by the time the session is over.

        Asked before anything else: a process that was suspended finds the log readable when it wakes up, but its units
        must go without a word, for what they say now would come after what their new owner said.
        """
        now, lease = time.monotonic(), self._lease
        if Topic.ASSIGNMENT in self._reader.lost:
            self._outbox.discard()
            self._die("the assignment topic no longer matches what the host has read")
        if self._state.is_readable and lease.is_lost(now):
            log.error("The internal topics could not be read for %.1f s: stopping all units", now - lease.seen_at)
            self._rest.lost(now, self._chance.random())
            self._lost_at = lease.seen_at
            self._state.readable(False)
            self._outbox.discard()
            for ending in self._ending.values():
                ending.unit.abandon()
            return
        self._freshness.look(urgent=self.gate.unconfirmed)
        if not self._state.is_readable and lease.is_recent(self._seen_at(), now) and self._rest.is_over(now):
            log.info("The internal topics can be read again")
            self._state.readable(True)

    def _seen_at(self) -> float:
        return self._lease.seen(self._freshness.seen_at, self._metrics.heard_at)

    def _watch_memory(self) -> None:
        """End a process that takes too much memory or too many threads: nothing else gives these back, whoever holds them."""
        excess = self.memory.excess()
        leapt = excess is not None and self.memory.has_leapt
        if excess is None:
            excess = self._threads.excess()
        if self._lacks_memory is not None:
            spec, excess = self._lacks_memory
            self._contained.attribute_fault(spec, f"kconnect ended its host's process: it {excess}", is_sure=False)
            self._end_at_once(excess)
        if excess is None:
            return
        every = [*self._units.values(), *(stop.unit for stop in self._ending.values())]
        # What has failed may have left behind what fills the process, unless something else runs here.
        suspects = [unit for unit in every if unit.alive] or every
        if len(suspects) == 1:
            reason = f"kconnect ended its host's process, in which nothing else ran: it {excess}"
            if leapt and isinstance(suspects[0].meter, SinkMeter):
                reason += f". {_LARGE_BATCH}"
            self._contained.attribute_fault(suspects[0].spec, reason)
        elif leapt:
            # What comes at once comes by one of them. Those who have nothing to do with it are not to end with it again.
            for unit in suspects:
                self._contained.attribute_fault(unit.spec, f"kconnect ended its host's process: it {excess}", is_sure=False)
        self._end_at_once(excess)

    def _end_at_once(self, why: str) -> None:
        log.error("Host %d ends, and Spark restarts it: it %s", self._number, why)
        self._contained.leave()
        os.kill(os.getpid(), signal.SIGKILL)

    def _die(self, reason: str) -> None:
        """End this process, which can't be used any longer. Nothing in it may delay that, so it ends as if it were killed."""
        log.error("Host %d ends, and Spark restarts it: %s", self._number, reason)
        self._outbox.close()
        self._contained.close()
        os.kill(os.getpid(), signal.SIGKILL)

    def _close(self, reason: str) -> None:
        self._contained.rest()
        log.info("Host %d ends: %s", self._number, reason)
        self._outbox.close()
        self._offsets.close()
        self.watchers.close()
        self._reader.close()
        self._writer.close()
        self._metrics.close()

    # --- what units ask for (unit.Ports) ---

    def holds_lease(self) -> bool:
        """Whether this host has lately read the log to its end, so that what it runs can't be somebody else's yet."""
        return self._lease.is_held(time.monotonic())

    def status(self, spec: UnitSpec, state: State, trace: str | None = None, version: str | None = None) -> None:
        """Queue a status record; those of one unit keep their order."""
        term, shortened = self._state.assignment.term, outbox.shortened(trace)
        value = UnitStatus(state, self.settings.worker_id, term, shortened, version)
        self._outbox.put(records.status(spec.unit, value), spec.unit)

    def publish_task_configs(self, connector: str, configs: list[dict[str, str]], config_offset: int) -> None:
        """
        Hand the task configs that a connector instance made to the leader, with what the instance had seen. ConnectError if
        they make no record.
        """
        seen_offset = max(config_offset, self._desired_offsets.get(UnitId(connector), 0))
        tasks = GeneratedTasks(connector, tuple(configs), seen_offset)
        entry = assignment_records.generated_tasks(tasks)
        outbox.check_size(entry, f"The configs of the {len(configs)} tasks of {connector}", self._most_bytes)
        self._outbox.put(entry, UnitId(connector))

    def offset_store(self, connector: str, config: Mapping[str, str]) -> OffsetStore:
        return self._offsets.of(connector, config)

    def start_again(self, spec: UnitSpec, lasting: bool) -> bool:
        return self._renewals.ask(spec.unit, time.monotonic(), lasting)

    def explain(self, spec: UnitSpec, error: MemoryError) -> str | None:
        if hasattr(error, "shown_as"):
            self._lacks_memory = (spec, f"got no more memory in Java: {error}")
            # Until this process is ended, from the host's thread: what would be said about the unit is not sure.
            threading.Event().wait(_WRITE_S)
        return self.memory.explain(error)

    def topics_announced(self, spec: UnitSpec) -> set[str]:
        return self._announced.of(spec.unit)

    def topic_used(self, spec: UnitSpec, topic: str) -> None:
        self.topics_announced(spec).add(topic)
        if self.settings.topic_tracking_enable:
            forms = self.settings.topic_tracking_record_formats
            for entry in records.topic_use(spec.connector, topic, spec.unit.task, int(time.time() * 1000), forms):
                self._outbox.put(entry, spec.unit)


def _now() -> int:
    return int(time.monotonic() * 1000)
