"""
What a resource shows: its status and its events, computed from a decision and from what the worker says.

Called by `reconciling.py`. Nothing secret gets there: what a config has of secrets is hidden in every sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from kconnect.cli.operator.decision import (
    NO_TASKS,
    RESTING,
    STARTING,
    Apply,
    AutoRestart,
    Decision,
    Delete,
    Observed,
    Unreachable,
    failed_units,
    is_moving,
)
from kconnect.cli.operator.resource import CLAIMED, REPORT, STRIMZI_KIND, Resource
from kconnect.cli.terminal import plain
from kconnect.core.settings import secrets

_STRIMZI_FIELDS = ("conditions", "observedGeneration", "connectorStatus", "tasksMax", "topics", "autoRestart")
_LONGEST = 500
_NOTHING: Mapping[str, Any] = dict.fromkeys(("state", "tasks", "connectorStatus", "topics", "tasksMax"))
"""What the worker's fields are where it says nothing that is the resource's business."""
_QUIET = ("", "Creating", "Adopting", STARTING, "Deleting", "ReconciliationPaused")
"""Reasons that are worth no warning."""


@dataclass(frozen=True)
class Event:
    """An event of Kubernetes: `type` is Normal or Warning."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """
    Says what was done of a decision: how many of its actions, and the sentence of the one that failed, if one did. `refused`
    says that the worker has understood that one, and does not want it as it is.
    """

    done: int = 0
    failure: str | None = None
    refused: bool = True


def status(
    resource: Resource, observed: Observed | Unreachable, decision: Decision, outcome: Outcome, now: datetime
) -> dict[str, Any]:
    """Return the whole status of a resource, as it stands in Kubernetes."""
    before = resource.status
    is_ready, reason, message = _readiness(resource, observed, decision, outcome, now)
    message = _line(_shown(resource, observed, message))
    applied = any(isinstance(action, Apply) for action in decision.actions)
    state: dict[str, Any] = {
        "observedGeneration": resource.generation,
        "message": message,
        "state": before.get("state"),
        "tasks": before.get("tasks"),
        "connectorStatus": before.get("connectorStatus"),
        "topics": before.get("topics"),
        "tasksMax": before.get("tasksMax"),
        "appliedGeneration": before.get("appliedGeneration"),
        "autoRestart": _restarts(resource, decision, outcome, now),
    }
    if isinstance(observed, Observed):
        state |= _of_worker(resource, observed) if _is_own(observed, decision) else _NOTHING
        is_so = not decision.reason and not decision.drift and not decision.soon and observed.config is not None
        if outcome.failure is None and (applied or is_so):
            state["appliedGeneration"] = resource.generation
    conditions = [_condition(before, "Ready", is_ready, reason, message, now)]
    if resource.drift == REPORT:
        text = f"Left as it is: {', '.join(decision.drift)}" if decision.drift else ""
        drifted = ("True", "Differs") if decision.drift else ("False", "NoDifference")
        conditions.append(_condition(before, "Drifted", *drifted, _line(_shown(resource, observed, text)), now))
    if resource.notes:
        text = " ".join(resource.notes)
        conditions.append(_condition(before, "Warning", "True", "NotSupported", text, now))
    state["conditions"] = conditions
    if resource.kind == STRIMZI_KIND:
        state = {name: value for name, value in state.items() if name in _STRIMZI_FIELDS}
    return {name: value for name, value in state.items() if value is not None}


def events(resource: Resource, decision: Decision, outcome: Outcome, after: Mapping[str, Any]) -> list[Event]:
    """Return what is worth an event: each thing that was done, and once each thing that is wrong."""
    happened = [_event(resource, action) for action in decision.actions[: outcome.done]]
    if decision.reason == "Adopting" and outcome.failure is None:
        happened.append(Event("Normal", "Adopted", f"The connector {resource.connector} is this resource's own now"))
    before = {condition["type"]: condition for condition in resource.status.get("conditions") or ()}
    for condition in after.get("conditions") or ():
        is_bad = condition["type"] == "Ready" and condition["status"] != "True" and condition["reason"] not in _QUIET
        is_bad = is_bad or (condition["type"] == "Drifted" and condition["status"] == "True")
        former = before.get(condition["type"], {})
        if is_bad and any(former.get(key) != condition[key] for key in ("status", "reason", "message")):
            happened.append(Event("Warning", condition["reason"], condition["message"]))
    return [replace(event, message=_line(event.message)) for event in happened]


def timestamp(now: datetime) -> str:
    return now.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _readiness(
    resource: Resource, observed: Observed | Unreachable, decision: Decision, outcome: Outcome, now: datetime
) -> tuple[str, str, str]:
    """Return the status, the reason and the message of the condition Ready."""
    if outcome.failure is not None:
        return "False", "Refused" if outcome.refused else "RequestFailed", outcome.failure
    if decision.reason or isinstance(observed, Unreachable):
        return ("Unknown" if decision.reason == "WorkerUnreachable" else "False"), decision.reason, decision.message
    if decision.actions or decision.owner == CLAIMED or observed.status is None or observed.config is None:
        if decision.drift:
            return "False", "Missing", "The connector is missing, and the resource has drift only reported."
        return "False", STARTING, "The worker was asked; its answer is awaited."
    failed = failed_units(observed.status)
    if failed:
        return "False", "Failed", f"FAILED: {', '.join(failed[:5])}. {_trace(observed.status)}{_advice(resource, decision)}"
    state = str(observed.status["connector"]["state"])
    tasks = observed.status["tasks"]
    if state in RESTING:
        return "True", state.capitalize(), f"It is {state.lower()}."
    running = sum(task["state"] == "RUNNING" for task in tasks)
    if is_moving(resource, observed, now) or running < len(tasks):
        return "False", STARTING, f"The connector is {state}; {running} of {len(tasks)} tasks run."
    if not tasks:
        return "True", NO_TASKS, "It runs, and has no tasks."
    return "True", "Running", f"{running} of {len(tasks)} tasks run."


def _advice(resource: Resource, decision: Decision) -> str:
    if not resource.restarts:
        return " Mend the cause, then annotate it with kconnect.dev/restart=includeTasks,onlyFailed."
    if resource.max_restarts is not None and decision.restarts >= resource.max_restarts:
        return f" It was restarted {decision.restarts} times, which is autoRestart.maxRestarts."
    return " What has failed is restarted by itself."


def _is_own(observed: Observed, decision: Decision) -> bool:
    """
    Whether the connector belongs to the resource. Whoever may write one in his namespace may name in it any connector of
    another's, whose traces and topics are not for him.
    """
    return observed.rival is None and decision.owner is not None


def _of_worker(resource: Resource, observed: Observed) -> dict[str, Any]:
    if observed.config is None or observed.status is None:
        return dict(_NOTHING)
    tasks = observed.status["tasks"]
    running = sum(task["state"] == "RUNNING" for task in tasks)
    state = observed.status["connector"]["state"]
    return {
        "state": "FAILED" if failed_units(observed.status) else state,
        "tasks": f"{running}/{len(tasks)}",
        "connectorStatus": _all_shown(resource, observed, observed.status),
        "topics": sorted(observed.topics) or None,
        "tasksMax": _number(observed.config.get("tasks.max")),
    }


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def _restarts(resource: Resource, decision: Decision, outcome: Outcome, now: datetime) -> dict[str, Any] | None:
    before = resource.status.get("autoRestart") or {}
    count, last = decision.restarts, before.get("lastRestartTimestamp")
    for action in decision.actions[: outcome.done]:
        if isinstance(action, AutoRestart):
            count, last = action.count, timestamp(now)
    if count == 0:
        return None
    return {"count": count, "connectorName": resource.connector, "lastRestartTimestamp": last}


def _condition(before: Mapping[str, Any], type_: str, state: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    rows: list[Mapping[str, Any]] = before.get("conditions") or []
    former: Mapping[str, Any] = next((row for row in rows if row.get("type") == type_), {})
    since = former.get("lastTransitionTime") if former.get("status") == state else None
    condition = {"type": type_, "status": state, "reason": reason, "message": message}
    return {**condition, "lastTransitionTime": since or timestamp(now)}


def _event(resource: Resource, action: Any) -> Event:
    name = resource.connector
    if isinstance(action, Apply):
        step = action.step
        if step.action == "create":
            return Event("Normal", "Created", f"Created the connector {name}")
        # Names only: values may be secrets.
        changed = [difference.key for difference in step.differences] + (["state"] if step.state is not None else [])
        return Event("Normal", "Changed", f"Changed the connector {name}: {', '.join(changed)}"[:_LONGEST])
    if isinstance(action, Delete):
        return Event("Normal", "Deleted", f"Deleted the connector {name}")
    if isinstance(action, AutoRestart):
        return Event("Normal", "RestartedFailed", f"Restarted what had failed of the connector {name}, time {action.count}")
    task = action.request.task
    return Event("Normal", "Restarted", f"Restarted {'the connector' if task is None else f'task {task} of'} {name}")


def _trace(status: Mapping[str, Any]) -> str:
    units = [status["connector"], *status["tasks"]]
    trace = next((str(unit["trace"]).strip() for unit in units if unit["state"] == "FAILED" and unit.get("trace")), "")
    if not trace:
        return ""
    # A trace of Python ends with its reason, one of Java begins with it.
    return trace.splitlines()[-1 if trace.startswith("Traceback") else 0].strip()


def _shown(resource: Resource, observed: Observed | Unreachable, text: str) -> str:
    """Return a text as anybody may read it: without secrets of either config, and not too long."""
    for config in (resource.manifest.config, observed.config if isinstance(observed, Observed) else None):
        if config:
            text = secrets.hide(text, secrets.values(config))
    text = plain(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _line(text: str) -> str:
    """Return a text as a line: names in it are whatever somebody has written into a resource."""
    return " ".join(plain(text).split("\n"))


def _all_shown(resource: Resource, observed: Observed, value: Any) -> Any:
    """Return what the worker says with each text in it as `_shown` has it."""
    if isinstance(value, str):
        return _shown(resource, observed, value)
    if isinstance(value, Mapping):
        return {key: _all_shown(resource, observed, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_all_shown(resource, observed, inner) for inner in value]
    return value
