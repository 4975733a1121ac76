"""
Settings that a connector passes on to a library under the names that the library has for them.

No table lists what such a library knows, so each prefix says who looks at the settings first. A connector declares its prefixes
beside its table of settings, as `passthrough`, and takes the settings by `given` only: `tests/connectors/test_passthrough.py`
walks all connectors and fails for a prefix that nobody looks at.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class CheckedBy(enum.Enum):
    """The check of the settings of a prefix."""

    POLICY = "the framework's table of what clients of Kafka may not be told"
    """`core/settings/unsafe.py`, under any prefix."""
    LIST = "a list of the names that are safe; all others are refused"
    RULES = "rules about what a name loads, asks or reads; they hold for what services answer, too"


@dataclass(frozen=True)
class Passthrough:
    """A prefix. `library` gets the settings, without it."""

    prefix: str
    library: str
    by: CheckedBy


def given(props: Mapping[str, str], passthrough: Passthrough) -> dict[str, str]:
    """Return the settings of a prefix, by their names without it."""
    prefix = passthrough.prefix
    return {name.removeprefix(prefix): value for name, value in props.items() if name.startswith(prefix)}
