"""
Who performs an effect: the method that says so.

    class World:
        @performs(effects.Validate, Lane.PLUGIN)
        def validate(self, effect: effects.Validate) -> effects.Body: ...

Read by `worker/loop.py`, for which `worker/world.py` performs, and by the rig's cluster in memory. What the method gives is
checked against the effect's type. Nobody has to list it anywhere else; a test looks that nothing is left out.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from kconnect.core.herder.effects import Effect

T = TypeVar("T")
S = TypeVar("S")
E = TypeVar("E", bound=Effect[Any])

_MARK = "performs"


class Lane(enum.Enum):
    """The thing that an effect may have to wait for. Nothing in one lane waits for what is slow in another."""

    AT_ONCE = enum.auto()
    """On the loop itself: it must not block."""
    WRITE = enum.auto()
    """One after the other, in order."""
    GROUP = enum.auto()
    """Kafka, about who is in the workers' group: who leads, who is well and who is gone is known by that."""
    ASK = enum.auto()
    """Kafka, about the cluster itself."""
    CLIENT = enum.auto()
    """Connectors' own clusters and consumer groups, which may not answer."""
    LOOK = enum.auto()
    """Threads like those of CLIENT, for who only looks: readers must not keep out who changes something."""
    FENCE = enum.auto()
    """As CLIENT, for tasks that wait to start."""
    PLUGIN = enum.auto()
    """Plugin code, in the sandbox: it may hang."""
    SHOW = enum.auto()
    """As PLUGIN, for who only looks: few, so that the sandbox has room for who changes something."""


class Performer(NamedTuple):
    lane: Lane
    perform: Callable[[Any], Any]


def performs(kind: Callable[..., Effect[T]], lane: Lane) -> Callable[[Callable[[S, E], T]], Callable[[S, E], T]]:
    def mark(method: Callable[[S, E], T]) -> Callable[[S, E], T]:
        setattr(method, _MARK, (kind, lane))
        return method

    return mark


def performers(*owners: object) -> Mapping[type[Effect[Any]], Performer]:
    """Return the methods of `owners` that perform effects. A method of a subclass comes before one of that name of its base."""
    by_kind: dict[type[Effect[Any]], Performer] = {}
    for owner in owners:
        for base in reversed(type(owner).__mro__):
            for name, method in vars(base).items():
                if mark := getattr(method, _MARK, None):
                    kind, lane = mark
                    by_kind[kind] = Performer(lane, getattr(owner, name))
    return by_kind
