"""
The worker process: puts the parts together, runs until it is asked to end, and takes them apart again.

`kconnect worker FILE.properties` calls `run`. One node runs one worker: REST, the loop that owns the herder, the readers and
writers of the internal topics, the group's member, the sandbox for plugin code, and a Spark driver as a child process.
Read next: `loop.py`, then `driver.py` and `host.py` for where the data flows.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import orjson

from kconnect import __version__
from kconnect.api.errors import ConnectError
from kconnect.core.herder import events
from kconnect.core.herder.herder import Herder, Identity
from kconnect.core.herder.requests import ConfigMap
from kconnect.core.settings import properties
from kconnect.core.settings.worker import WorkerSettings, for_plugins
from kconnect.core.state.records import Entry, Held, SessionKey
from kconnect.kafka import clients
from kconnect.kafka.admin import Admin, InternalTopic
from kconnect.kafka.group import GroupMember
from kconnect.kafka.log import LeaderWriter, LogReader, LogWriter
from kconnect.local import java
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.rest import app as rest_app
from kconnect.rest.forward import Forwarder
from kconnect.rest.server import Server
from kconnect.worker import logs, process, session_key
from kconnect.worker.loop import Loop, Offsets

log = logging.getLogger(__name__)

_WRITE_S = 30.0
_DRIVER_BACKOFF_S = (0.5, 2.0, 5.0, 15.0)


def run(path: Path) -> int:
    """Run a worker with the given properties file until SIGTERM or SIGINT; gives the process's exit status."""
    texts = properties.load(path.read_text("utf-8"))
    settings = WorkerSettings.from_properties(texts, os.environ, socket.gethostname())
    logs.configure(format=settings.log_format)
    logs.hide_secrets(settings.raw)
    for key in settings.unknown_keys:
        log.warning("The setting %s is not known and has no effect", key)
    worker = Worker(settings)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        worker.start()
        while not stop.wait(0.5) and worker.fatal is None:
            pass
        log.info("The worker was asked to end")
    finally:
        worker.stop()
    log.info("The worker has ended")
    if worker.fatal is not None:
        raise ConnectError(str(worker.fatal))
    return 0


class Worker:
    """Everything of one worker; `main.py` is the only place where the shells meet."""

    def __init__(self, settings: WorkerSettings) -> None:
        self.settings = settings
        self.fatal: Exception | None = None
        self._incarnation = process.incarnation()
        self._stopping = threading.Event()
        self._registry = Registry.scan(settings.plugin_path)
        self._sandbox = Sandbox(
            self._registry,
            settings.plugin_path,
            worker_group=settings.group_id,
            exactly_once=settings.exactly_once_source_support.lower() == "enabled",
            plugin_settings=for_plugins(settings.raw),
        )
        self._driver: Driver | None = None
        self._loop: Loop | None = None
        self._group: GroupMember | None = None
        self._server: Server | None = None

    def start(self) -> None:
        settings = self.settings
        java.checked()  # Spark's driver needs it: better one sentence now than one that starts again and again.
        self._server = Server(None, settings.listeners, settings.access_log_file)
        self._server.bind()
        admin = Admin(clients.internal(settings, "admin"))
        cluster_id = admin.cluster_id()
        admin.ensure(_internal_topics(settings))
        log.info("Kafka cluster %s; this worker is %s", cluster_id, settings.worker_id)
        self._driver = Driver(settings, self._incarnation)
        self._driver.start()
        identity = Identity(
            worker_id=settings.worker_id,
            url=settings.advertised_url,
            incarnation=self._incarnation,
            version=__version__,
            kafka_cluster_id=cluster_id,
            hosts=settings.task_hosts if settings.task_hosts > 0 else os.cpu_count() or 1,
            session_timeout_ms=settings.session_timeout_ms,
            handover_grace_ms=settings.handover_grace_ms,
            rebalance_delay_ms=settings.scheduled_rebalance_max_delay_ms,
        )
        self._loop = Loop(Herder(identity), World(settings, admin, self._registry, self._sandbox))
        self._loop.start()
        rest_settings = rest_app.RestSettings(
            settings.advertised_url,
            verification_algorithms=tuple(settings.inter_worker_verification_algorithms),
            admin=settings.admin_listeners is None,
        )
        forwarder = Forwarder(settings.inter_worker_signature_algorithm)
        self._server.start(rest_app.build(self._loop, rest_settings, forwarder=forwarder))
        log.info("REST at %s", settings.advertised_url)
        threading.Thread(target=self._read, name="log", daemon=True).start()
        self._sandbox.warm_up()

    def stop(self) -> None:
        """Release the units, leave the group, end the children. Each step has its limit."""
        self._stopping.set()
        limit = self.settings.task_shutdown_graceful_timeout_ms / 1000 + 5
        if self._loop is not None and self.fatal is None:
            self._loop.post(events.ShutDown())
            if not self._loop.released.wait(limit):
                log.warning("Not all units ended within %.0f s", limit)
        if self._group is not None:
            self._group.leave(5)
        if self._driver is not None:
            self._driver.stop()
        if self._loop is not None:
            self._loop.stop()
        if self._server is not None:
            self._server.stop()
        self._sandbox.close()

    def _read(self) -> None:
        """Feed the log to the herder for ever; join the group once it has been read."""
        assert self._loop is not None
        try:
            reader = LogReader(clients.internal(self.settings, "reader"), clients.topics(self.settings))
            caught_up = False
            while not self._stopping.is_set() or not self._loop.released.is_set():
                batch = reader.read(0.2)
                reached = reader.reached()
                if batch or reached:
                    self._loop.post(events.Read(tuple(batch), reached))
                if not caught_up and reader.at_end:
                    caught_up = True
                    self._loop.post(events.CaughtUp())
                    log.info("The internal topics have been read")
                    if not self._stopping.is_set():
                        self._join()
        except Exception as error:  # noqa: BLE001 - without the log a worker is blind: it must end, and say why
            self.fatal = error

    def _join(self) -> None:
        settings, loop = self.settings, self._loop
        assert loop is not None

        def changed(owned: bool) -> None:
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


class World:
    """The real `loop.Outside`."""

    def __init__(self, settings: WorkerSettings, admin: Admin, registry: Registry, sandbox: Sandbox) -> None:
        client, topics = clients.internal(settings, "writer"), clients.topics(settings)
        self._settings = settings
        self._admin, self._registry, self._sandbox = admin, registry, sandbox
        self._writer = LogWriter(client, topics)
        self._leader = LeaderWriter(client, topics, f"connect-cluster-{settings.group_id}")

    def write(self, entries: tuple[Entry, ...], as_leader: bool) -> Offsets:
        return (self._leader if as_leader else self._writer).write(entries, _WRITE_S)

    def take_lead(self) -> Offsets:
        self._leader.fence(_WRITE_S)
        # A new one each time: a reader that nobody polls finds no broker again after an outage.
        reader = LogReader(clients.internal(self._settings, "ends"), clients.topics(self._settings))
        try:
            ends = reader.ends()
        finally:
            reader.close()
        if ends is None:
            raise ConnectError("No broker told where the internal topics end")
        return ends

    def members(self) -> tuple[dict[str, str], str | None]:
        found = self._admin.members(self._settings.group_id)
        ids = {url: url.split("://", 1)[-1].rstrip("/") for url in found}
        owner = next((ids[url] for url, owns in found.items() if owns), None)
        return {worker: url for url, worker in ids.items()}, owner

    def new_session_key(self, current: SessionKey | None) -> SessionKey | None:
        settings = self._settings
        return session_key.renewed(
            current,
            settings.inter_worker_key_generation_algorithm,
            settings.inter_worker_key_size,
            settings.inter_worker_key_ttl_ms,
            int(time.time() * 1000),
        )

    def validate(self, plugin: str, config: ConfigMap) -> dict[str, Any]:
        return self._sandbox.validate(plugin, dict(config))

    def describe(self, plugin: str) -> dict[str, Any]:
        return self._sandbox.describe(plugin)

    def list_plugins(self, connectors_only: bool) -> list[dict[str, Any]]:
        return self._sandbox.list_plugins(connectors_only)

    def plugin_config(self, plugin: str, version: str | None) -> list[dict[str, Any]]:
        return self._sandbox.plugin_config(plugin, version)

    def group_offsets(self, connector: str, config: ConfigMap) -> list[tuple[str, int, int]]:
        return self._admin.committed(config.get("consumer.override.group.id") or f"connect-{connector}")

    def is_dead(self, held: Held) -> bool:
        return process.is_dead(held)


class Driver:
    """The Spark driver as a child process that is started again when it ends."""

    def __init__(self, settings: WorkerSettings, incarnation: str) -> None:
        self._order = orjson.dumps({"properties": settings.raw, "incarnation": incarnation})
        self._child: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="driver", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        child = self._child
        if child is not None:
            _close(child)
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                log.warning("The Spark driver (pid %d) did not end by itself and is killed", child.pid)
                child.kill()
        self._thread.join(5)

    def _keep(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            started = time.monotonic()
            command = [sys.executable, "-m", "kconnect.worker.driver"]
            # A session of its own: Ctrl-C in a terminal must reach the worker only, which then ends the rest in order.
            self._child = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
            assert self._child.stdin is not None
            self._child.stdin.write(self._order + b"\n")
            self._child.stdin.flush()
            status = self._child.wait()
            if self._stopping.is_set():
                return
            failures = 0 if time.monotonic() - started > 60 else failures + 1
            pause = _DRIVER_BACKOFF_S[min(failures, len(_DRIVER_BACKOFF_S) - 1)]
            log.error("The Spark driver ended with status %s; it is started again in %.1f s", status, pause)
            self._stopping.wait(pause)


def _close(child: subprocess.Popen[bytes]) -> None:
    try:
        assert child.stdin is not None
        child.stdin.close()
    except BrokenPipeError:
        log.debug("The Spark driver had ended before it was asked to")


def _internal_topics(settings: WorkerSettings) -> list[InternalTopic]:
    """Connect's three topics with its names, defaults and checks, and the assignment topic."""
    config, assignment = settings.config_storage_replication_factor, settings.assignment_storage_replication_factor

    def extra(prefix: str) -> dict[str, str]:
        own = {"topic", "partitions", "replication.factor", "cleanup.policy"}
        return {key: value for key, value in settings.with_prefix(prefix).items() if key not in own}

    return [
        InternalTopic(
            settings.config_storage_topic,
            "config.storage.topic",
            "connector configurations",
            1,
            config,
            single=True,
            config=extra("config.storage."),
        ),
        InternalTopic(
            settings.offset_storage_topic,
            "offset.storage.topic",
            "source connector offsets",
            settings.offset_storage_partitions,
            settings.offset_storage_replication_factor,
            config=extra("offset.storage."),
        ),
        InternalTopic(
            settings.status_storage_topic,
            "status.storage.topic",
            "connector and task statuses",
            settings.status_storage_partitions,
            settings.status_storage_replication_factor,
            config=extra("status.storage."),
        ),
        InternalTopic(
            settings.assignment_storage_topic,
            "assignment.storage.topic",
            "assignments",
            1,
            assignment,
            single=True,
            config=extra("assignment.storage."),
        ),
    ]
