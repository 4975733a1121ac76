"""
Files of offsets: what `offsets export` writes, and what `set`, `diff` and `import` read.

    exported_at: '2026-11-22T04:00:00Z'
    cluster: {url: http://localhost:8083, version: 4.3.1, kafka_cluster_id: 4L6g3nShT-eMCtK--X86sw}
    connectors:
    - {name: orders-sink, type: sink, class: FileStreamSink, offsets: [{partition: {…}, offset: {…}}]}

The REST API's own body, `{"offsets": […]}`, or its list alone, is read as well: it is of no connector in particular.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kconnect.cli import files
from kconnect.cli.files import InputError
from kconnect.cli.offsets import entries
from kconnect.cli.offsets.entries import Entries
from kconnect.errors import NotFoundError


@dataclass(frozen=True)
class Saved:
    """A connector's offsets. `kind` is source or sink."""

    name: str
    kind: str
    plugin: str
    offsets: Entries


def document(url: str, root: Mapping[str, Any], saved: Iterable[Saved], now: datetime.datetime) -> dict[str, Any]:
    """Return the document to export; `root` is the answer of the worker's `/`."""
    return {
        "exported_at": now.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cluster": {"url": url, "version": root.get("version"), "kafka_cluster_id": root.get("kafka_cluster_id")},
        "connectors": [
            {"name": connector.name, "type": connector.kind, "class": connector.plugin, "offsets": connector.offsets}
            for connector in saved
        ],
    }


def read(path: str) -> tuple[Any, str]:
    """
    Read a file, `-` is standard input. Return its content, and its name for messages. Raise InputError if it is neither JSON
    nor YAML.
    """
    if path == "-":
        return parse(files.standard_input(), "standard input"), "standard input"
    return parse(files.text_of(Path(path)), path), path


def parse(text: str, where: str) -> Any:
    import json

    try:
        if text.lstrip()[:1] in ("{", "["):
            return json.loads(text)
        from kconnect.cli import yaml_file

        return yaml_file.load(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: this is neither JSON nor YAML ({files.reason_of(error)})") from None


def parse_json(where: str, text: str) -> Any:
    """InputError with the place if it is none."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: {text} is not JSON ({files.reason_of(error)}); in a shell, put it in single quotes"
        ) from None


def is_export(body: Any) -> bool:
    return isinstance(body, dict) and "connectors" in body


def saved(body: Any, where: str) -> list[Saved]:
    """All connectors of an export. InputError, naming the place, if it is none."""
    if not is_export(body):
        remedy = "give a file that kconnect offsets export wrote, or use kconnect offsets set NAME -f FILE"
        raise InputError(f"{where} has no list of connectors: {remedy}")
    if not isinstance(body["connectors"], list):
        raise InputError(f"{where}: connectors must be a list")
    by_name: dict[str, Saved] = {}
    for number, raw in enumerate(body["connectors"], 1):
        connector = _saved(raw, f"{where}, connector {number}")
        if connector.name in by_name:
            raise InputError(f"{where}: the connector {connector.name} is in it twice; remove one of them")
        by_name[connector.name] = connector
    return list(by_name.values())


def _saved(item: Any, where: str) -> Saved:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        raise InputError(f"{where}: it needs a name")
    kind = item.get("type")
    if kind not in ("source", "sink"):
        raise InputError(f"{where}: the type of {item['name']} is {kind}, but must be source or sink")
    offsets = entries.checked(kind, item, f"{where} ({item['name']})")
    return Saved(item["name"], kind, str(item.get("class", "")), offsets)


def of_one(body: Any, where: str, name: str, kind: str) -> Entries:
    """The offsets for one connector: of an export those under its name."""
    if not is_export(body):
        return entries.checked(kind, body, where)
    for connector in saved(body, where):
        if connector.name == name:
            require_kind(connector, kind, where)
            return connector.offsets
    raise NotFoundError(f"{where} has no offsets of {name}")


def require_kind(one: Saved, kind: str, where: str) -> None:
    if one.kind != kind:
        raise InputError(f"{where} has offsets of a {one.kind} named {one.name}, but {one.name} is a {kind} on this cluster")
