"""
Makes the connector of one resource so: asks the worker, decides, does it, and returns what the resource then shows.

Called by `shell.py` in threads, for a resource by one thread at a time. Nothing is remembered between two calls. Read next:
`decision.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from kconnect.cli.apply import plan, run
from kconnect.cli.apply.plan import DELETE, Step
from kconnect.cli.operator import decision as deciding
from kconnect.cli.operator import resource as resources
from kconnect.cli.operator import status as statuses
from kconnect.cli.operator.decision import Action, Apply, Decision, Delete, Observed, Restart, Unreachable
from kconnect.cli.operator.resource import OWNER, Resource
from kconnect.cli.operator.status import Event, Outcome
from kconnect.errors import ConnectError
from kconnect.rest.client import ConnectClient, RestError

T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """
    Says what is to be written into the resource, and when the worker is to be asked again.

    `annotations` has those that change, with None for one that goes; `status` is None if it stays as it is. `removed` has the
    fields of the status that go.
    """

    status: dict[str, Any] | None = None
    removed: tuple[str, ...] = ()
    annotations: dict[str, str | None] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    released: bool = False
    soon: bool = False
    message: str = ""


def reconcile(client: ConnectClient, body: Mapping[str, Any], rival: Callable[[Resource], str | None], now: datetime) -> Result:
    """Do what there is to do about a resource. `rival` returns the other resource that has the same connector, if one has."""
    resource = resources.read(body)
    observed = observe(client, resource, rival(resource))
    decision = deciding.decide(resource, observed, now)
    outcome = _perform(client, resource, decision)
    after = statuses.status(resource, observed, decision, outcome, now)
    before = dict(resource.status)
    owner = decision.owner if outcome.failure is None else resource.owner
    annotations: dict[str, str | None] = {}
    if owner != resource.owner:
        annotations[OWNER] = resources.owner_annotation(resource, owner)
    for action in decision.actions[: outcome.done]:
        if isinstance(action, Restart):
            annotations[action.request.annotation] = None
    ready = after["conditions"][0]
    return Result(
        status=None if after == before else after,
        removed=tuple(name for name in before if name not in after),
        annotations=annotations,
        events=tuple(statuses.events(resource, decision, outcome, after)),
        released=decision.released,
        soon=decision.soon and outcome.failure is None,
        message=f"{ready['reason']}: {ready['message']}",
    )


def observe(client: ConnectClient, resource: Resource, rival: str | None) -> Observed | Unreachable:
    """Return what the worker says of the resource's connector."""
    name = resource.connector
    try:
        try:
            config, tag = client.get_config_and_tag(name)
        except RestError as error:
            if error.status != 404:
                raise
            # What has no such path is no worker, and says nothing about a connector.
            client.connectors()
            return Observed(rival=rival)
        if plan.named_shortly({name: config}, [resource.manifest]):
            installed = {plugin["class"] for plugin in client.plugins()}
            if config["connector.class"] in installed:
                config = {**config, "connector.class": resource.manifest.config["connector.class"]}
        return Observed(config, _or_none(lambda: client.status(name)), tuple(_topics(client, name)), tag, rival)
    except RestError as error:
        return Unreachable(_one_line(error))


def _topics(client: ConnectClient, name: str) -> list[str]:
    try:
        return client.topics(name)
    except RestError as error:
        # A worker may keep no account of topics (topic.tracking.enable=false), which it says by 403.
        if error.status in (403, 404):
            return []
        raise


def _or_none(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except RestError as error:
        if error.status != 404:
            raise
        return None


def _perform(client: ConnectClient, resource: Resource, decision: Decision) -> Outcome:
    performed = 0
    for action in decision.actions:
        try:
            _do(client, resource.connector, action)
        except (ConnectError, OSError) as error:
            status = error.status if isinstance(error, RestError) else None
            return Outcome(performed, _one_line(error), refused=status is not None and status < 500)
        performed += 1
    return Outcome(performed)


def _do(client: ConnectClient, name: str, action: Action) -> None:
    if isinstance(action, Apply):
        run.do(client, action.step)
    elif isinstance(action, Delete):
        run.do(client, Step(name, DELETE))
    elif isinstance(action, Restart):
        request = action.request
        if request.task is not None:
            client.restart_task(name, request.task)
        else:
            client.restart(name, request.include_tasks, request.only_failed)
    else:
        client.restart(name, include_tasks=True, only_failed=True)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
