"""
What a connector may set of its Kafka clients: `producer.override.*`, `consumer.override.*`, `admin.override.*` (KIP-458).

`Policy` is the worker's (`connector.client.config.override.policy`); `plugins/validation.py` asks `sections` when a config is
submitted. Whatever the policy, settings that run code, read the worker's files or send its requests elsewhere are refused
unless the worker's file names them: Kafka's own clients had such holes (CVE-2023-25194, CVE-2025-27817). Read next:
`unsafe.py`, which has the table of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api.config import HIDDEN, ConfigDef, ConfigValue, parse
from kconnect.core.settings import secrets, topic_creation
from kconnect.core.settings.client_choices import broken_rule
from kconnect.core.settings.client_config import CLIENTS, TABLES, unfit
from kconnect.core.settings.errors import DEAD_LETTERS_TOPIC, TOLERANCE
from kconnect.core.settings.source import OFFSETS_STORAGE_TOPIC
from kconnect.core.settings.unsafe import UNSAFE_ALLOWLIST, dangers
from kconnect.core.settings.validation import Section
from kconnect.errors import ConfigError

_PACKAGE, _SUFFIX = "org.apache.kafka.connect.connector.policy.", "ConnectorClientConfigOverridePolicy"
_POLICIES = ("All", "None", "Principal", "Allowlist")
_PRINCIPAL = frozenset(("sasl.jaas.config", "sasl.mechanism", "security.protocol"))


def policy_name(text: str) -> str:
    """The short name of a policy, given by it or by Connect's class. ConfigError for one that is not known."""
    name = text.strip().removeprefix(_PACKAGE).removesuffix(_SUFFIX)
    if name not in _POLICIES:
        raise ConfigError(
            "connector.client.config.override.policy",
            text,
            f"Must be one of: {', '.join(_POLICIES)}, or Connect's name of its class, such as {_PACKAGE}All{_SUFFIX}. Policies "
            "that are plugins can't be used",
        )
    return name


def is_policy(name: str) -> bool:
    """Whether a class of Connect's of that name is a policy."""
    return name.endswith(_SUFFIX) and name.removeprefix(_PACKAGE).removesuffix(_SUFFIX) in _POLICIES


@dataclass(frozen=True)
class Policy:
    """
    A worker's. `name` is one of the short names, `allowlist` what the policy Allowlist allows, and `unsafe` the unsafe
    settings that are allowed all the same.
    """

    name: str = "All"
    allowlist: Sequence[str] = ()
    unsafe: Sequence[str] = ()

    def problems(self, setting: str, value: str) -> Iterator[str]:
        """Why a connector may not set a client's `setting`, in sentences; none if it may."""
        if not self._allows(setting):
            yield f"The '{self.name}' policy does not allow '{setting}' to be overridden in the connector configuration."
        yield from self.dangers(setting, value)

    def dangers(self, setting: str, value: str) -> Iterator[str]:
        """Yield what no policy allows in a setting, even for a client that the connector does not use yet."""
        # The prefix says whose client it is: librdkafka's.
        for danger in dangers(f"producer.override.{setting}", value, self.unsafe):
            part = "it" if danger.part == setting else danger.part
            yield (
                f"The setting '{setting}' {danger.reason}, so connectors may not override it. To allow it, add {part} to the "
                f"worker's {UNSAFE_ALLOWLIST}."
            )

    def _allows(self, setting: str) -> bool:
        match self.name:
            case "All":
                return True
            case "Principal":
                return setting in _PRINCIPAL
            case "Allowlist":
                return setting in self.allowlist
            case _:
                return False


def clients_used(kind: str, config: Mapping[str, str], exactly_once: bool) -> set[str]:
    """The clients that a `source` or `sink` needs; `exactly_once` is whether the worker supports that."""
    if kind == "sink":
        return {"consumer", "producer", "admin"} if DEAD_LETTERS_TOPIC.read(config) else {"consumer"}
    if exactly_once or OFFSETS_STORAGE_TOPIC.read(config):
        return set(CLIENTS)
    letters = DEAD_LETTERS_TOPIC.read(config) and TOLERANCE.read(config) == "all"
    return {"producer", "admin"} if letters or topic_creation.is_used(config) else {"producer"}


def sections(kind: str, config: Mapping[str, str | None], policy: Policy, *, exactly_once: bool = False) -> list[Section]:
    """The rows of the submitted overrides in ConfigInfos, for those clients that the connector uses."""
    used = clients_used(kind, {name: value for name, value in config.items() if value is not None}, exactly_once)
    made_sections = []
    for client in CLIENTS:
        prefix = f"{client}.override."
        overrides = {name[len(prefix) :]: value for name, value in config.items() if name.startswith(prefix)}
        rows = [_value(TABLES[client], name, text, policy, client in used) for name, text in overrides.items()]
        made_sections.append(Section(prefix, TABLES[client], [row for row in rows if client in used or row.errors]))
    return made_sections


def warnings(kind: str, config: Mapping[str, str], *, exactly_once: bool = False) -> Iterator[str]:
    """Yield sentences for the log about overrides without effect, which Connect accepts whatever their value."""
    used = clients_used(kind, config, exactly_once)
    for client in CLIENTS:
        names = ", ".join(name for name in config if name.startswith(f"{client}.override."))
        if names and client not in used:
            yield f"This {kind} has no {client} of its own, so {names} has no effect"


def _value(table: ConfigDef, name: str, text: str | None, policy: Policy, used: bool) -> ConfigValue:
    problems = [*(policy.problems(name, text or "") if used else policy.dangers(name, text or ""))]
    if used and text is not None and (reason := unfit(name, text)):
        problems.append(f"The setting '{name}' can't be used: {reason}")
    key = table.keys.get(name)
    if used and key is not None and text is not None and (rule := broken_rule(name, text)):
        problems.append(str(ConfigError(name, text, rule)))
    value: Any = HIDDEN if text is not None and secrets.is_secret(name) else text
    try:
        parsed = value if key is None or not used else parse(name, text, key.type)
    except ConfigError as error:
        return ConfigValue(name, errors=[str(error), *problems])
    return ConfigValue(name, parsed, errors=problems)
