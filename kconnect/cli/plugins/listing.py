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
        wanted = ("source", "sink", "connector") if kind == "connector" else (kind,)
        rows = [row for row in rows if row["kind"] in wanted]
    _write(rows, broken, form)


def _of_worker(target: Target) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    with target.connect() as client:
        found = client.plugins(connectors_only=False)
    # A worker tells of what is broken in its log only.
    return [{"class": row["class"], "kind": row["type"], "version": row.get("version")} for row in found], []


def _of_directories(plugin_path: list[Path], wide: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    from kconnect.java import versions
    from kconnect.plugins import java_examination
    from kconnect.plugins.registry import Registry

    registry = Registry.scan([str(directory) for directory in plugin_path])
    found = sorted(
        registry.plugins, key=lambda each: (_ALL_KINDS.index(each.kind), each.class_name, versions.key(each.version))
    )
    needed = java_examination.needed(found) if wide else {}
    rows = [
        {
            "class": each.class_name,
            "kind": each.type or each.kind,
            "version": each.version,
            "location": each.location,
            **({"java": needed.get(each)} if wide else {}),
        }
        for each in found
    ]
    return rows, [{"location": each.location, "reason": each.reason} for each in registry.broken]


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
    for each in broken:
        click.echo(f"Broken: {each['location']}: {each['reason']}", err=form == "name")
