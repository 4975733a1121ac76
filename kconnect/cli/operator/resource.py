"""
A connector as a resource of Kubernetes: this project's `Connector`, and Strimzi's `KafkaConnector`, which is read as it is.

Called by `reconciling.py` with the object as the API server has it. Read next: `crd.py` for its schema, `decision.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.api.config import HIDDEN
from kconnect.cli.files import InputError
from kconnect.cli.manifests import STATES, Config, Manifest, as_text

GROUP, VERSION, PLURAL, KIND = "kconnect.dev", "v1alpha1", "connectors", "Connector"
STRIMZI_GROUP, STRIMZI_PLURAL, STRIMZI_KIND = "kafka.strimzi.io", "kafkaconnectors", "KafkaConnector"

OWNER = f"{GROUP}/owner"
"""
The annotation that says that the connector is the resource's own: the resource's uid and CLAIMED or OWNED. With the uid, a
copy of the resource, which has the annotation, too, does not own what the first one does.
"""
CLAIMED, OWNED = "claimed", "owned"

ADOPT = f"{GROUP}/adopt"
FINALIZER = f"{GROUP}/connector"
CLUSTER_LABELS = (f"{GROUP}/cluster", "strimzi.io/cluster")
CORRECT, REPORT = "correct", "report"
DELETE, KEEP = "delete", "keep"

_RESTART = (f"{GROUP}/restart", "strimzi.io/restart")
_RESTART_TASK = (f"{GROUP}/restart-task", "strimzi.io/restart-task")
_PAUSE = (f"{GROUP}/pause-reconciliation", "strimzi.io/pause-reconciliation")
_OFFSETS = "strimzi.io/connector-offsets"
_OWN_SETTINGS = {"connector.class": "class", "tasks.max": "tasksMax", "connector.plugin.version": "version"}


@dataclass(frozen=True)
class RestartRequest:
    """A restart that an annotation asks for. `task` is None for the connector itself."""

    annotation: str
    task: int | None = None
    include_tasks: bool = False
    only_failed: bool = False


@dataclass(frozen=True)
class Resource:
    """
    A resource, as `decision.py` needs it.

    `problems` has a sentence for each mistake in it: then nothing is applied. `notes` has one for each thing that is not done.
    `owner` is CLAIMED, OWNED or None. `max_restarts` None is no limit, `restarts` says whether what failed is restarted.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    generation: int
    manifest: Manifest
    restarts: bool = False
    max_restarts: int | None = None
    drift: str = CORRECT
    deletion: str = DELETE
    is_protected: bool = False
    adopts: bool = False
    is_suspended: bool = False
    is_deleted: bool = False
    owner: str | None = None
    requests: tuple[RestartRequest, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def connector(self) -> str:
        """The connector's name on the worker."""
        return self.manifest.name

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}"


def read(body: Mapping[str, Any]) -> Resource:
    """Read an object of the API server. It has passed its schema, mostly: what is wrong all the same is in `problems`."""
    metadata, spec = body["metadata"], body.get("spec") or {}
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    is_strimzi = body.get("kind") == STRIMZI_KIND
    problems: list[str] = []
    notes: list[str] = []
    name = metadata["name"] if is_strimzi else spec.get("name") or metadata["name"]
    config = _config(spec, name, problems)
    restart = spec.get("autoRestart") or {}
    requests = [request for key in _RESTART_TASK if (request := _restart_of_task(annotations, key, problems))]
    requests += [request for key in _RESTART if (request := _restart(annotations, key, problems))]
    if spec.get("listOffsets") or spec.get("alterOffsets") or _OFFSETS in annotations:
        notes.append("Offsets in a resource are left alone: use `kconnect offsets`.")
    return Resource(
        kind=STRIMZI_KIND if is_strimzi else KIND,
        namespace=metadata.get("namespace") or "default",
        name=metadata["name"],
        uid=metadata["uid"],
        generation=int(metadata.get("generation") or 0),
        manifest=Manifest(name, config, _state(spec, is_strimzi, problems), None, f"{metadata['name']}"),
        restarts=bool(restart.get("enabled", False)),
        max_restarts=restart.get("maxRestarts"),
        drift=CORRECT if is_strimzi else spec.get("drift") or CORRECT,
        deletion=_deletion(spec, annotations),
        is_protected=_is_true(annotations.get(f"{GROUP}/deletion-protection")) or bool(spec.get("deletionProtection")),
        adopts=_is_true(annotations.get(ADOPT)),
        is_suspended=any(_is_true(annotations.get(key)) for key in _PAUSE),
        is_deleted=bool(metadata.get("deletionTimestamp")),
        owner=_owner(annotations.get(OWNER), metadata["uid"]),
        requests=tuple(requests),
        problems=tuple(problems),
        notes=tuple(notes),
        status=body.get("status") or {},
    )


def owner_annotation(resource: Resource, owner: str | None) -> str | None:
    """Return the value of the annotation OWNER; None to remove it."""
    return None if owner is None else f"{resource.uid}/{owner}"


def _owner(value: str | None, uid: str) -> str | None:
    of, _, owner = (value or "").partition("/")
    return owner if of == uid and owner in (CLAIMED, OWNED) else None


def _config(spec: Mapping[str, Any], name: str, problems: list[str]) -> Config:
    config: Config = {}
    raw = spec.get("config") or {}
    for setting, value in raw.items():
        try:
            text = as_text(setting, value, "spec.config")
        except InputError as error:
            problems.append(str(error))
            continue
        if text is not None and HIDDEN in text:
            problems.append(
                f"spec.config: {setting} is {HIDDEN}, the placeholder for a secret; write a reference such as ${{…}}"
            )
        elif setting == "name" and text != name:
            problems.append(
                f"spec.config: name is {text}, but the connector is {name}; remove it, and use metadata.name or spec.name"
            )
        elif setting != "name":
            config[str(setting)] = text
    for setting, key in _OWN_SETTINGS.items():
        if (value := spec.get(key)) is None:
            continue
        if setting in config and config[setting] != str(value):
            problems.append(f"spec.config: {setting} is {config[setting]}, and spec.{key} {value}; remove one of them")
        config[setting] = str(value)
    if not config.get("connector.class"):
        problems.append("spec.class: the class of the connector is missing; set it")
    return config


def _state(spec: Mapping[str, Any], is_strimzi: bool, problems: list[str]) -> str | None:
    state = spec.get("state")
    if state is None and spec.get("pause") is not None:
        # Strimzi's older field.
        return "PAUSED" if spec["pause"] else "RUNNING"
    if state is None:
        # A KafkaConnector without a state runs; a Connector without one leaves it to others.
        return "RUNNING" if is_strimzi else None
    if state in STATES:
        return str(state).upper()
    problems.append(f"spec.state is {state}; it must be one of {', '.join(STATES)}")
    return None


def _deletion(spec: Mapping[str, Any], annotations: Mapping[str, str]) -> str:
    policy = spec.get("deletionPolicy") or annotations.get(f"{GROUP}/deletion-policy") or DELETE
    # What is misspelt in an annotation, which no schema checks, deletes nothing.
    return DELETE if policy == DELETE else KEEP


def _restart(annotations: Mapping[str, str], key: str, problems: list[str]) -> RestartRequest | None:
    value = annotations.get(key, "false")
    if value == "false":
        return None
    words = {word.strip() for word in value.split(",")} - {"true"}
    if words - {"includeTasks", "onlyFailed"}:
        problems.append(f"The annotation {key} is {value}; it must be true, or includeTasks, onlyFailed or both")
        return None
    return RestartRequest(key, None, "includeTasks" in words, "onlyFailed" in words)


def _restart_of_task(annotations: Mapping[str, str], key: str, problems: list[str]) -> RestartRequest | None:
    if (value := annotations.get(key)) is None:
        return None
    if value.isascii() and value.isdigit() and len(value) < 10:
        return RestartRequest(key, int(value))
    problems.append(f"The annotation {key} is {value}; it must be the number of a task, such as 0")
    return None


def _is_true(value: str | None) -> bool:
    return value is not None and value.strip().lower() == "true"
