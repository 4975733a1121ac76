"""
The rules for what can't be the same twice: each has a name, says which values it is for, and checks what it replaces.

A time is replaced only if it lies within the run. A number that only grows (a position in PostgreSQL's log, a transaction's id)
is replaced by its rank among all that were seen, so that what was equal, or came later, still shows. Called by `cases/`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_SLACK_S = 5.0

Rule = Callable[[Any], Any]
"""What stands for a value; the value itself if it isn't what the rule is for."""

Rules = Mapping[str, Rule]
"""By patterns of the fields' names."""


def apply(rules: Rules, data: Any) -> Any:
    """JSON data with the rules applied to the values that are no objects; a text that is JSON is looked into by nobody."""
    if isinstance(data, dict):
        return {name: _applied(rules, name, value) for name, value in data.items()}
    if isinstance(data, list):
        return [apply(rules, each) for each in data]
    return data


def _applied(rules: Rules, name: str, value: Any) -> Any:
    if not isinstance(value, dict | list):
        for pattern, rule in rules.items():
            if re.fullmatch(pattern, name):
                return rule(value)
    return apply(rules, value)


def time_since(began: float, unit: str) -> Rule:
    """A number that is a time between `began`, of `time.time()`, and now; others stay as they are."""

    def rule(value: Any) -> Any:
        number = int(value) if isinstance(value, str) and value.isdigit() else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            return value
        within = began - _SLACK_S <= number / _UNITS[unit] <= time.time() + _SLACK_S
        return f"<time of the run, {unit}>" if within else value

    return rule


class Ranks:
    """
    Numbers that grow, as parts of the values of some fields in any of the data given. `parts` has patterns of the fields'
    names, each with a pattern of the numbers in the value's text.
    """

    def __init__(self, what: str, parts: Mapping[str, str], data: Any) -> None:
        seen: set[int] = set()
        apply({name: partial(self._see, seen, part) for name, part in parts.items()}, data)
        self._ranks = {number: f"<{what} {rank}>" for rank, number in enumerate(sorted(seen))}
        self.rules: Rules = {name: partial(self._rank, part) for name, part in parts.items()}

    @staticmethod
    def _see(seen: set[int], part: str, value: Any) -> None:
        seen.update(_numbers(part, value))

    def _rank(self, part: str, value: Any) -> Any:
        return re.sub(part, lambda found: self._ranks[int(found[0])], str(value)) if _numbers(part, value) else value


def _numbers(part: str, value: Any) -> list[int]:
    return [int(found[0]) for found in re.finditer(part, str(value))] if isinstance(value, str | int) else []


def run_id(value: Any) -> Any:
    """A random UUID, of which only that it is one can be compared."""
    try:
        return "<a UUID>" if UUID(value).version is not None else value
    except (ValueError, AttributeError, TypeError):
        return value


def parsed(data: str | bytes | None) -> Any:
    """What a key, value or header says: JSON, else text, else the bytes in hexadecimal digits."""
    if data is None:
        return None
    if isinstance(data, str):
        return data
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"bytes {data.hex()}"
    try:
        return json.loads(text)
    except ValueError:
        return text


def with_order(data: Any) -> Any:
    """JSON data with the order of each object's fields as one more field, since Java writes them in that of a schema."""
    if isinstance(data, dict):
        return {**{name: with_order(value) for name, value in data.items()}, "<order>": list(data)}
    return [with_order(each) for each in data] if isinstance(data, list) else data
