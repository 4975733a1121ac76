"""A schema of Avro that refuses indexes below zero is the same schema otherwise, however long it is."""

from __future__ import annotations

from typing import Any

import fastavro

from kconnect.data import avro_indexes


def parsed(count: int) -> Any:
    kinds: list[Any] = [
        "string",
        "long",
        {"type": "array", "items": ["null", "string"]},
        {"type": "map", "values": ["null", "long"]},
    ]
    fields = [{"name": f"f{at}", "type": ["null", kinds[at * at % len(kinds)]]} for at in range(count)]
    inner = {"type": "record", "name": "In", "fields": [{"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"]}}]}
    more = [{"name": "in", "type": ["null", inner]}, {"name": "again", "type": ["null", "In"]}]
    return fastavro.parse_schema({"type": "record", "name": "R", "fields": fields + more})


def plain(node: Any) -> Any:
    """The schema in lists and dicts of Python's: its own say of their length that it is none."""
    if isinstance(node, list):
        return [plain(list.__getitem__(node, at)) for at in range(list.__len__(node))]
    if isinstance(node, dict):
        return {name: plain(part) for name, part in node.items() if not name.startswith("__")}
    return node


def test_a_long_schema_keeps_its_branches() -> None:
    for count in (1, 30, 300, 1000):
        assert plain(avro_indexes.refusing(parsed(count))) == plain(parsed(count)), count
