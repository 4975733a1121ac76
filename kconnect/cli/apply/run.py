"""
Does what `plan.py` has found, a connector at a time: called by `apply`, `create`, `edit` and `patch`, and by several
threads at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kconnect.cli import refusals, target_states
from kconnect.cli.apply.plan import CREATE, DELETE, Step
from kconnect.cli.files import Problems
from kconnect.cli.manifests import Config, Manifest
from kconnect.core.settings import unknown
from kconnect.rest.client import ConnectClient, RestError

_STEADY_S = 0.5


class Wrong(Problems):
    """A worker finds these faults in a config."""

    exit_code = 6


def do(client: ConnectClient, step: Step) -> None:
    """RestError if the worker refuses, or does not answer. Settings that nothing knows are told, once it is done."""
    try:
        with refusals.explained(client):
            _do(client, step)
    except refusals.Refusal as refusal:
        raise _placed(client, step, refusal) from refusal
    if step.manifest is not None and step.differences:
        warn(client, step.name, step.manifest.config)


def _placed(client: ConnectClient, step: Step, refusal: refusals.Refusal) -> Exception:
    """The refusal of a config, with whole names of settings: what a transform finds wrong does not say in which one."""
    if step.manifest is None or not step.differences:
        return refusal
    try:
        wrong = _wrong(client, step.manifest)
    except RestError:
        return refusal
    # Whoever is asked again may say less, such as of a class that is not there.
    return refusals.Refusal(refusal, wrong) if len(wrong) == len(refusal.faults) else refusal


def warn(client: ConnectClient, name: str, config: Config) -> None:
    """Tell of the settings of a config, which the worker has taken, that nothing knows."""
    try:
        answer = client.validate(str(config.get("connector.class")), {**config, "name": name})
    except RestError:
        # It is done, and only a word about it is missing.
        return
    for line in unknown.told(config, answer):
        click.echo(f"kconnect: warning: {name}: {line}", err=True)


def _do(client: ConnectClient, step: Step) -> None:
    if step.action == DELETE:
        client.delete(step.name)
    elif step.manifest is None:
        return
    elif step.action == CREATE:
        _create(client, step.manifest)
    else:
        # A connector that is to rest does so before it gets a config that it should not run with; one that gets offsets is
        # STOPPED, and must be until it has them.
        late = step.state == "RUNNING" or step.offsets is not None
        if step.state is not None and not late:
            set_state(client, step.name, step.state)
        if step.differences:
            client.put_config(step.name, step.manifest.config, step.tag)
        if step.offsets is not None:
            client.alter_offsets(step.name, step.offsets)
        if step.state is not None and late:
            set_state(client, step.name, step.state)


def _create(client: ConnectClient, manifest: Manifest) -> None:
    """
    Create a connector with its state and at its offsets. Where the worker can't do that in one request, it is created STOPPED,
    its offsets are set, and then it gets its state; if its offsets are refused, it is deleted again, so that another try begins
    as this one.
    """
    name, config = manifest.name, manifest.config
    if manifest.offsets is None:
        client.create(name, config, manifest.state)
        return
    try:
        client.create(name, config, manifest.state, manifest.offsets)
        return
    except RestError as error:
        if not _unknown(error, "initial_offsets"):
            raise
    client.create(name, config, "STOPPED")
    try:
        client.alter_offsets(name, manifest.offsets or [])
    except RestError as error:
        message = f"The worker refused its offsets, so it was not created: {error.message}"
        try:
            client.delete(name)
        except RestError as other:
            message = (
                f"The worker refused its offsets, so it is STOPPED without them: {error.message} Delete it ({other.message})"
            )
        raise RestError(error.status, message) from None
    if manifest.state != "STOPPED":
        set_state(client, name, manifest.state or "RUNNING")


def set_state(client: ConnectClient, name: str, state: str) -> None:
    request = {"RUNNING": client.resume, "PAUSED": client.pause, "STOPPED": client.stop}[state]
    request(name)


def wait(client: ConnectClient, name: str, state: str, timeout: float) -> None:
    """
    Wait until the connector and its tasks are in a state, and stay there for a moment: the status from before a change was that
    of the old config. Raise WaitError.
    """
    target_states.reach(client, name, state, timeout, steady=_STEADY_S)


def resting(client: ConnectClient, name: str) -> str:
    """
    The state in which a connector that is there stays, whatever its config becomes. To be asked before that is written: a
    connector that takes a new one is in no state for a moment.
    """
    try:
        state = client.status(name)["connector"]["state"]
    except RestError as error:
        if error.status != 404:
            raise
        return "RUNNING"
    return state if state in ("PAUSED", "STOPPED") else "RUNNING"


def check(client: ConnectClient, manifest: Manifest) -> None:
    """Problems with what the worker finds wrong with a config, RestError if it can't say. What nothing knows is told."""
    config = {**manifest.config, "name": manifest.name}
    with refusals.explained(client):
        answer = client.validate(str(config["connector.class"]), config)
    for line in unknown.told(config, answer):
        click.echo(f"kconnect: warning: {manifest.name}: {line}", err=True)
    if wrong := _faults(client, answer):
        raise Wrong(wrong)


def _wrong(client: ConnectClient, manifest: Manifest) -> list[str]:
    config = {**manifest.config, "name": manifest.name}
    return _faults(client, client.validate(str(config.get("connector.class")), config))


def _faults(client: ConnectClient, answer: Mapping[str, Any]) -> list[str]:
    """Return the errors in a validation's answer; each names its setting."""
    values = [row["value"] for row in answer["configs"] if row["value"]]
    errors = [error if value["name"] in error else f"{value['name']}: {error}" for value in values for error in value["errors"]]
    return refusals.problems(client, errors)


def _unknown(error: RestError, field: str) -> bool:
    """Whether a worker refused a request because it has never heard of a field."""
    return error.status in (400, 500) and "nrecognized field" in error.message and field in error.message
