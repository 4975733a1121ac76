"""
What is installed, by metadata alone: the entry points of distributions beside kconnect and in the directories of plugin.path.

No plugin code is imported: a broken plugin costs a line in the list of broken ones, and nothing else. Called by
`registry.py`, which knows the names. Each child directory of `plugin.path` is one plugin: a `pip install --target` tree.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

log = logging.getLogger(__name__)

GROUPS = {
    "kconnect.connectors": "connector",
    "kconnect.transforms": "transformation",
    "kconnect.predicates": "predicate",
    "kconnect.converters": "converter",
    "kconnect.header_converters": "header_converter",
    "kconnect.config_providers": "config_provider",
    "kconnect.override_policies": "override_policy",
}
"""Entry point groups and the kinds of plugins that they hold."""

INSTALLED = "installed"
"""The location of what is installed beside kconnect."""


@dataclass(frozen=True)
class Found:
    """An entry point. `path` is `module:Class`, `location` INSTALLED or a directory."""

    kind: str
    name: str
    path: str
    version: str
    location: str


@dataclass(frozen=True)
class BrokenPlugin:
    location: str
    reason: str


def scan(plugin_path: Iterable[str]) -> tuple[list[Found], list[BrokenPlugin]]:
    """All entry points, those of `plugin.path` before what is installed, and what can't be used with its reason."""
    found: list[Found] = []
    broken: list[BrokenPlugin] = []
    for location, distributions in _locations(plugin_path, broken):
        known = len(found) + len(broken)
        for distribution in _readable(location, distributions, broken):
            for entry in distribution.entry_points:
                kind = GROUPS.get(entry.group)
                if kind is None:
                    continue
                path = entry.value.split("[")[0].replace(" ", "")
                if _is_path(path):
                    found.append(Found(kind, entry.name, path, distribution.version, location))
                else:
                    broken.append(
                        BrokenPlugin(
                            location,
                            f"the entry point {entry.name} of {distribution.name} in group {entry.group} is "
                            f"{entry.value}: it must be module:Class",
                        )
                    )
        if location != INSTALLED and known == len(found) + len(broken):
            broken.append(BrokenPlugin(location, f"no distribution in it has entry points in {', '.join(GROUPS)}"))
    for plugin in broken:
        log.warning("The plugin in %s can't be used: %s", plugin.location, plugin.reason)
    return found, broken


def _locations(
    plugin_path: Iterable[str], broken: list[BrokenPlugin]
) -> Iterator[tuple[str, Iterable[metadata.Distribution]]]:
    for directory in plugin_path:
        root = Path(directory).expanduser().absolute()
        try:
            children = sorted(root.iterdir())
        except OSError as error:
            broken.append(BrokenPlugin(str(root), f"the directory of plugin.path can't be read: {error.strerror}"))
            continue
        for child in children:
            if child.is_dir() and not child.name.startswith((".", "__")):
                yield str(child), metadata.distributions(path=[str(child)])
    yield INSTALLED, metadata.distributions()


def _readable(
    location: str, distributions: Iterable[metadata.Distribution], broken: list[BrokenPlugin]
) -> Iterator[metadata.Distribution]:
    seen: set[str] = set()
    for distribution in distributions:
        try:
            name, version, _ = distribution.name, distribution.version, distribution.entry_points
            if not name or not version:
                raise ValueError("its METADATA has no Name or no Version")
        except Exception as error:  # noqa: BLE001 - whatever a stranger's metadata holds, the others must be found
            where = getattr(distribution, "_path", "a distribution")
            broken.append(BrokenPlugin(location, f"{where} can't be read: {error or type(error).__name__}"))
            continue
        # The first on the path is the one that an import would find.
        if name not in seen:
            seen.add(name)
            yield distribution


def _is_path(path: str) -> bool:
    module, colon, attribute = path.partition(":")
    names = [*module.split("."), *attribute.split(".")]
    return bool(colon) and all(name.isidentifier() for name in names)
