"""
Transforms and predicates as a connector's config names them: `transforms.<alias>.*` and `predicates.<alias>.*` (KIP-585).

`units/transforms.py` builds a task's chain from them, and `plugins/sandbox_child.py` validates them. What belongs to the
framework (`type`, `plugin.version`, `predicate`, `negate`) never reaches a plugin, also one that has keys of these names.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kconnect.api.config import NO_DEFAULT, ConfigDef, ConfigKey, Importance, Type, Validator, Width, parse
from kconnect.core.settings.common import PREDICATE_ALIASES, TRANSFORM_ALIASES, VERSION_DOC

_Told = TypeVar("_Told")


@dataclass(frozen=True)
class Alias:
    """A transform or predicate; `properties` are its own settings, without their prefix."""

    name: str
    prefix: str
    type: str | None
    version: str | None
    properties: Mapping[str, str]
    predicate: str | None = None
    negate: bool = False


def names(setting: str, config: Mapping[str, str | None]) -> list[str]:
    """The aliases that a config gives for `transforms` or `predicates`."""
    return (TRANSFORM_ALIASES if setting == "transforms" else PREDICATE_ALIASES).read(config)


def transforms(config: Mapping[str, str]) -> list[Alias]:
    """Return the transforms in the order in which records pass them. Raise ConfigError for a `negate` that is not a boolean."""
    return list(_aliases(config, "transforms", {"type", "plugin.version", "predicate", "negate"}))


def predicates(config: Mapping[str, str]) -> dict[str, Alias]:
    return {alias.name: alias for alias in _aliases(config, "predicates", {"type", "plugin.version"})}


def _aliases(config: Mapping[str, str], setting: str, reserved: set[str]) -> Iterator[Alias]:
    places = {key: place for place, key in enumerate(config) if key.startswith(f"{setting}.")}
    # Those that begin alike stand together then: of thousands of aliases none looks at the settings of all others.
    keys = sorted(places)
    for name in names(setting, config):
        prefix = f"{setting}.{name}."
        own_keys = sorted(_beginning(keys, prefix), key=places.__getitem__)
        settings = {key[len(prefix) :]: config[key] for key in own_keys}
        negate = settings.get("negate") if "negate" in reserved else None
        yield Alias(
            name,
            prefix,
            settings.get("type"),
            settings.get("plugin.version"),
            {key: value for key, value in settings.items() if key not in reserved},
            settings.get("predicate") if "predicate" in reserved else None,
            bool(parse(f"{prefix}negate", negate, Type.BOOLEAN)) if negate is not None else False,
        )


def _beginning(keys: Sequence[str], prefix: str) -> Iterator[str]:
    """Yield those of sorted keys that begin so."""
    at = bisect_left(keys, prefix)
    while at < len(keys) and keys[at].startswith(prefix):
        yield keys[at]
        at += 1


def errors(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield contradictions between aliases: setting and message. Connect ignores undefined predicates."""
    by_name = predicates(config)
    for alias in _conditional(config):
        if alias.predicate is not None:
            if alias.predicate not in by_name:
                names = ", ".join(by_name) or "none"
                # An empty one is no slip to pass over: Filter would then drop every record.
                remedy = "" if alias.predicate else ". Without this setting, the transform applies to all records"
                yield (
                    f"{alias.prefix}predicate",
                    f"Invalid value {alias.predicate} for configuration {alias.prefix}predicate: there is no predicate of "
                    f"that alias; `predicates` names: {names}{remedy}",
                )
        elif f"{alias.prefix}negate" in config:
            yield (
                f"{alias.prefix}type",
                f"Config '{alias.prefix}negate' was provided but there is no config '{alias.prefix}predicate' defining a "
                "predicate to be negated.",
            )


def warnings(config: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences for the log about settings without effect: probably a slip, but Connect runs such configs."""
    used = {alias.predicate for alias in _conditional(config)}
    for name in predicates(config):
        if name not in used:
            yield f"No transform uses the predicate {name}: name it in a `transforms.<alias>.predicate`, or remove it"


def _conditional(config: Mapping[str, str]) -> Iterator[Alias]:
    """The transforms without `negate`: one that can't be read has a message of its own."""
    return _aliases(config, "transforms", {"type", "plugin.version", "predicate"})


def config_def(kind: str, alias: str, versions: Sequence[str], own: ConfigDef | None, classes: Sequence[str] = ()) -> ConfigDef:
    """
    The settings of one alias under their full names; `kind` is `transforms` or `predicates`.

    `own` are the plugin's, None if its class can't be had; `versions` are those of its class, the newest first, and `classes`
    those to choose from. A key of the plugin's that the framework has too is masked by it.
    """
    prefix, group = f"{kind}.{alias}.", f"{kind.capitalize()}: {alias}"
    what = "Transformation" if kind == "transforms" else "Predicate"
    of_the_class = [
        ConfigKey(
            f"{prefix}type",
            Type.CLASS,
            NO_DEFAULT,
            Importance.HIGH,
            f"Class of the {what.lower()} {alias}.",
            None,
            group,
            0,
            Width.LONG,
            f"{what} type for {alias}",
            recommender=lambda name, parsed: list(classes),
        ),
        ConfigKey(
            f"{prefix}plugin.version",
            Type.STRING,
            next(iter(versions), None),
            Importance.HIGH,
            VERSION_DOC,
            None,
            group,
            1,
            Width.LONG,
            f"{what} version for {alias}",
            recommender=lambda name, parsed: list(versions),
        ),
    ]
    if own is None:
        return ConfigDef(*of_the_class)
    framework = _OF_A_TRANSFORM if kind == "transforms" else ()
    masked = {"type", "plugin.version", *(key.name for key in framework)}
    keys = [*(key for key in own.keys.values() if key.name not in masked), *framework]
    return ConfigDef(*of_the_class, *_embedded(keys, prefix, group, len(of_the_class)))


_OF_A_TRANSFORM = (
    ConfigKey("predicate", Type.STRING, None, doc="Alias of the predicate that says which records it applies to."),
    ConfigKey("negate", Type.BOOLEAN, False, doc="Apply the transform to records for which the predicate is false."),
)

_IMPORTANCE = list(Importance)


def _embedded(keys: Iterable[ConfigKey], prefix: str, group: str, first: int) -> Iterator[ConfigKey]:
    """
    Yield the keys as Kafka's ConfigDef embeds one table into another: by group and order, then required ones, then by
    importance.
    """
    keys = list(keys)
    groups = list(dict.fromkeys(key.group for key in keys if key.group is not None))

    def place(key: ConfigKey) -> tuple[int, int, bool, int, str]:
        of_group = -1 if key.group is None else groups.index(key.group)
        return of_group, key.order, not key.required, _IMPORTANCE.index(key.importance), key.name

    for order, key in enumerate(sorted(keys, key=place), first):
        yield replace(
            key,
            name=prefix + key.name,
            group=group if key.group is None else f"{group}: {key.group}",
            order=order,
            display_name=key.display_name or key.name,
            dependents=tuple(prefix + name for name in key.dependents),
            validator=None if key.validator is None else _Unprefixed(prefix, key.validator),
            recommender=None if key.recommender is None else _unprefixed(prefix, key.recommender),
            visible=None if key.visible is None else _unprefixed(prefix, key.visible),
        )


@dataclass(frozen=True)
class _Unprefixed:
    """A plugin's validator knows its own names only, which its messages show."""

    prefix: str
    rule: Validator

    def __call__(self, name: str, value: Any) -> None:
        self.rule(name.removeprefix(self.prefix), value)

    def __str__(self) -> str:
        return str(self.rule)


def _unprefixed(prefix: str, ask: Callable[[str, Mapping[str, Any]], _Told]) -> Callable[[str, Mapping[str, Any]], _Told]:
    def asked(name: str, parsed: Mapping[str, Any]) -> _Told:
        unprefixed = {full.removeprefix(prefix): value for full, value in parsed.items()}
        return ask(name.removeprefix(prefix), unprefixed)

    return asked
