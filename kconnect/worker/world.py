"""
What a worker's herder wants done, done for real: by Kafka's clients, the sandbox, this process.

Each method performs the effect that it names (`core/herder/performing.py`), in one of the threads of `loop.py`. Made by
`main.py`. Read next: `core/herder/effects.py` for what each has to give.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

import orjson

from kconnect.core.cluster.silence import Host, Silence
from kconnect.core.herder import effects
from kconnect.core.herder.effects import Body, Offsets
from kconnect.core.herder.performing import Lane, performs
from kconnect.core.metrics.report import Report
from kconnect.core.settings import references
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.assignment_records import Held
from kconnect.core.state.config import Properties
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import SessionKey, Topic
from kconnect.errors import BadRequestError, ConnectError
from kconnect.kafka import clients, group, inferred, schema_topic
from kconnect.kafka.admin import Admin
from kconnect.kafka.log import LeaderWriter, LogReader, LogWriter
from kconnect.kafka.sending import send
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.processes import logs, process
from kconnect.processes.levels import PythonLoggers
from kconnect.worker import session_key
from kconnect.worker.brokers import Brokers
from kconnect.worker.driver import Driver
from kconnect.worker.errands import Errands
from kconnect.worker.metrics import Feed
from kconnect.worker.topic_watch import TopicWatch

log = logging.getLogger(__name__)

_WRITE_S = 30.0


class World:
    """Each method that performs an effect may block, for none runs on the loop unless its lane says so."""

    def __init__(
        self,
        settings: WorkerSettings,
        admin: Admin,
        registry: Registry,
        sandbox: Sandbox,
        feed: Feed,
        watch: TopicWatch,
        driver: Driver,
    ) -> None:
        client, topics = clients.internal(settings, "writer"), clients.topics(settings)
        self._settings = settings
        self.loggers = PythonLoggers()
        """Shared with REST, which tells when a level was changed."""
        self._admin, self._sandbox, self._feed, self._watch = admin, sandbox, feed, watch
        self._driver = driver
        self.registry = registry
        self._reloading = threading.Lock()
        self._errands = Errands(settings)
        self._brokers = Brokers(settings, self._errands)
        self._writer = LogWriter(client, topics)
        self._leader = LeaderWriter(client, topics, clients.leader_id(settings))

    @performs(effects.Write, Lane.WRITE)
    def write(self, effect: effects.Write) -> Offsets:
        return (self._leader if effect.as_leader else self._writer).write(effect.entries, _WRITE_S)

    @performs(effects.TakeLead, Lane.WRITE)
    def take_lead(self, effect: effects.TakeLead) -> Offsets:
        self._leader.fence(_WRITE_S)
        self._watch.look_at_policies()
        # A task's open transaction in the offset topic must not keep the cluster without a leader.
        return self._ends(clients.topics(self._settings), LogReader.ends)

    @performs(effects.FindEnds, Lane.ASK)
    def find_ends(self, effect: effects.FindEnds) -> Offsets:
        return self._ends({effect.topic: clients.topics(self._settings)[effect.topic]}, LogReader.ends_behind_open)

    def _ends(self, topics: dict[Topic, str], find: Callable[[LogReader], Offsets | None]) -> Offsets:
        # A new one each time: a reader that nobody polls finds no broker again after an outage.
        reader = LogReader(clients.reader(self._settings, "ends"), topics)
        try:
            ends = find(reader)
        finally:
            reader.close()
        if ends is None:
            raise ConnectError("No broker gave the end of the internal topics")
        return ends

    def members(self) -> tuple[dict[str, str], str | None, str | None]:
        settings = self._settings
        group_members, topic = self._admin.members(settings.group_id), settings.assignment_storage_topic
        owner = next((group.worker_of(member.url) for member in group_members if topic in member.topics), None)
        strange = group.conflict(group_members, settings.group_id, settings.advertised_url, topic, mine=1)
        return group.urls(group_members), owner, strange

    @performs(effects.NewSessionKey, Lane.ASK)
    def new_session_key(self, effect: effects.NewSessionKey) -> SessionKey | None:
        settings = self._settings
        return session_key.renewed(
            effect.current,
            settings.inter_worker_key_generation_algorithm,
            settings.inter_worker_key_size,
            settings.inter_worker_key_ttl_ms,
            int(time.time() * 1000),
        )

    @performs(effects.Validate, Lane.PLUGIN)
    def validate(self, effect: effects.Validate) -> Body:
        return self._sandbox.validate(effect.plugin, dict(effect.config))

    @performs(effects.DescribePlugin, Lane.PLUGIN)
    def describe(self, effect: effects.DescribePlugin) -> Body:
        return self._sandbox.describe(effect.plugin, version=effect.version)

    @performs(effects.ListPlugins, Lane.SHOW)
    def list_plugins(self, effect: effects.ListPlugins) -> list[Body]:
        return self._sandbox.list_plugins(effect.connectors_only)

    @performs(effects.PluginConfig, Lane.SHOW)
    def plugin_config(self, effect: effects.PluginConfig) -> list[Body]:
        return self._sandbox.plugin_config(effect.plugin, effect.version)

    @performs(effects.ReloadPlugins, Lane.PLUGIN)
    def reload_plugins(self, effect: effects.ReloadPlugins) -> Body:
        with self._reloading:
            registry, changes = self.registry.anew(self._settings.plugin_path, self._settings.plugin_discovery)
            self._sandbox.reload(registry)
            self.registry = registry
        log.info("Plugins were reloaded: %s", changes)
        return {**changes, "broken": _broken(registry)}

    @performs(effects.ListPlaces, Lane.AT_ONCE)
    def list_places(self, effect: effects.ListPlaces) -> Body:
        registry = self.registry
        rows = [
            {
                "class": plugin.class_name,
                "type": plugin.type or plugin.kind,
                "version": plugin.version,
                "location": plugin.location,
            }
            for plugin in registry.plugins
        ]
        return {"plugins": rows, "broken": _broken(registry)}

    @performs(effects.ReadChanges, Lane.LOOK)
    def read_changes(self, effect: effects.ReadChanges) -> str:
        return self._errands.changes(effect.connector)

    @performs(effects.ReadSchemas, Lane.LOOK)
    def read_schemas(self, effect: effects.ReadSchemas) -> list[orjson.Fragment]:
        client = clients.plain(self._settings, "consumer", "schemas")
        statements = schema_topic.read(client, self._settings.schema_storage_topic, effect.connector)
        # As JSON at once: their fields would take ten times as much memory.
        return [orjson.Fragment(orjson.dumps(body)) for body in inferred.shown(statements)]

    @performs(effects.ForgetSchemas, Lane.LOOK)
    def forget_schemas(self, effect: effects.ForgetSchemas) -> int:
        client, topic = clients.plain(self._settings, "consumer", "schemas"), self._settings.schema_storage_topic
        statements = schema_topic.read(client, topic, effect.connector)
        schema_topic.write(clients.internal(self._settings, "schemas"), topic, dict.fromkeys(statements))
        return len({(key.part, key.topic) for key in statements})

    @performs(effects.Signal, Lane.CLIENT)
    def signal(self, effect: effects.Signal) -> None:
        mine = {server.strip() for server in self._settings.bootstrap_servers.split(",")}
        if mine.isdisjoint(server.strip() for server in effect.servers.split(",")):
            # Its login is for this cluster only.
            raise BadRequestError(
                f"The connector takes its signals from {effect.servers}, and the worker sends them to its own cluster only, "
                f"which is {self._settings.bootstrap_servers}: if that is the same, write it in the same way"
            )
        if self._settings.internal_topics.protects(effect.topic):
            raise BadRequestError(self._settings.internal_topics.refusal(effect.topic))
        send(clients.internal(self._settings, "signals"), effect.topic, "The signal", [(effect.key, effect.value)])

    @performs(effects.Preview, Lane.PLUGIN)
    def preview(self, effect: effects.Preview) -> str:
        records = None if effect.records is None else list(effect.records)
        return self._errands.preview(effect.config, records, effect.sample)

    @performs(effects.CheckTopics, Lane.PLUGIN)
    def check_topics(self, effect: effects.CheckTopics) -> str:
        return self._errands.check_topics()

    @performs(effects.DeadLetters, Lane.PLUGIN)
    def dead_letters(self, effect: effects.DeadLetters) -> str:
        return self._errands.dead_letters(effect.connector, effect.configs, effect.wanted)

    @performs(effects.GroupOffsets, Lane.CLIENT)
    def group_offsets(self, effect: effects.GroupOffsets) -> list[tuple[str, int, int]]:
        with self._overrides(effect.config) as overrides:
            return self._brokers.group_offsets(effect.connector, overrides)

    @performs(effects.ShowGroupOffsets, Lane.LOOK)
    def show_group_offsets(self, effect: effects.ShowGroupOffsets) -> list[tuple[str, int, int]]:
        return self.group_offsets(effect)

    @performs(effects.PlanMoves, Lane.LOOK)
    def plan_moves(self, effect: effects.PlanMoves) -> list[Body]:
        with self._overrides(effect.config) as overrides:
            return self._brokers.moves(effect.connector, overrides, effect.topics, effect.to, effect.number)

    @performs(effects.AskConnector, Lane.PLUGIN)
    def ask_connector(self, effect: effects.AskConnector) -> bool:
        return self._sandbox.alter_offsets(effect.plugin, effect.config, effect.offsets)

    @performs(effects.AlterGroup, Lane.CLIENT)
    def alter_group(self, effect: effects.AlterGroup) -> None:
        with self._overrides(effect.config) as overrides:
            self._brokers.alter_group(effect.connector, overrides, effect.offsets)

    @performs(effects.ReadOwnOffsets, Lane.CLIENT)
    def read_own_offsets(self, effect: effects.ReadOwnOffsets) -> OffsetState | None:
        with self._overrides(effect.config) as overrides:
            return self._brokers.own_offsets(effect.connector, overrides, effect.prepare)

    @performs(effects.ShowOwnOffsets, Lane.LOOK)
    def show_own_offsets(self, effect: effects.ShowOwnOffsets) -> OffsetState | None:
        return self.read_own_offsets(effect)

    @performs(effects.WriteOwnOffsets, Lane.CLIENT)
    def write_own_offsets(self, effect: effects.WriteOwnOffsets) -> None:
        with self._overrides(effect.config) as overrides:
            self._brokers.write_own_offsets(effect.connector, overrides, effect.entries)

    @performs(effects.Fence, Lane.FENCE)
    def fence(self, effect: effects.Fence) -> None:
        ids = [clients.transactional_id(self._settings, effect.connector, task) for task in range(effect.tasks)]
        with self._overrides(effect.config) as overrides:
            self._brokers.fence(effect.connector, overrides, ids)

    @contextmanager
    def _overrides(self, config: Properties) -> Iterator[dict[str, str]]:
        """
        Give a connector's overrides of its clients, with references to secrets resolved by a child process. An error in the
        block shows the references instead, since REST answers with its text.
        """
        try:
            yield self._resolved(config)
        except Exception as error:
            hidden = logs.hide(str(error))
            if hidden != str(error):
                error.args = (hidden,)
            raise

    def _resolved(self, config: Properties) -> dict[str, str]:
        raw = {
            name: text
            for name, text in config.items()
            if text is not None and (".override." in name or name == "offsets.storage.topic")
        }
        if not any(references.find(text) for text in raw.values()):
            return raw
        resolved, covered = self._sandbox.resolve_config(raw)
        logs.cover(covered)
        return resolved

    @performs(effects.ReadReports, Lane.AT_ONCE)
    def unit_reports(self, effect: effects.ReadReports) -> Collection[Report]:
        # It must not block: each answer with a status may need it.
        return self._feed.reports()

    @performs(effects.ReadCores, Lane.AT_ONCE)
    def cores(self, effect: effects.ReadCores) -> float | None:
        return self._feed.cores(effect.worker)

    @performs(effects.ReadHistory, Lane.ASK)
    def history(self, effect: effects.ReadHistory) -> Body:
        return self._feed.history(effect.connector)

    @performs(effects.SetLevel, Lane.AT_ONCE)
    def set_level(self, effect: effects.SetLevel) -> None:
        logs.set_level(self.loggers, effect.change)

    @performs(effects.KeepSpark, Lane.AT_ONCE)
    def keep_spark(self, effect: effects.KeepSpark) -> None:
        self._driver.keep(effect.is_wanted)

    def is_dead(self, held: Held) -> bool:
        return process.is_dead(held)

    def silences(self) -> Mapping[Host, Silence]:
        return self._feed.silences()


def _broken(registry: Registry) -> list[Body]:
    return [{"location": broken.location, "reason": broken.reason} for broken in registry.broken]
