"""
REST bodies made from the folded topics: ConnectorInfo, status, tasks, offsets, in the shapes that Connect 4.3 gives.

Called by the modules of `requests`. Nothing here decides anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kconnect.core.state.config import ConfigState
from kconnect.core.state.records import SourceOffset, State, UnitId, UnitStatus
from kconnect.core.state.status import StatusState
from kconnect.errors import NotFoundError

NOTHING: Mapping[UnitId, UnitStatus] = MappingProxyType({})


def connector_info(config: ConfigState, name: str, kind: str) -> dict[str, Any]:
    """`config` is what was submitted: nothing resolved, injected or masked."""
    connector = config.connectors.get(name)
    if connector is None:
        raise NotFoundError(f"Connector {name} not found")
    tasks = [{"connector": name, "task": task} for task in config.task_ids(name)]
    return {"name": name, "config": dict(connector.properties), "tasks": tasks, "type": kind}


def config_tag(properties: Mapping[str, str | None]) -> str:
    """Return what tells this config from all others of a connector: the `ETag` of its config, with its quotes."""
    text = "".join(f"{len(part)}:{part}" for pair in sorted(properties.items()) for part in (pair[0], str(pair[1])))
    return f'"{hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]}"'


def config_tags(properties: Mapping[str, str | None]) -> frozenset[str]:
    """
    Return what a caller may have got as the tag of this config. A proxy that compresses answers writes another one on its way:
    nginx and others a weak one, Apache's httpd one with a suffix.
    """
    tag = config_tag(properties)
    strong = {tag, *(f'{tag[:-1]}{suffix}"' for suffix in ("-gzip", "-br"))}
    return frozenset(strong | {f"W/{each}" for each in strong})


def tasks(config: ConfigState, name: str) -> list[dict[str, Any]]:
    if name not in config.connectors:
        raise NotFoundError(f"Connector {name} not found")
    return [
        {
            "id": {"connector": name, "task": task},
            "config": dict(config.task_config(UnitId(name, task)) or {}),
        }
        for task in config.task_ids(name)
    ]


def connector_status(
    config: ConfigState, statuses: StatusState, name: str, kind: str, waiting: Mapping[UnitId, UnitStatus] = NOTHING
) -> dict[str, Any]:
    """`waiting` is what is to be said of those that run nowhere, whatever their last status is."""
    status = waiting.get(UnitId(name)) or statuses.units.get(UnitId(name))
    if status is None:
        raise NotFoundError(f"No status found for connector {name}")
    return {
        "name": name,
        "connector": _status(status),
        "tasks": [
            task_status(config, statuses, name, unit.task, waiting)
            for unit in sorted({*statuses.tasks_of(name), *(unit for unit in waiting if not unit.is_connector)})
            if _exists(config, unit)
        ],
        "type": kind,
    }


def task_status(
    config: ConfigState, statuses: StatusState, name: str, task: int, waiting: Mapping[UnitId, UnitStatus] = NOTHING
) -> dict[str, Any]:
    unit = UnitId(name, task)
    # -1 is how a unit says that it is no task, and anybody may ask for it.
    exists = not unit.is_connector and _exists(config, unit)
    status = (waiting.get(unit) or statuses.units.get(unit)) if exists else None
    if status is None:
        raise NotFoundError(f"No status found for task {name}-{task}")
    return {"id": task, **_status(status)}


def restarting(body: dict[str, Any], planned: set[UnitId]) -> dict[str, Any]:
    """The status body as KIP-745 answers a restart: what will be restarted is shown as RESTARTING already."""
    name = body["name"]

    def shown(part: dict[str, Any], unit: UnitId) -> dict[str, Any]:
        return {**part, "state": State.RESTARTING.value} if unit in planned else part

    return {
        **body,
        "connector": shown(body["connector"], UnitId(name)),
        "tasks": [shown(part, UnitId(name, part["id"])) for part in body["tasks"]],
    }


def source_offsets(stored: list[SourceOffset]) -> dict[str, Any]:
    return {"offsets": [{"partition": source_offset.partition, "offset": source_offset.offset} for source_offset in stored]}


def sink_offsets(committed: list[tuple[str, int, int]]) -> dict[str, Any]:
    return {
        "offsets": [
            {"partition": {"kafka_topic": topic, "kafka_partition": partition}, "offset": {"kafka_offset": offset}}
            for topic, partition, offset in sorted(committed)
        ]
    }


def _exists(config: ConfigState, unit: UnitId) -> bool:
    """
    Whether the config topic has that task. A status may be left of one that it has not: in another partition than its
    tombstone, where somebody else's partitioner put it, so that what is read last would decide.
    """
    connector = config.connectors.get(unit.connector)
    return connector is None or unit.task < connector.task_count


def _status(status: UnitStatus) -> dict[str, Any]:
    body: dict[str, Any] = {"state": status.state.value, "worker_id": status.worker_id}
    # Connect leaves `version` out when it is the text `undefined`, but shows null while it is not known.
    if status.version != "undefined":
        body["version"] = status.version
    if status.trace:
        body["trace"] = status.trace
    return body
