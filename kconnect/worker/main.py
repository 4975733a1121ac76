"""
The worker process: puts the parts together, runs until it is asked to end, and takes them apart again.

`kconnect worker FILE.properties` calls `run`. One node runs one worker: REST, the loop that owns the herder, the readers and
writers of the internal topics, the group's member, the sandbox for plugin code, and a Spark driver as a child process.
Read next: `loop.py`, `world.py` and `driver.py`, then `host/driver.py` and `host/main.py` for where the data flows.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from concurrent import futures
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kconnect import __version__
from kconnect.core.cluster.silence import silent_after_s
from kconnect.core.herder import events
from kconnect.core.herder.herder import Herder
from kconnect.core.herder.identity import Identity
from kconnect.core.herder.requests.metrics import GetMetrics
from kconnect.core.herder.requests.worker import WhyNotReady
from kconnect.core.metrics.families import Snapshot
from kconnect.core.settings import misnamed, references, secrets
from kconnect.core.settings.worker import WorkerSettings, converters, for_clients, for_plugins, host_range
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.records import Topic
from kconnect.errors import ConfigError, ConnectError
from kconnect.java import properties
from kconnect.jvm import java
from kconnect.kafka import clients
from kconnect.kafka.admin import Admin, InternalTopic
from kconnect.kafka.freshness import Freshness
from kconnect.kafka.group import Entrance, GroupMember
from kconnect.kafka.log import LogReader, Place
from kconnect.plugins import chain, environments
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.processes import notify, process, shipping, worker_file
from kconnect.spark import sizes
from kconnect.telemetry import switch
from kconnect.worker import build
from kconnect.worker.driver import Driver
from kconnect.worker.loop import Loop
from kconnect.worker.metrics import Feed
from kconnect.worker.rest import Rest
from kconnect.worker.topic_watch import TopicWatch
from kconnect.worker.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from kconnect.telemetry.sdk import Telemetry

T = TypeVar("T")

log = logging.getLogger(__name__)

_FRESH_S = 1.0
_ANSWER_S = 2.0
_METRICS_S = 10.0
_LOOKS_S = 0.2


def run(path: Path) -> int:
    """Run a worker with the given properties file until SIGTERM or SIGINT; gives the process's exit status."""
    try:
        texts = properties.load(path.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 ({error.reason} at byte {error.start}): save the worker file as UTF-8"
        ) from None
    settings, order = worker_file.settings(texts, os.environ, socket.gethostname())
    for key in settings.unknown_keys:
        log.warning("The setting %s is unknown and has no effect: %s", key, misnamed.remedy(key))
    for words, remedy in settings.passed_over.items():
        log.warning("%s This worker goes on, Kafka Connect 4 would not start: %s", words, remedy)
    switch.require(settings)
    manager = notify.Manager()
    worker = Worker(settings, order)
    stop = threading.Event()

    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        worker.start(stop)
        waits = manager.is_there
        while not stop.wait(0.5) and worker.fatal is None:
            if waits and (why_not := worker.why_not_ready()) is not None:
                manager.tell(STATUS=why_not)
            elif waits:
                waits = False
                manager.tell(READY="1", STATUS="")
        if worker.fatal is None:
            log.info("The worker was asked to stop")
    except _Ended:
        log.info("The worker was asked to stop before it had begun")
    finally:
        stop.set()
        manager.tell(STOPPING="1")
        worker.stop()
    log.info("The worker has stopped")
    if worker.fatal is not None:
        raise ConnectError(str(worker.fatal))
    return 0


class _Ended(Exception):
    """Somebody wants a worker to end that has not begun yet."""


class Worker:
    """Everything of one worker; `main.py` is the only place where the shells meet."""

    def __init__(self, settings: WorkerSettings, order: dict[str, Any]) -> None:
        self.settings = settings
        self._order = order
        self.fatal: Exception | None = None
        self._incarnation = process.incarnation()
        self._stopping = threading.Event()
        self._registry = Registry.scan(settings.plugin_path, discovery=settings.plugin_discovery)
        self._feed = Feed(settings)
        self._sandbox = Sandbox(
            self._registry,
            settings.plugin_path,
            worker_group=settings.group_id,
            exactly_once=settings.exactly_once_enabled,
            topic_creation=settings.topic_creation_enable,
            overrides=settings.override_policy,
            internal_topics=settings.internal_topics,
            plugin_settings=for_plugins(settings.raw),
            provider_settings=references.of_providers(settings.raw),
            client_settings=for_clients(settings.raw),
            memory=settings.sandbox_memory,
            converters=converters(settings),
            discovery=settings.plugin_discovery,
            java=settings.java,
        )
        self._driver: Driver | None = None
        self._loop: Loop | None = None
        self._group: GroupMember | None = None
        self._joined = threading.Event()
        """Set once the group has taken this worker in."""
        self._rest: Rest | None = None
        self._watch: TopicWatch | None = None
        self._telemetry: Telemetry | None = None

    def start(self, stop: threading.Event) -> None:
        """Begin the work. Raise _Ended, with nothing to hand over and no child, if `stop` is set while it waits for Kafka."""
        settings = self.settings
        java.checked()  # Spark's driver needs it: better one sentence now than one that starts again and again.
        self._telemetry = switch.begin(settings, "worker")
        self._rest = Rest(settings)
        self._rest.open()
        admin = Admin(clients.internal(settings, "admin"))
        for problem in (*clients.problems(settings), *chain.missing_converters(self._registry, converters(settings))):
            log.error("Connectors will fail because of a setting in the worker file: %s", problem)
        cluster_id, watch = _unless_stopped(partial(_find_kafka, settings, admin), stop)
        self._watch = watch
        self._feed.start()
        log.info("Kafka cluster %s; this worker is %s", cluster_id, settings.worker_id)
        order = {**self._order, "incarnation": self._incarnation, "plugins": self._registry.directories}
        self._driver = Driver(order, self._spark_ended, self._host_absent, secrets.values(settings.raw))
        self._driver.start()
        hosts = sizes.hosts(host_range(settings.task_hosts), settings.spark)
        identity = Identity(
            worker_id=settings.worker_id,
            url=settings.advertised_url,
            incarnation=self._incarnation,
            commit=build.commit(),
            kafka_cluster_id=cluster_id,
            hosts=hosts.least,
            most_hosts=hosts.most,
            session_timeout_ms=settings.session_timeout_ms,
            handover_grace_ms=settings.handover_grace_ms,
            task_grace_ms=settings.task_shutdown_graceful_timeout_ms,
            rebalance_delay_ms=settings.scheduled_rebalance_max_delay_ms,
            spark_rests_after_ms=settings.driver_rest_after_ms,
            load_moves_per_hour=settings.rebalance_load_moves_per_hour,
            record_bytes=int(clients.internal(settings, "identity")["message.max.bytes"]),
            tracks_topics=settings.topic_tracking_enable,
            resets_topics=settings.topic_tracking_allow_reset,
            exactly_once=settings.exactly_once_enabled,
            redirects_producers="producer.bootstrap.servers" in settings.raw,
            topic_names=clients.topics(settings),
            topic_ids=dict(watch.ids),
            process=process.identity(),
            version=__version__,
        )
        world = World(settings, admin, self._registry, self._sandbox, self._feed, watch, self._driver)
        herder = Herder(
            identity,
            lambda config: environments.directories(world.registry, config, settings),
            lambda name: world.registry.class_of_new_configs(name),
        )
        traces = None if self._telemetry is None else self._telemetry.request_traces()
        self._loop = Loop(herder, world, traces)
        self._loop.start()
        self._rest.start(self._loop, world.loggers, traces)
        log.info("REST at %s", settings.advertised_url)
        if self._telemetry is not None:
            self._telemetry.send_metrics(self._snapshot)
        url, topic = settings.advertised_url, settings.assignment_storage_topic
        find = partial(admin.members, settings.group_id)
        entrance = Entrance(find, settings.group_id, url, topic, settings.session_timeout_ms)
        threading.Thread(target=self._read, args=(entrance,), name="log", daemon=True).start()
        watch.start()
        self._sandbox.warm_up()

    def stop(self) -> None:
        """Release the units, leave the group, end the children. Each step has its limit."""
        self._stopping.set()
        limit = self.settings.task_shutdown_graceful_timeout_ms / 1000 + 5
        if self._loop is not None and self.fatal is None:
            self._loop.post(events.ShutDown())
            if not self._loop.released.wait(limit):
                log.warning("Not all units stopped within %.0f s", limit)
        if self._group is not None:
            self._group.leave(5)
        if self._driver is not None:
            self._driver.stop()
        if self._loop is not None:
            self._loop.stop()
        if self._rest is not None:
            self._rest.stop()
        self._sandbox.close()
        self._feed.close()
        if self._watch is not None:
            self._watch.close()
        if self._telemetry is not None:
            self._telemetry.close()

    def why_not_ready(self) -> str | None:
        """Return what the worker still waits for, as `GET /ready` says; None once it is ready. It must have been started."""
        assert self._loop is not None
        answer = self._loop.submit(WhyNotReady())
        try:
            return answer.result(_ANSWER_S)
        except futures.TimeoutError:  # Another class than Python's own before 3.11.
            answer.cancel()
            return "The worker does not answer."

    def _snapshot(self) -> Snapshot:
        """Return what `/metrics` says now."""
        assert self._loop is not None
        answer = self._loop.submit(GetMetrics())
        try:
            return answer.result(_METRICS_S)
        finally:
            answer.cancel()

    def _spark_ended(self, reason: str) -> None:
        if self._loop is not None:
            self._loop.post(events.SparkEnded(reason))

    def _host_absent(self, host: int, reason: str) -> None:
        if self._loop is not None:
            self._loop.post(events.HostAbsent(host, reason))

    def _read(self, entrance: Entrance) -> None:
        """Feed the log to the herder for ever; join the group once it has been read, and then let the herder begin."""
        assert self._loop is not None
        assert self._watch is not None
        assert self._driver is not None
        try:
            reader = LogReader(clients.reader(self.settings, "reader"), clients.topics(self.settings))
            freshness = Freshness(_Control(reader), _FRESH_S, 2 * silent_after_s(self.settings.session_timeout_ms))
            caught_up, before = False, AssignmentState()
            while not self._stopping.is_set() or not self._loop.released.is_set():
                batch = reader.read(0.2)
                reached = reader.reached()
                freshness.look()
                if self._group is not None:
                    self._loop.log_seen_at = int(freshness.seen_at * 1000)
                if batch or reached:
                    self._loop.post(events.Read(tuple(batch), reached))
                for remade in self._watch.remade(reader):
                    self._loop.post(remade)
                    if remade.topic is Topic.ASSIGNMENT:
                        # It and its hosts go on by what the topic before said.
                        self._driver.restart()
                for record in () if self._group is not None else batch:
                    if record.topic is Topic.ASSIGNMENT:
                        before.apply(record)
                if caught_up or not reader.at_end or self._stopping.is_set():
                    continue
                if self._group is None:
                    life = before.placements.get(self.settings.worker_id)
                    if entrance.is_open(life is not None and process.is_dead(life), time.monotonic()):
                        log.info("The internal topics have been read")
                        self._join()
                # After a kill -9 it may take the old session's time until the group has taken in anybody.
                elif self._joined.is_set() or entrance.is_ours:
                    caught_up = True
                    self._loop.post(events.CaughtUp())
        except Exception as error:  # noqa: BLE001 - without the log a worker is blind: it must end, and say why
            self.fatal = error

    def _join(self) -> None:
        settings, loop = self.settings, self._loop
        assert loop is not None

        def changed(owned: bool) -> None:
            self._joined.set()
            loop.post(events.Owned() if owned else events.Lost())

        def failed(error: Exception) -> None:
            self.fatal = error

        self._group = GroupMember(
            clients.internal(settings, "group"),
            settings.assignment_storage_topic,
            settings.group_id,
            settings.advertised_url,
            (settings.session_timeout_ms, settings.heartbeat_interval_ms, settings.rebalance_timeout_ms),
            changed,
            failed,
        )
        self._group.start()


class _Control:
    """The two topics that everything is decided by: whether one can read them is asked of brokers again and again."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self.end_of, self.has_read = reader.end_of, reader.has_read

    def places(self) -> list[Place]:
        return [place for place in self._reader.places() if place[0] in (Topic.CONFIG, Topic.ASSIGNMENT)]


def _find_kafka(settings: WorkerSettings, admin: Admin) -> tuple[str, TopicWatch]:
    """Return the id of the Kafka cluster, and the watch over the internal topics, which are there then."""
    cluster_id = admin.cluster_id()
    topics = _internal_topics(settings)
    admin.ensure(list(topics.values()))
    shipping.begin(settings, "worker", creates=True)
    return cluster_id, TopicWatch(admin, topics)


def _unless_stopped(work: Callable[[], T], stop: threading.Event) -> T:
    """
    Return what `work` gives. Raise _Ended once `stop` is set, and leave alone what may wait half a minute for a broker: an
    error that a signal's handler raises is lost where Kafka's client calls back.
    """
    done: futures.Future[T] = futures.Future()

    def do() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits for it raises it
            done.set_exception(error)

    threading.Thread(target=do, name="kafka", daemon=True).start()
    while not futures.wait([done], _LOOKS_S).done:
        if stop.is_set():
            raise _Ended
    return done.result()


def _internal_topics(settings: WorkerSettings) -> dict[Topic, InternalTopic]:
    """Connect's three topics with its names, defaults and checks, and the assignment topic."""
    config, assignment = settings.config_storage_replication_factor, settings.assignment_storage_replication_factor

    return {
        Topic.CONFIG: InternalTopic(
            settings.config_storage_topic,
            "config.storage.topic",
            "connector configurations",
            1,
            config,
            single=True,
            config=settings.topic_settings("config.storage."),
        ),
        Topic.OFFSET: InternalTopic(
            settings.offset_storage_topic,
            "offset.storage.topic",
            "source connector offsets",
            settings.offset_storage_partitions,
            settings.offset_storage_replication_factor,
            config=settings.topic_settings("offset.storage."),
        ),
        Topic.STATUS: InternalTopic(
            settings.status_storage_topic,
            "status.storage.topic",
            "connector and task statuses",
            settings.status_storage_partitions,
            settings.status_storage_replication_factor,
            config=settings.topic_settings("status.storage."),
        ),
        Topic.ASSIGNMENT: InternalTopic(
            settings.assignment_storage_topic,
            "assignment.storage.topic",
            "assignments",
            1,
            assignment,
            single=True,
            config=settings.topic_settings("assignment.storage."),
        ),
    }
