"""
Indexes of Avro's enums and unions below zero: wrong bytes, of which fastavro makes another symbol, or another branch.

fastavro looks up what the bytes say in the lists of its parsed schema, as Python does, where -1 is the last one. Called by
those who give it a schema to read records with: `converters/avro_types.py` and `connectors/objects/avro_blocks.py`.
"""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


class _Counted(list[Any]):
    """A list that has nothing below zero."""

    __slots__ = ()

    def __len__(self) -> int:
        # Cython adds the length to what is below zero, before it asks.
        return 0

    def __getitem__(self, index: Any) -> Any:
        if index < 0:
            raise IndexError("an index of an enum or a union is below zero")
        return list.__getitem__(self, index)


def refusing(parsed: T) -> T:
    """
    Return a schema that fastavro has parsed, with which what has such an index raises IndexError. It is to be a record's:
    fastavro parses others again for each value.
    """
    return _refusing(parsed, {})  # type: ignore[no-any-return]


def _refusing(node: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """`known` has what was made of each node, and the node as well: another one could have its address once it is gone."""
    if id(node) in known:
        return known[id(node)][1]
    if isinstance(node, list):
        counted = _Counted(node)
        known[id(node)] = node, counted
        # By places: its length says nothing.
        for place, branch in enumerate(node):
            list.__setitem__(counted, place, _refusing(branch, known))
        return counted
    if isinstance(node, dict):
        known[id(node)] = node, node
        kind = node.get("type")
        if kind == "enum":
            node["symbols"] = _Counted(node["symbols"])
        elif kind in ("array", "map"):
            name = "items" if kind == "array" else "values"
            node[name] = _refusing(node[name], known)
        elif kind in ("record", "error", "error_union", "request"):
            for field in node["fields"]:
                field["type"] = _refusing(field["type"], known)
        else:
            node["type"] = _refusing(kind, known)
        for named in node.get("__named_schemas", {}).values():
            _refusing(named, known)
    return node
