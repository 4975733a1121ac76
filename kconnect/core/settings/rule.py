"""One row of the tables of dangerous settings: `unsafe.py` has those of Kafka's clients, `database_rules.py` of databases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def never(value: str) -> bool:
    """Return whether a value is empty: a setting that is set does harm."""
    return not value


def only_of(*packages: str) -> Callable[[str], bool]:
    """Return a check whether each class in a list is of one of these packages. A name without a dot is no class."""

    def check(value: str) -> bool:
        names = [name.strip() for name in value.split(",")]
        return all(not name or "." not in name or name.startswith(packages) for name in names)

    return check


def off(value: str) -> bool:
    """Return whether a switch is off, or not set."""
    return value.lower() in ("", "false")


@dataclass(frozen=True)
class Rule:
    """`name` is a pattern of the last parts of a setting's name; `harmless` tells of a value whether it does no harm."""

    name: str
    reason: str
    harmless: Callable[[str], bool] = never
    java: bool = False
    """Whether only Java's clients heed the setting."""
