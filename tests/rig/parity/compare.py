"""Where two JSON values differ, as a list of places. Called by `run.py`; what is expected to differ is in `known.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()


@dataclass(frozen=True)
class Order:
    """Names in a sequence, compared for those that both have: one that is missing is told of as such."""

    names: list[str]


@dataclass(frozen=True)
class Difference:
    """`where` is the path in the answer, such as `body.message`."""

    title: str
    where: str
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.where}\n      Connect   {shown(self.theirs)}\n      kconnect  {shown(self.ours)}"


def differences(title: str, theirs: Any, ours: Any, where: str = "") -> Iterator[Difference]:
    """A text and a number are never the same, nor are true and 1."""
    if isinstance(theirs, Order) and isinstance(ours, Order):
        both = [[name for name in one.names if name in other.names] for one, other in ((theirs, ours), (ours, theirs))]
        yield from differences(title, both[0], both[1], where)
    elif isinstance(theirs, dict) and isinstance(ours, dict):
        for name in [*theirs, *(name for name in ours if name not in theirs)]:
            place = f"{where}.{name}" if where else name
            yield from differences(title, theirs.get(name, ABSENT), ours.get(name, ABSENT), place)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for number, (one, other) in enumerate(zip(theirs, ours)):
            yield from differences(title, one, other, f"{where}[{number}]")
    elif theirs != ours or type(theirs) is not type(ours):
        yield Difference(title, where, theirs, ours)


def shown(value: Any, limit: int = 700) -> str:
    text = repr(value) if isinstance(value, _Absent) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
