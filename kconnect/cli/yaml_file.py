"""
YAML as people mean it: version 1.2's plain values, so that `no`, `1:30` and `2024-01-31` are texts, and no key twice.

Called for cases and configs only; PyYAML takes a while to import.
"""

from __future__ import annotations

import re
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key.value, str) and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value} comes twice", key.start_mark)
            seen.add(str(key.value))
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


class _TextLoader(_Loader):
    """Leaves numbers as they are written."""


_WORDS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
)
_NUMBERS = (
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
)
for _loader, _rules in ((_Loader, _WORDS + _NUMBERS), (_TextLoader, _WORDS)):
    _loader.yaml_implicit_resolvers = {}
    for _tag, _pattern, _first in _rules:
        _loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)
# YAML 1.1 takes a leading zero for octal and colons for minutes.
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(loader.construct_scalar(node)))


def load(text: str, numbers: bool = True) -> Any:
    """Without `numbers`, these are texts, as they are written. ValueError, in one line, if it is no YAML."""
    try:
        return yaml.load(text, Loader=_Loader if numbers else _TextLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        where = "" if mark is None else f" in line {mark.line + 1}"
        raise ValueError(f"{problem}{where}") from None
