"""
`kconnect plugin …`: the plugins of a `plugin.path`, or of a worker that runs.

Here is the group, and what its commands share: where the plugins are. One command a module, `plugin_<verb>.py`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from kconnect.cli.lazy import LazyGroup

_COMMANDS = {
    "doctor": ("kconnect.cli.plugins.doctor:doctor", "Check whether plugins will work."),
    "install": ("kconnect.cli.plugins.install:install", "Install a plugin into plugin.path."),
    "list": ("kconnect.cli.plugins.listing:list_plugins", "Show the installed plugins."),
    "new": ("kconnect.cli.plugins.new:new_plugin", "Create a project for a plugin of your own."),
    "reload": ("kconnect.cli.plugins.reload:reload", "Make running workers read plugin.path again."),
    "remove": ("kconnect.cli.plugins.remove:remove", "Remove a plugin."),
}


@click.group(cls=LazyGroup, commands_in=_COMMANDS)
@click.pass_context
def plugin(context: click.Context) -> None:
    """
    List, install, remove and check plugins.

    \b
      kconnect plugin install ./acme-1.2-py3-none-any.whl --worker-file worker.properties
      kconnect plugin list --plugin-path /opt/kconnect/plugins
      kconnect plugin list --url http://localhost:8083

    Plugins are in directories of their own below a directory of the worker's plugin.path, or installed beside kconnect. A
    worker looks for them when it starts, and in plugin.path when `kconnect plugin reload` tells it to.
    """
    # What is broken is part of what these commands say.
    logger = logging.getLogger("kconnect.plugins")
    context.call_on_close(partial(logger.setLevel, logger.level))
    logger.setLevel(logging.ERROR)


def where(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--plugin-path` and `--worker-file`; `directories` makes one list of them."""
    path = click.option(
        "-p",
        "--plugin-path",
        metavar="DIR",
        multiple=True,
        help="A directory of plugin.path. May be given several times, in the worker's order.",
    )
    file = click.option(
        "-w",
        "--worker-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Take plugin.path from this worker file.",
    )
    return path(file(command))


def directories(plugin_path: tuple[str, ...], worker_file: Path | None) -> list[Path]:
    """
    The directories of plugin.path that are meant: those given, the worker file's, or CONNECT_PLUGIN_PATH as a worker reads it.

    Empty if nothing says where; UsageError if both options do, InputError if the file is no use.
    """
    if plugin_path and worker_file is not None:
        raise click.UsageError("Give either --plugin-path or --worker-file, not both.")
    if plugin_path:
        parts = [part.strip() for text in plugin_path for part in text.split(",")]
    elif worker_file is not None:
        from kconnect.cli import connector_file
        from kconnect.cli.files import InputError

        parts = list(connector_file.worker_of(worker_file).plugin_path or ())
        if not parts:
            raise InputError(f"{worker_file} does not set plugin.path; add a line such as plugin.path=/opt/kconnect/plugins")
    else:
        parts = [part.strip() for part in os.environ.get("CONNECT_PLUGIN_PATH", "").split(",")]
    return [Path(part).expanduser().absolute() for part in parts if part]
