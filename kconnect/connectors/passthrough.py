"""
Settings that a connector passes on to a library under the names that the library has for them.

No table lists what such a library knows, so each prefix says who looks at the settings first. A connector declares its prefixes
beside its table of settings, as `passthrough`, and takes the settings by `given` only: `tests/connectors/test_passthrough.py`
walks all connectors and fails for a prefix that nobody looks at.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kconnect.api import ConfigError


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


_BROKER = re.compile(r"(?:\w+://)?(?:\[[0-9A-Fa-f:.%]+\]|[\w.-]+)(?::\d{1,5})?")
_MOST_BROKERS = 100


def check_brokers(setting: str, value: str) -> None:
    """Raise ConfigError for what is no list of brokers, or names so many that librdkafka's threads for them do harm."""
    brokers = value.split(",")
    if len(brokers) > _MOST_BROKERS:
        raise ConfigError(setting, f"{value[:100]}...", f"Name at most {_MOST_BROKERS} brokers: each takes a thread")
    if not all(_BROKER.fullmatch(broker.strip()) for broker in brokers):
        raise ConfigError(setting, value, "It is a list of brokers, each as host:port, with commas between them")


def given(props: Mapping[str, str], passthrough: Passthrough) -> dict[str, str]:
    """Return the settings of a prefix, by their names without it."""
    prefix = passthrough.prefix
    return {name.removeprefix(prefix): value for name, value in props.items() if name.startswith(prefix)}
