"""
How much larger than an answer what a path makes of it may be.

JMESPath can name a part of a document over and over: a few lines make more of an answer of ten bytes than any memory has room
for. What a path does is known before there is an answer, so this is asked when a config is read. Called by
`source_settings.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

MOST = 64
"""Paths that pick and rename fields make nothing larger, however many they are."""

_Node = Mapping[str, Any]
_SMALL = frozenset(("comparator", "not_expression", "literal", "slice"))
_EITHER = frozenset(("and_expression", "or_expression"))
_TOGETHER = frozenset(("multi_select_list", "multi_select_dict"))
_QUOTED = 2
"""So much longer is a text of texts, of which each quotation mark is escaped."""


def of(node: _Node) -> float:
    """Return how many times an answer may be in what this part of a parsed path makes of it, at most."""
    kind, children = node["type"], node["children"]
    if kind in _SMALL:
        return 1
    if kind in _TOGETHER:
        return _together(children)
    if kind in _EITHER:
        return max(map(of, children))
    if kind == "function_expression":
        return _function(node["value"], children)
    return math.prod(map(of, children))


def _together(children: Sequence[_Node]) -> float:
    values = [child["children"][0] if child["type"] == "key_val_pair" else child for child in children]
    plain = Counter(path for node in values if (path := _fields(node)) is not None)
    # Of fields that are none within another, each part of the answer is there once.
    depth = max((sum(plain[path[:length]] for length in range(len(path) + 1)) for path in plain), default=0)
    return max(1, depth + sum(of(node) for node in values if _fields(node) is None))


def _fields(node: _Node) -> tuple[str, ...] | None:
    """Return the names that lead to a field; None for anything else."""
    if node["type"] == "current":
        return ()
    if node["type"] == "field":
        return (node["value"],)
    if node["type"] == "subexpression":
        parts = [_fields(child) for child in node["children"]]
        return None if None in parts else tuple(name for part in parts for name in part or ())
    return None


def _function(name: str, children: Sequence[_Node]) -> float:
    if name == "map":
        return math.prod(map(of, children))
    if name == "join" and children:
        # A text of the answer, put between all of its others, grows with the square.
        literal = children[0].get("value") if children[0]["type"] == "literal" else None
        between = len(literal) if isinstance(literal, str) else math.inf
        return (1 + between) * max(1, sum(map(of, children[1:])))
    return (_QUOTED if name == "to_string" else 1) * max(1, sum(map(of, children)))
