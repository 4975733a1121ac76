"""
Rows of the tables of settings of the connectors in the box: `STRING.low("topics.dir", "topics", "The folder of all topics.")`.

What a row's name begins with is its type, and then its importance. Without a default it is required. `section` makes a group of
rows. Used by the settings of each connector; the form that the framework reads is `kconnect.api.ConfigKey`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kconnect.api import ConfigKey, Importance, OneOf, Range, Type, Width
from kconnect.api.config import NO_DEFAULT, Validator

Recommender = Callable[[str, Mapping[str, Any]], list[Any]]
Visible = Callable[[str, Mapping[str, Any]], bool]


def _key(
    type: Type,
    importance: Importance,
    name: str,
    default: Any = NO_DEFAULT,
    doc: str = "",
    validator: Validator | None = None,
    *,
    order: int = -1,
    width: Width = Width.NONE,
    dependents: tuple[str, ...] = (),
    recommender: Recommender | None = None,
    visible: Visible | None = None,
) -> ConfigKey:
    return ConfigKey(
        name,
        type,
        default,
        importance,
        doc,
        validator,
        order=order,
        width=width,
        dependents=dependents,
        recommender=recommender,
        visible=visible,
    )


class Kind:
    """Makes rows of one type."""

    def __init__(self, type: Type) -> None:
        self.high = partial(_key, type, Importance.HIGH)
        self.medium = partial(_key, type, Importance.MEDIUM)
        self.low = partial(_key, type, Importance.LOW)


BOOLEAN, LIST, SECRET, STRING = Kind(Type.BOOLEAN), Kind(Type.LIST), Kind(Type.PASSWORD), Kind(Type.STRING)
DOUBLE, INT, LONG = Kind(Type.DOUBLE), Kind(Type.INT), Kind(Type.LONG)


def section(group: str, *keys: ConfigKey) -> tuple[ConfigKey, ...]:
    """
    Return the keys as a group of a table, in this order, but for keys that have an order of their own. A key that takes one of
    several words recommends them.
    """
    return tuple(
        replace(
            key,
            group=group,
            order=number if key.order < 0 else key.order,
            recommender=key.recommender or (_words(key.validator) if isinstance(key.validator, OneOf) else None),
        )
        for number, key in enumerate(keys, 1)
    )


def _words(rule: OneOf) -> Callable[[str, Mapping[str, Any]], list[Any]]:
    return lambda name, values: list(rule.values)


def retry_keys(
    what: str, retries: str = "max.retries", pause_ms: int = 3000, heeds: str = "", **more: Any
) -> tuple[ConfigKey, ConfigKey]:
    """
    Return the settings that `Patience` is made with: how many times in a row `what` is made again, and the pause. `heeds` is
    what else the pause depends on, and `more` goes to the key of the pause.
    """
    return (
        INT.medium(retries, 10, f"How many times in a row {what} before the task fails. -1: without end.", Range.at_least(-1)),
        INT.low("retry.backoff.ms", pause_ms, f"The pause before that, in ms.{heeds}", Range.at_least(0), **more),
    )
