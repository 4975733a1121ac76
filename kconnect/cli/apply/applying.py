"""
Steps of `plan.py`, all of them: found by comparing with a worker, checked by it, or done, several at once.

Called by `apply` and `diff`. Read next: `run.py` for one of them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from shlex import quote
from typing import Any, NamedTuple

import click

from kconnect.cli import selection
from kconnect.cli.apply import plan as apply_plan
from kconnect.cli.apply import run as apply_run
from kconnect.cli.apply.output import Show, summary
from kconnect.cli.apply.plan import CHANGE, CREATE, DELETE, DONE, UNCHANGED, Step
from kconnect.cli.detailed_exit import DIFFERS
from kconnect.cli.manifests import Manifest
from kconnect.rest.client import ConnectClient

_STATUS_S = 5.0
_STATUS_PAUSE_S = 0.2


def compare(client: ConnectClient, wanted: list[Manifest], prune: Sequence[str] | None) -> list[Step]:
    configs = {name: entry["info"]["config"] for name, entry in client.connectors("info").items()}
    if short := apply_plan.named_shortly(configs, wanted):
        installed = {plugin["class"] for plugin in client.plugins()}
        same = {
            manifest_.name: manifest_.config["connector.class"]
            for manifest_ in wanted
            if short.get(manifest_.name) in installed
        }
        configs |= {name: {**configs[name], "connector.class": text} for name, text in same.items()}
    existing = [manifest for manifest in wanted if manifest.name in configs]
    states = _states(
        client, [manifest_.name for manifest_ in existing if manifest_.state is not None or manifest_.offsets is not None]
    )
    bare = _bare(
        client,
        [manifest_ for manifest_ in existing if manifest_.offsets is not None and states.get(manifest_.name) == "STOPPED"],
    )
    steps = apply_plan.make(wanted, configs, states, prune, bare)
    for step in steps:
        if step.manifest is not None and step.manifest.offsets is not None and step.offsets is None:
            click.echo(
                f"{step.name}: the offsets in {step.manifest.where} are ignored, because the connector exists already and "
                "continues from its own; to change them, use `kconnect offsets set` or `kconnect offsets import`",
                err=True,
            )
    return steps


def _states(client: ConnectClient, names: Collection[str]) -> dict[str, str]:
    """Return the states of these connectors, without those that have no status, and get none soon."""
    end = time.monotonic() + _STATUS_S
    while names:
        # A request of its own: one for both leaves out what has no status yet.
        statuses = client.connectors("status")
        if statuses.keys() >= set(names) or time.monotonic() >= end:
            return {name: entry["status"]["connector"]["state"] for name, entry in statuses.items() if "status" in entry}
        # One that has only just been created.
        time.sleep(_STATUS_PAUSE_S)
    return {}


def _bare(client: ConnectClient, stopped: Sequence[Manifest]) -> set[str]:
    """
    Return the connectors that have no offsets: where offsets can't be given with the request that creates a connector, an apply
    that is cut short leaves it so. A connector with any offsets may have run since, and so its file's count no more.
    """
    offsets: dict[str, list[dict[str, Any]]] = {}

    def ask(name: str) -> None:
        offsets[name] = client.offsets(name)

    # One that can't be asked is told and left as it is.
    selection.each([manifest.name for manifest in stopped], ask, "Comparing")
    for manifest in stopped:
        # It has none or those of its file: it has not run.
        if manifest.state is None and manifest.name in offsets and offsets[manifest.name] in ([], manifest.offsets):
            click.echo(
                f"{manifest.name} is STOPPED and has never run, perhaps because an earlier apply was cut short. "
                f"Its file gives no "
                f"state, so it stays STOPPED. To start it: kconnect resume {quote(manifest.name)}",
                err=True,
            )
    return {name for name, rows in offsets.items() if not rows}


class Performed(NamedTuple):
    """`late` are those of `failed` that were done, and did not come to their state. `status` is the command's."""

    failed: set[str]
    late: set[str]
    status: int


def perform(client: ConnectClient, steps: Sequence[Step], timeout: float | None, verbose: bool = True) -> Performed:
    """
    Do them, and wait if there is a `timeout`; gives the names of those that failed, and the exit status: that which all
    failures share, else 1. What is to be deleted comes last, if nothing failed before.
    """
    failed: set[str] = set()
    late: set[str] = set()
    statuses: set[int] = set()
    by_name = {step.name: step for step in steps}
    expected: dict[str, str] = {}

    def one(name: str) -> str | None:
        step = by_name[name]
        failed.add(name)
        if timeout is not None and step.action != DELETE:
            expected[name] = _expected(client, step)
        apply_run.do(client, step)
        failed.discard(name)
        return f"{DONE[step.action]} {name}" if verbose else None

    def waited(name: str) -> None:
        failed.add(name)
        late.add(name)
        apply_run.wait(client, name, expected[name], timeout or 0.0)
        failed.discard(name)
        late.discard(name)

    todo = [step.name for step in steps if step.action in (CREATE, CHANGE)]
    statuses.add(selection.each(todo, one, "Applying"))
    if timeout is not None:
        statuses.add(selection.each([name for name in todo if name not in failed], waited, "Waiting for"))
    doomed = [step.name for step in steps if step.action == DELETE]
    if doomed and failed:
        click.echo(f"kconnect: nothing was deleted, because something failed before: {', '.join(doomed)} stay", err=True)
        failed.update(doomed)
    else:
        statuses.add(selection.each(doomed, one, "Deleting"))
    statuses.discard(0)
    return Performed(failed, late, statuses.pop() if len(statuses) == 1 else int(bool(failed)))


def dry_run(client: ConnectClient, steps: Sequence[Step], show: Show, form: str, quiet: bool) -> int:
    wrong: set[str] = set()
    by_name = {step.name: step for step in steps}

    def check(name: str) -> None:
        manifest = by_name[name].manifest
        wrong.add(name)
        if manifest is not None:
            apply_run.check(client, manifest)
        wrong.discard(name)

    changed = [step for step in steps if step.action != UNCHANGED]
    selection.each([step.name for step in changed if step.action != DELETE], check, "Checking")
    if form != "table":
        show.write(steps, form, wrong)
    else:
        if not quiet:
            for step in changed:
                click.echo(f"{step.name} would be {'refused' if step.name in wrong else DONE[step.action]}")
        summary(steps, wrong, would=True)
    return 1 if wrong else DIFFERS if changed else 0


def _expected(client: ConnectClient, step: Step) -> str:
    """The state that a connector comes to when its step is done, which is not begun yet."""
    if step.state is not None:
        return step.state
    # Where no file says a state, nobody has asked for what it was.
    return "RUNNING" if step.action == CREATE else apply_run.resting(client, step.name)
