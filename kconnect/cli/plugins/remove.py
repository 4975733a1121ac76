"""`kconnect plugin remove`: takes a plugin away, unless connectors of a worker use it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kconnect.cli import asking, connection
from kconnect.cli.connection import Target
from kconnect.cli.plugins import plugin
from kconnect.errors import ConflictError, ConnectError, NotFoundError

if TYPE_CHECKING:
    from kconnect.plugins.chain import Part
    from kconnect.plugins.registry import Registry


@click.command("remove")
@click.argument("name")
@click.argument("version", required=False)
@plugin.where
@connection.optional("Ask this worker whether the plugin is in use.")
@asking.option
def remove(
    name: str,
    version: str | None,
    plugin_path: tuple[str, ...],
    worker_file: Path | None,
    target: Target | None,
    yes: bool,
) -> int:
    """
    Remove a plugin.

    \b
      kconnect plugin remove acme-connector -w worker.properties --url http://localhost:8083
      kconnect plugin remove acme-connector 1.2 -p /opt/kconnect/plugins --yes

    NAME is that of its package or its directory, for Java with or without the version. VERSION is needed if there are
    several. With --url it is refused while a connector of that worker's cluster uses it; that a connector has the worker's
    own converters, only --worker-file tells.
    """
    directories = plugin.directories(plugin_path, worker_file)
    if not directories:
        raise click.UsageError(
            "Give the directory to remove it from: -p DIR, -w WORKER-FILE, or CONNECT_PLUGIN_PATH in the environment."
        )
    from kconnect.plugins import installation

    of_name = installation.named(directories, name)
    if not of_name:
        all_of_them = [installed for root in directories for installed in installation.installed(root)]
        names = ", ".join(f"{package} {number}" for installed in all_of_them for package, number in installed.distributions)
        raise NotFoundError(f"There is no plugin {name} in {', '.join(map(str, directories))}; installed: {names or 'none'}")
    matching = [
        installed for installed in of_name if version is None or any(number == version for _, number in installed.distributions)
    ]
    numbers = ", ".join(number for installed in of_name for _, number in installed.distributions)
    if not matching:
        raise NotFoundError(f"There is no version {version} of {name}; installed: {numbers}")
    if len(matching) > 1:
        if version is None and len({installed.distributions for installed in matching}) == len(matching):
            raise click.UsageError(f"Several versions of {name} are installed: {numbers}. Give one of them.")
        raise click.UsageError(
            f"It is installed twice. Name one of the directories: {', '.join(copy.directory.name for copy in matching)}."
        )
    directory = matching[0].directory
    if target is not None:
        _refuse_if_used(directory, directories, worker_file, target)
    unasked = "" if target is not None else " No worker was asked whether connectors use it; --url asks one."
    asking.confirm(f"Remove {directory}?{unasked}", yes)
    installation.remove(directory)
    click.echo(f"Removed {directory}")
    click.echo("Running workers keep what they have loaded of it; connectors that need it fail after the next reload.")
    return 0


def _refuse_if_used(directory: Path, directories: list[Path], worker_file: Path | None, target: Target) -> None:
    """ConflictError, naming them, if connectors of that worker's cluster get something from the directory."""
    from kconnect.cli import connector_file
    from kconnect.core.settings.worker import converters
    from kconnect.plugins import chain
    from kconnect.plugins.registry import Registry

    plugins = Registry.scan([str(root) for root in directories])
    # Of those that connectors inherit only the worker's file says which they are.
    of_worker = {} if worker_file is None else converters(connector_file.worker_of(worker_file))
    with target.connect() as client:
        configs = {name: entry["info"]["config"] for name, entry in client.connectors("info").items()}
    using = [
        name
        for name, config in configs.items()
        if str(directory) in _locations(chain.parts(plugins, config, of_worker), plugins)
    ]
    if using:
        raise ConflictError(
            f"{directory} is used by {', '.join(sorted(using))}: give these connectors another version "
            "(connector.plugin.version and the like), or delete them. Without --url, no worker is asked"
        )


def _locations(parts: Iterable[Part], plugins: Registry) -> set[str]:
    """Return where the plugins of a connector come from. Those that can't be found are left out."""
    locations = set()
    for part in parts:
        with suppress(ConnectError):
            locations.add(part.find(plugins).location)
    return locations
