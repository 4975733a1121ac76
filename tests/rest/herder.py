"""
A herder in memory: enough of the real one's answers to drive the HTTP shell, without a log or a cluster.

It keeps connectors with a config, a target state and tasks that follow it at once. `hold` leaves requests unanswered,
as a busy or dying worker does; `fail_next` makes the next request raise.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import (
    CreateConnector,
    Created,
    DeleteConnector,
    PatchConfig,
    PutConfig,
    ValidateConfig,
)
from kconnect.core.herder.requests.connectors import GetConfig, GetConnector, GetStatus, GetTasks, GetTaskStatus, ListConnectors
from kconnect.core.herder.requests.metrics import GetMetrics
from kconnect.core.herder.requests.offsets import AlterOffsets, GetOffsets, ResetOffsets
from kconnect.core.herder.requests.own import GetOwn, ListOwn
from kconnect.core.herder.requests.placement import GetPlacement
from kconnect.core.herder.requests.plugins import GetPluginConfig, ListPlugins, ReloadPlugins
from kconnect.core.herder.requests.states import RestartConnector, RestartTask, SetTargetState, StopConnector
from kconnect.core.herder.requests.tasks import FenceTasks
from kconnect.core.herder.requests.topics import GetTopics, ResetTopics
from kconnect.core.herder.requests.worker import (
    GetConfigOffset,
    GetSessionKeys,
    Health,
    IsMember,
    ReadConfigs,
    Root,
    SetLoggerLevel,
    WhyNotReady,
)
from kconnect.core.metrics.families import Snapshot
from kconnect.core.state.records import SessionKey, TargetState
from kconnect.errors import AlreadyExistsError, BadRequestError, ForbiddenError, NotFoundError, UnavailableError

WORKER = "127.0.0.1:8083"
SHOWN = {TargetState.STARTED: "RUNNING", TargetState.PAUSED: "PAUSED", TargetState.STOPPED: "STOPPED"}


class MemoryHerder:
    def __init__(self) -> None:
        self.configs: dict[str, dict[str, str | None]] = {}
        self.targets: dict[str, TargetState] = {}
        self.topics: dict[str, list[str]] = {}
        self.failed: set[tuple[str, int]] = set()
        self.broken: list[dict[str, str]] = []
        self.retrying: dict[tuple[str, int], dict[str, Any]] = {}
        self.cluster_levels: list[tuple[str, str]] = []
        self.session_keys: tuple[SessionKey, ...] = ()
        self.restarted: list[tuple[str, int]] = []
        self.starting = False
        self.reset_allowed = True
        self.hold = False
        self.held: list[Future[Any]] = []
        self.fail_next: Exception | None = None
        self.seen: list[Request[Any]] = []
        self.metrics: Snapshot | None = None
        self.config_offset = 7
        self.read_to: list[int] = []
        self.lost: set[str] = set()
        """Addresses of workers that the group has lost."""

    def submit(self, request: Request[Any]) -> Future[Any]:
        if not isinstance(request, GetConfigOffset):
            self.seen.append(request)
        future: Future[Any] = Future()
        if self.hold:
            self.held.append(future)
            return future
        try:
            if self.fail_next is not None:
                error, self.fail_next = self.fail_next, None
                raise error
            future.set_result(self._answers[type(request)](self, request))
        except Exception as error:  # noqa: BLE001 - it is the answer
            future.set_exception(error)
        return future

    # -- answers ------------------------------------------------------------------------------------------------------

    def _root(self, request: Root) -> Any:
        return {"version": "4.3.1", "commit": "c0ffee", "kafka_cluster_id": "4L6g3nShT-eMCtK--X86sw"}

    def _why_not_ready(self, request: WhyNotReady) -> str | None:
        return "Spark and the worker's first task host are not up yet." if self.starting else None

    def _health(self, request: Health) -> None:
        if self.starting:
            raise UnavailableError("Worker is still starting up.")

    def _config_offset(self, request: GetConfigOffset) -> int:
        return self.config_offset

    def _read_configs(self, request: ReadConfigs) -> None:
        self.read_to.append(request.offset)

    def _is_member(self, request: IsMember) -> bool:
        return request.url not in self.lost

    def _list(self, request: ListConnectors) -> Any:
        if not request.expand:
            return sorted(self.configs)
        views = {"status": self._status_of, "info": self._info}
        return {name: {e: views[e](name) for e in request.expand if e in views} for name in sorted(self.configs)}

    def _get(self, request: GetConnector) -> Any:
        return self._info(self._known(request.name))

    def _config(self, request: GetConfig) -> Any:
        return self.configs[self._known(request.name)]

    def _status(self, request: GetStatus) -> Any:
        if request.name not in self.configs:
            raise NotFoundError(f"No status found for connector {request.name}")
        return self._status_of(request.name)

    def _tasks(self, request: GetTasks) -> Any:
        config = self.configs[self._known(request.name)]
        return [
            {"id": {"connector": request.name, "task": task}, "config": {"topic": config.get("topic")}}
            for task in range(self._task_count(request.name))
        ]

    def _task_status(self, request: GetTaskStatus) -> Any:
        if request.name not in self.configs or not 0 <= request.task < self._task_count(request.name):
            raise NotFoundError(f"No status found for task {request.name}-{request.task}")
        return self._status_of(request.name)["tasks"][request.task]

    def _topics(self, request: GetTopics) -> Any:
        return {request.name: {"topics": self.topics.get(request.name, [])}}

    def _reset_topics(self, request: ResetTopics) -> None:
        if not self.reset_allowed:
            raise ForbiddenError("Topic tracking reset is disabled")
        self.topics.pop(request.name, None)

    def _offsets(self, request: GetOffsets) -> Any:
        self._known(request.name)
        return {"offsets": [{"partition": {"filename": "in.txt"}, "offset": {"position": 7}}]}

    def _altered(self, request: AlterOffsets | ResetOffsets) -> Any:
        self._known(request.name)
        return {"message": "altered" if isinstance(request, AlterOffsets) else "reset"}

    def _keys(self, request: GetSessionKeys) -> Any:
        return self.session_keys

    def _placement(self, request: GetPlacement) -> Any:
        own, status = self._own(self._known(request.name)), self._status_of(request.name)
        placed = [
            {"task": task["id"], "state": said["state"], "worker_id": WORKER, "host": task["host"], "waits_for": None}
            for task, said in zip(own["tasks"], status["tasks"], strict=True)
        ]
        instance = {"task": None, "state": "UNASSIGNED", "worker_id": None, "host": None, "waits_for": "waiting for Spark"}
        return {"name": request.name, "connector": instance, "tasks": placed}

    def _fence(self, request: FenceTasks) -> None:
        self._known(request.name)

    def _plugins(self, request: ListPlugins) -> Any:
        connectors = [{"class": "FileStreamSource", "type": "source", "version": "4.3.1"}]
        others = [{"class": "JsonConverter", "type": "converter"}]
        return connectors if request.connectors_only else connectors + others

    def _plugin_config(self, request: GetPluginConfig) -> Any:
        if request.plugin != "FileStreamSource":
            raise NotFoundError(f"Unknown plugin {request.plugin}.")
        if request.version not in (None, "latest", "4.3.1"):
            raise BadRequestError(f"Invalid version specification: {request.version}")
        return [{"name": "topic", "type": "STRING", "required": True}]

    def _reload_plugins(self, request: ReloadPlugins) -> Any:
        return {"added": ["/p/a-1"], "removed": [], "installed": ["b.B"], "broken": self.broken}

    def _validate(self, request: ValidateConfig) -> Any:
        if request.config.get("connector.class") is None:
            raise BadRequestError("The config has no connector.class")
        return {"name": request.config["connector.class"], "error_count": 0, "groups": [], "configs": []}

    def _create(self, request: CreateConnector) -> Created:
        if not request.name:
            raise BadRequestError("Invalid value  for configuration name: String may not be empty")
        if request.name in self.configs:
            raise AlreadyExistsError(f"Connector {request.name} already exists")
        states = {None: "STARTED", "RUNNING": "STARTED"}
        state = TargetState[states.get(request.initial_state, request.initial_state or "")]
        return self._store(request.name, dict(request.config), state)

    def _put(self, request: PutConfig) -> Created:
        return self._store(request.name, dict(request.config), self.targets.get(request.name, TargetState.STARTED))

    def _patch(self, request: PatchConfig) -> Created:
        merged = {**self.configs[self._known(request.name)], **request.patch}
        kept = {key: value for key, value in merged.items() if key not in request.patch or value is not None}
        return self._store(request.name, kept, self.targets[request.name])

    def _delete(self, request: DeleteConnector) -> None:
        del self.configs[self._known(request.name)]

    def _target(self, request: SetTargetState | StopConnector) -> None:
        if request.name not in self.configs:
            raise NotFoundError(f"Unknown connector {request.name}")
        self.targets[request.name] = request.state if isinstance(request, SetTargetState) else TargetState.STOPPED

    def _restart(self, request: RestartConnector) -> Any:
        name = request.name
        if name not in self.configs:
            raise NotFoundError(f"Unknown connector: {name}")
        if not request.include_tasks and not request.only_failed:
            self.restarted.append((name, -1))
            return None
        status = self._status_of(name)
        units = [status["connector"], *(status["tasks"] if request.include_tasks else [])]
        for unit in units:
            if not request.only_failed or unit["state"] == "FAILED":
                unit["state"] = "RESTARTING"
        return status

    def _restart_task(self, request: RestartTask) -> None:
        if request.name not in self.configs:
            raise NotFoundError(f"Unknown connector: {request.name}")
        if not 0 <= request.task < self._task_count(request.name):
            raise NotFoundError(f"Unknown task: {request.name}-{request.task}")
        self.restarted.append((request.name, request.task))
        self.failed.discard((request.name, request.task))

    def _set_logger_level(self, request: SetLoggerLevel) -> None:
        self.cluster_levels.append((request.namespace, request.level))

    _answers: dict[type, Callable[[Any, Any], Any]] = {
        Root: _root,
        Health: _health,
        WhyNotReady: _why_not_ready,
        IsMember: _is_member,
        GetConfigOffset: _config_offset,
        ReadConfigs: _read_configs,
        ListConnectors: _list,
        GetConnector: _get,
        GetConfig: _config,
        GetStatus: _status,
        GetTasks: _tasks,
        GetTaskStatus: _task_status,
        GetTopics: _topics,
        ResetTopics: _reset_topics,
        GetOffsets: _offsets,
        ListPlugins: _plugins,
        GetPluginConfig: _plugin_config,
        ReloadPlugins: _reload_plugins,
        ValidateConfig: _validate,
        CreateConnector: _create,
        PutConfig: _put,
        PatchConfig: _patch,
        DeleteConnector: _delete,
        SetTargetState: _target,
        StopConnector: _target,
        RestartConnector: _restart,
        RestartTask: _restart_task,
        SetLoggerLevel: _set_logger_level,
        GetMetrics: lambda self, request: self.metrics,
        ListOwn: lambda self, request: {name: self._own(name) for name in sorted(self.configs)},
        GetOwn: lambda self, request: {"name": request.name, **self._own(self._known(request.name))},
        GetPlacement: _placement,
        AlterOffsets: _altered,
        ResetOffsets: _altered,
        GetSessionKeys: _keys,
        FenceTasks: _fence,
    }

    # -- state --------------------------------------------------------------------------------------------------------

    def _known(self, name: str) -> str:
        if name not in self.configs:
            raise NotFoundError(f"Connector {name} not found")
        return name

    def _store(self, name: str, config: dict[str, str | None], state: TargetState) -> Created:
        created = name not in self.configs
        self.configs[name] = config
        self.targets[name] = state
        return Created(created, {**self._info(name), "tasks": []} if created else self._info(name))

    def _task_count(self, name: str) -> int:
        stopped = self.targets[name] is TargetState.STOPPED
        return 0 if stopped else int(self.configs[name].get("tasks.max") or 1)

    def _info(self, name: str) -> dict[str, Any]:
        tasks = [{"connector": name, "task": task} for task in range(self._task_count(name))]
        return {"name": name, "config": self.configs[name], "tasks": tasks, "type": "source"}

    def _own(self, name: str) -> dict[str, Any]:
        host = {"worker_id": WORKER, "host": 0, "node": "n", "pid": 1}
        ids = range(self._task_count(name))
        tasks = [{"id": task, "host": host, "memory": None, "retrying": self.retrying.get((name, task))} for task in ids]
        return {"retrying": self.retrying.get((name, -1)), "tasks": tasks}

    def _status_of(self, name: str) -> dict[str, Any]:
        state = SHOWN[self.targets[name]]
        tasks: list[dict[str, Any]] = [
            {"id": task, "state": state, "worker_id": WORKER, "version": "4.3.1"} for task in range(self._task_count(name))
        ]
        for task in tasks:
            if (name, task["id"]) in self.failed:
                task.update(state="FAILED", trace="Traceback (most recent call last):\n  ...\nOSError: disk on fire\n")
        connector = {"state": state, "worker_id": WORKER, "version": "4.3.1"}
        if (name, -1) in self.retrying:
            connector["trace"] = f"It is called again: {self.retrying[name, -1]['reason']}"
        return {"name": name, "connector": connector, "tasks": tasks, "type": "source"}
