"""
What an installation does around the files themselves, for Python and Java: tries the classes, takes older versions away, tells.

Used by `install.py` and `install_java.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kconnect.cli import findings

if TYPE_CHECKING:
    from kconnect.plugins.examination import Problem
    from kconnect.plugins.registry import PluginDesc, Registry

_SHOWN = 3
AFTERWARDS = "Workers read plugin.path when they start: `kconnect plugin reload` makes running workers read it again."


def registry(directories: Iterable[Path]) -> Registry:
    from kconnect.plugins.registry import Registry

    return Registry.scan([str(directory) for directory in directories])


def at(plugins: Registry, place: Path) -> list[PluginDesc]:
    """The plugins of one directory."""
    return [plugin for plugin in plugins.plugins if plugin.location == str(place)]


def works(problems: Sequence[Problem], stage: Path, target: Path) -> bool:
    """Tells of all problems as those of where the plugin will be; false if one of them is an error."""
    from kconnect.plugins import examination

    final = [
        replace(
            problem,
            location=str(target),
            message=problem.message.replace(str(stage), str(target)),
            remedy=problem.remedy.replace(str(stage), str(target)),
        )
        for problem in problems
    ]
    findings.write(final, err=True)
    return not any(problem.severity == examination.ERROR for problem in final)


def remove_older(root: Path, name: str, version: str, java: bool = False) -> list[Path]:
    """Take away what has an older version of the same plugin; gives the directories."""
    from kconnect.java import versions
    from kconnect.plugins import installation

    new = versions.key(version)
    version_by_directory = {
        plugin.directory: plugin.version_of(name) for plugin in installation.installed(root) if plugin.java == java
    }
    older = [directory for directory, old in version_by_directory.items() if old is not None and versions.key(old) < new]
    for directory in older:
        installation.remove(directory)
    return older


def tell_defaults(own: Iterable[PluginDesc], before: Registry, after: Registry) -> None:
    """Print which version configs get that name none, where that is another than before, or not the one just installed."""
    names_by_effect: dict[str, dict[str, None]] = {}
    for plugin in own:
        versions_before = before.versions(plugin.python_path, plugin.kind)
        default = after.versions(plugin.python_path, plugin.kind)[0]
        if versions_before and versions_before[0] != default:
            names_by_effect.setdefault(f"get {default}, not {versions_before[0]}", {})[plugin.class_name] = None
        elif default != plugin.version:
            names_by_effect.setdefault(f"still get {default}", {})[plugin.class_name] = None
    for what, names in names_by_effect.items():
        if len(names) <= _SHOWN:
            for name in names:
                click.echo(f"  configs that name no version of {name} will {what}")
        else:
            some = ", ".join(list(names)[:_SHOWN])
            click.echo(f"  configs that name no version of {some} and {len(names) - _SHOWN} more classes will {what}")
