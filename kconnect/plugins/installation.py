"""
Puts plugins into a directory of `plugin.path`, each as `name-version`, and takes them away.

Called by `kconnect plugin install|remove`. What is not finished is in directories whose names begin with a dot, which no
worker looks into: a plugin is there whole or not at all. Read next: `pip.py`, `java_installation.py`, `examination.py`.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Protocol

import psutil
from packaging.utils import canonicalize_name

from kconnect.errors import AlreadyExistsError, BadRequestError, ConnectError
from kconnect.java import versions
from kconnect.jvm import scan as jvm
from kconnect.plugins.arrangement import OURS
from kconnect.plugins.pip import Package, Pip
from kconnect.plugins.scan import GROUPS

_STAGE = ".installing-"
_GONE = ".removing-"
_PARTS = re.compile(r"(.+?)[-_]v?(\d.*)")
"""Of the name of a Java plugin's directory or download: name and version."""


class Placing(Protocol):
    """The part of a plan that `put` needs: where the plugin goes, and what it replaces."""

    @property
    def target(self) -> Path: ...
    @property
    def replaced(self) -> Path | None: ...


@dataclass(frozen=True)
class Plan:
    """
    The packages to install: the plugin itself and what it needs. `there` is the directory that has this version already, and
    `replaced` the same if it is to go when this is installed once more: another plugin may have brought this one along.
    """

    plugin: Package
    needs: tuple[Package, ...]
    target: Path
    there: Path | None
    replaced: Path | None

    @property
    def packages(self) -> tuple[Package, ...]:
        return (self.plugin, *self.needs)


@dataclass(frozen=True)
class InstalledPlugin:
    """
    A child directory of plugin.path with the distributions in it that have entry points of ours: (name, version). For Java it
    may be a jar, and its own name tells name and version.
    """

    directory: Path
    distributions: tuple[tuple[str, str], ...]
    java: bool = False

    def version_of(self, name: str) -> str | None:
        """
        Return that package's version if the directory is its own; None if it is not there, or another has brought it along.
        """
        normal_name = canonicalize_name(name)
        for distribution, version in self.distributions:
            if canonicalize_name(distribution) == normal_name and (
                len(self.distributions) == 1 or self.directory.name == f"{normal_name}-{version}"
            ):
                return version
        return None


_FILES = (".whl", ".jar", ".zip", ".tar.gz", ".tgz", ".yaml", ".yml", ".json", ".properties")


def requirement_of(text: str) -> str:
    """Turn what the user typed into a requirement for pip. Raise BadRequestError if it is none."""
    if text.startswith("-") or not text.strip():
        raise BadRequestError(f"{text!r} is not a requirement: write a package as acme or 'acme>=1.2', a wheel, or ./directory")
    if "://" in text or " @ " in text:
        return text
    path = Path(text).expanduser()
    # As pip has it, a directory is known by its slash: `acme` alone is a name. A file's is none, though pip would ask for it.
    if os.sep not in text and not text.startswith(".") and not text.endswith(_FILES):
        return text
    if not path.exists():
        raise BadRequestError(f"{text} does not exist")
    if path.is_file() and not path.name.endswith((".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz")):
        raise BadRequestError(
            f"{text}: this is neither a wheel (.whl) nor a source distribution (.tar.gz) nor a directory, nor for Java an "
            "archive (.zip, .tar.gz) or a jar"
        )
    return str(path.absolute())


def plan(plugin_path: Path, requirement: str, pip: Pip) -> Plan:
    """Asks pip. PipError if there is no way, BadRequestError if it would need another kconnect or pyspark."""
    try:
        packages = pip.resolve(requirement)
    except ConnectError as error:
        if Path(requirement).is_dir() and os.sep not in requirement:
            raise type(error)(f"{error}; for the local directory, write ./{requirement}") from None
        for name in OURS:
            if re.search(rf"\b{name}\b.* \(from", str(error)):
                reason = f"{name} {metadata.version(name)} is installed here, and a plugin can't bring its own"
                raise type(error)(f"{error}; {reason}") from None
        raise
    plugin = next(package for package in packages if package.asked_for)
    if canonicalize_name(plugin.name) in OURS:
        raise BadRequestError(
            f"{plugin.name} is not a plugin: it is a part of kconnect, which is not installed into plugin.path"
        )
    for package in packages:
        name = canonicalize_name(package.name)
        if name in OURS:
            raise BadRequestError(
                f"{plugin.name} {plugin.version} needs {name} {package.version}, but {name} {metadata.version(name)} is "
                f"installed, and a plugin can't bring its own: install another version of the plugin, or upgrade the {name} "
                "installed with kconnect"
            )
    name = canonicalize_name(plugin.name)
    same = [
        candidate
        for candidate in installed(plugin_path)
        if not candidate.java
        and any(
            (canonicalize_name(distribution), version) == (name, plugin.version)
            for distribution, version in candidate.distributions
        )
    ]
    target = plugin_path / f"{name}-{plugin.version}"
    replaced = next(
        (candidate.directory for candidate in same if candidate.version_of(name)), target if target.exists() else None
    )
    needs = tuple(package for package in packages if package is not plugin)
    return Plan(plugin, needs, target, replaced or (same[0].directory if same else None), replaced)


@contextmanager
def staged(planned: Plan, pip: Pip) -> Iterator[Path]:
    """The plugin in a directory of its own beside the target, for as long as the context lasts; `put` makes it the plugin."""
    with stage(planned.target) as directory:
        pip.install(planned.packages, directory)
        yield directory


@contextmanager
def stage(target: Path) -> Iterator[Path]:
    """An empty directory of the target's name, in one of its own beside it, for as long as the context lasts."""
    root = target.parent
    root.mkdir(parents=True, exist_ok=True)
    clear(root)
    parent = root / _mark(_STAGE)
    directory = parent / target.name
    try:
        directory.mkdir(parents=True)
        yield directory
    finally:
        shutil.rmtree(parent, ignore_errors=True)


def put(staged_directory: Path, planned: Placing) -> None:
    """Make a staged directory the plugin, in place of the one that has this version. AlreadyExistsError if it was quicker."""
    target, replaced = planned.target, planned.replaced
    former = None if replaced is None else _set_aside(replaced)
    try:
        staged_directory.rename(target)
    except OSError as error:
        if former is not None and replaced is not None:
            former.rename(replaced)
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise AlreadyExistsError(f"Another process has just created {target}: nothing was changed") from None
    if former is not None:
        _delete(former)


def remove(directory: Path) -> None:
    """Take a plugin away: at once for who looks into plugin.path, and then from the disk."""
    _delete(_set_aside(directory))


def _set_aside(directory: Path) -> Path:
    aside = directory.parent / _mark(_GONE)
    directory.rename(aside)
    return aside


def _delete(directory: Path) -> None:
    if directory.is_symlink() or directory.is_file():
        directory.unlink()
    else:
        shutil.rmtree(directory)


def installed(plugin_path: Path) -> list[InstalledPlugin]:
    """The children of a directory of plugin.path that hold a plugin; what can't be read is left out."""
    plugins = []
    with suppress(OSError):
        for child in sorted(plugin_path.iterdir()):
            if child.name.startswith((".", "__")):
                continue
            if jvm.is_java(child):
                name, version = parts_of(child.stem if child.is_file() else child.name)
                plugins.append(InstalledPlugin(child, ((name, version or versions.UNDEFINED),), java=True))
                continue
            if not child.is_dir():
                continue
            packages = tuple(distributions(child))
            if packages:
                plugins.append(InstalledPlugin(child, packages))
    return plugins


def parts_of(name: str) -> tuple[str, str]:
    """Name and version of a Java plugin whose directory or download is called that; the version is empty without one."""
    match = _PARTS.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def distributions(directory: Path) -> Iterator[tuple[str, str]]:
    """Name and version of what has entry points of ours."""
    for distribution in metadata.distributions(path=[str(directory)]):
        # Of a stranger's metadata anything may be missing or broken; the doctor tells of it.
        with suppress(Exception):
            if distribution.name and any(entry.group in GROUPS for entry in distribution.entry_points):
                yield distribution.name, distribution.version


def named(plugin_path: Sequence[Path], name: str) -> list[InstalledPlugin]:
    """The plugins whose package or directory has that name."""
    normal_name = canonicalize_name(name)
    return [
        plugin
        for directory in plugin_path
        for plugin in installed(directory)
        if plugin.directory.name == name or normal_name in {canonicalize_name(package) for package, _ in plugin.distributions}
    ]


def clear(plugin_path: Path) -> None:
    """Take away what a process of this machine left when it was killed in the middle of its work."""
    for child in unfinished(plugin_path):
        shutil.rmtree(child, ignore_errors=True)


def unfinished(plugin_path: Path) -> list[Path]:
    """Return the directories left by processes of this machine that are gone."""
    leftovers = []
    with suppress(OSError):
        for child in plugin_path.iterdir():
            if child.name.startswith((_STAGE, _GONE)):
                host, pid, _ = child.name.partition("-")[2].rsplit("-", 2)
                if host == socket.gethostname() and not psutil.pid_exists(int(pid)):
                    leftovers.append(child)
    return leftovers


def _mark(prefix: str) -> str:
    """A name that tells who works there."""
    return f"{prefix}{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
