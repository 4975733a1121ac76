"""
What would keep a plugin from working, as far as its files tell: metadata, dependencies, extensions, what it brings twice.

Called by `kconnect plugin doctor` and `install`. Nothing of a plugin is imported here; `Sandbox.check` tries its classes. Each
check is a function that yields problems. Read next: `scan.py`, `installation.py`.
"""

from __future__ import annotations

import platform
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import machinery, metadata
from pathlib import Path

from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import parse_tag, sys_tags
from packaging.utils import canonicalize_name

from kconnect.plugins import arrangement
from kconnect.plugins.installation import unfinished
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.plugins.scan import GROUPS, INSTALLED

ERROR, WARNING = "error", "warning"

_REMEDIES = ("kconnect plugin", "Install each", "plugin.path names", "Java's", "download it again", "install ", "JAVA_HOME")
"""What shows that the reason why something is broken says what to do, too."""

Distributions = Mapping[str, metadata.Distribution]
"""By canonical name; of two of one name the first, as an import finds it."""


@dataclass(frozen=True)
class Problem:
    """
    `check` names the kind of problem, for programs; an ERROR keeps a plugin from working, a WARNING may. The remedy is empty
    where the message says all.
    """

    severity: str
    check: str
    location: str
    message: str
    remedy: str


def beside_kconnect() -> dict[str, metadata.Distribution]:
    return _by_name(metadata.distributions())


def inside(directory: Path) -> dict[str, metadata.Distribution]:
    return _by_name(metadata.distributions(path=[str(directory)]))


def directory(place: Path, installed: Distributions) -> list[Problem]:
    """All problems of one child directory of plugin.path; `installed` is what is there beside kconnect."""
    distributions = inside(place)
    return [
        *_versions(place),
        *_dependencies(place, distributions, installed),
        *_shared_names(place),
        *_made_for_another_python(place, distributions),
    ]


def path(root: Path) -> Iterator[Problem]:
    """Yield problems of a directory of plugin.path itself. `registry` reports what a scan finds there and can't use."""
    for child in unfinished(root):
        message = "an installation or removal was killed and left it behind; workers ignore it"
        yield Problem(WARNING, "unfinished", str(child), message, f"rm -r {child}, or let the next installation remove it")


def registry(plugins: Registry) -> Iterator[Problem]:
    """Yield problems of what a scan could not use, and names that several classes have."""
    for broken in plugins.broken:
        remedy = "fix the plugin, or ask its author"
        if any(hint in broken.reason for hint in _REMEDIES):
            remedy = ""  # it is in the reason
        elif not Path(broken.location).is_dir() and not broken.location.endswith(".jar"):
            remedy = "create the directory, or remove it from plugin.path"
        yield Problem(ERROR, "metadata", broken.location, broken.reason, remedy)
    named: dict[tuple[str, str], dict[str, PluginDesc]] = {}
    for plugin in plugins.plugins:
        for name in plugin.aliases:
            named.setdefault((plugin.kind, name), {})[plugin.class_name] = plugin
    clashes: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (kind, name), classes in named.items():
        if len(classes) > 1 and any(plugin.location != INSTALLED for plugin in classes.values()):
            clashes.setdefault((kind, tuple(sorted(classes))), []).append(name)
    for (kind, class_names), names in clashes.items():
        strange = next(plugin for name in names for plugin in named[kind, name].values() if plugin.location != INSTALLED)
        yield Problem(
            WARNING,
            "names",
            strange.location,
            f"the {kind.replace('_', ' ')}s {' and '.join(class_names)} have the same short name {', '.join(names)}",
            "use their full names in configs",
        )


def copies(plugin_path: Iterable[Path]) -> Iterator[Problem]:
    """Directories that hold what is elsewhere too, in the same version."""
    first_places: dict[tuple[str, str], Path] = {}
    for root in plugin_path:
        with suppress(OSError):
            for child in sorted(root.iterdir()):
                if child.name.startswith((".", "__")) or not child.is_dir() or child.is_symlink():
                    continue
                for name, distribution in inside(child).items():
                    if not _has_plugins(distribution):
                        continue
                    first = first_places.setdefault((name, distribution.version), child)
                    if first != child:
                        yield Problem(
                            WARNING,
                            "copies",
                            str(child),
                            f"{name} {distribution.version} is in {first}, too, which is the one that workers use",
                            f"remove one of them, such as {child}",
                        )


def differences(place: Path, installed: Distributions, plugin_path: Iterable[Path]) -> dict[str, dict[str, str]]:
    """
    Return, for each package that a plugin brings, which other versions there are elsewhere, and where. Information only, as
    each plugin has its own.
    """
    other_plugins = {
        child.name: inside(child)
        for root in plugin_path
        if root.is_dir()
        for child in sorted(root.iterdir())
        if child.is_dir() and not child.name.startswith((".", "__")) and child.name != place.name
    }
    versions: dict[str, dict[str, str]] = {}
    for name, distribution in inside(place).items():
        for where, versions_there in {"kconnect": installed, **other_plugins}.items():
            if (
                name in versions_there
                and versions_there[name].version != distribution.version
                and not _has_plugins(distribution)
            ):
                versions.setdefault(name, {})[where] = versions_there[name].version
    return versions


def _versions(place: Path) -> Iterator[Problem]:
    """Yield packages that are there in several versions. A scan has made sure of the plugin's own version."""
    first_versions: dict[str, str] = {}
    for distribution in _readable(metadata.distributions(path=[str(place)])):
        name = canonicalize_name(distribution.name)
        first = first_versions.setdefault(name, distribution.version)
        if first != distribution.version and not _has_plugins(distribution):
            yield Problem(
                ERROR,
                "two-versions",
                str(place),
                f"it has {name} in the versions {first} and {distribution.version}, whose files are mixed",
                f"install the plugin again: kconnect plugin install --force {_plugin_of(inside(place))}",
            )


def _dependencies(place: Path, brought: Distributions, installed: Distributions) -> Iterator[Problem]:
    to_visit = [(distribution, "") for distribution in brought.values()]
    visited: set[tuple[str, str]] = set()
    reported: set[tuple[str, str]] = set()
    while to_visit:
        distribution, extra = to_visit.pop(0)
        who = f"{distribution.name} {distribution.version}"
        if (who, extra) in visited:
            continue
        visited.add((who, extra))
        if not extra:
            yield from _python(place, distribution)
        for text in distribution.requires or ():
            try:
                requirement = Requirement(text)
                needed = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
            except (InvalidRequirement, UndefinedEnvironmentName) as error:
                summary = " ".join(str(error).split())
                remedy = "tell its author; the plugin works if the package that it needs is installed"
                unread = f"{who} requires {text!r}, which can't be read: {summary}"
                yield Problem(WARNING, "metadata", str(place), unread, remedy)
                continue
            if not needed:
                continue
            name = canonicalize_name(requirement.name)
            provider = brought.get(name) or installed.get(name)
            if provider is not None and requirement.specifier.contains(provider.version, prereleases=True):
                to_visit += [(provider, required_extra) for required_extra in requirement.extras]
                continue
            if (who, name) in reported:
                continue
            reported.add((who, name))
            state = "is not there" if provider is None else f"{provider.version} is there"
            rule = f"{name}{requirement.specifier}" if provider is None else f"{name} {requirement.specifier}"
            command = f"kconnect plugin install --force {_plugin_of(brought)}"
            remedy = f"install the plugin again, with everything that it needs: {command}"
            if name in arrangement.OURS:
                remedy = f"upgrade the {name} installed with kconnect, or install another version of the plugin"
            yield Problem(ERROR, "dependency", str(place), f"{who} needs {rule}, but {_subject(provider, name)}{state}", remedy)


def _subject(distribution: metadata.Distribution | None, name: str) -> str:
    return "it " if distribution is None else f"{name} "


def _python(place: Path, distribution: metadata.Distribution) -> Iterator[Problem]:
    # The package importlib_metadata, once imported, answers for the standard library's: what is not there is a KeyError then.
    if "Requires-Python" not in distribution.metadata:
        return
    rule = distribution.metadata["Requires-Python"]
    python_version = platform.python_version()
    with suppress(InvalidSpecifier):
        if not SpecifierSet(rule).contains(python_version, prereleases=True):
            yield Problem(
                ERROR,
                "python",
                str(place),
                f"{distribution.name} {distribution.version} needs Python {rule}, but this is {python_version}",
                "run the worker with such a Python, or install another version of the plugin",
            )


def _shared_names(place: Path) -> Iterator[Problem]:
    """Yield what a plugin shares with kconnect: its own copy is left alone when it is imported."""
    protected = sorted({name.partition(".")[0] for name in arrangement.names(str(place))} & arrangement.PROTECTED)
    for name in protected:
        if name in arrangement.OURS:
            yield Problem(
                WARNING,
                "shared",
                str(place),
                f"it brings its own {name}, which is never used: plugins use the worker's",
                f"rm -r {place / name}* (kconnect plugin install leaves it out)",
            )
    standard = [name for name in protected if name not in arrangement.OURS]
    if standard:
        yield Problem(
            WARNING,
            "shared",
            str(place),
            f"it brings modules with the names of Python's own, which are used instead: {', '.join(standard)}",
            "rename them, or tell the author",
        )


def _made_for_another_python(place: Path, brought: Distributions) -> Iterator[Problem]:
    able = set(sys_tags())
    this = f"{sys.implementation.name} {platform.python_version()} on {sysconfig.get_platform()}"
    is_reported = False
    for distribution in brought.values():
        tags = [
            line.partition(":")[2].strip()
            for line in (distribution.read_text("WHEEL") or "").splitlines()
            if line.startswith("Tag:")
        ]
        with suppress(ValueError):
            if tags and not any(able & parse_tag(tag) for tag in tags):
                is_reported = True
                yield Problem(
                    ERROR,
                    "extension",
                    str(place),
                    f"{distribution.name} {distribution.version} was made for {', '.join(tags)}, but this is {this}",
                    f"install the plugin again with this Python: kconnect plugin install --force {_plugin_of(brought)}",
                )
    if is_reported:
        return
    modules: dict[Path, list[Path]] = {}
    for file in (*place.rglob("*.so"), *place.rglob("*.pyd")):
        modules.setdefault(file.parent / file.name.split(".")[0], []).append(file)
    # A library that an extension brings along may have any name; a module's says which Python it is for.
    wrong = [
        files[0]
        for files in modules.values()
        if any("cpython-" in file.name or "pypy" in file.name or ".cp3" in file.name for file in files)
        and not any(f".{file.name.partition('.')[2]}" in machinery.EXTENSION_SUFFIXES for file in files)
    ]
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        yield Problem(
            ERROR,
            "extension",
            str(place),
            f"{wrong[0].relative_to(place)}{more} was made for another Python or platform; this is {this}",
            f"install the plugin again with this Python: kconnect plugin install --force {_plugin_of(brought)}",
        )


def has_extensions(distribution: metadata.Distribution) -> bool:
    """Whether it has modules in C or the like, of which a process can have one version only."""
    return any(file.name.endswith(tuple(machinery.EXTENSION_SUFFIXES)) for file in distribution.files or ())


def _plugin_of(brought: Distributions) -> str:
    """Return the requirement of the package that has plugins, as `install` takes it."""
    candidates = [distribution for distribution in brought.values() if _has_plugins(distribution)] or list(brought.values())
    return f"{candidates[0].name}=={candidates[0].version}" if candidates else "NAME"


def _has_plugins(distribution: metadata.Distribution) -> bool:
    with suppress(Exception):
        return any(entry.group in GROUPS for entry in distribution.entry_points)
    return False


def _by_name(distributions: Iterable[metadata.Distribution]) -> dict[str, metadata.Distribution]:
    by_name: dict[str, metadata.Distribution] = {}
    for distribution in _readable(distributions):
        by_name.setdefault(canonicalize_name(distribution.name), distribution)
    return by_name


def _readable(distributions: Iterable[metadata.Distribution]) -> Iterator[metadata.Distribution]:
    for distribution in distributions:
        # What is broken is told by a scan.
        with suppress(Exception):
            if distribution.name and distribution.version:
                yield distribution
