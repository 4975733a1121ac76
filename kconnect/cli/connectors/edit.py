"""`kconnect edit`: a connector's config and state in an editor. Read next: `cli/manifests.py` for what may stand there."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from typing import Any

import click

from kconnect.cli import connection, main, manifests, selection, target_states
from kconnect.cli.apply import plan as apply_plan
from kconnect.cli.apply import run as apply_run
from kconnect.cli.apply.output import Show
from kconnect.cli.apply.plan import UNCHANGED
from kconnect.cli.connection import Target
from kconnect.cli.files import InputError
from kconnect.cli.manifests import Config, Manifest
from kconnect.errors import ConflictError
from kconnect.rest.client import ConnectClient, RestError

_HEAD = """\
# The connector {name} as it was submitted. The text that you save is applied; if it is unchanged or empty, nothing is done.
# Lines that begin with # here are ignored. state: running, paused or stopped.
"""
_REMARK = "# ! "


@click.command()
@click.argument("name", shell_complete=selection.complete)
@target_states.waiting("all its tasks run")
@connection.options
def edit(target: Target, name: str, wait: bool, timeout: float) -> int:
    """
    Edit a connector's config and state in your editor.

    \b
      kconnect edit orders
      EDITOR=nano kconnect edit orders --wait

    The editor is that of VISUAL or EDITOR. If the worker refuses what you save, it opens again with the reason on top; saved as
    it is then, or left with an error, it ends, and the text is kept in a file. Secrets are shown there as they were submitted.
    """
    with target.connect() as client:
        config = client.get_config(name)
        state = _state(client, name)
        text = begun = _HEAD.format(name=name) + _yaml(name, state, config)
        remarks = ""
        while True:
            try:
                edited = click.edit(remarks + text, extension=".yaml", require_save=False)
            except click.ClickException as error:
                # The editor failed, or was left with an error, as vi's :cq does. Its first text was the connector's own.
                raise _lost(error, name, text) if remarks else error from None
            # What was told of the last try is no part of it.
            edited = None if edited is None else without_remarks(edited)
            if edited is None or not _content(edited) or (not remarks and edited == begun):
                click.echo(f"unchanged {name}", err=True)
                return 0
            if remarks and settings_of(edited) == settings_of(text):
                why = "; ".join(line.removeprefix(_REMARK).rstrip(".") for line in remarks.splitlines())
                raise InputError(f"The config of {name} was not changed: {why}. Your text is in {_kept(text)}")
            text = edited
            try:
                step = _step(client, name, text, config, state)
                if step.action == UNCHANGED:
                    click.echo(f"unchanged {name}", err=True)
                    return 0
                apply_run.do(client, step)
            except manifests.Unusable as error:
                remarks = _comment(error.problems)
            except RestError as error:
                if error.status != 400:
                    raise _lost(error, name, text) from error
                remarks = _comment([line for line in str(error).splitlines() if line.strip()])
                if step.state not in (None, "RUNNING"):
                    # That was asked for before the config, and so is done.
                    state = str(step.state).lower()
            except ConflictError as error:
                raise _lost(error, name, text) from error
            else:
                break
        click.echo("\n".join([f"changed {name}", *Show(client, hidden=True).lines(step)[1:]]))
        if wait:
            apply_run.wait(client, name, step.state or (state or "running").upper(), timeout)
    return 0


def _step(client: ConnectClient, name: str, text: str, config: Config, state: str | None) -> apply_plan.Step:
    """Unusable, or a ConflictError if somebody else was quicker."""
    manifest = manifests.of_text(text, "text.yaml")
    if manifest.name != name:
        raise manifests.Unusable([f"the name was {name} and can't be changed: kconnect create makes another connector"])
    current, tag = client.get_config_and_tag(name)
    if current != config:
        raise ConflictError(f"Somebody else has changed the config of {name} meanwhile: edit it again")
    states = {} if state is None else {name: state.upper()}
    (step,) = apply_plan.make([Manifest(name, manifest.config, manifest.state, where="edited")], {name: config}, states)
    # The worker checks the config, which takes seconds, in which somebody else may be quicker.
    return replace(step, tag=tag)


def _state(client: ConnectClient, name: str) -> str | None:
    """Return the state as a manifest has it; None if nothing is known of it, or if the connector has failed."""
    try:
        state: str = client.status(name)["connector"]["state"].lower()
    except RestError as error:
        if error.status != 404:
            raise
        return None
    return state if state in manifests.STATES else None


def _yaml(name: str, state: str | None, config: Config) -> str:
    import yaml

    body: dict[str, Any] = {"name": name} if state is None else {"name": name, "state": state}
    body["config"] = {key: value for key, value in config.items() if key != "name"}
    text: str = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=1000)
    return text


def _content(text: str) -> bool:
    return any(line.strip() and not line.startswith("#") for line in text.splitlines())


def without_remarks(text: str) -> str:
    """Return a text without what was told of the last try, even if the editor, such as a script, has changed that, too."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_REMARK))


def settings_of(text: str) -> list[str]:
    """Return the lines that mean something: who changes comments only has saved a text as it was."""
    return [line for line in text.splitlines() if not line.startswith("#")]


def _comment(problems: list[str]) -> str:
    return "".join(f"{_REMARK}{' '.join(problem.split())}\n" for problem in problems)


def _lost(error: Exception, name: str, text: str) -> Exception:
    """The error, and where the text is; of the same exit status."""
    lost = InputError(f"{name}: {main.in_one_line(error).rstrip('.')}. Your text is in {_kept(text)}")
    lost.exit_code = main.status_of(error)
    return lost


def _kept(text: str) -> str:
    # For this user's eyes only, as mkstemp makes it: it has the connector's secrets.
    handle, path = tempfile.mkstemp(prefix="kconnect-edit-", suffix=".yaml")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return path
