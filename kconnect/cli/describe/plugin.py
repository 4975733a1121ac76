"""`kconnect describe plugin`: a plugin of a worker, its versions and settings, and the connectors that name it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import connection, output
from kconnect.errors import NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_ENDINGS = ("SourceConnector", "SinkConnector", "Connector", "HeaderConverter", "Converter")


@click.command()
@click.argument("name", metavar="CLASS")
@connection.options
@output.option("json", "yaml")
def plugin(target: connection.Target, name: str, form: str) -> None:
    """
    Show what a plugin is, which settings it has, and who uses it.

    \b
      kconnect describe plugin FileStreamSink
      kconnect describe plugin org.apache.kafka.connect.json.JsonConverter -o yaml

    CLASS is a plugin's class as `kconnect get plugins` shows it, with or without its package, or what a config calls it.
    """
    with target.connect() as client:
        output.note(gather(client, name), form, text)


def gather(client: ConnectClient, name: str) -> dict[str, Any]:
    """NotFoundError if the worker has no such plugin, or several of that name."""
    listed = [plugin for plugin in client.plugins(connectors_only=False) if is_called(plugin["class"], name)]
    classes = sorted({plugin["class"] for plugin in listed})
    if len(classes) != 1:
        what = f"several plugins {name}: {', '.join(classes)}" if classes else f"no plugin {name}"
        raise NotFoundError(f"The worker has {what}; `kconnect get plugins` shows all")
    return {
        "class": classes[0],
        "type": listed[0]["type"],
        "versions": sorted({plugin["version"] for plugin in listed if plugin.get("version")}),
        "settings": client.plugin_config(classes[0]),
        "used_by": users(classes[0], client.connectors("info")),
    }


def is_called(class_name: str, name: str) -> bool:
    """Return whether a config may say `name` for the class: with its package, or without, and without one of the endings."""
    short = class_name.rpartition(".")[2]
    return bool(name) and name in (class_name, short, *(short.removesuffix(ending) for ending in _ENDINGS))


def users(class_name: str, connectors: Mapping[str, Any]) -> list[str]:
    """`connector (setting)` for each setting that names the class."""
    return [f"{name} ({key})" for name, entry in connectors.items() for key in _naming(class_name, entry["info"]["config"])]


def _naming(class_name: str, config: Mapping[str, str | None]) -> Iterable[str]:
    return [key for key, value in config.items() if value and _says_class(key) and is_called(class_name, value)]


def _says_class(key: str) -> bool:
    return key == "connector.class" or key.endswith((".type", ".converter"))


def text(found: Mapping[str, Any]) -> list[str]:
    from kconnect.cli.layout import labelled, table

    lines = labelled("Plugin", [f"{found['class']}  ({found['type']})"])
    lines += labelled("Versions", [", ".join(found["versions"]) or "none told"])
    lines += labelled("Used by", [", ".join(found["used_by"]) or "no connector's config names it"])
    lines.append("Settings")
    rows = [
        (
            row["name"],
            row["type"],
            row["importance"],
            "required" if row["required"] else f"default {row['default_value']}" if row["default_value"] else "",
        )
        for row in found["settings"]
    ]
    return [*lines, *table(("NAME", "TYPE", "IMPORTANCE", "VALUE"), rows, lead="  ")]
