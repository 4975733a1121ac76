"""
The definition of the resource `Connector`, for Kubernetes: its only place.

`kconnect operator --crd` prints it, and `docker/chart/crds/` has what was printed; a test compares them. Read next:
`resource.py`, which reads such objects.
"""

from __future__ import annotations

from typing import Any

from kconnect.cli.manifests import STATES
from kconnect.cli.operator.resource import CORRECT, DELETE, GROUP, KEEP, KIND, PLURAL, REPORT, VERSION

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition() -> dict[str, Any]:
    """Return the CustomResourceDefinition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["kconn"],
                "categories": ["kconnect"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        _column("Class", ".spec.class"),
                        _column("State", ".status.state"),
                        _column("Tasks", ".status.tasks"),
                        _column("Ready", ".status.conditions[?(@.type=='Ready')].status"),
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                        _column("Message", ".status.message"),
                    ],
                    "schema": {"openAPIV3Schema": _schema()},
                }
            ],
        },
    }


def _column(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "type": "string", "jsonPath": path}


def _described(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, **schema}


def _schema() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "A connector of a cluster of kconnect, or of Kafka Connect.",
        "required": ["spec"],
        "properties": {
            "apiVersion": _TEXT,
            "kind": _TEXT,
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": _status(),
        },
    }


def _spec() -> dict[str, Any]:
    named = "has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name)"
    return {
        "type": "object",
        "required": ["class"],
        "x-kubernetes-validations": [
            {"rule": named, "message": "name can't be changed: make another resource, which has the connector with that name"}
        ],
        "properties": {
            "name": _described(
                "The connector's name. Default: that of the resource.",
                {"type": "string", "minLength": 1, "maxLength": 249},
            ),
            "class": _described("The connector's class, as connector.class.", {"type": "string", "minLength": 1}),
            "version": _described("The plugin's version or a range of them, as connector.plugin.version.", _TEXT),
            "tasksMax": _described(
                "The greatest number of tasks, as tasks.max.", {"type": "integer", "minimum": 1, "maximum": 2147483647}
            ),
            "config": _described(
                "All other settings. Secrets stand here as references to a config provider of the workers, such as "
                "${secret:/run/secrets/kconnect/db:password}.",
                _OPEN,
            ),
            "state": _described(
                "The state that is wanted. Without it, the state is left to whoever pauses and resumes the connector.",
                {"type": "string", "enum": list(STATES)},
            ),
            "autoRestart": _described(
                "Restart what has failed: at once, then after 2, 6, 12, 20 … minutes, and at last each hour.",
                {
                    "type": "object",
                    "properties": {
                        "enabled": {"type": "boolean"},
                        "maxRestarts": _described("Default: no limit.", {"type": "integer", "minimum": 0}),
                    },
                },
            ),
            "drift": _described(
                "What happens when somebody else changes the connector: correct takes it back, report only says so in the "
                "condition Drifted. A change of the resource is applied in any case.",
                {"type": "string", "enum": [CORRECT, REPORT], "default": CORRECT},
            ),
            "deletionPolicy": _described(
                "What happens to the connector when the resource is deleted.",
                {"type": "string", "enum": [DELETE, KEEP], "default": DELETE},
            ),
            "deletionProtection": _described(
                "Neither the connector nor the resource goes while this is true; a deleted resource waits until it is not.",
                {"type": "boolean"},
            ),
        },
    }


def _status() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "observedGeneration": _described("The generation that the operator has looked at.", _NUMBER),
            "appliedGeneration": _described("The last generation that the worker has taken.", _NUMBER),
            "state": _described("The connector's state, or FAILED if a task has failed.", _TEXT),
            "tasks": _described("How many tasks run, and of how many.", _TEXT),
            "tasksMax": _NUMBER,
            "message": _TEXT,
            "topics": {"type": "array", "items": _TEXT},
            "connectorStatus": _described("What the worker says, as GET /connectors/NAME/status.", _OPEN),
            "autoRestart": {
                "type": "object",
                "properties": {
                    "count": _NUMBER,
                    "connectorName": _TEXT,
                    "lastRestartTimestamp": {"type": "string", "format": "date-time"},
                },
            },
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type", "status"],
                    "properties": {
                        "type": _TEXT,
                        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                        "reason": _TEXT,
                        "message": _TEXT,
                        "lastTransitionTime": {"type": "string", "format": "date-time"},
                    },
                },
            },
        },
    }
