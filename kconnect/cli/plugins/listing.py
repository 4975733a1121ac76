"""`kconnect plugin list`: the plugins of a plugin.path by their metadata alone, or those that a worker has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kconnect.cli import connection, output
from kconnect.cli.connection import Target
from kconnect.cli.plugins import plugin

_KINDS = ("connector", "source", "sink", "transformation", "predicate", "converter", "header_converter")
_ALL_KINDS = (*_KINDS, "config_provider", "override_policy")


@click.command("list")
@plugin.where
@connection.optional("Ask this worker, rather than look on this machine; --user gives your user name.", environment=False)
@click.option("--kind", type=click.Choice(_ALL_KINDS), metavar="KIND", help="Only these: connector, transformation, …")
@output.option("wide", "json", "yaml", "name")
def list_plugins(
    plugin_path: tuple[str, ...], worker_file: Path | None, target: Target | None, kind: str | None, form: str
) -> None:
    """
    Show the installed plugins.

    \b
      kconnect plugin list -w worker.properties
      kconnect plugin list -p /opt/kconnect/plugins --kind connector -o name
      kconnect plugin list -p /opt/kconnect/plugins -o wide
      kconnect plugin list --url http://localhost:8083

    Their classes, kinds, versions, where they are, and which are broken. No plugin's code runs here: `kconnect plugin
    doctor` tries it. Without an option the directories are those of CONNECT_PLUGIN_PATH; what is installed beside kconnect
    is always shown. Versions of a class are in ascending order: the last one is what connectors get that ask for none.
    """
    if target is not None:
        if plugin_path or worker_file is not None:
            raise click.UsageError("Give either --url, or --plugin-path or --worker-file.")
        rows, broken = _of_worker(target)
    else:
        rows, broken = _of_directories(plugin.directories(plugin_path, worker_file), form in ("wide", "json", "yaml"))
    if kind is not None:
        kinds = ("source", "sink", "connector") if kind == "connector" else (kind,)
        rows = [row for row in rows if row["kind"] in kinds]
    _write(rows, broken, form)


def _of_worker(target: Target) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    with target.connect() as client:
        answer = client.plugins(connectors_only=False)
    # A worker tells of what is broken in its log only.
    return [{"class": row["class"], "kind": row["type"], "version": row.get("version")} for row in answer], []


def _of_directories(plugin_path: list[Path], wide: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    from kconnect.java import versions
    from kconnect.plugins import java_examination
    from kconnect.plugins.registry import Registry

    registry = Registry.scan([str(directory) for directory in plugin_path])
    plugins = sorted(
        registry.plugins, key=lambda listed: (_ALL_KINDS.index(listed.kind), listed.class_name, versions.key(listed.version))
    )
    needed = java_examination.needed(plugins) if wide else {}
    rows = [
        {
            "class": plugin.class_name,
            "kind": plugin.type or plugin.kind,
            "version": plugin.version,
            "location": plugin.location,
            **({"java": needed.get(plugin)} if wide else {}),
        }
        for plugin in plugins
    ]
    return rows, [{"location": broken.location, "reason": broken.reason} for broken in registry.broken]


def _write(rows: list[dict[str, Any]], broken: list[dict[str, Any]], form: str) -> None:
    if form in ("json", "yaml"):
        output.write({"plugins": rows, "broken": broken}, form)
        return
    if form == "name":
        for name in dict.fromkeys(row["class"] for row in rows):
            click.echo(name)
    elif rows:
        output.table(list(rows[0]), [[text and str(text) for text in row.values()] for row in rows])
    else:
        click.echo("No plugins", err=True)
    for problem in broken:
        click.echo(f"Broken: {problem['location']}: {problem['reason']}", err=form == "name")
