"""
What each request means: one procedure a request, in the order of checks that Kafka Connect keeps.

Called by `herder.py`; the bodies come from `views.py`. Every refusal comes before the first write, so that a request
which is refused has changed nothing. What the leader is to write it also checks: another worker may not have read yet
what the checks are about. Read next: `requests.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kconnect import CONNECT_VERSION
from kconnect.api.config import Type, parse
from kconnect.core.herder import (
    classes,
    cluster,
    effects,
    fencing,
    metrics,
    offset_requests,
    own_view,
    requests,
    restart,
    stored_offsets,
    views,
)
from kconnect.core.herder.old_offsets import OldOffsets
from kconnect.core.herder.procedures import Procedure
from kconnect.core.herder.target_state import initial_target_state
from kconnect.core.herder.waiting import waiting
from kconnect.core.settings import topic_creation, unknown
from kconnect.core.settings.validation import errors_message
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import GeneratedTasks, TopicsReset
from kconnect.core.state.records import RestartRequest, TargetState, UnitId
from kconnect.errors import AlreadyExistsError, BadRequestError, ConnectError, ForbiddenError, NotFoundError

if TYPE_CHECKING:
    from kconnect.core.herder.herder import Herder

ConfigMap = Mapping[str, "str | None"]
ELECTION_MS = 80_000
"""How long a request waits for a leader or an owner: less than a request may take in all, so that it can say why."""

_SILENT_S = 15
"""A worker that Kafka has not answered for so long knows only what was."""


class Answers:
    def __init__(self, herder: Herder) -> None:
        self._herder = herder
        self._old_offsets = OldOffsets(herder)

    def answer(self, request: requests.Request) -> Procedure:
        herder, config = self._herder, self._herder.config
        match request:
            case requests.Root():
                identity = herder.identity
                return {
                    "version": CONNECT_VERSION,
                    "commit": identity.commit,
                    "kafka_cluster_id": identity.kafka_cluster_id,
                }
            case requests.Health():
                silent_s = herder.silent_ms // 1000
                if silent_s >= _SILENT_S:
                    raise ConnectError(f"Kafka has not answered it for {silent_s} s.")
                return None
            case requests.ListConnectors(expand):
                return (yield from self._list(expand))
            case requests.GetConnector(name):
                self._require(name)
                kind = yield from self.kind(name)
                return views.connector_info(config, name, kind)
            case requests.GetConfig(name):
                self._require(name)
                return dict(config.connectors[name].properties)
            case requests.GetStatus(name):
                kind = yield from self.kind(name)
                return views.connector_status(config, herder.status, name, kind, waiting(herder, name))
            case requests.GetTasks(name):
                return views.tasks(config, name)
            case requests.GetTaskStatus(name, task):
                return views.task_status(config, herder.status, name, task, waiting(herder, name))
            case requests.GetTopics(name):
                self._require_tracking()
                return {name: {"topics": herder.status.topics_of(name)}}
            case requests.ResetTopics(name):
                return (yield from self._reset_topics(name))
            case requests.GetOffsets(name):
                return (yield from self._offsets(name))
            case requests.SetLoggerLevel(namespace, level):
                yield from herder.write([records.logger_level(records.LoggerLevel(namespace, level))])
                return None
            case requests.AlterOffsets(name, pairs):
                alter = partial(offset_requests.alter, herder, name, pairs)
                return (yield from herder.exclusively(name, lambda: self._modify_offsets(name, alter)))
            case requests.ResetOffsets(name):
                reset = partial(offset_requests.reset, herder, name)
                return (yield from herder.exclusively(name, lambda: self._modify_offsets(name, reset)))
            case requests.FenceTasks(name):
                return (yield from herder.exclusively(name, lambda: self._fence(name)))
            case requests.GetCluster():
                return cluster.view(herder)
            case requests.ListOwn():
                return own_view.all_of(herder, (yield effects.ReadReports()))
            case requests.GetOwn(name):
                reports = yield effects.ReadReports()
                self._require(name)
                return {"name": name, **own_view.all_of(herder, reports, (name,))[name]}
            case requests.GetMetrics():
                return metrics.snapshot(herder, (yield effects.ReadReports()))
            case requests.GetSessionKeys():
                return herder.config.session_keys
            case requests.PutTaskConfigs(name, configs):
                return (yield from self._put_task_configs(name, configs))
            case requests.ListPlugins(connectors_only):
                return (yield effects.ListPlugins(connectors_only))
            case requests.ReloadPlugins():
                found = yield effects.ReloadPlugins()
                herder.classes.ask_again()
                herder.placing.plugins_changed()
                return found
            case requests.GetPluginConfig(plugin, version):
                return (yield effects.PluginConfig(plugin, version))
            case requests.ValidateConfig(plugin, submitted):
                _same_plugin(plugin, submitted)
                return (yield from self._infos(plugin, submitted))
            case requests.CreateConnector():
                return (yield from self._create(request))
            case requests.PutConfig(name, submitted):
                return (yield from self._put(name, submitted))
            case requests.PatchConfig(name, patch):
                return (yield from self._patch(name, patch))
            case requests.DeleteConnector(name):
                return (yield from herder.exclusively(name, lambda: self._delete(name)))
            case requests.SetTargetState(name, state):
                return (yield from herder.exclusively(name, lambda: self._set_target_state(name, state)))
            case requests.StopConnector(name):
                return (yield from herder.exclusively(name, lambda: self._stop(name)))
            case requests.RestartConnector(name, include_tasks, only_failed):
                return (yield from self._restart(RestartRequest(name, include_tasks, only_failed)))
            case requests.RestartTask(name, task):
                return (yield from self._restart_task(name, task))
            case _:
                raise BadRequestError(f"This worker does not know the request {type(request).__name__}")

    # --- reads ---

    def _require(self, name: str, text: str = "Connector {} not found") -> None:
        if name not in self._herder.config.connectors:
            raise NotFoundError(text.format(name))

    def kind(self, name: str, patient: bool = False) -> Procedure:
        """
        `source`, `sink`, or `unknown` where this worker does not have the class, or its code fails or takes long. Whoever can't
        go on without is `patient`.
        """
        connector = self._herder.config.connectors.get(name)
        if connector is None or connector.properties.get("connector.class") is None:
            return "unknown"
        described = yield from self._herder.classes.ask(connector.properties, patient=patient)
        return "unknown" if described is None else described["type"]

    def _list(self, expand: tuple[str, ...]) -> Procedure:
        herder = self._herder
        names = list(herder.config.connectors)
        if not expand:
            return names
        body: dict[str, dict[str, Any]] = {}
        plugins = {name: classes.named(herder.config.connectors[name].properties) for name in names}
        asked = {plugin: name for name, plugin in plugins.items()}
        for plugin, name in asked.items():
            if plugin[0]:
                # All at once: those that hang are waited for together.
                herder.classes.known(herder.config.connectors[name].properties)
        kinds = {}
        for plugin, name in asked.items():
            kinds[plugin] = yield from self.kind(name)
        for name in names:
            kind = kinds[plugins[name]]
            try:
                entry: dict[str, Any] = {}
                if "status" in expand:
                    entry["status"] = views.connector_status(herder.config, herder.status, name, kind, waiting(herder, name))
                if "info" in expand:
                    entry["info"] = views.connector_info(herder.config, name, kind)
                body[name] = entry
            except NotFoundError:
                continue  # It was deleted meanwhile.
        return body

    def _offsets(self, name: str) -> Procedure:
        self._require(name)
        kind = yield from self.kind(name, patient=True)
        if kind == "sink":
            properties = self._herder.config.connectors[name].properties
            try:
                return views.sink_offsets((yield effects.GroupOffsets(name, dict(properties))))
            except ConnectError as error:
                text = f"Failed to retrieve consumer group offsets for sink connector {name}: {error}"
                raise ConnectError(text) from error
        properties = {} if kind == "unknown" else self._herder.config.connectors[name].properties
        try:
            return views.source_offsets((yield from stored_offsets.read(self._herder, name, properties)).known())
        except ConnectError as error:
            raise ConnectError(f"Failed to retrieve offsets for source connector {name}: {error}") from error

    # --- topics ---

    def _require_tracking(self) -> None:
        if not self._herder.identity.tracks_topics:
            raise ForbiddenError("Topic tracking is disabled.")

    def _reset_topics(self, name: str) -> Procedure:
        herder = self._herder
        self._require_tracking()
        if not herder.identity.resets_topics:
            raise ForbiddenError("Topic tracking reset is disabled")
        used = herder.status.topics_of(name)
        if used:
            yield from herder.write([entry for topic in used for entry in records.topic_unused(name, topic)])
        if name in herder.config.connectors:
            # Not before the tombstones are there: what a task says on reading this must come after them.
            number = herder.assignment.topic_resets.get(name, (0, 0))[0] + 1
            yield from herder.write([assignment_records.topics_reset(TopicsReset(name, number))])

    # --- offsets ---

    def _modify_offsets(self, name: str, work: Callable[[str], Procedure]) -> Procedure:
        """`work` gets the connector's kind; it is the leader's."""
        yield from self._herder.await_lead()
        self._require(name)
        offset_requests.require_stopped(self._herder, name)
        kind = yield from self.kind(name, patient=True)
        if kind == "unknown":
            plugin = self._herder.config.connectors[name].properties.get("connector.class")
            raise ConnectError(_unknown_class(name, plugin))
        return (yield from work(kind))

    # --- configs ---

    def _create(self, request: requests.CreateConnector) -> Procedure:
        herder, offsets = self._herder, request.initial_offsets
        name = parse("name", request.name or "", Type.STRING)
        config = _named(name, request.config)
        target = initial_target_state(request.initial_state)
        yield from self._validated(config)
        described = None if offsets is None else (yield from herder.classes.ask(config))

        def work() -> Procedure:
            yield from herder.await_lead()
            if name in herder.config.connectors:
                raise AlreadyExistsError(f"Connector {name} already exists")
            state = [] if target is None else [records.target_state(name, target)]
            entries, more = [*state, records.connector_config(name, config)], {}
            if offsets is None:
                self._old_offsets.look(name, config)
                yield from herder.write_as_leader(entries)
            elif described is None:
                raise ConnectError(_unknown_class(name, config["connector.class"]))
            else:
                kind = described["type"]
                status = yield from offset_requests.initial(herder, name, config, kind, offsets, entries)
                more = {"offsets_status": status}
            return requests.Created(True, {**(yield from self._info(name, config)), "tasks": [], **more})

        return (yield from herder.exclusively(name, work))

    def _put(self, name: str, submitted: ConfigMap) -> Procedure:
        herder = self._herder
        config = _named(name, submitted)
        yield from self._validated(config)

        def work() -> Procedure:
            yield from herder.await_lead()
            created = name not in herder.config.connectors
            if created:
                self._old_offsets.look(name, config)
            yield from herder.write_as_leader([records.connector_config(name, config)])
            info = yield from self._info(name, config)
            # In Connect's answer nothing that is new has tasks, however quickly they came.
            return requests.Created(created, {**info, "tasks": []} if created else info)

        return (yield from herder.exclusively(name, work))

    def _patch(self, name: str, patch: ConfigMap) -> Procedure:
        herder = self._herder

        def work() -> Procedure:
            yield from herder.await_lead()
            self._require(name)
            merged = {**herder.config.connectors[name].properties, **patch}
            config = {key: value for key, value in merged.items() if value is not None}
            yield from self._validated(config)
            yield from herder.write_as_leader([records.connector_config(name, config)])
            return requests.Created(False, (yield from self._info(name, config)))

        return (yield from herder.exclusively(name, work))

    def _validated(self, config: ConfigMap) -> Procedure:
        plugin = config.get("connector.class")
        if not plugin:
            raise BadRequestError(
                "The connector config contains no connector type: set `connector.class` to one of the classes that "
                "GET /connector-plugins lists"
            )
        infos = yield from self._infos(plugin, config)
        if infos["error_count"]:
            raise BadRequestError(errors_message(infos))
        for line in unknown.told(config, infos):
            self._herder.log("WARNING", f"Connector {config.get('name')}: {line}")

    def _infos(self, plugin: str, config: ConfigMap) -> Procedure:
        infos = yield effects.Validate(plugin, dict(config))
        before = self._herder.config.connectors.get(config.get("name") or "")
        if before is not None:
            topic_creation.pardon(infos, config, before.properties)
        return infos

    def _info(self, name: str, written: ConfigMap) -> Procedure:
        kind = yield from self.kind(name)
        if name not in self._herder.config.connectors:
            # Somebody has deleted it meanwhile; it was written all the same.
            return {"name": name, "config": dict(written), "tasks": [], "type": kind}
        return views.connector_info(self._herder.config, name, kind)

    # --- states ---

    def _delete(self, name: str) -> Procedure:
        yield from self._herder.await_lead()
        self._require(name)
        yield from self._herder.write_as_leader(records.connector_deleted(name))

    def _set_target_state(self, name: str, state: TargetState) -> Procedure:
        self._require(name, "Unknown connector {}")
        yield from self._herder.write([records.target_state(name, state)])

    def _stop(self, name: str) -> Procedure:
        yield from self._herder.await_lead()
        self._require(name, "Unknown connector {}")
        # The empty task set goes first: a started connector without tasks is a healthy cluster, a stopped one with
        # tasks is not (KIP-875). Both are in one transaction besides.
        entries = [*records.task_configs(name, ()), records.target_state(name, TargetState.STOPPED)]
        yield from self._herder.write_as_leader(entries)

    # --- restarts ---

    def _restart(self, request: RestartRequest) -> Procedure:
        herder = self._herder
        yield from herder.await_lead()
        self._require(request.name, "Unknown connector: {}")
        entry = records.restart_request(request.name, request.include_tasks, request.only_failed)
        if not request.include_tasks and not request.only_failed:
            yield from herder.write_as_leader([entry])
            return None
        kind = yield from self.kind(request.name)
        planned = restart.plan(request, herder.config, herder.status)
        status = views.connector_status(herder.config, herder.status, request.name, kind, waiting(herder, request.name))
        body = views.restarting(status, planned)
        yield from herder.write_as_leader([entry])
        return body

    def _restart_task(self, name: str, task: int) -> Procedure:
        """By the worker that has the task; while it moves, this waits for the one that gets it."""
        herder, unit = self._herder, UnitId(name, task)

        def exists() -> bool:
            return task in herder.config.task_ids(name)

        def decided() -> bool:
            return not exists() or unit in herder.owned or herder.url_of_owner(unit) is not None

        yield from herder.wait_at_most(ELECTION_MS, decided, requests.BUSY)
        self._require(name, "Unknown connector: {}")
        if not exists():
            raise NotFoundError(f"Unknown task: {name}-{task}")
        if not herder.placing.restart_unit(unit):
            url = herder.url_of_owner(unit)
            assert url is not None
            raise requests.ForwardError(url)

    # --- internal ---

    def _put_task_configs(self, name: str, configs: tuple[ConfigMap, ...]) -> Procedure:
        """As if the connector instance had made them just now; answered once they are in force."""
        herder = self._herder
        yield from herder.await_lead()
        self._require(name)
        if configs and herder.config.target_state(name) is TargetState.STOPPED:
            raise BadRequestError(f"Cannot submit non-empty set of task configs for stopped connector {name}")
        made = GeneratedTasks(name, configs, herder.config.wish_offset(name))
        yield from herder.write([assignment_records.generated_tasks(made)], as_leader=True)

    def _fence(self, name: str) -> Procedure:
        yield from self._herder.await_lead()
        self._require(name)
        if (yield from self.kind(name, patient=True)) != "source":
            raise BadRequestError(f"Connector {name} is not a source connector")
        yield from fencing.fence_before(self._herder, name)


def _named(name: str, submitted: ConfigMap) -> dict[str, str | None]:
    """The config with its `name`, which Connect adds where it is absent and compares where it is not."""
    config = dict(submitted)
    given = config.setdefault("name", name)
    if given != name:
        raise BadRequestError(f"Connector name configuration ({given}) doesn't match connector name in the URL ({name})")
    return config


def _unknown_class(name: str, plugin: str | None) -> str:
    return (
        f"Failed to modify offsets for connector {name}: its class {plugin} has to be asked, and this worker does not have it, "
        "or its code fails. Install the plugin on all workers."
    )


def _same_plugin(plugin: str, submitted: ConfigMap) -> None:
    included = submitted.get("connector.class")
    if not included:
        raise BadRequestError("The config to validate contains no `connector.class`: add it, as in the request's path")
    if not included.removesuffix("Connector").endswith(plugin.removesuffix("Connector")):
        raise BadRequestError(f"Included connector type {included} does not match request type {plugin}")
