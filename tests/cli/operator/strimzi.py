"""The kind KafkaConnector as Strimzi defines it, in both of its versions: the names of its fields, without descriptions."""

from __future__ import annotations

from typing import Any

_TEXT, _NUMBER, _YES = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition() -> dict[str, Any]:
    versions = [_version("v1", {}), _version("v1beta2", {"pause": _YES})]
    names = {
        "kind": "KafkaConnector",
        "listKind": "KafkaConnectorList",
        "plural": "kafkaconnectors",
        "singular": "kafkaconnector",
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "kafkaconnectors.kafka.strimzi.io"},
        "spec": {"group": "kafka.strimzi.io", "names": names, "scope": "Namespaced", "versions": versions},
    }


def _version(name: str, more: dict[str, Any]) -> dict[str, Any]:
    spec = {
        "class": _TEXT,
        "tasksMax": {"type": "integer", "minimum": 1},
        "version": _TEXT,
        "autoRestart": _object(enabled=_YES, maxRestarts=_NUMBER),
        "config": _OPEN,
        "state": {"type": "string", "enum": ["paused", "stopped", "running"]},
        "listOffsets": _object(toConfigMap=_object(name=_TEXT)),
        "alterOffsets": _object(fromConfigMap=_object(name=_TEXT)),
        **more,
    }
    condition = _object(type=_TEXT, status=_TEXT, lastTransitionTime=_TEXT, reason=_TEXT, message=_TEXT)
    status = {
        "conditions": {"type": "array", "items": condition},
        "observedGeneration": _NUMBER,
        "autoRestart": _object(count=_NUMBER, connectorName=_TEXT, lastRestartTimestamp=_TEXT),
        "connectorStatus": _OPEN,
        "tasksMax": _NUMBER,
        "topics": {"type": "array", "items": _TEXT},
    }
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": _object(spec=_object(**spec), status=_object(**status))},
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}
