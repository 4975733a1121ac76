"""
Transforms and predicates as a connector's config names them: `transforms.<alias>.*` and `predicates.<alias>.*` (KIP-585).

`worker/transforms.py` builds a task's chain from them, and `plugins/sandbox_child.py` validates them. What belongs to the
framework (`type`, `plugin.version`, `predicate`, `negate`) never reaches a plugin, also one that has keys of these names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kconnect.api.config import NO_DEFAULT, ConfigKey, Importance, Type, Width, parse

_VERSION = "The version, or a range of versions, of this class to use; default: the newest that is installed."


@dataclass(frozen=True)
class Alias:
    """One transform or predicate; `properties` are its own settings, without their prefix."""

    name: str
    prefix: str
    type: str | None
    version: str | None
    properties: Mapping[str, str]
    predicate: str | None = None
    negate: bool = False


def transforms(config: Mapping[str, str]) -> list[Alias]:
    """In the order in which records pass them. ConfigError for a `negate` that is not a boolean."""
    return list(_aliases(config, "transforms", {"type", "plugin.version", "predicate", "negate"}))


def predicates(config: Mapping[str, str]) -> dict[str, Alias]:
    return {alias.name: alias for alias in _aliases(config, "predicates", {"type", "plugin.version"})}


def _aliases(config: Mapping[str, str], setting: str, reserved: set[str]) -> Iterator[Alias]:
    for name in parse(setting, config.get(setting) or "", Type.LIST):
        prefix = f"{setting}.{name}."
        given = {key[len(prefix) :]: value for key, value in config.items() if key.startswith(prefix)}
        negate = given.get("negate") if "negate" in reserved else None
        yield Alias(
            name,
            prefix,
            given.get("type"),
            given.get("plugin.version"),
            {key: value for key, value in given.items() if key not in reserved},
            (given.get("predicate") or None) if "predicate" in reserved else None,
            bool(parse(f"{prefix}negate", negate, Type.BOOLEAN)) if negate is not None else False,
        )


def errors(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is wrong between aliases: the setting, without class names, and the message. Connect lets the first two pass."""
    known, used = predicates(config), set()
    # Without `negate`: one that can't be read has a message of its own.
    for alias in _aliases(config, "transforms", {"type", "plugin.version", "predicate"}):
        if alias.predicate is not None:
            used.add(alias.predicate)
            if alias.predicate not in known:
                names = ", ".join(known) or "none"
                yield (
                    f"{alias.prefix}predicate",
                    f"Invalid value {alias.predicate} for configuration {alias.prefix}predicate: there is no predicate of "
                    f"that alias; `predicates` names: {names}",
                )
        elif f"{alias.prefix}negate" in config:
            yield (
                f"{alias.prefix}type",
                f"Config '{alias.prefix}negate' was provided but there is no config '{alias.prefix}predicate' defining a "
                "predicate to be negated.",
            )
    for name in known.keys() - used:
        yield (
            f"predicates.{name}.type",
            f"The predicate {name} is used by no transform: name it in a `transforms.<alias>.predicate`, or remove it.",
        )


def framework_keys(kind: str, alias: str, newest: str | None) -> tuple[list[ConfigKey], list[ConfigKey]]:
    """The framework's rows that come before and after a plugin's own; `kind` is `transforms` or `predicates`."""
    group = f"{kind.capitalize()}: {alias}"
    what = "transform" if kind == "transforms" else "predicate"
    before = [
        ConfigKey("type", Type.CLASS, NO_DEFAULT, Importance.HIGH, f"Class of the {what} {alias}.", None, group, 1, Width.LONG),
        ConfigKey("plugin.version", Type.STRING, newest, Importance.MEDIUM, _VERSION, None, group, 2, Width.MEDIUM),
    ]
    if kind == "predicates":
        return before, []
    after = [
        ConfigKey(
            *("negate", Type.BOOLEAN, False, Importance.MEDIUM, "Apply it to those records for which the predicate is false."),
            *(None, group, 3, Width.SHORT),
        ),
        ConfigKey(
            *("predicate", Type.STRING, "", Importance.MEDIUM, "Alias of the predicate that says which records it applies to."),
            *(None, group, 4, Width.MEDIUM),
        ),
    ]
    return before, after

