"""
Answers and records of both clusters with their names, addresses, times and versions made the same.

What Connect leaves to chance (the order of its hash maps) gets an order here; what is prose (documentation, stack traces) is
only said to be there. Called by `run.py` before `compare.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.rig.parity.cluster import Answer, Cluster
from tests.rig.parity.compare import Order
from tests.rig.parity.step import Step

TIME, TEXT, SECRET, VERSION = "<time>", "<text>", "<secret>", "<version>"

_BY_NAME: dict[str, str] = {
    "documentation": TEXT,
    "trace": TEXT,
    "last_modified": TIME,
    "timestamp": TIME,
    "discoverTimestamp": TIME,
    "creation-timestamp": TIME,
    "commit": VERSION,
    "version": VERSION,
    "key": SECRET,
    "generation": "<generation>",
}
"""What stands for a value of that name, unless it is null or empty."""

Same = Callable[[Any], Any]


def texts_of(cluster: Cluster, version: str) -> Same:
    """Replaces the cluster's own names in all texts of JSON data, names of fields too."""
    own = [
        (str(cluster.directory), "<dir>"),
        (cluster.name, "<n>"),
        (f"127.0.0.1:{cluster.worker.port}", "<host>"),
    ]
    word = re.compile(rf"(?<![\w.]){re.escape(version)}(?![\w.])")

    def text(given: str) -> str:
        for value, name in own:
            given = given.replace(value, name)
        return word.sub(VERSION, given)

    def same(data: Any) -> Any:
        if isinstance(data, str):
            return text(data)
        if isinstance(data, list):
            return [same(each) for each in data]
        if isinstance(data, dict):
            return {text(name): _of_name(name, same(value)) for name, value in data.items()}
        return data

    return same


_OURS_ONLY = re.compile(r"kconnect\..*|io\.confluent\.connect\.avro\.AvroConverter")
"""Plugins that Connect has not; `GET /connector-plugins` shows the difference, so that no other answer need."""


def of_both(classes: list[str]) -> list[str]:
    """Without the plugins that kconnect alone has."""
    return [each for each in classes if not _OURS_ONLY.fullmatch(each)]


def _of_name(name: str, value: Any) -> Any:
    if name == "recommended_values":
        return of_both(value)
    # A ConfigKeyInfo or a record's own `version` may be null, which is compared.
    return _BY_NAME[name] if name in _BY_NAME and value not in (None, "") and not isinstance(value, dict | list) else value


def answer(step: Step, given: Answer, same: Same) -> dict[str, Any]:
    made = {"status": given.status, "headers": same(given.headers), "body": _ordered(step, same(given.body))}
    if "Allow" in made["headers"]:
        # Connect's is in the order of a hash set.
        made["headers"]["Allow"] = ",".join(sorted(made["headers"]["Allow"].replace(" ", "").split(",")))
        if step.method == "OPTIONS" and isinstance(made["body"], str):
            made["body"] = ",".join(sorted(made["body"].replace(" ", "").split(",")))
    return made if given.settled else {**made, "settled": False}


def _ordered(step: Step, body: Any) -> Any:
    path = step.path.partition("?")[0]
    if path == "/admin/loggers" and isinstance(body, dict):
        # Which loggers there are is each one's own affair: how they are told of is not.
        return {"<logger>": sorted({json.dumps(sorted(each)) for each in body.values()})}
    if path == "/admin/loggers/root" and isinstance(body, list):
        return ["<loggers>"]
    if isinstance(body, list) and all(isinstance(each, str) for each in body):
        return sorted(body) if path.rstrip("/") == "/connectors" else body
    if path.endswith("/validate") and isinstance(body, dict) and "configs" in body:
        return validated(body)
    if path.endswith("/config") and isinstance(body, list):
        return by_name(body, lambda key: key["name"])
    if path == "/connector-plugins" and isinstance(body, list):
        return by_name(body, lambda plugin: f"{plugin['type']} {plugin['class']}")
    if path.endswith("/offsets") and isinstance(body, dict) and "offsets" in body:
        return {"offsets": sorted(body["offsets"], key=json.dumps)}
    return body


def validated(body: dict[str, Any]) -> dict[str, Any]:
    """An answer of `validate`, without the order that Connect leaves to chance."""
    # Those of a converter come in the order of a hash map.
    last = [group for group in ("Schemas", "Serialization") if group in body["groups"]]
    groups = [group for group in body["groups"] if group not in last]
    return {**body, "groups": [*groups, *last], "configs": by_name(body["configs"], _name_of_config)}


def _name_of_config(config: dict[str, Any]) -> str:
    return (config["definition"] or config["value"])["name"]


_NO_ORDER = re.compile(r"(header|key|value)\.converter\.|(producer|consumer|admin)\.override\.")


def by_name(entries: list[dict[str, Any]], name_of: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    """Entries by name, and their order, in which those of converters and clients have no fixed place in Connect."""
    made: dict[str, Any] = {}
    for entry in entries:
        name, number = name_of(entry), 2
        while name in made:
            name, number = f"{name_of(entry)} ({number})", number + 1
        made[name] = entry
    fixed = [name for name in made if not _NO_ORDER.match(name)]
    return {**made, "<order>": Order(fixed)}
