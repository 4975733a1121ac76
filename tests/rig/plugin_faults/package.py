"""
The plugin directories of a run: one for each lane, with the plugin of `plugin/` as a package of the lane's own.

Lanes are for cells at the same time: each has its own environment, and so its own host. Called by `run.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.rig.systems.plugin_packages import PluginPackage

_SOURCES = Path(__file__).parent / "plugin"
_CLASSES = {
    "kconnect.connectors": ("good:GoodSource", "good:GoodSink", "bad:BadSource", "bad:BadSink"),
    "kconnect.transforms": ("bad_parts:BadTransform",),
    "kconnect.predicates": ("bad_parts:BadPredicate",),
    "kconnect.converters": ("bad_parts:BadConverter",),
    "kconnect.config_providers": ("bad_parts:BadProvider",),
}
BY_KIND = {
    "connector.constructor": "BadConstructor",
    "connector.constructor (host)": "BadConstructorInHost",
    "connector.version": "BadVersion",
    "connector.version (host)": "BadVersionInHost",
    "connector.config": "BadConfig",
    "connector.initialize": "BadInitialize",
    "connector.task_class": "BadTaskClass",
}
"""Places that know no settings, and what their classes' names begin with."""

_AT_IMPORT = '''"""Misbehaves while it is imported."""

from . import faults

if {everywhere} or not faults.in_sandbox():
    faults.strike({place!r}, {kind!r})

from .bad import BadSource  # noqa: E402


class AtImport(BadSource):
    pass
'''


def write(plugin_path: Path, name: str, kinds: tuple[str, ...]) -> Path:
    """Install the plugin as package `name`; gives the directory of its journal."""
    modules: dict[str, str | bytes] = {f"{name}/{file.name}": file.read_text("utf-8") for file in _SOURCES.glob("*.py")}
    classes = {group: list(targets) for group, targets in _CLASSES.items()}
    for kind in kinds:
        for everywhere, place in ((True, "connector.import"), (False, "connector.import (host)")):
            module = import_module(kind, not everywhere)
            modules[f"{name}/{module}.py"] = _AT_IMPORT.format(everywhere=everywhere, place=place, kind=kind)
            classes["kconnect.connectors"].append(f"{module}:AtImport")
        classes["kconnect.connectors"] += [f"bad:{prefix}_{plain(kind)}" for prefix in BY_KIND.values()]
    groups: Mapping[str, Mapping[str, str]] = {
        group: {f"{name}-{target.replace(':', '-')}": f"{name}.{target}" for target in targets}
        for group, targets in classes.items()
    }
    return PluginPackage(name, "1.0", modules, groups).install(plugin_path) / name / "home"


def import_module(kind: str, host: bool) -> str:
    return f"at_import_{plain(kind)}{'_in_host' if host else ''}"


def plain(kind: str) -> str:
    return kind.replace(".", "_")
