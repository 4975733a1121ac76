"""
What each request means: one procedure a request, in the order of checks that Kafka Connect keeps.

Called by `herder.py`; the bodies come from `views.py`. Every refusal comes before the first write, so that a request
which is refused has changed nothing. What the leader is to write it also checks: another worker may not have read yet
what the checks are about. Read next: `requests.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kconnect.api.errors import (
    AlreadyExistsError,
    BadRequestError,
    NotFoundError,
)
from kconnect.core.herder import cluster, effects, requests, restart, views
from kconnect.core.herder.procedures import Procedure
from kconnect.core.herder.target_state import initial_target_state
from kconnect.core.settings.validation import errors_message
from kconnect.core.state import records
from kconnect.core.state.records import GeneratedTasks, RestartRequest, TargetState, UnitId

if TYPE_CHECKING:
    from kconnect.core.herder.herder import Herder

ConfigMap = Mapping[str, "str | None"]
COMMIT = "unknown"
ELECTION_MS = 80_000
"""How long a request waits for a leader or an owner: less than a request may take in all, so that it can say why."""


class Answers:
    def __init__(self, herder: Herder) -> None:
        self._herder = herder
        self._kinds: dict[str, str] = {}

    def answer(self, request: requests.Request) -> Procedure:
        herder, config = self._herder, self._herder.config
        match request:
            case requests.Root():
                identity = herder.identity
                return {
                    "version": identity.version,
                    "commit": COMMIT,
                    "kafka_cluster_id": identity.kafka_cluster_id,
                }
            case requests.Health():
                return None
            case requests.ListConnectors(expand):
                return (yield from self._list(expand))
            case requests.GetConnector(name):
                self._require(name)
                kind = yield from self._kind(name)
                return views.connector_info(config, name, kind)
            case requests.GetConfig(name):
                self._require(name)
                return dict(config.connectors[name].properties)
            case requests.GetStatus(name):
                kind = yield from self._kind(name)
                return views.connector_status(herder.status, name, kind)
            case requests.GetTasks(name):
                return views.tasks(config, name)
            case requests.GetTaskStatus(name, task):
                return views.task_status(herder.status, name, task)
            case requests.GetTopics(name):
                return {name: {"topics": herder.status.topics_of(name)}}
            case requests.ResetTopics(name):
                used = herder.status.topics_of(name)
                entries = [entry for topic in used for entry in records.topic_unused(name, topic)]
                if entries:
                    yield from herder.write(entries)
                return None
            case requests.GetOffsets(name):
                return (yield from self._offsets(name))
            case requests.GetCluster():
                return cluster.view(herder)
            case requests.GetSessionKeys():
                return herder.config.session_keys
            case requests.PutTaskConfigs(name, configs):
                return (yield from self._put_task_configs(name, configs))
            case requests.ListPlugins(connectors_only):
                return (yield effects.ListPlugins(connectors_only))
            case requests.GetPluginConfig(plugin, version):
                return (yield effects.PluginConfig(plugin, version))
            case requests.ValidateConfig(plugin, submitted):
                _same_plugin(plugin, submitted)
                return (yield effects.Validate(plugin, dict(submitted)))
            case requests.CreateConnector(name, submitted, initial_state):
                return (yield from self._create(name, submitted, initial_state))
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

    def _kind(self, name: str) -> Procedure:
        """`source`, `sink`, or `unknown` where this worker does not have the class."""
        connector = self._herder.config.connectors.get(name)
        plugin = None if connector is None else connector.properties.get("connector.class")
        if plugin is None:
            return "unknown"
        if plugin not in self._kinds:
            try:
                described = yield effects.DescribePlugin(plugin)
            except Exception:  # noqa: BLE001 - whatever is wrong with the plugin, the answer is that its type is not known
                return "unknown"
            self._kinds[plugin] = described["type"]
        return self._kinds[plugin]

    def _list(self, expand: tuple[str, ...]) -> Procedure:
        herder = self._herder
        names = list(herder.config.connectors)
        if not expand:
            return names
        body: dict[str, dict[str, Any]] = {}
        for name in names:
            kind = yield from self._kind(name)
            try:
                entry: dict[str, Any] = {}
                if "status" in expand:
                    entry["status"] = views.connector_status(herder.status, name, kind)
                if "info" in expand:
                    entry["info"] = views.connector_info(herder.config, name, kind)
                body[name] = entry
            except NotFoundError:
                continue  # Connect, too, leaves out what has no status yet.
        return body

    def _offsets(self, name: str) -> Procedure:
        self._require(name)
        kind = yield from self._kind(name)
        if kind == "sink":
            properties = self._herder.config.connectors[name].properties
            return views.sink_offsets((yield effects.GroupOffsets(name, dict(properties))))
        return views.source_offsets(self._herder.offsets, name)

    # --- configs ---

    def _create(self, name: str, submitted: ConfigMap, initial_state: str | None) -> Procedure:
        herder = self._herder
        name = (name or "").strip()
        config = _named(name, submitted)
        target = initial_target_state(initial_state)
        yield from self._validated(config)

        def work() -> Procedure:
            yield from herder.await_lead()
            if name in herder.config.connectors:
                raise AlreadyExistsError(f"Connector {name} already exists")
            state = [] if target is None else [records.target_state(name, target)]
            yield from herder.write_as_leader([*state, records.connector_config(name, config)])
            return requests.Created(True, {**(yield from self._info(name, config)), "tasks": []})

        return (yield from herder.exclusively(name, work))

    def _put(self, name: str, submitted: ConfigMap) -> Procedure:
        herder = self._herder
        config = _named(name, submitted)
        yield from self._validated(config)

        def work() -> Procedure:
            yield from herder.await_lead()
            created = name not in herder.config.connectors
            yield from herder.write_as_leader([records.connector_config(name, config)])
            return requests.Created(created, (yield from self._info(name, config)))

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
        infos = yield effects.Validate(plugin, dict(config))
        if infos["error_count"]:
            raise BadRequestError(errors_message(infos))

    def _info(self, name: str, written: ConfigMap) -> Procedure:
        kind = yield from self._kind(name)
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
        if UnitId(request.name) not in herder.status.units:
            raise NotFoundError(f"Status for connector {request.name} not found")
        kind = yield from self._kind(request.name)
        planned = restart.plan(request, herder.config, herder.status)
        body = views.restarting(views.connector_status(herder.status, request.name, kind), planned)
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
            raise NotFoundError(f"Unknown task: {unit}")
        if not herder.restart_unit(unit):
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
        yield from herder.write([records.generated_tasks(made)], as_leader=True)


def _named(name: str, submitted: ConfigMap) -> dict[str, str | None]:
    """The config with its `name`, which Connect adds where it is absent and compares where it is not."""
    config = dict(submitted)
    given = config.setdefault("name", name)
    if given != name:
        raise BadRequestError(f"Connector name configuration ({given}) doesn't match connector name in the URL ({name})")
    return config


def _same_plugin(plugin: str, submitted: ConfigMap) -> None:
    included = submitted.get("connector.class")
    if not included:
        raise BadRequestError("The config to validate contains no `connector.class`: add it, as in the request's path")
    if not included.removesuffix("Connector").endswith(plugin.removesuffix("Connector")):
        raise BadRequestError(f"Included connector type {included} does not match request type {plugin}")
