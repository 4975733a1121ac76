"""
What to do about a resource: computed from the resource, from what the worker says of the connector, and from the time.

It is level-triggered: nothing is remembered but what stands in the resource itself, so that it makes no difference which event
led here, how often, or whether the operator has restarted since. Called by `reconciling.py`, which does it. Read next:
`status.py` for what the resource then shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kconnect.cli.apply import plan
from kconnect.cli.apply.plan import UNCHANGED, Step
from kconnect.cli.manifests import Config
from kconnect.cli.operator.resource import CLAIMED, KEEP, OWNED, REPORT, Resource, RestartRequest

SOON_S = 1.0
"""After something was done, or while the connector starts: to see what has become of it."""

_PATIENT_S = 120.0
"""What has been on its way for so long is asked for as everything else is."""

_NO_TASKS_S = 30.0

STARTING, NO_TASKS = "Starting", "NoTasks"
"""Reasons of the condition Ready."""

_BACKOFF_MINUTES_AT_MOST = 60
"""As in Strimzi: the first restart is at once, the next ones after 2, 6, 12, 20, … minutes, and then each hour."""

RESTING = ("PAUSED", "STOPPED")


@dataclass(frozen=True)
class Observed:
    """
    Holds what the worker says of the connector. `config` is None if there is no such connector, `status` if it has none (yet).
    `tag` is that of the config. `rival` is another resource, as NAMESPACE/NAME, that has the connector.
    """

    config: Config | None = None
    status: Mapping[str, Any] | None = None
    topics: tuple[str, ...] = ()
    tag: str | None = None
    rival: str | None = None


@dataclass(frozen=True)
class Unreachable:
    """The worker does not answer, or not as one that can be asked. `message` is a sentence."""

    message: str


@dataclass(frozen=True)
class Apply:
    """Create or change the connector."""

    step: Step


@dataclass(frozen=True)
class Restart:
    """Restart the connector or a task, because an annotation asks for it."""

    request: RestartRequest


@dataclass(frozen=True)
class AutoRestart:
    """Restart what has failed. `count` is how many restarts there have been then."""

    count: int


@dataclass(frozen=True)
class Delete:
    """Delete the connector."""


Action = Apply | Restart | AutoRestart | Delete


@dataclass(frozen=True)
class Decision:
    """
    Says what to do: the actions in order, and then, if they went well, write `owner` into the resource if it has another one.

    A connector is created only once the resource says that it is to be its own (CLAIMED). So no restart of the operator makes
    it forget what it has created, and nothing that somebody else creates at that moment becomes its own.

    `reason` and `message` say why nothing, or not all, is done; the reason is empty if the resource is as it should be.
    `released` says that the resource may go. `drift` has what differs and is left so. `restarts` is how many automatic restarts
    count. `soon` says that the worker is to be asked again soon.
    """

    owner: str | None
    actions: tuple[Action, ...] = ()
    reason: str = ""
    message: str = ""
    released: bool = False
    drift: tuple[str, ...] = ()
    restarts: int = 0
    soon: bool = False


def decide(resource: Resource, observed: Observed | Unreachable, now: datetime) -> Decision:
    """Return what is to be done about a resource."""
    if resource.is_deleted:
        return _end(resource, observed)
    waiting = Decision(resource.owner, restarts=_count(resource))
    if resource.is_suspended:
        return replace(waiting, reason="ReconciliationPaused", message="An annotation has the operator leave it alone.")
    if resource.problems:
        return replace(waiting, reason="InvalidResource", message=" ".join(_sentence(text) for text in resource.problems))
    if isinstance(observed, Unreachable):
        return replace(waiting, reason="WorkerUnreachable", message=observed.message)
    if observed.rival is not None:
        message = f"The connector {resource.connector} belongs to the resource {observed.rival}: give one of them another name."
        return replace(waiting, reason="NameTaken", message=message)
    if observed.config is None:
        return _create(resource, waiting)
    if resource.owner != OWNED:
        return _take(resource, observed, waiting)
    return _keep_so(resource, observed, now, waiting)


def step_for(resource: Resource, observed: Observed) -> Step:
    """Return the step of `kconnect apply` that makes the connector what the resource says."""
    name = resource.connector
    configs = {} if observed.config is None else {name: observed.config}
    states = {} if observed.status is None else {name: observed.status["connector"]["state"]}
    (step,) = plan.make([resource.manifest], configs, states)
    return replace(step, tag=observed.tag)


def failed_units(status: Mapping[str, Any] | None) -> list[str]:
    """Return what has failed: "connector", "task 0" and so on."""
    if status is None:
        return []
    units = [("connector", status["connector"]), *((f"task {task['id']}", task) for task in status["tasks"])]
    return [name for name, unit in units if unit["state"] == "FAILED"]


def backoff_s(count: int) -> float:
    """Return how long after the last of `count` restarts the next one may be."""
    return 60.0 * min(count * count + count, _BACKOFF_MINUTES_AT_MOST)


def _end(resource: Resource, observed: Observed | Unreachable) -> Decision:
    """Decide about a resource that Kubernetes is to delete."""
    released = Decision(None, released=True)
    if resource.owner is None or resource.deletion == KEEP:
        return released
    if resource.is_protected:
        message = "It is protected, so the connector stays and so does this resource: take its deletion protection away."
        return Decision(resource.owner, reason="DeletionProtected", message=message)
    if isinstance(observed, Unreachable):
        message = f"{_sentence(observed.message)} To let go of the connector without deleting it, set deletionPolicy to keep."
        return Decision(resource.owner, reason="WorkerUnreachable", message=message)
    if observed.config is None or observed.rival is not None:
        return released
    if resource.owner == CLAIMED and step_for(resource, observed).differences:
        # It was to be created, and somebody else has done so first.
        return released
    return Decision(resource.owner, (Delete(),), "Deleting", "The connector is being deleted.", soon=True)


def _create(resource: Resource, waiting: Decision) -> Decision:
    if resource.owner is None:
        return replace(waiting, owner=CLAIMED, reason="Creating", message="The connector is to be created.", soon=True)
    if resource.owner == OWNED and _leaves_drift(resource):
        return replace(waiting, drift=("the connector itself, which is missing",))
    return replace(waiting, owner=OWNED, actions=(Apply(step_for(resource, Observed())),), restarts=0, soon=True)


def _take(resource: Resource, observed: Observed, waiting: Decision) -> Decision:
    """Decide whether a connector that is there is, or becomes, the resource's own."""
    if resource.owner == CLAIMED and not step_for(resource, observed).differences:
        # The operator ended after it had created it, and before it could write that down.
        return replace(waiting, owner=OWNED, soon=True)
    if resource.adopts:
        return replace(waiting, owner=OWNED, reason="Adopting", message="The connector becomes this resource's own.", soon=True)
    message = (
        f"There is a connector {resource.connector} already, which this resource did not create, so it is left alone. To have "
        "the resource take it over, annotate it with kconnect.dev/adopt=true."
    )
    return replace(waiting, owner=None, reason="NotAdopted", message=message)


def _keep_so(resource: Resource, observed: Observed, now: datetime, waiting: Decision) -> Decision:
    step = step_for(resource, observed)
    differing = tuple(difference.key for difference in step.differences) + (("state",) if step.state is not None else ())
    actions: list[Action] = [Restart(request) for request in resource.requests]
    drift = differing if differing and _leaves_drift(resource) else ()
    if step.action != UNCHANGED and not drift:
        actions.insert(0, Apply(step))
    count, automatic = _auto_restart(resource, observed, now)
    if automatic is not None and not actions:
        actions.append(automatic)
    soon = bool(actions) or (is_moving(resource, observed, now) and _since_s(resource, now) < _PATIENT_S)
    return replace(waiting, actions=tuple(actions), drift=drift, restarts=count, soon=soon)


def _leaves_drift(resource: Resource) -> bool:
    """Whether a difference is one that the resource only reports: it has been applied as it is now, and then was changed."""
    return resource.drift == REPORT and resource.status.get("appliedGeneration") == resource.generation


def _auto_restart(resource: Resource, observed: Observed, now: datetime) -> tuple[int, AutoRestart | None]:
    count, last = _count(resource), _last(resource)
    is_due = last is None or (now - last).total_seconds() >= backoff_s(count)
    if not failed_units(observed.status):
        # What has run for as long as the next restart would have waited has recovered.
        return (0 if is_due else count), None
    if not resource.restarts or not is_due or (resource.max_restarts is not None and count >= resource.max_restarts):
        return count, None
    return count, AutoRestart(count + 1)


def _count(resource: Resource) -> int:
    return int((resource.status.get("autoRestart") or {}).get("count") or 0)


def _last(resource: Resource) -> datetime | None:
    return _time((resource.status.get("autoRestart") or {}).get("lastRestartTimestamp"))


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def is_moving(resource: Resource, observed: Observed, now: datetime) -> bool:
    """Whether the connector or a task of it is on its way to a state."""
    if observed.status is None:
        return True
    units = (observed.status["connector"], *observed.status["tasks"])
    if any(unit["state"] not in ("RUNNING", "FAILED", *RESTING) for unit in units):
        return True
    if observed.status["connector"]["state"] != "RUNNING" or observed.status["tasks"]:
        return False
    # A connector runs before its tasks are there. One that has none for so long has none.
    ready = _ready(resource)
    return ready.get("reason") != NO_TASKS and not (ready.get("reason") == STARTING and _since_s(resource, now) >= _NO_TASKS_S)


def _ready(resource: Resource) -> Mapping[str, Any]:
    rows: list[Mapping[str, Any]] = resource.status.get("conditions") or []
    return next((row for row in rows if row.get("type") == "Ready"), {})


def _since_s(resource: Resource, now: datetime) -> float:
    """Return for how long the resource is Ready, or is not."""
    since = _time(_ready(resource).get("lastTransitionTime"))
    return 0.0 if since is None else (now - since).total_seconds()


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
