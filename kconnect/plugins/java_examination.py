"""
What the files of Java plugins tell before any of them is loaded: the Java that they are made for, and what is there twice.

Called by `doctor.py`, `kconnect plugin list` and `install`. What a scan can't use `examination.py` tells of; whether classes
work, `Sandbox.check`. Read next: `jvm/demands.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.jvm import demands
from kconnect.jvm import scan as jvm
from kconnect.plugins import installation, java_installation
from kconnect.plugins.examination import WARNING, Problem
from kconnect.plugins.registry import PluginDesc


def needed(plugins: Iterable[PluginDesc]) -> dict[PluginDesc, int]:
    """The oldest Java that can load each of these; without those of Python."""
    at: dict[str, list[PluginDesc]] = {}
    for plugin in plugins:
        if plugin.java:
            at.setdefault(plugin.location, []).append(plugin)
    java_versions: dict[PluginDesc, int] = {}
    for location, plugins_there in at.items():
        releases = demands.releases(Path(location), [plugin.class_name for plugin in plugins_there])
        java_versions.update({plugin: releases[plugin.class_name] for plugin in plugins_there if plugin.class_name in releases})
    return java_versions


def copies(plugin_path: Sequence[Path]) -> Iterator[Problem]:
    """Places with classes that an earlier one has, too, in the same version."""
    places = [plugin.directory for root in plugin_path for plugin in installation.installed(root) if plugin.java]
    scans: list[jvm.Scanned] = []
    with suppress(ConnectError):  # a scan has told of it
        scans = jvm.found(places)
    first: dict[tuple[str, str], Path] = {}
    for place, scanned in zip(places, scans):
        twice: dict[Path, list[str]] = {}
        for plugin in scanned.plugins:
            owner = first.setdefault((plugin.class_name, plugin.version), place)
            if owner != place:
                twice.setdefault(owner, []).append(f"{plugin.class_name} {plugin.version}")
        for owner, classes in twice.items():
            yield Problem(
                WARNING,
                "copies",
                str(place),
                f"{_some(classes)} {'is' if len(classes) == 1 else 'are'} in {owner}, too, which is the one that workers use",
                f"remove one of them, such as {place}",
            )


def brought(plugins: Iterable[PluginDesc]) -> Iterator[Problem]:
    """
    Yield jars that a plugin should leave to the worker: `kconnect plugin install` removes them, unpacking an archive does not.
    """
    for place in sorted({Path(plugin.location) for plugin in plugins if plugin.java}):
        if jars := java_installation.of_worker(place):
            yield Problem(
                WARNING,
                "shared",
                str(place),
                f"it brings {', '.join(jar.name for jar in jars)}, which plugins have from the worker; classes in them, such "
                "as StringConverter, may take the place of kconnect's own",
                f"rm {' '.join(map(str, jars))} (kconnect plugin install leaves them out)",
            )


def _some(classes: list[str]) -> str:
    more = f" and {len(classes) - 1} more" if len(classes) > 1 else ""
    return f"{classes[0]}{more}"
