"""
What is installed, by metadata alone: the entry points of distributions beside kconnect and in the directories of plugin.path.

No plugin code is imported: a broken plugin costs a line in the list of broken ones, and nothing else. Called by
`registry.py`, which knows the names. Each child directory of `plugin.path` is one plugin: a `pip install --target` tree, or
what Kafka Connect takes there, jars (`kconnect/jvm/scan.py`).

A plugin's directory holds the metadata of all that it depends on, and most of them are nothing to Connect. So a file with
entry points is looked at first, and the rest is read where these are of a plugin: 200 directories of 16 distributions take
0.2 s; reading all of it took 4 s.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.java import versions
from kconnect.jvm import scan as jvm

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

JAVA = "java:"
"""How the path of a Java plugin begins; its class's name follows."""

INSTALLED = "installed"
"""The location of what is installed beside kconnect."""

_METADATA = (".dist-info", ".egg-info")
_NO_VERSION = re.compile(r"[\s,\[\]()\x00-\x1f]")
"""What would make a version another thing in a range, or could not be asked for."""

_NO_DIRECTORY = {
    ".whl": "it is a wheel, but a plugin is a directory: install it with kconnect plugin install",
    ".gz": "it is an archive, but a plugin is a directory: install it with kconnect plugin install",
    ".zip": "it is an archive, but a plugin is a directory: install it with kconnect plugin install",
    ".py": "it is a module, but a plugin is a directory with a package's metadata: kconnect plugin new creates a project",
}
"""What is told of files beside the plugins, by their suffix; others may lie there."""


@dataclass(frozen=True)
class Found:
    """An entry point. `path` is `module:Class`, `location` INSTALLED, a directory, or for Java an archive too."""

    kind: str
    name: str
    path: str
    version: str
    location: str
    type: str = ""
    """Of a connector source or sink, where that is known without asking it."""
    stamp: str = ""
    """For Java: another one where a file of the location is another."""


@dataclass(frozen=True)
class BrokenPlugin:
    """A problem at a location; other plugins there may work."""

    location: str
    reason: str


def scan(plugin_path: Iterable[str], discovery: str = jvm.DISCOVERY) -> tuple[list[Found], list[BrokenPlugin]]:
    """
    All entry points, those of `plugin.path` before what is installed, and what can't be used with its reason. `discovery` says
    how Java plugins are found, as Connect's `plugin.discovery`.
    """
    entry_points: list[Found] = []
    broken: list[BrokenPlugin] = []
    places: dict[str, str] = {}
    java: list[Path] = []
    for directory in dict.fromkeys(plugin_path):
        for child in _children(Path(directory).expanduser().absolute(), broken):
            real = os.path.realpath(child)
            if real in places:
                log.info("The plugin in %s is not listed: it is the directory %s", child, places[real])
                continue
            places[real] = str(child)
            if jvm.is_java(child):
                java.append(child)
            else:
                _scan_directory(child, entry_points, broken)
    _add_java(java, discovery, entry_points, broken)
    # What kconnect itself imports from; a host has its plugins' directories there too.
    beside = [entry or os.curdir for entry in sys.path if os.path.realpath(entry or os.curdir) not in places]
    distributions = _distributions(beside, INSTALLED, broken)
    _add(INSTALLED, _without_hidden(distributions, INSTALLED, broken), entry_points, broken)
    for plugin in broken:
        log.warning("Plugins in %s: %s", plugin.location, plugin.reason)
    return entry_points, broken


def _children(root: Path, broken: list[BrokenPlugin]) -> Iterator[Path]:
    """The directories of plugins in one of `plugin.path`; links last, so that what they lead to is known by its own name."""
    try:
        with os.scandir(root) as entries:
            children = sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))
    except OSError as error:
        broken.append(BrokenPlugin(str(root), f"the directory of plugin.path can't be read: {error.strerror}"))
        return
    if any(child.name.endswith(_METADATA) for child in children):
        reason = f"this is a plugin itself, but plugin.path names directories that hold plugins: name {root.parent}"
        broken.append(BrokenPlugin(str(root), reason))
        return
    for child in children:
        if child.name.startswith((".", "__")):
            continue
        try:
            os.stat(child)
            is_directory = child.is_dir()
        except FileNotFoundError:
            broken.append(BrokenPlugin(child.path, f"it is a link to {os.readlink(child)}, which does not exist"))
            continue
        except OSError as error:
            broken.append(BrokenPlugin(child.path, f"it can't be read: {error.strerror}"))
            continue
        if is_directory or child.name.lower().endswith(".jar"):
            yield Path(child.path)
        elif (suffix := os.path.splitext(child.name)[1].lower()) in _NO_DIRECTORY:
            broken.append(BrokenPlugin(child.path, _NO_DIRECTORY[suffix]))


def _scan_directory(directory: Path, entry_points: list[Found], broken: list[BrokenPlugin]) -> None:
    location, count_before = str(directory), len(entry_points) + len(broken)
    try:
        names = os.listdir(directory)
    except OSError as error:
        broken.append(BrokenPlugin(location, f"the directory can't be read: {error.strerror}"))
        return
    if not names:
        broken.append(BrokenPlugin(location, "the directory is empty"))
        return
    _add(location, _only(_distributions([location], location, broken), location, broken), entry_points, broken)
    if count_before == len(entry_points) + len(broken):
        broken.append(BrokenPlugin(location, _nothing(names)))


def _add_java(places: list[Path], discovery: str, entry_points: list[Found], broken: list[BrokenPlugin]) -> None:
    """Add what Connect's own scanners find in these places."""
    try:
        scanned = jvm.found(places, discovery)
    except ConnectError as error:
        broken += [BrokenPlugin(str(place), f"it is for Java: {error}") for place in places]
        return
    if unlisted := [f"{name} in {place}" for place, place_scan in zip(places, scanned) for name in place_scan.unlisted]:
        text = "Plugins without a ServiceLoader manifest, which plugin.discovery=service_load would not find: %s"
        log.warning(text, ", ".join(unlisted))
    for place, place_scan in zip(places, scanned):
        location = str(place)
        broken += [BrokenPlugin(location, problem) for problem in place_scan.problems]
        if not place_scan.plugins and not place_scan.problems:
            broken.append(BrokenPlugin(location, "it is for Java, but no class in it is a plugin that this Java can load"))
        stamp = jvm.stamp(place, discovery)
        for kind, name, version, shown in place_scan.plugins:
            entry_points.append(Found(kind, name.rpartition(".")[2], f"{JAVA}{name}", version, location, shown, stamp))


def _nothing(names: list[str]) -> str:
    """Why there is no plugin in a directory that holds these."""
    if any(name.endswith(_METADATA) for name in names):
        return f"no distribution in it has entry points in {', '.join(GROUPS)}"
    remedy = "install the plugin there with kconnect plugin install, or pip install --target"
    return f"it has no metadata of a package (a directory that ends with .dist-info): {remedy}"


def _distributions(entries: Iterable[str], location: str, broken: list[BrokenPlugin]) -> Iterator[metadata.Distribution]:
    """Yield the distributions in entries of `sys.path` that have entry points of plugins."""
    for entry in entries:
        try:
            names = sorted(name for name in os.listdir(entry) if name.endswith(_METADATA))
        except FileNotFoundError:
            continue
        except OSError:
            # An archive; what is no directory and no archive has none.
            yield from metadata.distributions(path=[entry])
            continue
        for name in names:
            place = os.path.join(entry, name)
            try:
                with open(os.path.join(place, "entry_points.txt"), "rb") as file:
                    of_plugins = b"kconnect." in file.read()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                broken.append(BrokenPlugin(location, f"{place}: its entry_points.txt can't be read: {error.strerror}"))
                continue
            if of_plugins:
                yield metadata.PathDistribution(Path(place))


@dataclass(frozen=True)
class _Readable:
    name: str
    version: str
    entries: list[metadata.EntryPoint]


def _readable(location: str, distributions: Iterable[metadata.Distribution], broken: list[BrokenPlugin]) -> Iterator[_Readable]:
    for distribution in distributions:
        try:
            # Of what has no version `distribution.version` is None, or raises; that depends on the version of Python.
            message = distribution.metadata
            name, version = ((message.get_all(key) or [""])[0] for key in ("Name", "Version"))
            entries = [entry for entry in _entry_points(distribution) if entry.group in GROUPS]
            if not name:
                raise ValueError("its METADATA is missing, can't be read, or has no Name")
            if version and _NO_VERSION.search(version):
                raise ValueError(f"its version {version!r} is not valid, so no config can ask for it")
        except Exception as error:  # noqa: BLE001 - whatever a stranger's metadata holds, the others must be found
            where = getattr(distribution, "_path", "a distribution")
            broken.append(BrokenPlugin(location, f"{where} can't be read: {_text(error)}"))
            continue
        yield _Readable(name, version or versions.UNDEFINED, entries)


def _entry_points(distribution: metadata.Distribution) -> Iterable[metadata.EntryPoint]:
    try:
        return distribution.entry_points
    except TypeError:
        raise ValueError("its entry_points.txt has a line without name = module:Class") from None


def _text(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _without_hidden(
    distributions: Iterable[metadata.Distribution], location: str, broken: list[BrokenPlugin]
) -> Iterator[_Readable]:
    """Yield, of several distributions of one name, the first on the path, which an import would find."""
    names: set[str] = set()
    for distribution in _readable(location, distributions, broken):
        if _normal(distribution.name) not in names:
            names.add(_normal(distribution.name))
            yield distribution


def _only(distributions: Iterable[metadata.Distribution], location: str, broken: list[BrokenPlugin]) -> Iterator[_Readable]:
    """
    Yield distributions of which there is one version. If a directory has several versions, report them instead: KIP-891 leaves
    open what would come of it.
    """
    by_name: dict[str, list[_Readable]] = {}
    for distribution in _readable(location, distributions, broken):
        by_name.setdefault(_normal(distribution.name), []).append(distribution)
    for several in by_name.values():
        if len(several) > 1:
            what = " and ".join(distribution.version for distribution in several)
            reason = (
                f"it has the metadata of {several[0].name} in the versions {what}, and kconnect can't know which one its code "
                "is, so none is used. Install each version into a directory of its own"
            )
            broken.append(BrokenPlugin(location, reason))
        else:
            yield several[0]


def _add(location: str, distributions: Iterable[_Readable], entry_points: list[Found], broken: list[BrokenPlugin]) -> None:
    for distribution in distributions:
        for entry in distribution.entries:
            path = entry.value.split("[")[0].replace(" ", "")
            if _is_path(path):
                entry_points.append(Found(GROUPS[entry.group], entry.name, path, distribution.version, location))
            else:
                reason = (
                    f"the entry point {entry.name} of {distribution.name} in group {entry.group} is {entry.value}: "
                    "it must be module:Class"
                )
                broken.append(BrokenPlugin(location, reason))


def _normal(name: str) -> str:
    """A distribution's name as Python's packaging compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_path(path: str) -> bool:
    module, colon, attribute = path.partition(":")
    names = [*module.split("."), *attribute.split(".")]
    return bool(colon) and all(name.isidentifier() for name in names)
