"""`kconnect patch`: some settings of a connector, without its file. Read next: `edit.py`."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from kconnect.cli import connection, refusals, selection, target_states
from kconnect.cli.apply import plan as apply_plan
from kconnect.cli.apply import run as apply_run
from kconnect.cli.apply.options import hiding
from kconnect.cli.apply.output import Show
from kconnect.cli.apply.plan import CHANGE, Step
from kconnect.cli.connection import Target
from kconnect.cli.files import InputError, reason_of
from kconnect.cli.manifests import Config, Manifest, as_text
from kconnect.rest.client import ConnectClient, RestError


@click.command()
@click.argument("name", metavar="NAME|GLOB", shell_complete=selection.complete)
@click.argument("changes", metavar="[KEY=VALUE|KEY-]...", nargs=-1)
@click.option("-p", "--patch", "document", metavar="JSON", help="The changes as an object; null removes a setting.")
@target_states.waiting("all its tasks run")
@hiding
@connection.options
def patch(
    target: Target,
    name: str,
    changes: Sequence[str],
    document: str | None,
    wait: bool,
    timeout: float,
    show_secrets: bool,
) -> int:
    """
    Change or remove some settings of a connector.

    \b
      kconnect patch orders tasks.max=4 errors.tolerance=all
      kconnect patch orders transforms- transforms.mask.type-
      kconnect patch 'orders-*' -p '{"tasks.max": "4", "transforms": null}'

    KEY=VALUE sets, KEY- removes. What differs is shown. A connector of which nothing differs is not touched, and so not
    restarted. With Kafka Connect before 3.8, which can't change single settings, the config is read and written as a whole.
    """
    if name in ("connector", "connectors") and changes and not changes[0].endswith("-") and "=" not in changes[0]:
        # As with kubectl and kcctl: `patch connector orders tasks.max=2`.
        name, *changes = changes
    new_values = _changes(changes, document)
    with target.connect() as client:
        names = selection.Wanted((name,)).names(client)
        show = Show(client, not show_secrets)

        def one(name: str) -> str:
            state = apply_run.resting(client, name) if wait else None
            lines = _patched(client, name, new_values, show)
            if not lines:
                return f"unchanged {name}"
            text = "\n".join(lines)
            if state is not None:
                selection.then(text, functools.partial(apply_run.wait, client, name, state, timeout))
            return text

        return selection.each(names, one, "Patching")


def _patched(client: ConnectClient, name: str, wanted: Config, show: Show) -> list[str]:
    """Return what differs, in words; nothing if nothing does. Raise RestError."""
    config = client.get_config(name)
    # As the worker will, which takes away what is null.
    after = {key: value for key, value in {**config, **wanted}.items() if key not in wanted or value is not None}
    differences = apply_plan.differences(config, after)
    if not differences:
        return []
    with refusals.explained(client):
        try:
            client.patch_config(name, wanted)
        except RestError as error:
            if error.status != 405:
                raise
            reason = "this worker can't patch configs (Kafka Connect before 3.8), so the whole config is read and written"
            click.echo(f"kconnect: {name}: {reason}", err=True)
            client.put_config(name, after)
    apply_run.warn(client, name, after)
    return [f"changed {name}", *show.lines(Step(name, CHANGE, Manifest(name, after), differences))[1:]]


def _changes(changes: Sequence[str], document: str | None) -> Config:
    """UsageError for what is no change, and for none at all."""
    values: Config = dict(_of_json(document)) if document is not None else {}
    for change in changes:
        key, sign, value = change.partition("=")
        if not sign and key.endswith("-"):
            key, text = key[:-1], None
        elif sign:
            text = value
        else:
            raise click.UsageError(f"{change} is not a change: give KEY=VALUE to set a setting, or KEY- to remove it")
        if not key:
            raise click.UsageError(f"{change} does not name a setting: give KEY=VALUE to set one, or KEY- to remove it")
        if key in values:
            raise click.UsageError(f"The setting {key} is given twice: give it once")
        values[key] = text
    if not values:
        raise click.UsageError("Give the changes: KEY=VALUE, KEY-, or -p with a JSON object")
    if "name" in values:
        raise click.UsageError("A connector's name can't be changed: create another one and delete this one")
    return values


def _of_json(document: str) -> Mapping[str, str | None]:
    try:
        body: Any = json.loads(document, parse_int=str, parse_float=str)
    except (ValueError, RecursionError) as error:
        raise InputError(f'-p is not JSON ({reason_of(error)}): give an object such as {{"tasks.max": "4"}}') from None
    if not isinstance(body, dict):
        raise InputError('-p is not a JSON object: give one such as {"tasks.max": "4"}')
    return {key: as_text(key, value, "-p") for key, value in body.items()}
