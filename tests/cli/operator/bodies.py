"""Resources as an API server has them, for tests of the operator."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)


def later(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def connector(name: str = "orders", uid: str = "u1", owner: str | None = None, **spec: Any) -> dict[str, Any]:
    """A Connector. `annotations`, `generation`, `deleted` and `status` go where they belong, all else into its spec."""
    annotations = spec.pop("annotations", {})
    metadata = {"name": name, "namespace": "data", "uid": uid, "generation": spec.pop("generation", 1)}
    if owner is not None:
        annotations = {**annotations, "kconnect.dev/owner": f"{uid}/{owner}"}
    if spec.pop("deleted", False):
        metadata["deletionTimestamp"] = "2026-11-30T12:00:00Z"
    body = {"apiVersion": "kconnect.dev/v1alpha1", "kind": "Connector", "status": spec.pop("status", {})}
    spec = {"class": "FileStreamSource", "tasksMax": 1, "config": {"file": "in.txt", "topic": "t"}, **spec}
    return {**body, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def strimzi(name: str = "orders", version: str = "v1beta2", **spec: Any) -> dict[str, Any]:
    """A KafkaConnector, as Strimzi's examples write it."""
    return {
        "apiVersion": f"kafka.strimzi.io/{version}",
        "kind": "KafkaConnector",
        "metadata": {
            "name": name,
            "namespace": "data",
            "uid": "u1",
            "generation": 1,
            "labels": {"strimzi.io/cluster": "my-connect-cluster"},
            "annotations": spec.pop("annotations", {}),
        },
        "spec": {
            "class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasksMax": 2,
            "autoRestart": {"enabled": True},
            "config": {"file": "/opt/kafka/LICENSE", "topic": "my-topic"},
            **spec,
        },
    }


CONFIG: dict[str, str | None] = {
    "file": "in.txt",
    "topic": "t",
    "connector.class": "FileStreamSource",
    "tasks.max": "1",
    "name": "orders",
}
"""What `connector` has of settings, as the worker stores it."""


def status(connector: str = "RUNNING", *tasks: str, trace: str = "") -> dict[str, Any]:
    """A status as the worker gives it. `trace` is that of what has failed."""

    def unit(state: str) -> dict[str, Any]:
        return {"state": state, "worker_id": "w:8083", **({"trace": trace} if state == "FAILED" else {})}

    rows = [{"id": number, **unit(state)} for number, state in enumerate(tasks or ("RUNNING",))]
    return {"name": "orders", "connector": unit(connector), "tasks": rows, "type": "source"}
