"""
What REST and the CLI may ask of the herder: one frozen dataclass a request.

Made by `kconnect.rest`, submitted to `kconnect.worker.loop`, answered by `kconnect.core.herder.herder`.
An answer is plain JSON data in the shape that Kafka Connect's REST API gives it, or an error of
`kconnect.errors`; `rest/errors.py` turns the error's class into an HTTP status.
Read next: `herder.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.core.state.records import TargetState
from kconnect.errors import ConflictError

ConfigMap = Mapping[str, "str | None"]
"""A connector's config as it was submitted: raw text, JSON null kept as None."""


@dataclass(frozen=True, slots=True)
class Request:
    """The base of all; a request that changes something says so with `writes`."""

    writes = False


@dataclass(frozen=True, slots=True)
class Root(Request):
    """`GET /`: dict with version, commit, kafka_cluster_id."""


@dataclass(frozen=True, slots=True)
class Health(Request):
    """`GET /health`: answered only once the worker has read its topics; None is the answer."""


@dataclass(frozen=True, slots=True)
class ListConnectors(Request):
    """`GET /connectors`: a list of names, or with `expand` a dict of name -> {"status":..., "info":...}."""

    expand: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GetConnector(Request):
    name: str


@dataclass(frozen=True, slots=True)
class GetConfig(Request):
    name: str


@dataclass(frozen=True, slots=True)
class GetStatus(Request):
    name: str


@dataclass(frozen=True, slots=True)
class GetTasks(Request):
    name: str


@dataclass(frozen=True, slots=True)
class GetTaskStatus(Request):
    name: str
    task: int


@dataclass(frozen=True, slots=True)
class GetTopics(Request):
    name: str


@dataclass(frozen=True, slots=True)
class ResetTopics(Request):
    name: str
    writes = True


@dataclass(frozen=True, slots=True)
class GetOffsets(Request):
    name: str


@dataclass(frozen=True, slots=True)
class AlterOffsets(Request):
    """
    `PATCH /connectors/{c}/offsets` (KIP-875): pairs of partition and offset as JSON has them, None resets a partition. The
    answer is `{"message": ...}`.
    """

    name: str
    offsets: tuple[tuple[Any, Any], ...]
    writes = True


@dataclass(frozen=True, slots=True)
class ResetOffsets(Request):
    """`DELETE /connectors/{c}/offsets` (KIP-875): all of them. The answer is `{"message": ...}`."""

    name: str
    writes = True


@dataclass(frozen=True, slots=True)
class ListPlugins(Request):
    connectors_only: bool = True


@dataclass(frozen=True, slots=True)
class GetPluginConfig(Request):
    plugin: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ValidateConfig(Request):
    plugin: str
    config: ConfigMap


@dataclass(frozen=True, slots=True)
class ReloadPlugins(Request):
    """`POST /kconnect/plugins/reload`: this worker looks at plugin.path anew."""


@dataclass(frozen=True, slots=True)
class CreateConnector(Request):
    """
    `POST /connectors`: the answer is a `Created`. `initial_state` is RUNNING, PAUSED or STOPPED, in any case. With
    `initial_offsets` (KIP-995), as `AlterOffsets` has them, its `info` has `offsets_status`.
    """

    name: str
    config: ConfigMap
    initial_state: str | None = None
    initial_offsets: tuple[tuple[Any, Any], ...] | None = None
    writes = True


@dataclass(frozen=True, slots=True)
class PutConfig(Request):
    """`PUT /connectors/{c}/config`: creates or replaces; the answer is a `Created`."""

    name: str
    config: ConfigMap
    writes = True


@dataclass(frozen=True, slots=True)
class PatchConfig(Request):
    """`PATCH /connectors/{c}/config`: a null removes the key (KIP-477); the answer is a `Created` that is false."""

    name: str
    patch: ConfigMap
    writes = True


@dataclass(frozen=True, slots=True)
class DeleteConnector(Request):
    name: str
    writes = True


@dataclass(frozen=True, slots=True)
class SetTargetState(Request):
    """Pause (PAUSED) and resume (STARTED): any worker may write these."""

    name: str
    state: TargetState
    writes = True


@dataclass(frozen=True, slots=True)
class StopConnector(Request):
    name: str
    writes = True


@dataclass(frozen=True, slots=True)
class RestartConnector(Request):
    """The answer is None without parameters (204), else the status with RESTARTING shown (202, KIP-745)."""

    name: str
    include_tasks: bool = False
    only_failed: bool = False
    writes = True


@dataclass(frozen=True, slots=True)
class RestartTask(Request):
    name: str
    task: int
    writes = True


@dataclass(frozen=True, slots=True)
class SetLoggerLevel(Request):
    """`PUT /admin/loggers/{l}?scope=cluster` (KIP-976): any worker may write it; `level` is the text that was sent."""

    namespace: str
    level: str
    writes = True


@dataclass(frozen=True, slots=True)
class GetCluster(Request):
    """`GET /cluster`: members, leader, generation, units by worker and host, and what is being handed over."""


@dataclass(frozen=True, slots=True)
class ListOwn(Request):
    """`GET /kconnect/connectors`: what only kconnect knows of each connector, see `own_view.py`."""


@dataclass(frozen=True, slots=True)
class GetOwn(Request):
    """`GET /kconnect/connectors/{c}`: the same of one."""

    name: str


@dataclass(frozen=True, slots=True)
class GetMetrics(Request):
    """`GET /metrics`: the answer is a `Snapshot` of `core/metrics/families.py`, which REST writes down."""


@dataclass(frozen=True, slots=True)
class GetSessionKeys(Request):
    """For REST itself, never for an answer: a tuple of `SessionKey`, the one in force first."""


@dataclass(frozen=True, slots=True)
class PutTaskConfigs(Request):
    """`POST /connectors/{c}/tasks`, internal: the task configs that a connector instance made."""

    name: str
    configs: tuple[ConfigMap, ...]
    writes = True


@dataclass(frozen=True, slots=True)
class FenceTasks(Request):
    """`PUT /connectors/{c}/fence`, internal: end the producers of the task set before the one in force (KIP-618)."""

    name: str
    writes = True


class ForwardError(ConflictError):
    """
    Another worker has to answer this request: the one at `url`, a live member's advertised address.

    Nothing was written. Its text is what the caller sees where a request must not be forwarded any further.
    """

    def __init__(self, url: str) -> None:
        super().__init__(BUSY)
        self.url = url


BUSY = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."


@dataclass(frozen=True, slots=True)
class Created:
    """Answer of the requests that store a config: `created` tells 201 from 200; `info` is ConnectorInfo."""

    created: bool
    info: dict[str, object]
